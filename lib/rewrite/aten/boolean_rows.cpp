#include "lib/rewrite/aten/boolean_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/check_chain.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// The one boolean index of an index or index_put; none_id otherwise. In front of it whole axes are taken,
/// behind it at most one axis is indexed by integers (h[mask, i] = v).
ValueId mask_of(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  if (base != "aten.index" && base != "aten.index_put") return none_id;
  const auto indices = aten_operands(node, "indices");
  const auto is_mask = [&](ValueId v) { return v >= 0 && graph.value(v).dtype == DType::boolean; };
  if (std::count_if(indices.begin(), indices.end(), is_mask) != 1) return none_id;
  return *std::find_if(indices.begin(), indices.end(), is_mask);
}

struct MaskPlace {
  int front = 0;              ///< axes in front of the mask that are taken whole
  ValueId columns = none_id;  ///< indices of the axis behind the mask
  bool known = false;
};

MaskPlace place_of(const Graph& graph, const Node& node, ValueId mask) {
  MaskPlace place;
  const auto indices = aten_operands(node, "indices");
  std::size_t i = 0;
  for (; i < indices.size() && indices[i] != mask; ++i) {
    if (indices[i] >= 0) return place;
    ++place.front;
  }
  for (++i; i < indices.size(); ++i) {
    if (indices[i] < 0) continue;
    const bool next =
        i + 1 == indices.size() && indices[i - 1] == mask && is_integer(graph.value(indices[i]).dtype);
    if (!next || place.front > 0 || graph.value(mask).rank() != 1 || graph.value(indices[i]).rank() > 1)
      return place;
    place.columns = indices[i];
  }
  place.known = true;
  return place;
}

/// Works on all rows what the graph works on the marked ones: a value of K marked rows is carried as a value
/// with a row for every element of the mask, of which only the marked ones matter.
class RowRewriter {
 public:
  RowRewriter(const DetectContext& context, ValueId mask)
      : graph_(context.graph),
        mask_(mask),
        b_(context.graph, context.graph_index, "count the mask, select the rows, where") {
    mask_shape_ = graph_.value(mask).shape;
    count_ = element_count(mask_shape_).value_or(-1);
  }

  std::string reason;
  std::vector<NodeId> nodes;
  bool rounds = false;       ///< sums are in another order than before
  bool counts_rows = false;  ///< takes as many rows from elsewhere as the mask marks, without a check

  bool run() {
    if (count_ < 0 || mask_shape_.empty()) return refuse("the mask has no fixed size");
    for (const NodeId id : graph_.order) {
      const Node& node = graph_.node(id);
      if (aten_base(node.op) == "aten.index_put" && mask_of(graph_, node) == mask_) {
        if (!put(id, node)) return false;
      } else if (aten_base(node.op) == "aten.index" && mask_of(graph_, node) == mask_) {
        if (!take(id, node)) return false;
      } else if (reads_rows(node) && !on_rows(id, node)) {
        return false;
      }
    }
    return true;
  }

  Patch finish(const std::set<NodeId>& checks) {
    for (const NodeId id : checks) b_.remove(id);
    return b_.take();
  }

 private:
  bool refuse(std::string why) { return reason = std::move(why), false; }

  bool reads_rows(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId v) { return rows_.count(v) != 0; });
  }

  /// What the tensor is after the writes so far.
  ValueId now(ValueId v) const {
    const auto it = written_.find(v);
    return it == written_.end() ? v : it->second;
  }

  /// mask.shape + the shape of one row
  Shape full_shape(const Shape& row) const {
    Shape out = mask_shape_;
    out.insert(out.end(), row.begin(), row.end());
    return out;
  }

  /// x[mask]: all rows of x stand for it.
  bool take(NodeId id, const Node& node) {
    const ValueId x = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
    const MaskPlace place = place_of(graph_, node, mask_);
    if (!place.known || place.front > 0 || place.columns != none_id)
      return refuse("other axes are indexed beside the mask");
    if (graph_.is_output(node.outputs[0]))
      return refuse("the selected rows are an output, whose number depends on the data");
    b_.remove(id), nodes.push_back(id);
    rows_[node.outputs[0]] = now(x);
    return true;
  }

  /// The number of each marked element among the marked ones; 0 in front of the first.
  ValueId positions() {
    if (positions_ != none_id) return positions_;
    counts_rows = true;
    const ValueId flat = b_.reshape(mask_, {count_});
    Attributes dim;
    dim.set("dim", std::int64_t{0}), dim.set("dtype", aten_scalar_type(DType::i64));
    const ValueId running =
        b_.make("aten.cumsum.default", {{"self", flat}}, std::move(dim), DType::i64, {count_});
    const ValueId from_zero = b_.scalar("aten.sub.Tensor", running, std::int64_t{1});
    Attributes least;
    least.set("min", std::int64_t{0});
    return positions_ =
               b_.make("aten.clamp.default", {{"self", from_zero}}, std::move(least), DType::i64, {count_});
  }

  /// K rows of values, each at the place of its mark. One row, or a number, is broadcast as it is.
  ValueId spread(ValueId v, int row_rank) {
    if (const auto it = rows_.find(v); it != rows_.end()) return it->second;
    const Shape shape = b_.shape(v);
    if (static_cast<int>(shape.size()) <= row_rank) return v;
    if (static_cast<int>(shape.size()) != row_rank + 1) return none_id;
    const Shape row(shape.begin() + 1, shape.end());
    if (shape[0] == 1) return b_.reshape(v, row);
    Attributes attrs;
    attrs.set("dim", std::int64_t{0});
    Shape picked = shape;
    picked[0] = count_;
    const ValueId rows = b_.make("aten.index_select.default", {{"self", v}, {"index", positions()}},
                                 std::move(attrs), b_.dtype(v), std::move(picked));
    return b_.reshape(rows, full_shape(row));
  }

  /// Works inside each row: the last axes of its one operand of rows, other operands are weights.
  bool inside_rows(const Node& node, int rank) const {
    const std::string base = aten_base(node.op);
    const bool first_only = node.inputs.empty()
                                ? false
                                : rows_.count(node.inputs[0]) &&
                                      std::count_if(node.inputs.begin(), node.inputs.end(),
                                                    [&](ValueId v) { return rows_.count(v) != 0; }) == 1;
    if (!first_only || rank < 2) return false;
    if (base == "aten.linear") return true;
    if (base == "aten.layer_norm" || base == "aten.rms_norm") {
      const auto* axes = node.attrs.integers("normalized_shape");
      return axes && static_cast<int>(axes->size()) < rank;
    }
    if (base == "aten.matmul" || base == "aten.mm")
      return node.inputs.size() == 2 && node.inputs[1] >= 0 && graph_.value(node.inputs[1]).rank() == 2;
    if (base == "aten.softmax" || base == "aten._softmax")
      return aten_dim(node, "dim", rank, -1) == std::optional(rank - 1);
    return false;
  }

  /// sum, mean, amax, amin over the rows: what is not marked adds nothing.
  bool reduce(NodeId id, const Node& node) {
    const std::string base = aten_base(node.op);
    const ValueId all = rows_.at(node.inputs[0]);
    const Value &rows = graph_.value(node.inputs[0]), &out = graph_.value(node.outputs[0]);
    const auto dims = aten_dims(node, "dim", rows.rank());
    if (!dims || dims->empty() || dims->front() != 0 || !element_count(out.shape))
      return refuse(fmt::format("{} reads the selected rows", node.op));
    const bool sums = base == "aten.sum" || base == "aten.mean";
    if (sums ? !is_float(rows.dtype) && base == "aten.mean" : !is_float(rows.dtype))
      return refuse(fmt::format("{} of integers", node.op));
    b_.remove(id), nodes.push_back(id);
    rounds = rounds || (sums && is_float(out.dtype));
    Shape wide = mask_shape_;
    wide.insert(wide.end(), static_cast<std::size_t>(rows.rank() - 1), 1);
    const ValueId condition = rows.rank() > 1 ? b_.reshape(mask_, wide) : mask_;
    Attributes other;
    other.set("other", sums                  ? 0.0
                       : base == "aten.amax" ? -std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::infinity());
    if (!is_float(rows.dtype)) other.set("other", std::int64_t{0});
    const ValueId kept = b_.make("aten.where.ScalarOther", {{"condition", condition}, {"self", all}},
                                 std::move(other), rows.dtype, b_.shape(all));
    std::vector<std::int64_t> axes;
    const int extra = static_cast<int>(mask_shape_.size()) - 1;
    for (int d = 0; d <= extra; ++d) axes.push_back(d);
    std::int64_t others = 1;
    for (const int d : *dims)
      if (d != 0) axes.push_back(d + extra), others *= rows.shape[static_cast<std::size_t>(d)];
    Shape shape;
    for (int d = 0; d < b_.rank(kept); ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end())
        shape.push_back(b_.shape(kept)[static_cast<std::size_t>(d)]);
    Attributes along;
    along.set("dim", axes);
    const std::string op = sums ? "aten.sum.dim_IntList" : base + ".default";
    ValueId total = b_.make(op, {{"self", kept}}, std::move(along), out.dtype, shape);
    if (base == "aten.mean") {
      Attributes type;
      type.set("dtype", aten_scalar_type(out.dtype));
      const ValueId marks = b_.make("aten.sum.default", {{"self", mask_}}, std::move(type), out.dtype, {});
      const ValueId count = others == 1 ? marks : b_.scalar("aten.mul.Tensor", marks, others);
      total = b_.binary("aten.div.Tensor", total, count);
    }
    b_.result_into(node.outputs[0]);
    b_.reshape(total, out.shape);
    return true;
  }

  bool on_inner_axes(NodeId id, const Node& node) {
    const Value& out = graph_.value(node.outputs[0]);
    Node all = node;
    all.origins = {id};
    if (aten_base(node.op) == "aten.mm") all.op = "aten.matmul.default", all.input_names = {"self", "other"};
    all.inputs[0] = rows_.at(node.inputs[0]);
    if (all.attrs.find("dim")) all.attrs.set("dim", std::int64_t{-1});
    const ValueId result = b_.add_value(out.name + "_rows", out.dtype,
                                        full_shape(Shape(out.shape.begin() + 1, out.shape.end())));
    all.outputs = {result};
    b_.add_node(std::move(all));
    b_.remove(id), nodes.push_back(id);
    rows_[node.outputs[0]] = result;
    return true;
  }

  /// An elementwise operator on marked rows, done on all rows.
  bool on_rows(NodeId id, const Node& node) {
    if (aten_is_check(node.op) || aten_base(node.op) == "aten.sym_size")
      return true;  // leaves with the checks, or is refused below
    const std::string base = aten_base(node.op);
    const bool single = node.outputs.size() == 1 && !node.inputs.empty() && rows_.count(node.inputs[0]);
    if (single && (base == "aten.sum" || base == "aten.mean" || base == "aten.amax" || base == "aten.amin"))
      return reduce(id, node);
    if (single && !graph_.is_output(node.outputs[0]) &&
        inside_rows(node, graph_.value(node.inputs[0]).rank()))
      return on_inner_axes(id, node);
    if (!aten_elementwise(node.op) || node.outputs.size() != 1 || graph_.is_output(node.outputs[0]))
      return refuse(fmt::format("{} reads the selected rows", node.op));
    const Value& out = graph_.value(node.outputs[0]);
    Node all = node;
    all.op = aten_functional(node.op);
    all.origins = {id};
    const int row_rank = out.rank() - 1;
    for (ValueId& v : all.inputs) {
      if (v < 0) continue;
      v = spread(v, row_rank);
      if (v == none_id) return refuse("values of another rank than the rows");
    }
    const ValueId result = b_.add_value(out.name + "_rows", out.dtype,
                                        full_shape(Shape(out.shape.begin() + 1, out.shape.end())));
    all.outputs = {result};
    b_.add_node(std::move(all));
    b_.remove(id), nodes.push_back(id);
    rows_[node.outputs[0]] = result;
    if (aten_in_place(node.op)) rows_[node.inputs[0]] = result;
    return true;
  }

  /// As `spread`, for values with axes in front of the rows.
  ValueId spread_behind(ValueId v, int front, int row_rank) {
    if (rows_.count(v)) return none_id;
    const Shape shape = b_.shape(v);
    if (static_cast<int>(shape.size()) <= row_rank) return v;
    if (static_cast<int>(shape.size()) != front + 1 + row_rank || !element_count(shape)) return none_id;
    const auto at = static_cast<std::size_t>(front);
    Shape full(shape.begin(), shape.begin() + front);
    if (shape[at] == 1)
      full.insert(full.end(), mask_shape_.size(), 1);
    else
      full.insert(full.end(), mask_shape_.begin(), mask_shape_.end());
    full.insert(full.end(), shape.begin() + front + 1, shape.end());
    if (shape[at] == 1) return b_.reshape(v, full);
    Attributes attrs;
    attrs.set("dim", std::int64_t{front});
    Shape picked = shape;
    picked[at] = count_;
    return b_.reshape(b_.make("aten.index_select.default", {{"self", v}, {"index", positions()}},
                              std::move(attrs), b_.dtype(v), std::move(picked)),
                      full);
  }

  /// h[mask, i] = v: in every marked row the one element that its index names.
  bool put_elements(NodeId id, const Node& node, ValueId self, ValueId values, ValueId columns) {
    const Value& target = graph_.value(self);
    if (!element_count(target.shape) || node.attrs.flag("accumulate") || aten_in_place(node.op) ||
        rows_.count(values) || b_.dtype(values) != target.dtype)
      return refuse("elements of marked rows are written in place, or added");
    const int rest = target.rank() - 2;
    const auto each = [&](ValueId v) {  // one entry a row of the tensor
      const Shape shape = b_.shape(v);
      if (shape.empty() || shape[0] == 1) return v;
      Attributes attrs;
      attrs.set("dim", std::int64_t{0});
      Shape picked = shape;
      picked[0] = count_;
      return b_.make("aten.index_select.default", {{"self", v}, {"index", positions()}}, std::move(attrs),
                     b_.dtype(v), std::move(picked));
    };
    if (b_.rank(values) > 1 + rest || (b_.rank(values) < 1 + rest && b_.rank(values) > rest))
      return refuse("values of another rank than the elements");
    const std::int64_t width = target.shape[1];
    const ValueId chosen = each(columns);
    ValueId column = b_.rank(chosen) == 0 || b_.shape(chosen)[0] == 1 ? b_.reshape(chosen, {1, 1})
                                                                      : b_.reshape(chosen, {count_, 1});
    const ValueId below = b_.scalar("aten.lt.Scalar", column, std::int64_t{0});
    column = b_.make(
        "aten.where.self",
        {{"condition", below}, {"self", b_.scalar("aten.add.Tensor", column, width)}, {"other", column}}, {},
        b_.dtype(column), b_.shape(column));
    const ValueId named =
        b_.binary("aten.eq.Tensor", column, b_.reshape(b_.arange(width, b_.dtype(column)), {1, width}));
    ValueId condition = b_.binary("aten.logical_and.default", named, b_.reshape(mask_, {count_, 1}));
    if (rest > 0) {
      Shape wide{count_, width};
      wide.insert(wide.end(), static_cast<std::size_t>(rest), 1);
      condition = b_.reshape(condition, wide);
    }
    ValueId written = each(values);
    if (b_.rank(written) == 1 + rest) {
      Shape shape = b_.shape(written);
      shape.insert(shape.begin() + 1, 1);
      written = b_.reshape(written, shape);
    }
    b_.remove(id), nodes.push_back(id);
    b_.write("aten.where.self", {{"condition", condition}, {"self", written}, {"other", now(self)}}, {},
             node.outputs[0]);
    return true;
  }

  /// h[mask] = rows: where(mask, rows, h)
  bool put(NodeId id, const Node& node) {
    const ValueId self = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
    const ValueId values =
        aten_operand(node, "values") >= 0 ? aten_operand(node, "values") : node.inputs.back();
    const Value& target = graph_.value(self);
    const MaskPlace place = place_of(graph_, node, mask_);
    if (!place.known) return refuse("other axes are indexed beside the mask");
    if (place.columns != none_id) return put_elements(id, node, self, values, place.columns);
    const int row_rank = target.rank() - static_cast<int>(mask_shape_.size()) - place.front;
    if (row_rank < 0 || !element_count(target.shape))
      return refuse("the mask has more dimensions than the tensor");
    ValueId rows = place.front ? spread_behind(values, place.front, row_rank) : spread(values, row_rank);
    if (rows == none_id || b_.dtype(rows) != target.dtype)
      return refuse("values of another rank or type than the rows");
    if (node.attrs.flag("accumulate")) rows = b_.binary("aten.add.Tensor", now(self), rows);
    Shape wide = mask_shape_;
    wide.insert(wide.end(), static_cast<std::size_t>(row_rank), 1);
    const ValueId condition = row_rank ? b_.reshape(mask_, wide) : mask_;
    b_.remove(id), nodes.push_back(id);
    b_.write("aten.where.self", {{"condition", condition}, {"self", rows}, {"other", now(self)}}, {},
             node.outputs[0]);
    if (!aten_in_place(node.op)) return true;
    const NodeId maker = graph_.producer(self);
    if (maker == none_id || aten_view(graph_.node(maker).op))
      return refuse("it writes into an input, a constant or a view in place");
    written_[self] = node.outputs[0];
    bool behind = false;
    std::set<NodeId> later;
    for (const NodeId n : graph_.order) {
      if (behind) later.insert(n);
      behind = behind || n == id;
    }
    for (const Use& use : graph_.uses(self))
      if (later.count(use.node)) b_.rewire(use.node, use.operand, node.outputs[0]);
    return true;
  }

  const Graph& graph_;
  ValueId mask_;
  AtenBuilder b_;
  Shape mask_shape_;
  std::int64_t count_ = -1;
  ValueId positions_ = none_id;
  std::map<ValueId, ValueId> rows_;     ///< value of marked rows -> value of all rows
  std::map<ValueId, ValueId> written_;  ///< tensor written in place -> its value now
};

/// True when something outside `gone` needs a value of the removed nodes.
bool leaves_readers(const Graph& graph, const std::set<NodeId>& gone, const std::vector<NodeId>& rewritten) {
  for (const NodeId id : rewritten)
    for (const ValueId v : graph.node(id).outputs)
      for (const Use& use : graph.uses(v)) {
        const bool known = gone.count(use.node) ||
                           std::find(rewritten.begin(), rewritten.end(), use.node) != rewritten.end();
        if (!known && aten_base(graph.node(use.node).op) == "aten.sym_size") return true;
      }
  return false;
}

}  // namespace

std::vector<DetectResult> boolean_rows(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  std::set<ValueId> masks;
  const std::vector<std::string> indexing = {"aten.index.*", "aten.index_put.*"};
  for (const NodeId id : context.operators->find(indexing)) {
    const ValueId mask = mask_of(graph, graph.node(id));
    if (mask == none_id || !masks.insert(mask).second) continue;
    RowRewriter rewriter(context, mask);
    DetectResult result;
    bool done = rewriter.run();
    const std::set<NodeId> checks = check_only_nodes(graph);
    std::set<NodeId> leaving;
    for (const NodeId n : checks)
      if (std::find(rewriter.nodes.begin(), rewriter.nodes.end(), n) == rewriter.nodes.end())
        leaving.insert(n);
    if (done && leaves_readers(graph, leaving, rewriter.nodes))
      done = false, rewriter.reason = "the number of selected rows is used as a size";
    result.nodes = rewriter.nodes.empty() ? std::vector<NodeId>{id} : rewriter.nodes;
    result.value = mask;
    result.reason = rewriter.reason;
    if (done) {
      ProposedFix fix(rewriter.finish(leaving), rewriter.rounds ? Exactness::rounding : Exactness::exact);
      fix.uncalled = true;
      fix.assumes = rewriter.counts_rows;
      result.fixes.push_back(std::move(fix));
    } else {
      result.state = DetectResult::State::declined;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

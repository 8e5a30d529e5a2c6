#include "rules/aten/boolean_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/edit/aten_builder.h"
#include "lib/graph/aten_view.h"
#include "rules/aten/check_chain.h"

namespace md {
namespace {

/// The mask of an index or index_put with one boolean index in front; none_id otherwise.
ValueId mask_of(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  if (base != "aten.index" && base != "aten.index_put") return none_id;
  const auto indices = aten_operands(node, "indices");
  if (indices.size() != 1 || indices[0] < 0 || graph.value(indices[0]).dtype != DType::boolean)
    return none_id;
  return indices[0];
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
    if (graph_.is_output(node.outputs[0]))
      return refuse("the selected rows are an output, whose number depends on the data");
    b_.remove(id), nodes.push_back(id);
    rows_[node.outputs[0]] = now(x);
    return true;
  }

  /// The number of each marked element among the marked ones; 0 in front of the first.
  ValueId positions() {
    if (positions_ != none_id) return positions_;
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

  /// An elementwise operator on marked rows, done on all rows.
  bool on_rows(NodeId id, const Node& node) {
    if (aten_is_check(node.op) || aten_base(node.op) == "aten.sym_size")
      return true;  // leaves with the checks, or is refused below
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

  /// h[mask] = rows: where(mask, rows, h)
  bool put(NodeId id, const Node& node) {
    const ValueId self = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
    const ValueId values =
        aten_operand(node, "values") >= 0 ? aten_operand(node, "values") : node.inputs.back();
    const Value& target = graph_.value(self);
    const int row_rank = target.rank() - static_cast<int>(mask_shape_.size());
    if (row_rank < 0 || !element_count(target.shape))
      return refuse("the mask has more dimensions than the tensor");
    ValueId rows = spread(values, row_rank);
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

std::vector<DetectResult> boolean_rows(const DetectContext& context, const std::string& message) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  std::set<ValueId> masks;
  for (const NodeId id : graph.order) {
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
    result.message = message;
    result.reason = rewriter.reason;
    if (done)
      result.fixes.push_back({rewriter.finish(leaving), Exactness::exact, false, ""});
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

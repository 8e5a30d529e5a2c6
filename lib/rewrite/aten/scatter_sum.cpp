#include "lib/rewrite/aten/scatter_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/known_bounds.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// More compared elements than this cost more than the scatter (512 MB of int64).
constexpr std::int64_t most_compared = std::int64_t{1} << 26;
constexpr int largest_rank = 7;  ///< the comparison adds an axis, and eight are the most that backends take

/// What a scatter makes of an element and its sources: sum, prod, amax, amin; empty: none of these on
/// integers.
std::string reduction_of(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  const ValueId self = aten_operand(node, "self");
  if (self < 0 || !is_integer(graph.value(self).dtype)) return {};
  if (base == "aten.scatter_add") return "sum";
  if (base != "aten.scatter_reduce") return {};
  const std::string reduce(node.attrs.text("reduce"));
  return reduce == "sum" || reduce == "prod" || reduce == "amax" || reduce == "amin" ? reduce : std::string();
}

/// What changes nothing in a product, a maximum or a minimum of this type.
std::int64_t neutral(const std::string& reduction, DType type) {
  if (reduction == "prod") return 1;
  if (reduction == "sum" || (reduction == "amax" && type == DType::u8)) return 0;
  const int bits = type == DType::u8 ? 8 : bit_width(type) - 1;
  const std::int64_t largest =
      bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  return reduction == "amin" ? largest : -largest - 1;
}

/// Readers of a tensor that was written in place, behind the write, read the result.
void follow_write(AtenBuilder& b, const Graph& graph, NodeId id, ValueId written, ValueId result) {
  std::vector<int> place(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.order.size(); ++i)
    place[static_cast<std::size_t>(graph.order[i])] = static_cast<int>(i);
  for (const Use& use : graph.uses(written))
    if (place[static_cast<std::size_t>(use.node)] > place[static_cast<std::size_t>(id)])
      b.rewire(use.node, use.operand, result);
}

/// The largest number of elements: dimensions that are not known before run time count with the upper end of
/// the range that the program was exported with. nullopt: no end.
std::optional<std::int64_t> most_elements(const Model& model, const Value& value) {
  constexpr std::int64_t endless = std::int64_t{1} << 31;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < value.shape.size(); ++d) {
    std::int64_t size = value.shape[d];
    if (size < 0) {
      const std::string key = "range " + (d < value.dim_names.size() ? value.dim_names[d] : std::string());
      const auto range = std::find_if(model.metadata.begin(), model.metadata.end(),
                                      [&](const auto& entry) { return entry.first == key; });
      const std::size_t dots = range == model.metadata.end() ? std::string::npos : range->second.find("..");
      size =
          dots == std::string::npos ? endless : std::strtoll(range->second.c_str() + dots + 2, nullptr, 10);
      if (size <= 0 || size >= endless) return std::nullopt;
    }
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

std::string reason_to_keep(const Model& model, const Graph& graph, const Node& node, ValueId self,
                           ValueId index, ValueId src) {
  if (index < 0 || src < 0) return "the source is a number";
  const Value &s = graph.value(self), &i = graph.value(index), &v = graph.value(src);
  if (s.rank() > largest_rank)
    return fmt::format("it has {} dimensions, and the comparison needs one more", s.rank());
  const auto dim = aten_dim(node, "dim", s.rank(), 0);
  if (!dim || s.rank() != i.rank() || s.rank() != v.rank() || s.rank() == 0)
    return "its operands do not fit each other";
  const std::int64_t size = s.shape[static_cast<std::size_t>(*dim)];
  const auto count = most_elements(model, i);
  if (size < 0 || !count) return "its sizes are not known before run time, and have no upper end";
  for (int d = 0; d < s.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const auto fits = [&](const Value& larger) {
      return i.shape[at] < 0 || larger.shape[at] < 0 ? i.shape[at] == larger.shape[at]
                                                     : i.shape[at] <= larger.shape[at];
    };
    if ((d != *dim && !fits(s)) || !fits(v)) return "its operands do not fit each other";
  }
  if (size > 0 && *count > most_compared / size)
    return fmt::format("{} indices compared with {} positions are more than 2^26 elements", *count, size);
  if (aten_in_place(node.op)) {
    const NodeId maker = graph.producer(self);
    if (maker == none_id || aten_view(graph.node(maker).op))
      return "it writes into an input, a constant or a view in place";
  }
  return {};
}

ValueId reduced(AtenBuilder& b, const std::string& op, ValueId x, int dim, DType dtype) {
  Attributes attrs;
  if (op == "aten.amax.default" || op == "aten.amin.default")
    attrs.set("dim", std::vector<std::int64_t>{dim});
  else
    attrs.set("dim", std::int64_t{dim});
  if (op == "aten.prod.dim_int") attrs.set("dtype", aten_scalar_type(dtype));
  Shape shape = b.shape(x);
  shape.erase(shape.begin() + dim);
  return b.make(op, {{"self", x}}, std::move(attrs), dtype, std::move(shape));
}

/// What the indices do not reach of the other axes, filled with `value`.
ValueId widened(AtenBuilder& b, ValueId x, const Shape& shape, std::int64_t value) {
  if (b.shape(x) == shape) return x;
  std::vector<std::int64_t> pairs;
  for (std::size_t d = shape.size(); d-- > 0;) pairs.push_back(0), pairs.push_back(shape[d] - b.shape(x)[d]);
  Attributes attrs;
  attrs.set("pad", pairs), attrs.set("value", value);
  return b.make("aten.constant_pad_nd.default", {{"self", x}}, std::move(attrs), b.dtype(x), shape);
}

Patch as_sum(const DetectContext& context, NodeId id, const std::string& reduction, ValueId self,
             ValueId index, ValueId src) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  const Value& s = graph.value(self);
  AtenBuilder b(graph, context.graph_index, "compare the indices and sum");
  b.remove(id);
  const int dim = *aten_dim(node, "dim", s.rank(), 0);
  const std::int64_t size = s.shape[static_cast<std::size_t>(dim)];
  for (int d = 0; d < s.rank(); ++d)
    if (const std::int64_t wanted = graph.value(index).shape[static_cast<std::size_t>(d)];
        b.shape(src)[static_cast<std::size_t>(d)] > wanted)
      src = b.slice(src, d, 0, wanted);
  Shape positions(static_cast<std::size_t>(s.rank()) + 1, 1);
  positions[static_cast<std::size_t>(dim)] = size;
  const ValueId range = b.reshape(b.arange(size, graph.value(index).dtype), positions);
  const ValueId hits = b.binary("aten.eq.Tensor", b.unsqueeze(index, dim), range);
  const ValueId sources = b.unsqueeze(src, dim);
  ValueId total = none_id;
  if (reduction == "sum") {
    total = b.sum(b.binary("aten.mul.Tensor", hits, sources), dim + 1, s.dtype);
  } else {
    Attributes attrs;
    attrs.set("other", neutral(reduction, s.dtype));
    const ValueId picked = b.make("aten.where.ScalarOther", {{"condition", hits}, {"self", sources}},
                                  std::move(attrs), s.dtype, b.shape(hits));
    total = reduced(b, reduction == "prod" ? "aten.prod.dim_int" : "aten." + reduction + ".default", picked,
                    dim + 1, s.dtype);
  }
  ValueId any = node.attrs.flag("include_self", true)
                    ? none_id
                    : reduced(b, "aten.any.dim", hits, dim + 1, DType::boolean);
  total = widened(b, total, s.shape, neutral(reduction, s.dtype));
  if (any != none_id) any = widened(b, any, s.shape, 0);
  b.result_into(any == none_id ? node.outputs[0] : none_id);
  if (any != none_id)
    b.write("aten.where.self", {{"condition", any}, {"self", total}, {"other", self}}, {}, node.outputs[0]);
  else if (reduction == "sum")
    b.binary("aten.add.Tensor", self, total);
  else
    b.binary(reduction == "prod"   ? "aten.mul.Tensor"
             : reduction == "amax" ? "aten.maximum.default"
                                   : "aten.minimum.default",
             self, total);
  if (aten_in_place(node.op)) follow_write(b, graph, id, self, node.outputs[0]);
  return b.take();
}

/// True when the graph shows that no index is out of range: the scatter would stop there, the sum does not.
bool in_bounds(const Graph& graph, const Node& node, ValueId self, ValueId index) {
  const Value& s = graph.value(self);
  const auto range = aten_range(graph, index);
  const auto dim = aten_dim(node, "dim", s.rank(), 0);
  return range && dim && s.rank() > 0 && range->low >= 0 &&
         range->high < static_cast<double>(s.shape[static_cast<std::size_t>(*dim)]);
}

}  // namespace

std::vector<DetectResult> integer_scatter(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  const std::vector<std::string> scatters = {"aten.scatter_add.*", "aten.scatter_reduce.*"};
  for (const NodeId id : context.operators->find(scatters)) {
    const Node& node = graph.node(id);
    const std::string reduction = reduction_of(graph, node);
    if (reduction.empty()) continue;
    const ValueId self = aten_operand(node, "self"), index = aten_operand(node, "index"),
                  src = aten_operand(node, "src");
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs.empty() ? none_id : node.outputs[0];
    result.reason = reason_to_keep(context.model, graph, node, self, index, src);
    if (!result.reason.empty())
      result.state = DetectResult::State::declined;
    else
      result.fixes.emplace_back(as_sum(context, id, reduction, self, index, src)).assumes =
          !in_bounds(graph, node, self, index);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool from_constant(const Graph& graph, ValueId id) { return id >= 0 && graph.value(id).is_constant(); }

std::int64_t product_of(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t d : shape)
    if (d < 0)
      return dynamic_dim;
    else
      product *= d;
  return product;
}

std::size_t dynamic_dims(const Shape& shape) {
  return static_cast<std::size_t>(
      std::count_if(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; }));
}

ValueId expanded(AtenBuilder& b, ValueId x, const Shape& shape) {
  if (b.shape(x) == shape) return x;
  Attributes attrs;
  attrs.set("size", shape);
  return b.make("aten.expand.default", {{"self", x}}, std::move(attrs), b.dtype(x), shape);
}

/// Rows times one matrix; the result is written to `out` in its own shape.
void rows_times_matrix(AtenBuilder& b, ValueId x, ValueId matrix, ValueId out) {
  const Shape a = b.shape(x), result = b.shape(out);
  const std::int64_t k = b.shape(matrix)[0], n = b.shape(matrix)[1];
  const std::int64_t rows = product_of(Shape(a.begin(), a.end() - 1));
  const ValueId flat = a.size() == 2 ? x : b.reshape(x, {rows, k});
  if (a.size() == 2 && result.size() == 2)
    return b.write("aten.mm.default", {{"self", flat}, {"mat2", matrix}}, {}, out);
  const ValueId product =
      b.make("aten.mm.default", {{"self", flat}, {"mat2", matrix}}, {}, b.dtype(out), {rows, n});
  b.result_into(out);
  b.reshape(product, result);
}

/// One matrix, or a vector, times each of many: the transposed product has them as rows.
void matrix_times_many(AtenBuilder& b, ValueId x, ValueId y, ValueId out) {
  const Shape a = b.shape(x);
  const int last = b.rank(y) - 1;
  const ValueId left = a.size() == 1 ? b.reshape(x, {1, a[0]}) : x;
  const ValueId columns = b.transpose(y, last - 1, last);
  Shape turned = b.shape(columns);
  turned.back() = b.shape(left)[0];
  const std::int64_t rows = product_of(Shape(turned.begin(), turned.end() - 1));
  const ValueId product = b.make(
      "aten.mm.default", {{"self", b.reshape(columns, {rows, a.back()})}, {"mat2", b.transpose(left, 0, 1)}},
      {}, b.dtype(out), {rows, turned.back()});
  const ValueId shaped = b.reshape(product, turned);
  if (a.size() == 2) b.result_into(out);
  const ValueId straight = b.transpose(shaped, last - 1, last);
  if (a.size() == 1) b.result_into(out), b.reshape(straight, b.shape(out));
}

/// Many matrices times many, by bmm. Empty: done; else why it is kept.
std::string many_times_many(AtenBuilder& b, ValueId x, ValueId y, ValueId out) {
  const Shape result = b.shape(out);
  Shape batch(result.begin(), result.end() - 2);
  const std::int64_t count = product_of(batch);
  const auto stacked = [&](ValueId v) {
    const Shape own = b.shape(v);
    Shape full = batch;
    full.push_back(own[own.size() - 2]), full.push_back(own.back());
    const ValueId wide = expanded(b, v, full);
    return full.size() == 3 ? wide : b.reshape(wide, {count, full[full.size() - 2], full.back()});
  };
  if (dynamic_dims(batch) > 0 &&
      (b.shape(x) != b.shape(out) &&
       dynamic_dims(b.shape(x)) + dynamic_dims(b.shape(y)) < 2 * dynamic_dims(batch)))
    return "its batches are broadcast to a size that is not known before run time";
  const ValueId p = stacked(x), q = stacked(y);
  if (batch.size() == 1) return b.write("aten.bmm.default", {{"self", p}, {"mat2", q}}, {}, out), "";
  const ValueId product = b.make("aten.bmm.default", {{"self", p}, {"mat2", q}}, {}, b.dtype(out),
                                 {count, result[result.size() - 2], result.back()});
  b.result_into(out);
  b.reshape(product, result);
  return "";
}

/// The product by mm or bmm. Empty: done; else why it is kept.
std::string rewrite(AtenBuilder& b, NodeId id, ValueId x, ValueId y, ValueId out) {
  Shape a = b.shape(x), c = b.shape(y);
  const Shape result = b.shape(out);
  b.remove(id);
  if (a.empty() || c.empty()) return "an operand of rank 0";
  const std::size_t matrices = (a.size() > 1 ? 1 : 0) + (c.size() > 1 ? 1 : 0);
  const std::size_t batches = std::max({a.size(), c.size(), std::size_t{2}}) - 2;
  if (result.size() != batches + matrices) return "its declared shape is not that of the product";
  if (dynamic_dims(result) > 1) return "several of its sizes are not known before run time";
  if (a.back() < 0 || (c.size() == 1 ? c[0] : c[c.size() - 2]) < 0)
    return "the summed size is not known before run time";
  if (a.size() == 1 && c.size() == 1) {  // a dot product
    const ValueId product =
        b.make("aten.mm.default", {{"self", b.reshape(x, {1, a[0]})}, {"mat2", b.reshape(y, {c[0], 1})}}, {},
               b.dtype(out), {1, 1});
    b.result_into(out);
    return b.reshape(product, result), "";
  }
  if (c.size() == 1) return rows_times_matrix(b, x, b.reshape(y, {c[0], 1}), out), "";
  if (c.size() == 2 && a.size() > 1) return rows_times_matrix(b, x, y, out), "";
  if (c.size() == 2) {  // a vector times a matrix
    const ValueId product = b.make("aten.mm.default", {{"self", b.reshape(x, {1, a[0]})}, {"mat2", y}}, {},
                                   b.dtype(out), {1, c[1]});
    b.result_into(out);
    return b.reshape(product, result), "";
  }
  if (c.back() < 0) return "several of its sizes are not known before run time";
  if (a.size() <= 2) return matrix_times_many(b, x, y, out), "";
  return many_times_many(b, x, y, out);
}

}  // namespace

std::vector<DetectResult> ETX020(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "aten.matmul.default" || node.outputs.size() != 1) continue;
    const ValueId x = aten_operand(node, "self"), y = aten_operand(node, "other");
    if (x < 0 || y < 0 || (!from_constant(graph, x) && !from_constant(graph, y))) continue;
    DetectResult result;
    result.nodes = {id};
    result.message = "matmul with a constant operand";
    AtenBuilder b(graph, context.graph_index, "mm or bmm instead of matmul");
    result.reason = rewrite(b, id, x, y, node.outputs[0]);
    if (result.reason.empty())
      result.fixes.emplace_back(b.take());
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

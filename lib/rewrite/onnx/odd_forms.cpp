// Attributes that importers want said, forms that they refuse.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/op/constants.h"
#include "lib/rewrite/onnx/structure.h"

namespace md::onnx {

std::vector<DetectResult> unsaid_kernel_shapes(const DetectContext& context) {
  const Graph& graph = context.graph;
  PatchBuilder patch(graph, context.graph_index, "kernel_shape, as the weights have it");
  DetectResult result;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if ((node.op != "Conv" && node.op != "ConvTranspose") || !default_domain(node) ||
        node.inputs.size() < 2 || node.attrs.find("kernel_shape"))
      continue;
    const Shape& weight = graph.value(node.inputs[1]).shape;
    if (weight.size() < 3 || std::any_of(weight.begin(), weight.end(), [](std::int64_t d) { return d < 1; }))
      continue;
    NodeChange change;
    change.node = id;
    change.set_attrs.set("kernel_shape", std::vector<std::int64_t>(weight.begin() + 2, weight.end()));
    patch.change(std::move(change));
    result.nodes.push_back(id);
  }
  if (result.nodes.empty()) return {};
  const Node& first = graph.node(result.nodes.front());
  result.value = first.outputs.empty() ? none_id : first.outputs[0];
  result.message = fmt::format("\"{}\" ({}) does not say its kernel_shape: it is that of the weights",
                               first.name, first.op);
  result.fixes.emplace_back(patch.take());
  return {std::move(result)};
}

namespace {

/// The region of interest is everything.
bool is_whole(const std::vector<double>& roi) {
  const std::size_t half = roi.size() / 2;
  for (std::size_t i = 0; i < roi.size(); ++i)
    if (roi[i] != (i < half ? 0 : 1)) return false;
  return !roi.empty();
}

}  // namespace

std::vector<DetectResult> odd_resizes(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "Resize" || !default_domain(node) || node.inputs.size() < 3 ||
        working_set(context.model) < 11)
      continue;
    const auto empty = [&](std::size_t i) {
      const ValueId v = operand(node, i);
      return v < 0 || element_count(graph.value(v).shape) == std::optional<std::int64_t>(0);
    };
    PatchBuilder patch(graph, context.graph_index, "");
    OnnxBuilder b(patch, working_set(context.model));
    Node copy = node;
    copy.origin = none_id;
    DetectResult result = site_of(id, node.outputs[0], "");
    const auto roi = empty(1) ? std::nullopt : constant_numbers(graph, node.inputs[1]);
    const auto no_roi = [&] { return b.set() >= 13 ? none_id : b.constant("roi", DType::f32, {0}, {}); };
    if (node.attrs.text("coordinate_transformation_mode") == "tf_crop_and_resize") {
      result.message = fmt::format("\"{}\" (Resize) crops and resizes at once", node.name);
      patch.patch().title = "align_corners, which is the crop of everything";
      if (!roi || !is_whole(*roi)) {
        results.push_back(declined(id, std::move(result.message),
                                   "it crops a part, or one that is computed: slice it first"));
        continue;
      }
      copy.attrs.set("coordinate_transformation_mode", std::string("align_corners"));
      copy.attrs.erase("extrapolation_value");
      copy.inputs[1] = no_roi();
    } else if (!empty(2) && !empty(3)) {
      result.message = fmt::format("\"{}\" (Resize) gives sizes and scales", node.name);
      patch.patch().title = "sizes alone";
      copy.inputs[2] = b.set() >= 13 ? none_id : b.constant("scales", DType::f32, {0}, {});
    } else {
      continue;
    }
    patch.add_node(std::move(copy));
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<DetectResult> constant_masks(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "Where" || !default_domain(node) || node.inputs.size() != 3 ||
        !is_float(graph.value(node.outputs[0]).dtype))
      continue;
    const auto mask = constant_numbers(graph, node.inputs[0]);
    if (!mask) continue;
    const DType dtype = graph.value(node.outputs[0]).dtype;
    const Shape& shape = graph.value(node.inputs[0]).shape;
    PatchBuilder patch(graph, context.graph_index, "products with a mask of 0 and 1");
    OnnxBuilder b(patch, working_set(context.model));
    std::vector<double> kept, other;
    for (const double m : *mask) kept.push_back(m != 0 ? 1 : 0), other.push_back(m != 0 ? 0 : 1);
    bool finite = true;
    for (const std::size_t i : {1, 2})
      if (const auto numbers = constant_numbers(graph, node.inputs[i]))
        finite = finite &&
                 std::all_of(numbers->begin(), numbers->end(), [](double v) { return std::isfinite(v); });
    DetectResult result = site_of(
        id, node.outputs[0], fmt::format("\"{}\" (Where) chooses by a constant mask of booleans", node.name));
    if (!finite) {
      results.push_back(declined(id, std::move(result.message),
                                 "an infinite number times 0 is no number: make it finite (-1e4) first"));
      continue;
    }
    const ValueId a = b.binary("Mul", node.inputs[1], b.constant("mask", dtype, shape, kept));
    const ValueId c = b.binary("Mul", node.inputs[2], b.constant("other", dtype, shape, other));
    b.binary("Add", a, c, node.outputs[0]);
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md::onnx

#include "lib/rewrite/norm_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lib/format/tflite/queries.h"

namespace md {
namespace {

/// Back through operators that change the shape alone.
ValueId through_reshapes(const Graph& graph, ValueId id) {
  for (int depth = 0; depth < 8; ++depth) {
    const Node* node = producer_of(graph, id);
    if (!node || (node->op != "RESHAPE" && node->op != "BROADCAST_TO" && node->op != "TILE" &&
                  node->op != "SQUEEZE" && node->op != "EXPAND_DIMS"))
      break;
    id = node->inputs[0];
  }
  return id;
}

/// The runtime operand of a binary node whose other operand is a one-element constant, and that constant.
struct Scaled {
  ValueId value = none_id;
  double constant = 0;
};
Scaled with_constant(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return {};
  for (std::size_t i = 0; i < 2; ++i)
    if (const auto number = scalar_value(graph, node.inputs[i])) return {node.inputs[1 - i], *number};
  return {};
}

struct Reduced {
  NodeId reduction = none_id;
  bool averages = true;
  double factor = 1;  ///< what the mean is multiplied with
};

/// MEAN of something, perhaps times a factor near 1, SUM of it times a factor near 1/N, or its bare SUM.
Reduced reduction_behind(const Graph& graph, ValueId id) {
  id = through_reshapes(graph, id);
  const Node* node = producer_of(graph, id);
  double factor = 0;
  if (node && (node->op == "MUL" || node->op == "DIV")) {
    const Scaled scaled = with_constant(graph, *node);
    if (scaled.value == none_id || scaled.constant == 0 ||
        (node->op == "DIV" && scaled.value != node->inputs[0]))
      return {};
    factor = node->op == "MUL" ? scaled.constant : 1 / scaled.constant;
    id = through_reshapes(graph, scaled.value);
    node = producer_of(graph, id);
  }
  if (!node || (node->op != "MEAN" && node->op != "SUM")) return {};
  const auto axes = reduction_axes(graph, *node);
  if (!axes || axes->empty()) return {};
  if (factor != 0) {
    double count = 1;
    for (const std::int64_t axis : *axes)
      count *= static_cast<double>(graph.value(node->inputs[0]).shape[static_cast<std::size_t>(axis)]);
    const double ratio = node->op == "SUM" ? factor * count : factor;
    if (!(ratio > 0.5 && ratio <= 2)) return {};
    return {graph.producer(id), true, std::abs(ratio - 1) > 1e-4 ? ratio : 1};
  }
  return {graph.producer(id), node->op == "MEAN"};
}

bool is_mean_of(const Graph& graph, ValueId mean, ValueId x) {
  const Reduced reduced = reduction_behind(graph, mean);
  return reduced.reduction != none_id && reduced.averages && reduced.factor == 1 &&
         through_reshapes(graph, graph.node(reduced.reduction).inputs[0]) == through_reshapes(graph, x);
}

/// Division by the largest magnitude, or a factor well below 1: the squares are in range already.
bool is_scaled_down(const Graph& graph, ValueId id) {
  const Node* node = producer_of(graph, id);
  if (!node) return false;
  if (node->op == "MUL") {
    const Scaled scaled = with_constant(graph, *node);
    return scaled.value != none_id && std::abs(scaled.constant) <= 1.0 / 16;
  }
  if (node->op != "DIV" || node->inputs.size() != 2) return false;
  ValueId divisor = node->inputs[1];
  for (int depth = 0; depth < 6; ++depth) {
    divisor = through_reshapes(graph, divisor);
    const Node* from = producer_of(graph, divisor);
    if (!from) return false;
    if (from->op == "REDUCE_MAX") return true;
    if (from->op != "MAXIMUM" && from->op != "ADD") return false;
    const Scaled scaled = with_constant(graph, *from);
    if (scaled.value == none_id) return false;
    divisor = scaled.value;
  }
  return false;
}

/// Fills in what the squared value is; false when `square` squares nothing that can be rescaled.
bool read_square(const Graph& graph, NodeId square, NormSite& site) {
  if (square == none_id) return false;
  const Node& node = graph.node(square);
  site.square = square;
  ValueId source = none_id;
  if (node.op == "SQUARE") source = node.inputs[0];
  if (node.op == "MUL" && node.inputs.size() == 2 && node.inputs[0] == node.inputs[1])
    source = node.inputs[0];
  if (node.op == "POW" && node.inputs.size() == 2 && scalar_value(graph, node.inputs[1]) == 2.0)
    source = node.inputs[0];
  if (node.op == "SQUARED_DIFFERENCE" && node.inputs.size() == 2) {
    const bool second = is_mean_of(graph, node.inputs[1], node.inputs[0]);
    if (!second && !is_mean_of(graph, node.inputs[0], node.inputs[1])) return false;
    site.x = node.inputs[second ? 0 : 1];
    site.mean = node.inputs[second ? 1 : 0];
    site.kind = NormSite::Kind::centred;
    return true;
  }
  if (source == none_id || fused_activation(node) != "NONE") return false;
  if (const Node* from = producer_of(graph, source); from && from->op == "ABS") source = from->inputs[0];
  site.source = source;
  const Node* from = producer_of(graph, source);
  if (from && from->op == "SUB" && from->inputs.size() == 2 &&
      is_mean_of(graph, from->inputs[1], from->inputs[0])) {
    site.kind = NormSite::Kind::centred;
    site.x = from->inputs[0];
    site.mean = from->inputs[1];
  }
  return !is_scaled_down(graph, source);
}

/// One operand, one-element constant: v + eps or max(v, eps), read by it alone.
const Node* guard_after(const Graph& graph, ValueId& value) {
  ValueId out = value;
  NodeId reader = only_reader(graph, out);
  if (reader == none_id || graph.is_output(out)) return nullptr;
  const Node& node = graph.node(reader);
  if ((node.op != "ADD" && node.op != "MAXIMUM") || with_constant(graph, node).value != out) return nullptr;
  value = node.outputs[0];
  return &node;
}

bool read_site(const Graph& graph, NodeId root, NormSite& site) {
  const Node& node = graph.node(root);
  site.root = root;
  site.reciprocal = node.op == "RSQRT";
  site.scale = node.outputs[0];
  ValueId inside = through_reshapes(graph, node.inputs[0]);
  site.guard = NormSite::Guard::none;
  if (const Node* add = producer_of(graph, inside); add && (add->op == "ADD" || add->op == "MAXIMUM")) {
    const Scaled scaled = with_constant(graph, *add);
    if (scaled.value == none_id || add->op == "MAXIMUM" || scaled.constant < 0) return false;
    site.guard = NormSite::Guard::inside;
    site.epsilon = scaled.constant;
    inside = scaled.value;
  } else if (!site.reciprocal) {
    if (const Node* after = guard_after(graph, site.scale)) {
      site.guard = after->op == "ADD" ? NormSite::Guard::added : NormSite::Guard::floor;
      site.epsilon = with_constant(graph, *after).constant;
    }
  }
  const Reduced reduced = reduction_behind(graph, inside);
  if (reduced.reduction == none_id) return false;
  const Node& reduction = graph.node(reduced.reduction);
  site.averages = reduced.averages;
  site.factor = reduced.factor;
  const auto axes = reduction_axes(graph, reduction);
  if (!axes) return false;
  site.axes = *axes;
  if (!read_square(graph, graph.producer(reduction.inputs[0]), site)) return false;
  if (site.kind == NormSite::Kind::rms && !site.averages) site.kind = NormSite::Kind::l2;
  if (site.kind == NormSite::Kind::centred) {
    const Node& mean = graph.node(reduction_behind(graph, site.mean).reduction);
    site.mean_over_axes = mean.inputs[0] == site.x && reduction_axes(graph, mean) == site.axes;
  }
  const Value& squared = graph.value(reduction.inputs[0]);
  const bool from_x = site.mean_over_axes || site.source == none_id;  // what is divided has the axes too
  if (graph.value(from_x ? site.x : site.source).rank() != squared.rank()) return false;
  return is_static(squared) && squared.rank() <= 4 &&
         (squared.dtype == DType::f32 || squared.dtype == DType::f16);
}

}  // namespace

const char* NormSite::name() const {
  switch (kind) {
    case Kind::rms:
      return "RMSNorm";
    case Kind::l2:
      return "L2 normalization";
    case Kind::centred:
      return "LayerNorm, InstanceNorm or GroupNorm";
  }
  return "";
}

std::optional<NormSite> norm_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  NormSite site;
  if ((node.op != "RSQRT" && node.op != "SQRT") || node.inputs.empty() || !read_site(graph, id, site))
    return std::nullopt;
  return site;
}

bool grows_with_inputs(const Graph& graph, ValueId value) {
  static constexpr std::array<std::string_view, 22> linear = {"RESHAPE",
                                                              "TRANSPOSE",
                                                              "SLICE",
                                                              "STRIDED_SLICE",
                                                              "CONCATENATION",
                                                              "PAD",
                                                              "SPLIT",
                                                              "PACK",
                                                              "UNPACK",
                                                              "GATHER",
                                                              "TILE",
                                                              "FULLY_CONNECTED",
                                                              "CONV_2D",
                                                              "DEPTHWISE_CONV_2D",
                                                              "TRANSPOSE_CONV",
                                                              "ADD",
                                                              "SUB",
                                                              "MUL",
                                                              "RELU",
                                                              "NEG",
                                                              "DEQUANTIZE",
                                                              "SQUEEZE"};
  std::vector<ValueId> todo = {value};
  std::set<ValueId> seen;
  bool reaches_input = false;
  while (!todo.empty()) {
    const ValueId id = todo.back();
    todo.pop_back();
    if (id < 0 || !seen.insert(id).second || is_constant_operand(graph, id)) continue;
    const Node* node = producer_of(graph, id);
    if (!node) {
      reaches_input = reaches_input || graph.is_input(id);
      continue;
    }
    if (std::find(linear.begin(), linear.end(), node->op) == linear.end()) return false;
    for (const ValueId operand : node->inputs) todo.push_back(operand);
  }
  return reaches_input;
}

}  // namespace md

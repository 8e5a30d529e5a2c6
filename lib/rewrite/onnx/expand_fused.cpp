// What ONNX Runtime's optimizer fused, apart again; operators of ai.onnx.ml as arithmetic.
#include <algorithm>

#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

using Numbers = OnnxBuilder::Numbers;

/// The activation that a fused operator ends with.
bool activate(OnnxBuilder& b, ValueId x, const Node& node, ValueId into, std::string& reason) {
  const std::string_view activation = node.attrs.text("activation");
  const AttrValue* list = node.attrs.find("activation_params");
  const auto* given = list ? std::get_if<std::vector<double>>(list) : nullptr;
  const std::vector<double> parameters = given ? *given : std::vector<double>();
  const auto parameter = [&](std::size_t i, double otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  Attributes attrs;
  if (activation.empty()) {
    b.identity(x, into);
  } else if (activation == "Clip") {
    b.clip(x, parameter(0, -3.4e38), parameter(1, 3.4e38), into);
  } else if (activation == "LeakyRelu") {
    attrs.set("alpha", parameter(0, 0.01));
    b.add("LeakyRelu", {x}, std::move(attrs), into);
  } else if (activation == "HardSigmoid") {
    attrs.set("alpha", parameter(0, 0.2));
    attrs.set("beta", parameter(1, 0.5));
    b.add("HardSigmoid", {x}, std::move(attrs), into);
  } else if (activation == "Relu" || activation == "Sigmoid" || activation == "Tanh") {
    b.unary(std::string(activation), x, into);
  } else {
    reason = "its activation " + std::string(activation) + " is not known here";
    return false;
  }
  return true;
}

Attributes without(const Attributes& attrs, std::initializer_list<std::string_view> names) {
  Attributes rest = attrs;
  for (const std::string_view name : names) rest.erase(name);
  return rest;
}

bool fused_conv(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  std::vector<ValueId> operands(
      node.inputs.begin(),
      node.inputs.begin() + std::min<std::ptrdiff_t>(3, static_cast<std::ptrdiff_t>(node.inputs.size())));
  const ValueId product =
      b.add("Conv", std::move(operands), without(node.attrs, {"activation", "activation_params"}));
  // the fourth operand is added before the activation
  const ValueId sum = operand(node, 3) < 0 ? product : b.binary("Add", product, operand(node, 3));
  return activate(b, sum, node, node.outputs[0], reason);
}

bool fused_gemm(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  Attributes attrs = without(node.attrs, {"activation", "activation_params", "activation_alpha",
                                          "activation_beta", "activation_gamma"});
  Node with = node;
  std::vector<double> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta"})
    if (node.attrs.find(name)) parameters.push_back(node.attrs.number(name));
  with.attrs.set("activation_params", parameters);
  return activate(b, b.add("Gemm", node.inputs, std::move(attrs)), with, node.outputs[0], reason);
}

ValueId swapped(OnnxBuilder& b, ValueId x) {
  const int rank = static_cast<int>(b.shape(x).size());
  Numbers order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  if (rank > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(x, order);
}

bool fused_matmul(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  if (node.attrs.integer("transBatchA", 0) != 0 || node.attrs.integer("transBatchB", 0) != 0) {
    reason = "transposed batch axes have no formula here";
    return false;
  }
  const ValueId left = node.attrs.integer("transA", 0) != 0 ? swapped(b, node.inputs[0]) : node.inputs[0];
  const ValueId right = node.attrs.integer("transB", 0) != 0 ? swapped(b, node.inputs[1]) : node.inputs[1];
  const double alpha = node.attrs.number("alpha", 1);
  const ValueId product = b.matmul(left, right, alpha == 1 ? node.outputs[0] : none_id);
  if (alpha != 1) b.binary("Mul", product, b.number(b.dtype(product), alpha), node.outputs[0]);
  return true;
}

bool bias_softmax(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const int rank = graph.value(node.inputs[0]).rank();
  const std::int64_t axis = node.attrs.integer("axis", 1);
  if (axis != -1 && axis != rank - 1) {
    reason = "it normalizes several axes at once";
    return false;
  }
  b.softmax(b.binary("Add", node.inputs[0], node.inputs[1]), -1, node.outputs[0]);
  return true;
}

bool expand_dims(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const auto axis = integers_of(graph, node, "axis", 1);
  if (!axis || axis->size() != 1) {
    reason = "its axis is computed";
    return false;
  }
  b.unsqueeze(node.inputs[0], *axis, node.outputs[0]);
  return true;
}

bool array_feature_extractor(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  const auto count = element_count(graph.value(node.inputs[1]).shape);
  const ValueId list = b.reshape(node.inputs[1], {count ? *count : -1});
  if (graph.value(node.inputs[0]).rank() == 1) {
    b.unsqueeze(b.gather(node.inputs[0], list, 0), {0}, node.outputs[0]);
    return true;
  }
  b.gather(node.inputs[0], list, -1, node.outputs[0]);
  return true;
}

/// A list of numbers as a constant that broadcasts along the last axis.
ValueId row(OnnxBuilder& b, DType dtype, const Attributes& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  const auto* list = value ? std::get_if<std::vector<double>>(value) : nullptr;
  if (!list || list->empty()) return none_id;
  return b.constant(std::string(name), dtype, {static_cast<std::int64_t>(list->size())}, *list);
}

bool scaler(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  ValueId x = node.inputs[0];
  if (b.dtype(x) != DType::f32) x = b.cast(x, DType::f32);
  if (const ValueId offset = row(b, DType::f32, node.attrs, "offset"); offset != none_id)
    x = b.binary("Sub", x, offset);
  if (const ValueId scale = row(b, DType::f32, node.attrs, "scale"); scale != none_id)
    x = b.binary("Mul", x, scale);
  b.identity(x, node.outputs[0]);
  return true;
}

bool linear_regressor(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const std::int64_t targets = node.attrs.integer("targets", 1);
  const AttrValue* value = node.attrs.find("coefficients");
  const auto* list = value ? std::get_if<std::vector<double>>(value) : nullptr;
  const std::string_view post = node.attrs.text("post_transform", "NONE");
  if (!list || targets < 1 || list->size() % static_cast<std::size_t>(targets) != 0 || post != "NONE" ||
      graph.value(node.inputs[0]).rank() != 2) {
    reason = "its form is not a plain linear one";
    return false;
  }
  const std::int64_t features = static_cast<std::int64_t>(list->size()) / targets;
  const ValueId weights = b.constant("coefficients", DType::f32, {targets, features}, *list);
  ValueId x = node.inputs[0];
  if (b.dtype(x) != DType::f32) x = b.cast(x, DType::f32);
  x = b.matmul(x, b.transpose(weights, {1, 0}));
  if (const ValueId shift = row(b, DType::f32, node.attrs, "intercepts"); shift != none_id)
    x = b.binary("Add", x, shift);
  b.identity(x, node.outputs[0]);
  return true;
}

constexpr NamedFormula table[] = {
    {"FusedConv", fused_conv},
    {"FusedGemm", fused_gemm},
    {"FusedMatMul", fused_matmul},
    {"TransposeMatMul", fused_matmul},
    {"BiasSoftmax", bias_softmax},
    {"ExpandDims", expand_dims},
    {"ArrayFeatureExtractor", array_feature_extractor},
    {"Scaler", scaler},
    {"LinearRegressor", linear_regressor},
};

}  // namespace

std::span<const NamedFormula> fused_formulas() { return table; }

}  // namespace md::onnx

// Activations as arithmetic.
#include <cmath>

#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

/// Numbers of the operand's own type.
struct Terms {
  OnnxBuilder& b;
  ValueId x;
  ValueId number(double v) const { return b.number(b.dtype(x), v); }
  ValueId add(ValueId a, double v, ValueId into = none_id) const {
    return b.binary("Add", a, number(v), into);
  }
  ValueId mul(ValueId a, double v, ValueId into = none_id) const {
    return b.binary("Mul", a, number(v), into);
  }
  ValueId mul(ValueId a, ValueId c, ValueId into = none_id) const { return b.binary("Mul", a, c, into); }
};

bool mish(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  const ValueId x = node.inputs[0];
  b.binary("Mul", x, b.unary("Tanh", b.unary("Softplus", x)), node.outputs[0]);
  return true;
}

void swish_of(OnnxBuilder& b, ValueId x, double alpha, ValueId into) {
  const Terms t{b, x};
  b.binary("Mul", x, b.unary("Sigmoid", alpha == 1 ? x : t.mul(x, alpha)), into);
}
bool swish(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  swish_of(b, node.inputs[0], node.attrs.number("alpha", node.attrs.number("beta", 1)), node.outputs[0]);
  return true;
}
bool quick_gelu(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  swish_of(b, node.inputs[0], node.attrs.number("alpha", 1.702), node.outputs[0]);
  return true;
}

/// x/2 (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
bool gelu_of(OnnxBuilder& b, ValueId x, bool tanh, ValueId into, std::string& reason) {
  const Terms t{b, x};
  ValueId curve = none_id;
  if (tanh) {
    const ValueId cubed = t.mul(t.mul(x, x), x);
    curve =
        b.unary("Tanh", t.mul(b.binary("Add", x, t.mul(cubed, 0.044715)), std::sqrt(2 / std::acos(-1.0))));
  } else if (b.has("Erf")) {
    curve = b.unary("Erf", t.mul(x, 1 / std::sqrt(2.0)));
  } else {
    reason = "Erf came with opset 9";
    return false;
  }
  t.mul(t.mul(x, 0.5), t.add(curve, 1), into);
  return true;
}
bool gelu(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  return gelu_of(b, node.inputs[0], node.attrs.text("approximate") == "tanh", node.outputs[0], reason);
}
bool fast_gelu(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  const ValueId bias = operand(node, 1);
  const ValueId x = bias < 0 ? node.inputs[0] : b.binary("Add", node.inputs[0], bias);
  return gelu_of(b, x, true, node.outputs[0], reason);
}
bool bias_gelu(OnnxBuilder& b, const Graph&, const Node& node, std::string& reason) {
  if (node.inputs.size() < 2) return false;
  return gelu_of(b, b.binary("Add", node.inputs[0], node.inputs[1]), false, node.outputs[0], reason);
}

bool hard_swish(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  const ValueId x = node.inputs[0];
  Attributes attrs;
  attrs.set("alpha", 1.0 / 6);
  attrs.set("beta", 0.5);
  b.binary("Mul", x, b.add("HardSigmoid", {x}, std::move(attrs)), node.outputs[0]);
  return true;
}
bool hard_sigmoid(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  const Terms t{b, node.inputs[0]};
  const ValueId line =
      t.add(t.mul(node.inputs[0], node.attrs.number("alpha", 0.2)), node.attrs.number("beta", 0.5));
  b.clip(line, 0, 1, node.outputs[0]);
  return true;
}
bool relu6(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.clip(node.inputs[0], 0, 6, node.outputs[0]);
  return true;
}
bool hard_tanh(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.clip(node.inputs[0], node.attrs.number("min_val", -1), node.attrs.number("max_val", 1), node.outputs[0]);
  return true;
}
bool celu(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  const double alpha = node.attrs.number("alpha", 1);
  const Terms t{b, node.inputs[0]};
  Attributes attrs;
  attrs.set("alpha", 1.0);
  t.mul(b.add("Elu", {t.mul(node.inputs[0], 1 / alpha)}, std::move(attrs)), alpha, node.outputs[0]);
  return true;
}
bool log_sigmoid(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.unary("Neg", b.unary("Softplus", b.unary("Neg", node.inputs[0])), node.outputs[0]);
  return true;
}
bool softsign(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  const Terms t{b, node.inputs[0]};
  b.binary("Div", t.x, t.add(b.unary("Abs", t.x), 1), node.outputs[0]);
  return true;
}
bool tanh_shrink(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.binary("Sub", node.inputs[0], b.unary("Tanh", node.inputs[0]), node.outputs[0]);
  return true;
}
bool square(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.binary("Mul", node.inputs[0], node.inputs[0], node.outputs[0]);
  return true;
}
bool rsqrt(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.unary("Reciprocal", b.unary("Sqrt", node.inputs[0]), node.outputs[0]);
  return true;
}
bool prelu(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  // max(x, 0) + slope min(x, 0)
  const ValueId x = node.inputs[0];
  const ValueId below = b.unary("Neg", b.unary("Relu", b.unary("Neg", x)));
  b.binary("Add", b.unary("Relu", x), b.binary("Mul", node.inputs[1], below), node.outputs[0]);
  return true;
}
template <const char* op>
bool same_operator(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.unary(op, node.inputs[0], node.outputs[0]);
  return true;
}
constexpr char relu[] = "Relu", sigmoid[] = "Sigmoid", tanh_name[] = "Tanh", erf[] = "Erf",
               exp_name[] = "Exp", absolute[] = "Abs", identity[] = "Identity";

constexpr NamedFormula table[] = {
    {"Mish", mish},
    {"Swish", swish},
    {"SiLU", swish},
    {"QuickGelu", quick_gelu},
    {"Gelu", gelu},
    {"FastGelu", fast_gelu},
    {"NewGelu", fast_gelu},
    {"BiasGelu", bias_gelu},
    {"HardSwish", hard_swish},
    {"HardSigmoid", hard_sigmoid},
    {"Relu6", relu6},
    {"HardTanh", hard_tanh},
    {"Celu", celu},
    {"LogSigmoid", log_sigmoid},
    {"Softsign", softsign},
    {"TanhShrink", tanh_shrink},
    {"Square", square},
    {"Rsqrt", rsqrt},
    {"PRelu", prelu},
    {"contiguous", same_operator<identity>},
    {"clone", same_operator<identity>},
    {"detach", same_operator<identity>},
};

}  // namespace

std::span<const NamedFormula> activation_formulas() { return table; }

}  // namespace md::onnx

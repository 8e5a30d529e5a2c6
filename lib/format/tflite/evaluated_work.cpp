// How much the kernels of TFLite's operators compute, and the activations that are fused into them.
#include <algorithm>
#include <cmath>

#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

double size(const KernelCall& call, std::size_t i) {
  return call.has(i) ? static_cast<double>(call.in(i).size()) : 0;
}
double dim(const KernelCall& call, std::size_t i, std::size_t d) {
  return call.has(i) && d < call.in(i).shape.size() ? static_cast<double>(call.in(i).shape[d]) : 1;
}
double last(const KernelCall& call, std::size_t i) {
  return call.has(i) && !call.in(i).shape.empty() ? static_cast<double>(call.in(i).shape.back()) : 1;
}

}  // namespace

double evaluated_terms(const KernelCall& call, double results) {
  const std::string_view op = call.node.op;
  if (op == "FULLY_CONNECTED") return last(call, 1);
  if (op == "BATCH_MATMUL")
    return call.attrs().flag("adj_x") && call.in(0).rank() >= 2 ? dim(call, 0, call.in(0).shape.size() - 2)
                                                                : last(call, 0);
  if (op == "CONV_2D") return size(call, 1) / std::max(1.0, dim(call, 1, 0));
  if (op == "CONV_3D") return size(call, 1) / std::max(1.0, last(call, 1));
  if (op == "DEPTHWISE_CONV_2D") return dim(call, 1, 1) * dim(call, 1, 2);
  if (op == "TRANSPOSE_CONV" || op == "CONV_3D_TRANSPOSE")
    return size(call, 2) / std::max(1.0, last(call, 2)) * size(call, 1) / results;
  if (op.ends_with("_POOL_2D"))
    return static_cast<double>(call.attrs().integer("filter_height", 1)) *
           static_cast<double>(call.attrs().integer("filter_width", 1));
  if (op.starts_with("NON_MAX_SUPPRESSION")) return size(call, 1) * size(call, 1) / results;
  if (op == "RFFT2D") return 2 * (last(call, 0) + dim(call, 0, call.in(0).shape.size() - 2));
  if (op == "STABLEHLO_DOT_GENERAL" || op == "STABLEHLO_CONVOLUTION")
    return std::sqrt(size(call, 0) * size(call, 1) / results) + size(call, 1) / results;
  if (op == "LSTM" || op == "RNN" || op == "SVDF" || op.starts_with("UNIDIRECTIONAL_") ||
      op.starts_with("BIDIRECTIONAL_")) {
    double weights = 0;
    for (std::size_t i = 1; i < call.count(); ++i) weights += size(call, i);
    return weights * size(call, 0) / std::max(1.0, last(call, 0)) / results;
  }
  return 0;
}

std::optional<Activation> fused_activation(const Attributes& attrs) {
  const std::string_view text = attrs.text("fused_activation_function", "NONE");
  if (text == "NONE" || text.empty()) return Activation::none;
  if (text == "RELU") return Activation::relu;
  if (text == "RELU_N1_TO_1") return Activation::relu_n1_to_1;
  if (text == "RELU6") return Activation::relu6;
  if (text == "TANH") return Activation::tanh;
  if (text == "SIGN_BIT") return Activation::sign_bit;
  return std::nullopt;
}

}  // namespace md

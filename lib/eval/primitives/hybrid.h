// Hybrid operators: float activations, integer weights. The runtime quantizes each row of activations on the
// fly.
#pragma once
#include "lib/eval/kernel.h"

namespace md {

/// A row of floats as 8-bit integers: value = scale * (stored - zero).
struct DynamicRow {
  std::vector<std::int8_t> stored;
  float scale = 1;
  std::int32_t zero = 0;
};
/// The CPU runtime's dynamic quantization of one row (asymmetric, range widened to hold zero).
DynamicRow quantize_row(const float* values, std::size_t n, std::size_t step = 1);

/// FULLY_CONNECTED on float activations and integer weights; in double arithmetic with the weights' real
/// values.
Status hybrid_dense(KernelCall& call, const Tensor& x, const Tensor& w, Tensor& out, Activation activation);
/// CONV_2D and DEPTHWISE_CONV_2D weights as floats.
Tensor real_weights(const Tensor& weights, bool wide);

}  // namespace md

// Computations in fp16 whose intermediate values pass what fp16 holds.
#pragma once
#include <vector>

#include "lib/rewrite/onnx/site.h"

namespace md::onnx {

/// Squares before their mean or root, sums before they are divided, exponentials before their logarithm,
/// products before a softmax: from there to where the numbers are small again in float32.
std::vector<DetectResult> wide_islands(const DetectContext& context);

/// Constants of -inf (what -1e9 becomes in fp16) that are multiplied or added in front of a softmax: -1e4.
std::vector<DetectResult> finite_masks(const DetectContext& context);

}  // namespace md::onnx

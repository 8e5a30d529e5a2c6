// Sliding windows of convolutions and pools along one axis.
#pragma once
#include <cstdint>
#include <optional>

#include "lib/eval/kernel.h"

namespace md {

struct Window {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0;  ///< padding in front
};

/// nullopt: sizes that do not fit, or a padding other than SAME and VALID.
inline std::optional<Window> window(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                                    std::int64_t dilation, std::string_view padding) {
  if (kernel < 1 || stride < 1 || dilation < 1 || in < 0 || kernel > (std::int64_t{1} << 31) ||
      dilation > (std::int64_t{1} << 31))
    return std::nullopt;
  const std::int64_t extent = (kernel - 1) * dilation + 1;
  Window w{in, 0, kernel, stride, dilation, 0};
  if (padding == "SAME") {
    w.out = (in + stride - 1) / stride;
    w.before = std::max<std::int64_t>((w.out - 1) * stride + extent - in, 0) / 2;
  } else if (padding == "VALID") {
    w.out = in < extent ? 0 : (in - extent) / stride + 1;
  } else {
    return std::nullopt;
  }
  return w;
}

/// Height and width windows of a node with the fields stride_h, stride_w, padding and dilation_*_factor.
inline std::optional<std::pair<Window, Window>> windows(const Attributes& a, const Shape& image,
                                                        std::int64_t kernel_h, std::int64_t kernel_w,
                                                        bool dilated) {
  const auto h = window(image[1], kernel_h, a.integer("stride_h", 1),
                        dilated ? a.integer("dilation_h_factor", 1) : 1, a.text("padding", "SAME"));
  const auto w = window(image[2], kernel_w, a.integer("stride_w", 1),
                        dilated ? a.integer("dilation_w_factor", 1) : 1, a.text("padding", "SAME"));
  if (!h || !w) return std::nullopt;
  return std::pair(*h, *w);
}

}  // namespace md

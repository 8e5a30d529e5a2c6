// Windows of convolutions and pools from ONNX's attributes: kernel_shape, strides, dilations, pads, auto_pad.
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>

#include "lib/eval/kernel.h"

namespace md::onnx {

struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, before = 0, behind = 0;
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

inline std::int64_t list_item(const Attributes& attrs, std::string_view name, std::size_t i,
                              std::int64_t otherwise) {
  const auto* list = attrs.integers(name);
  return list && i < list->size() ? (*list)[i] : otherwise;
}

/// Axis i of `axes` over `in` elements; `kernel` where no kernel_shape is given. nullopt: numbers out of
/// bounds.
inline std::optional<WindowAxis> window_axis(const Attributes& attrs, std::size_t i, std::size_t axes,
                                             std::int64_t in, std::int64_t kernel) {
  WindowAxis w{list_item(attrs, "kernel_shape", i, kernel), list_item(attrs, "strides", i, 1),
               list_item(attrs, "dilations", i, 1), list_item(attrs, "pads", i, 0),
               list_item(attrs, "pads", axes + i, 0)};
  constexpr std::int64_t most = std::int64_t{1} << 31;  // beyond lies damage
  for (const std::int64_t n : {w.kernel, w.stride, w.dilation})
    if (n < 1 || n > most) return std::nullopt;
  if (in < 0 || in > most || std::abs(w.before) > most || std::abs(w.behind) > most) return std::nullopt;
  const std::string_view pad = attrs.text("auto_pad", "NOTSET");
  if (pad == "VALID") {
    w.before = w.behind = 0;
  } else if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
    const std::int64_t out = (in + w.stride - 1) / w.stride;
    const std::int64_t total = std::max<std::int64_t>((out - 1) * w.stride + w.reach() - in, 0);
    w.before = pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.behind = total - w.before;
  }
  return w;
}

/// Results along the axis; 0: none fits.
inline std::int64_t window_count(const WindowAxis& w, std::int64_t in, bool ceil) {
  const std::int64_t room = in + w.before + w.behind - w.reach();
  if (room < 0) return 0;
  std::int64_t out = (room + (ceil ? w.stride - 1 : 0)) / w.stride + 1;
  if (ceil && (out - 1) * w.stride >= in + w.before) --out;  // it would start in the padding behind
  return out;
}

}  // namespace md::onnx

// Lists of numbers, one a spatial axis, as convolutions and pools of aten take them.
#pragma once
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

/// The list in an attribute for `axes` axes; one number counts for all; absent or empty: `otherwise`.
inline std::vector<std::int64_t> per_axis(const Attributes& attrs, std::string_view name, std::size_t axes,
                                          std::int64_t otherwise) {
  std::vector<std::int64_t> out(axes, otherwise);
  if (const auto* list = attrs.integers(name)) {
    for (std::size_t i = 0; i < axes && !list->empty(); ++i)
      out[i] = (*list)[list->size() == 1 ? 0 : std::min(i, list->size() - 1)];
  } else if (const AttrValue* one = attrs.find(name); one && std::holds_alternative<std::int64_t>(*one)) {
    out.assign(axes, std::get<std::int64_t>(*one));
  }
  return out;
}

constexpr std::int64_t most_window = std::int64_t{1}
                                     << 31;  // of kernels, strides, paddings: beyond lies damage

}  // namespace md

#include "lib/eval/primitives/reduction.h"

namespace md {

Reduction reduction_over(const Shape& in, const std::vector<bool>& reduced, bool keep) {
  const auto strides = strides_of(in);
  Reduction r;
  r.offsets = {0};
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (!reduced[d]) {
      r.kept.dims.push_back(in[d]), r.kept.steps.push_back(strides[d]);
      r.shape.push_back(in[d]);
      continue;
    }
    if (keep) r.shape.push_back(1);
    std::vector<std::int64_t> longer;
    longer.reserve(r.offsets.size() * static_cast<std::size_t>(in[d]));
    for (const std::int64_t o : r.offsets)
      for (std::int64_t i = 0; i < in[d]; ++i) longer.push_back(o + i * strides[d]);
    r.offsets = std::move(longer);
  }
  return r;
}

}  // namespace md

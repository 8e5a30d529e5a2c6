#include "lib/proof/shrink.h"

#include <algorithm>
#include <set>

#include "lib/eval/primitives/strided.h"

namespace md {
namespace {

/// Sizes to try instead of `size`, the smallest first.
std::set<std::int64_t> smaller(std::int64_t size, std::int64_t smallest) {
  std::set<std::int64_t> sizes;
  for (const std::int64_t s : {smallest, smallest + 1, 2 * smallest, 4 * smallest, size / 4, size / 2})
    if (s >= smallest && s < size) sizes.insert(s);
  return sizes;
}

class Shrinker {
 public:
  Shrinker(InputShapes shapes, std::int64_t smallest, const std::function<bool(const InputShapes&)>& holds,
           int tries)
      : shapes_(std::move(shapes)), smallest_(smallest), holds_(holds), tries_(tries) {}

  InputShapes run() {
    for (bool progress = true; progress && tries_ > 0;) {
      progress = false;
      std::set<std::int64_t, std::greater<>> sizes;
      for (const auto& [id, shape] : shapes_)
        for (const std::int64_t d : shape)
          if (d > smallest_) sizes.insert(d);
      for (const std::int64_t size : sizes)
        progress = make_smaller(size,
                                [&](InputShapes& shapes, std::int64_t to) {
                                  for (auto& [id, shape] : shapes)
                                    std::replace(shape.begin(), shape.end(), size, to);
                                }) ||
                   progress;
      for (auto& [id, shape] : InputShapes(shapes_))
        for (std::size_t d = 0; d < shape.size(); ++d)
          progress = make_smaller(shapes_[id][d], [&, at = id](InputShapes& shapes,
                                                               std::int64_t to) { shapes[at][d] = to; }) ||
                     progress;
    }
    return std::move(shapes_);
  }

 private:
  template <class F>
  bool make_smaller(std::int64_t size, F&& change) {
    for (const std::int64_t to : smaller(size, smallest_)) {
      InputShapes trial = shapes_;
      change(trial, to);
      if (trial == shapes_) return false;
      if (tries_-- <= 0) return false;
      if (!holds_(trial)) continue;
      shapes_ = std::move(trial);
      return true;
    }
    return false;
  }

  InputShapes shapes_;
  std::int64_t smallest_;
  const std::function<bool(const InputShapes&)>& holds_;
  int tries_;
};

}  // namespace

InputShapes shrink_shapes(InputShapes shapes, std::int64_t smallest,
                          const std::function<bool(const InputShapes&)>& holds, int tries) {
  return Shrinker(std::move(shapes), smallest, holds, tries).run();
}

Tensor crop(const Tensor& tensor, const Shape& shape, const Shape& start) {
  View view = whole(tensor.shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    view.base += start[d] * view.steps[d];
    view.dims[d] = shape[d];
  }
  Tensor part = Tensor::make(tensor.dtype, shape, tensor.store() == Store::f64);
  part.quantization = tensor.quantization;
  if (part.size() > 0) read_view(tensor, view, part);
  return part;
}

std::int64_t total_elements(const InputShapes& shapes) {
  std::int64_t total = 0;
  for (const auto& [id, shape] : shapes) total += product(shape);
  return total;
}

}  // namespace md

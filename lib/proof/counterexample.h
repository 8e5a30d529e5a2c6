// A sample that tells two versions of a site apart, made as small as it can be, in words.
#pragma once
#include <functional>
#include <string>

#include "lib/proof/site_runner.h"

namespace md {

/// True when the two versions differ on these inputs more than they may; gives the output, the element and
/// both numbers.
struct Disagreement {
  std::size_t output = 0, element = 0;
  double before = 0, after = 0;
  Shape shape;       ///< of the output before
  std::string text;  ///< set instead of numbers when shapes differ or the new version cannot be evaluated
};
using Differ = std::function<std::optional<Disagreement>(const TensorMap& inputs)>;

/// Shrinks `inputs` while `differ` still finds a difference: one element where the site is elementwise, else
/// the smallest shapes on which the site runs, as many zeros as possible, and round numbers. "input 65504
/// gives 1 before, 0 after".
std::string minimized_counterexample(const SiteRunner& runner, TensorMap inputs, Disagreement found,
                                     const Differ& differ);

}  // namespace md

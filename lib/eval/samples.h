// Inputs that tell apart what looks the same: extremes first, then random numbers of many scales and shapes
// of data that real models meet (outliers, large means, zero rows, masks).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/eval/tensor.h"

namespace md {

/// Deterministic 64-bit generator (splitmix64): the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform();                        ///< [0, 1)
  double normal();                         ///< mean 0, deviation 1
  std::int64_t below(std::int64_t limit);  ///< [0, limit)

 private:
  std::uint64_t state_;
};

/// What one sample looks like. Recipes are ordered: the most telling ones first.
struct Recipe {
  enum class Kind {
    extremes,
    nonfinite,
    normal,
    uniform,
    outlier,
    large_mean,
    zero_rows,
    mask,
    integers,
    one_hot
  } kind = Kind::normal;
  double scale = 1;
  std::uint64_t seed = 1;
  std::string text;  ///< "normal, scale 100"
};
/// `count` recipes with finite values; the first are extremes.
std::vector<Recipe> finite_recipes(int count, std::uint64_t seed);
/// Recipes with infinities and NaN among ordinary values.
std::vector<Recipe> nonfinite_recipes(std::uint64_t seed);

struct SampleLimits {
  std::int64_t index_limit = 0;  ///< > 0: integers in [0, limit), some recipes in [-limit, limit)
  double low = 0, high = 0;      ///< low < high: floats in this range
  double largest = 0;            ///< > 0: finite floats of at most this magnitude
};

/// One tensor by a recipe; `position` makes different operands differ. Quantized integers cover their stored
/// range.
Tensor sample(DType dtype, const Shape& shape, std::shared_ptr<const Quantization> quantization,
              const Recipe& recipe, int position, const SampleLimits& limits = {});

/// Finite numbers that rewrites stumble over, in f32.
const std::vector<double>& extreme_numbers();

}  // namespace md

// How far two tensors of the same values are apart.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "lib/eval/tensor.h"

namespace md {

struct Difference {
  double max_abs = 0;  ///< over elements where both are finite
  double max_rel = 0;  ///< max_abs / largest |a| of the tensor
  double max_ulp = 0;  ///< in units of the type's last place at each element (0 for integers that agree)
  double largest = 0;  ///< largest finite |a|
  std::int64_t differing = 0;  ///< elements that are not the same number (NaN equals NaN, 0 equals -0)
  std::int64_t nonfinite = 0;  ///< elements where one is NaN or infinite and the other is something else
  std::size_t worst = 0;       ///< element of max_abs, or the first non-finite one
  bool same_shape = true;
};

/// Compares real values (quantized integers through their scales). Types may differ.
Difference compare_tensors(const Tensor& a, const Tensor& b);

/// Distance in representable numbers of `dtype` (f16, bf16, f32, f64); 0 when equal, infinity when one is not
/// finite.
double ulp_distance(DType dtype, double a, double b);

/// A number as reports print it: shortest text that reads back as the same f32; "inf", "-inf", "nan".
std::string short_number(double v);

}  // namespace md

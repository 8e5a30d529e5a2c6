#include "lib/eval/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace md {
namespace {

template <class Unsigned>
double steps(Unsigned a, Unsigned b) {
  const auto ordered = [](Unsigned bits) -> double {
    const auto top = static_cast<Unsigned>(Unsigned{1} << (sizeof(Unsigned) * 8 - 1));
    return bits & top ? -static_cast<double>(static_cast<Unsigned>(bits & static_cast<Unsigned>(~top)))
                      : static_cast<double>(bits);
  };
  return std::abs(ordered(a) - ordered(b));
}

}  // namespace

double ulp_distance(DType dtype, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  switch (dtype) {
    case DType::f16:
      return steps<std::uint16_t>(float_to_half(static_cast<float>(a)), float_to_half(static_cast<float>(b)));
    case DType::bf16:
      return steps<std::uint16_t>(float_to_bfloat(static_cast<float>(a)),
                                  float_to_bfloat(static_cast<float>(b)));
    case DType::f64:
      return steps<std::uint64_t>(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b));
    case DType::f32:
      return steps<std::uint32_t>(std::bit_cast<std::uint32_t>(static_cast<float>(a)),
                                  std::bit_cast<std::uint32_t>(static_cast<float>(b)));
    default:
      return std::abs(a - b);
  }
}

Difference compare_tensors(const Tensor& a, const Tensor& b) {
  Difference d;
  d.same_shape = a.shape == b.shape;
  const bool quantized = !a.is_float() && a.quantization;
  const auto x = quantized ? a.real_values() : a.numbers(),
             y = !b.is_float() && b.quantization ? b.real_values() : b.numbers();
  const std::size_t n = std::min(x.size(), y.size());
  if (x.size() != y.size()) d.differing = static_cast<std::int64_t>(std::max(x.size(), y.size()) - n);
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(x[i])) d.largest = std::max(d.largest, std::abs(x[i]));
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    ++d.differing;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      if (d.nonfinite++ == 0) d.worst = i;
      continue;
    }
    const double apart = std::abs(x[i] - y[i]);
    if (apart > d.max_abs) {
      d.max_abs = apart;
      if (d.nonfinite == 0) d.worst = i;
    }
    if (a.is_float())
      d.max_ulp = std::max(d.max_ulp, ulp_distance(a.dtype, x[i], y[i]));
    else
      d.max_ulp = std::max(d.max_ulp, std::abs(a.number(i) - b.number(i)));
  }
  d.max_rel = d.largest > 0   ? d.max_abs / d.largest
              : d.max_abs > 0 ? std::numeric_limits<double>::infinity()
                              : 0;
  return d;
}

std::string short_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  const auto f = static_cast<float>(v);
  return static_cast<double>(f) == v ? fmt::format("{}", f) : fmt::format("{}", v);
}

}  // namespace md

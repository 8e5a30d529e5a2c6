#include "lib/proof/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/difference.h"

namespace md {
namespace {

constexpr double kRoundingsEach = 4;  // units in the last place that one rounding may move a result
constexpr double kOwnErrors = 8;      // a model may be this many times its own error away from itself
constexpr double kRight = 1e-5;       // relative: as near to exact arithmetic as f32 gets over some steps
constexpr double kLost = 0.01;        // relative: from here the original lost the number on the way
constexpr double kNearTheEnd = 1e36;  // sums of such terms overflow in one order and not in another
constexpr double kOneStep = 1.0001;   // steps of a quantized output, with room for the scale's rounding

double last_place(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1.0p-10;
    case DType::bf16:
      return 0x1.0p-7;
    case DType::f64:
      return 0x1.0p-52;
    default:
      return 0x1.0p-23;
  }
}

/// The smallest number above 0.
double smallest(DType dtype) { return dtype == DType::f16 ? 0x1.0p-24 : 0x1.0p-149; }

}  // namespace

double promised_error(double max_error, bool from_bfloat16) {
  return from_bfloat16 ? std::max(max_error, bfloat16_error) : max_error;
}

std::string another_bound(double held_to, double asked_for) {
  return fmt::format(
      "held to {:g} of the largest output, which is what bfloat16 itself loses, and not to --max-error {:g}",
      held_to, asked_for);
}

Yardstick measure(const Tensor& original, const Tensor* exact, double terms) {
  Yardstick yardstick;
  yardstick.dtype = original.dtype;
  yardstick.floats = original.is_float();
  yardstick.terms = terms;
  if (!yardstick.floats && original.quantization && !original.quantization->scale.empty())
    yardstick.step = static_cast<double>(original.quantization->scale[0]) * kOneStep;
  const auto x = original.real_values(), right = exact ? exact->real_values() : std::vector<double>{};
  for (const double v : x)
    if (std::isfinite(v)) yardstick.largest = std::max(yardstick.largest, std::abs(v));
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!std::isfinite(right[i])) continue;
    yardstick.largest = std::max(yardstick.largest, std::abs(right[i]));
    if (i >= x.size() || !std::isfinite(x[i])) continue;
    yardstick.own_error = std::max(yardstick.own_error, std::abs(x[i] - right[i]));
    if (yardstick.floats)
      yardstick.own_ulps = std::max(yardstick.own_ulps, ulp_distance(original.dtype, x[i], right[i]));
  }
  return yardstick;
}

Tolerance Tolerance::of_site(Exactness exactness, double max_error, double roundings, bool sums) {
  Tolerance tolerance;
  tolerance.exact_ = exactness == Exactness::exact;
  if (exactness == Exactness::bounded) tolerance.of_largest_ = max_error;
  if (exactness != Exactness::rounding) return tolerance;
  // Sums in another order are apart by the size of their terms, which cancellation may make far larger than
  // the result.
  (sums ? tolerance.ulps_of_terms_ : tolerance.ulps_) = kRoundingsEach * roundings;
  tolerance.steps_ = 1;
  return tolerance;
}

Tolerance Tolerance::of_model(Exactness exactness, double max_error, bool leaving_stated) {
  Tolerance tolerance;
  tolerance.leaving_stated_ = leaving_stated;
  tolerance.exact_ = exactness == Exactness::exact;
  if (tolerance.exact_) return tolerance;
  tolerance.of_largest_ = exactness == Exactness::bounded ? max_error : model_sums_error;
  tolerance.of_own_error_ = kOwnErrors;
  tolerance.steps_ = 1;
  return tolerance;
}

Tolerance Tolerance::stated(double relative, double absolute) {
  Tolerance tolerance;
  tolerance.stated_ = tolerance.leaving_stated_ = true;
  tolerance.of_element_ = relative, tolerance.absolute_ = absolute;
  return tolerance;
}

double Tolerance::allowance(double original, const Yardstick& y) const {
  double room = absolute_ + of_element_ * std::abs(original) + of_largest_ * y.largest +
                of_own_error_ * y.own_error + steps_ * y.step;
  if (!y.floats) return room;
  if (ulps_of_terms_ > 0) room += ulps_of_terms_ * last_place(y.dtype) * y.terms;
  if (ulps_ > 0)
    room += (ulps_ + kRoundingsEach * y.own_ulps) *
            std::max(last_place(y.dtype) * std::abs(original), smallest(y.dtype));
  return room;
}

bool Tolerance::is_right(double changed, double exact, double room) const {
  return std::isfinite(exact) && std::abs(changed - exact) <= std::max(kRight * std::abs(exact), room);
}

Apart Tolerance::compare(double original, double changed, std::optional<double> exact,
                         const Yardstick& y) const {
  if (original == changed || (std::isnan(original) && std::isnan(changed))) return Apart::same;
  const bool was = std::isfinite(original), is = std::isfinite(changed);
  if (!was && exact && is_right(changed, *exact, of_largest_ * y.largest)) return Apart::nearer;
  if (!was && leaving_stated_) return Apart::leaves;
  const bool lost = was && exact && std::abs(original - *exact) > kLost * std::abs(*exact);
  if (was && is) {
    if (exact_) return Apart::beyond;
    const bool right = !stated_ && exact && is_right(changed, *exact, 0);
    if (right) return lost ? Apart::nearer : Apart::within;
    return std::abs(original - changed) <= allowance(original, y) ? Apart::within : Apart::beyond;
  }
  if (exact_ || stated_) return Apart::beyond;
  // Both leave the range of floats on the way: only exact rewrites promise to do it alike.
  if (!was) return !is || (exact && !std::isfinite(*exact)) ? Apart::leaves : Apart::beyond;
  // An original that lost the number may be followed out of the range, one that only cancels to nearly 0 not.
  if (exact && std::abs(original - *exact) > kLost * y.largest) return Apart::leaves;
  return y.terms > kNearTheEnd || y.overflows ? Apart::overflow : Apart::beyond;
}

std::optional<double> Tolerance::relative() const {
  if (stated_) return std::nullopt;
  return of_largest_;
}

}  // namespace md

#include "lib/proof/site_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/difference.h"

namespace md {
namespace {

double epsilon(DType dtype) {
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

}  // namespace

Result<SiteComparison::Pair> SiteComparison::run(const TensorMap& inputs,
                                                 std::optional<Disagreement>& broken) const {
  Pair pair;
  const auto note = [&](const Tensor& tensor) {
    if (!tensor.is_float() || options_.exactness == Exactness::exact) return;
    for (std::size_t i = 0; i < tensor.size() * static_cast<std::size_t>(tensor.lanes()); ++i)
      if (const double m = std::abs(tensor.number(i)); std::isfinite(m))
        pair.scale = std::max(pair.scale, m);
      else
        pair.overflows = true;
  };
  for (const auto& [id, tensor] : inputs) note(tensor);
  const bool finite_inputs = !pair.overflows;
  EvaluateOptions plain;
  plain.observe = [&](const Graph&, NodeId, int, const Tensor& tensor, double) { note(tensor); };
  auto old_outputs = runner_.run_before(inputs, plain);
  if (!old_outputs) return tl::make_unexpected(old_outputs.error());
  pair.before = std::move(*old_outputs);
  pair.overflows = pair.overflows && finite_inputs;
  auto new_outputs = runner_.run_after(inputs, {});
  if (!new_outputs) {
    broken = Disagreement{};
    broken->text = "the new version cannot be evaluated: " + new_outputs.error().message;
    return pair;
  }
  pair.after = std::move(*new_outputs);
  if (needs_judge(pair)) {
    EvaluateOptions judge;
    judge.mode.arithmetic = Arithmetic::f64;
    if (auto outputs = runner_.run_before(inputs, judge)) pair.judge = std::move(*outputs);
  }
  return pair;
}

bool SiteComparison::needs_judge(const Pair& pair) const {
  for (std::size_t k = 0; k < pair.before.size(); ++k)
    if (pair.before[k].is_float() && compare_tensors(pair.before[k], pair.after[k]).differing > 0)
      return true;
  return false;
}

double SiteComparison::rounding_allowance(const Tensor& a, double element, double scale, double own) const {
  if (!a.is_float()) return a.quantization ? static_cast<double>(a.quantization->scale[0]) * 1.0001 : 0;
  // Sums in another order are apart by the size of their terms, which cancellation may make far larger than
  // the result.
  if (runner_.reduces()) return 4 * epsilon(a.dtype) * roundings_ * scale;
  const double tiny = a.dtype == DType::f16 ? 0x1.0p-24 : 0x1.0p-149;
  return (4 * roundings_ + 4 * own) * std::max(epsilon(a.dtype) * std::abs(element), tiny);
}

std::optional<Disagreement> SiteComparison::disagreement(const Pair& pair, bool finite, Proof* record) const {
  for (std::size_t k = 0; k < pair.before.size(); ++k) {
    const Tensor& a = pair.before[k];
    const Tensor& b = pair.after[k];
    Disagreement found;
    found.output = k, found.shape = a.shape;
    if (a.shape != b.shape) {
      found.text = fmt::format("shape {} before, {} after", shape_text(a.shape), shape_text(b.shape));
      return found;
    }
    const Difference d = compare_tensors(a, b);
    if (d.differing == 0) continue;
    const bool judged = k < pair.judge.size();
    const auto x = a.real_values(), y = b.real_values();
    const auto jx = judged ? pair.judge[k].real_values() : std::vector<double>{};
    const bool quantized = !a.is_float();
    double largest = d.largest;  // an original that overflows on the way may give nothing but zeros
    for (const double v : jx)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    double own = 0;  // the original's worst error against the judge, in ulps
    const bool by_ulps = options_.exactness == Exactness::rounding && !runner_.reduces();
    for (std::size_t i = 0; by_ulps && judged && !quantized && i < x.size(); ++i)
      if (std::isfinite(x[i]) && std::isfinite(jx[i]))
        own = std::max(own, ulp_distance(a.dtype, x[i], jx[i]));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      found.element = i, found.before = x[i], found.after = y[i];
      const bool both = std::isfinite(x[i]) && std::isfinite(y[i]);
      const bool exact = options_.exactness == Exactness::exact;
      const bool right = judged && std::isfinite(jx[i]) && std::abs(y[i] - jx[i]) <= 1e-5 * std::abs(jx[i]);
      // The original overflows on the way, the new version gives what exact arithmetic gives: stated, not
      // held against it.
      if (right && (!std::isfinite(x[i]) || (!exact && std::abs(x[i] - jx[i]) > 0.01 * std::abs(jx[i])))) {
        if (record && record->nonfinite.empty())
          record->nonfinite =
              fmt::format("where the original overflows on the way and gives {} the new version gives {}",
                          short_number(x[i]), short_number(y[i]));
        continue;
      }
      if (both && record && finite) {
        record->max_abs = std::max(record->max_abs, std::abs(x[i] - y[i]));
        if (largest > 0) record->max_rel = std::max(record->max_rel, std::abs(x[i] - y[i]) / largest);
        record->max_ulp = std::max(record->max_ulp, quantized ? std::abs(a.number(i) - b.number(i))
                                                              : ulp_distance(a.dtype, x[i], y[i]));
      }
      if (right && !exact) continue;
      if (both && options_.exactness == Exactness::rounding &&
          std::abs(x[i] - y[i]) <= rounding_allowance(a, x[i], pair.scale, own))
        continue;
      if (both && options_.exactness == Exactness::bounded &&
          std::abs(x[i] - y[i]) <= options_.max_error * largest)
        continue;
      // Both leave the range of floats on the way: only exact rewrites promise to do it alike.
      if (!exact && !std::isfinite(x[i]) && (!std::isfinite(y[i]) || (judged && !std::isfinite(jx[i]))))
        continue;
      if (!exact && !std::isfinite(y[i]) && judged && std::abs(x[i] - jx[i]) > 0.01 * std::abs(jx[i]))
        continue;
      // Sums of numbers near the largest float overflow in one order and not in another, and so do squares of
      // what is left where such sums cancel.
      if (!exact && !std::isfinite(y[i]) && (pair.scale > 1e36 || (pair.overflows && runner_.reduces()))) {
        if (record && record->nonfinite.empty())
          record->nonfinite = fmt::format(
              "where numbers near the largest float are summed the new version gives {}, the original {}",
              short_number(y[i]), short_number(x[i]));
        continue;
      }
      return found;
    }
  }
  return std::nullopt;
}

SiteComparison::Verdict SiteComparison::compare(const TensorMap& inputs, bool finite) {
  std::optional<Disagreement> broken;
  const auto pair = run(inputs, broken);
  if (!pair) {
    error_ = pair.error().message;
    return Verdict::not_evaluated;
  }
  const auto found = broken ? broken : disagreement(*pair, finite, &proof_);
  if (!found) return Verdict::equal;
  found_ = *found;
  return Verdict::differs;
}

std::optional<Disagreement> SiteComparison::differ(const TensorMap& inputs) const {
  std::optional<Disagreement> broken;
  const auto pair = run(inputs, broken);
  if (!pair) return std::nullopt;
  return broken ? broken : disagreement(*pair, true, nullptr);
}

}  // namespace md

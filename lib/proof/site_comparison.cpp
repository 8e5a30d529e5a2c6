#include "lib/proof/site_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/difference.h"

namespace md {
Result<SiteComparison::Pair> SiteComparison::run(const TensorMap& inputs,
                                                 std::optional<Disagreement>& broken) const {
  Pair pair;
  const auto note = [&](const Tensor& tensor) {
    if (!tensor.is_float() || options_.exactness == Exactness::exact) return;
    for (std::size_t i = 0; i < tensor.size() * static_cast<std::size_t>(tensor.lanes()); ++i)
      if (const double m = std::abs(tensor.number(i)); std::isfinite(m))
        pair.terms = std::max(pair.terms, m);
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
  if (differs(pair)) {
    EvaluateOptions exact;
    exact.mode.arithmetic = Arithmetic::f64;
    if (auto outputs = runner_.run_before(inputs, exact)) pair.exact = std::move(*outputs);
  }
  return pair;
}

bool SiteComparison::differs(const Pair& pair) {
  for (std::size_t k = 0; k < pair.before.size(); ++k)
    if (pair.before[k].is_float() && compare_tensors(pair.before[k], pair.after[k]).differing > 0)
      return true;
  return false;
}

void SiteComparison::note(Proof& record, Apart apart, const Disagreement& at, const Tensor& before,
                          const Tensor& after, double largest) {
  if (apart == Apart::nearer || apart == Apart::overflow) {
    if (!record.nonfinite.empty()) return;
    const std::string was = short_number(at.before), is = short_number(at.after);
    record.nonfinite =
        apart == Apart::nearer
            ? fmt::format("where the original {} on the way and gives {} the new version gives {}",
                          std::isfinite(at.before) ? "loses the number" : "overflows", was, is)
            : fmt::format(
                  "where numbers near the largest float are summed the new version gives {}, the original {}",
                  is, was);
    return;
  }
  if (!std::isfinite(at.before) || !std::isfinite(at.after)) return;
  const double apart_by = std::abs(at.before - at.after);
  record.max_abs = std::max(record.max_abs, apart_by);
  if (largest > 0) record.max_rel = std::max(record.max_rel, apart_by / largest);
  const double steps = before.is_float() ? ulp_distance(before.dtype, at.before, at.after)
                                         : std::abs(before.number(at.element) - after.number(at.element));
  record.max_ulp = std::max(record.max_ulp, steps);
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
    if (compare_tensors(a, b).differing == 0) continue;
    const Tensor* exact = k < pair.exact.size() ? &pair.exact[k] : nullptr;
    Yardstick yardstick = measure(a, exact, pair.terms);
    yardstick.overflows = pair.overflows && runner_.reduces();
    const auto x = a.real_values(), y = b.real_values();
    const auto right = exact ? exact->real_values() : std::vector<double>{};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Apart apart =
          tolerance_.compare(x[i], y[i], exact ? std::optional(right[i]) : std::nullopt, yardstick);
      if (apart == Apart::same) continue;
      found.element = i, found.before = x[i], found.after = y[i];
      // What is only stated (non-finite inputs) says nothing about the size of errors.
      if (record && (finite || apart == Apart::nearer || apart == Apart::overflow))
        note(*record, apart, found, a, b, yardstick.largest);
      if (apart == Apart::beyond) return found;
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

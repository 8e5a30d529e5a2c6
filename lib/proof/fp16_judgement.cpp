// Does a rewrite that is meant to repair fp16 repair it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/eval/difference.h"
#include "lib/eval/samples.h"
#include "lib/fp16/fp16_report.h"
#include "lib/proof/site_runner.h"

namespace md {
namespace {

constexpr double wrong = 0.1;  // relative error from which the original counts as broken

/// Largest error of `half` against `right`, relative to the largest |right|; infinity when something is not
/// finite.
double error_of(const std::vector<Tensor>& right, const std::vector<Tensor>& half) {
  double worst = 0;
  for (std::size_t k = 0; k < right.size(); ++k) {
    const Difference d = compare_tensors(right[k], half[k]);
    worst =
        std::max(worst, d.nonfinite || !d.same_shape ? std::numeric_limits<double>::infinity() : d.max_rel);
  }
  return worst;
}

/// Rows of one magnitude, as they come before a normalization that overflows; inputs stay within fp16.
TensorMap inputs_of(const SiteRunner& runner, double magnitude, std::uint64_t seed) {
  TensorMap inputs = runner.sample_inputs({Recipe::Kind::normal, 1, seed, ""}, 1);
  for (auto& [id, tensor] : inputs) {
    if (!tensor.is_float()) continue;
    std::vector<double> numbers = tensor.numbers();
    for (double& v : numbers) v = std::clamp(v * magnitude, -largest_f16, largest_f16);
    tensor = Tensor::of(tensor.dtype, tensor.shape, numbers);
  }
  return inputs;
}

}  // namespace

Fp16Judgement judge_fp16(const Model& before, const Model& after, int graph_index, const NumericMode& mode) {
  Fp16Judgement judgement;
  const Site site = find_site(before, after, graph_index);
  SiteRunner runner(before, after, site);
  if (site.outputs.empty()) {
    judgement.text = "nothing differs";
    return judgement;
  }
  if (auto ready = runner.prepare(); !ready) {
    judgement.text = ready.error().message;
    return judgement;
  }
  EvaluateOptions plain, device;
  device.mode = mode;
  bool nearer = true;
  static constexpr double magnitudes[] = {1, 30, 150, 300, 1000, 2000, 8000};
  for (const double magnitude : magnitudes)
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const TensorMap inputs = inputs_of(runner, magnitude, seed);
      const auto right = runner.run_before(inputs, plain);
      const auto old_half = runner.run_before(inputs, device), new_half = runner.run_after(inputs, device);
      if (!right || !old_half || !new_half) {
        judgement.text = !right      ? right.error().message
                         : !old_half ? old_half.error().message
                                     : new_half.error().message;
        return judgement;
      }
      judgement.evaluated = true;
      const double old_error = error_of(*right, *old_half), new_error = error_of(*right, *new_half);
      if (!(old_error > wrong)) continue;
      ++judgement.overflowing;
      judgement.error_before = std::max(judgement.error_before, old_error);
      judgement.error_after = std::max(judgement.error_after, new_error);
      nearer = nearer && new_error < old_error;
    }
  judgement.better = judgement.overflowing > 0 && nearer;
  judgement.text =
      judgement.overflowing == 0
          ? "the original does not go wrong in fp16 on any sample"
          : fmt::format("in fp16, on {} overflowing samples the error {} from {} to {}",
                        judgement.overflowing, nearer ? "falls" : "does not fall",
                        std::isfinite(judgement.error_before) ? fmt::format("{:.2g}", judgement.error_before)
                                                              : "infinity",
                        std::isfinite(judgement.error_after) ? fmt::format("{:.2g}", judgement.error_after)
                                                             : "infinity");
  return judgement;
}

}  // namespace md

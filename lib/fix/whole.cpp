#include "lib/fix/whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/eval/budget.h"
#include "lib/eval/limits.h"
#include "lib/op/dialect.h"
#include "lib/op/work.h"
#include "lib/proof/tolerance.h"
#include "lib/verify/verify.h"

namespace md {
namespace {

constexpr int kSamples = 8;

bool holds_bf16(const Model& model) {
  for (const Graph& graph : model.graphs) {
    for (const NodeId id : graph.order)
      for (const ValueId v : graph.node(id).outputs)
        if (v >= 0 && graph.value(v).dtype == DType::bf16) return true;
    for (const ValueId v : graph.inputs)
      if (graph.value(v).dtype == DType::bf16) return true;
  }
  return false;
}

/// What the applied fixes promise together: the weakest of them.
struct Promise {
  Exactness exactness = Exactness::exact;
  bool unsafe = false;
  bool nonfinite_differs = false;  ///< a proof states what differs on NaN and infinities
};

Promise promise_of(const Diagnosis& diagnosis) {
  Promise promise;
  for (const Finding& finding : diagnosis.findings)
    for (const ReportedFix& fix : finding.fixes) {
      if (!fix.applied) continue;
      promise.unsafe = promise.unsafe || fix.applicability == Applicability::unsafe;
      for (const ReportedProof& proof : fix.proofs)
        promise.nonfinite_differs = promise.nonfinite_differs || !proof.nonfinite.empty();
      promise.exactness = std::max(promise.exactness, fix.exactness);
    }
  return promise;
}

ReportedDifference reported(const WorstDifference& worst) {
  return {worst.samples, worst.max_abs, worst.max_rel};
}

std::string difference_text(const ModelComparison& comparison) {
  if (!comparison.interface_differences.empty()) return comparison.interface_differences.front();
  const auto worst = std::find_if(comparison.outputs.begin(), comparison.outputs.end(),
                                  [](const OutputComparison& output) { return !output.equal; });
  const std::string where =
      worst == comparison.outputs.end() ? "" : fmt::format("; \"{}\" {}", worst->name, worst->where);
  const bool extreme = comparison.ordinary.max_rel == 0 && comparison.extreme.max_rel > 0;
  return extreme ? fmt::format("none on ordinary inputs, {:.3g} of the largest output on extreme ones{}",
                               comparison.extreme.max_rel, where)
                 : fmt::format("largest difference {:.3g}, {:.3g} of the largest output{}",
                               comparison.ordinary.max_abs, comparison.ordinary.max_rel, where);
}

}  // namespace

Status compare_whole(const Model& input, const Model& written, double max_error,
                     const HeadroomOptions& values, Diagnosis& diagnosis) {
  const Promise promise = promise_of(diagnosis);
  const auto work = static_cast<double>(total_multiply_adds(input) + total_multiply_adds(written));
  CompareOptions options;
  options.samples = budget_of_fix.runs(work * input.dialect->kernel_slowness, kSamples);
  options.seed = values.seed;
  options.inputs = values.inputs;
  if (const int most = std::max(1, budget_of_fix.runs(work, std::numeric_limits<int>::max()));
      options.inputs.size() > static_cast<std::size_t>(most))
    options.inputs.resize(static_cast<std::size_t>(most));
  options.also_generated = true;
  options.ranges = values.ranges;
  options.exactness = promise.exactness;
  options.nonfinite_stated = promise.nonfinite_differs;
  options.max_error = max_error;
  if (promise.exactness == Exactness::bounded && holds_bf16(input) && !holds_bf16(written)) {
    options.retyped_floats = true;
    options.max_error = promised_error(max_error, true);
  }
  if (options.samples == 0 || constant_bytes(input) > static_cast<std::uint64_t>(budget_of_fix.bytes)) {
    diagnosis.not_compared = "it is too large for that here; `modeldoctor verify` does it";
    return {};
  }
  const ModelComparison comparison = verify_models(input, written, options);
  if (!comparison.evaluated) {
    diagnosis.not_compared = comparison.note;
    return {};
  }
  ReportedVerification verification;
  verification.runtime = "reference evaluator";
  verification.samples = comparison.samples;
  verification.max_abs = comparison.max_abs, verification.max_rel = comparison.max_rel;
  verification.ordinary = reported(comparison.ordinary), verification.extreme = reported(comparison.extreme);
  verification.argmax_agreement = comparison.argmax_agreement;
  verification.equal = comparison.equal;
  verification.numbers_equal = std::all_of(comparison.outputs.begin(), comparison.outputs.end(),
                                           [](const OutputComparison& output) { return output.equal; });
  verification.interface = interface_changes(input.graphs[0], written.graphs[0], options.retyped_floats);
  verification.note = comparison.note;
  if (options.max_error > max_error)
    verification.note +=
        (verification.note.empty() ? "" : "; ") + another_bound(options.max_error, max_error);
  if (comparison.fp16_error)
    verification.note += fmt::format("{}fp16 rounding alone moves the input model by {:.2g} relative",
                                     verification.note.empty() ? "" : "; ", *comparison.fp16_error);
  const std::string difference = comparison.equal ? "" : difference_text(comparison);
  diagnosis.verification = std::move(verification);
  if (comparison.equal || promise.unsafe) return {};
  return fail(Error::Kind::check, "the rewritten model as a whole differs from the input: " + difference);
}

}  // namespace md

#include "lib/diagnose/ending.h"

namespace md {
namespace {

int fatal_left(const Diagnosis& diagnosis) {
  const auto fatal = diagnosis.after.find(Severity::fatal);
  return fatal == diagnosis.after.end() ? 0 : fatal->second;
}

}  // namespace

Ending ending_of(const Diagnosis& diagnosis) {
  if (!diagnosis.error_code.empty() || diagnosis.targets.empty() || !diagnosis.prediction ||
      !diagnosis.prediction->after_verdict)
    return Ending::none;
  if (diagnosis.prediction->after_verdict != Verdict::compiles) return Ending::refused;
  if (fatal_left(diagnosis) > 0 || !diagnosis.unexplained.empty() ||
      !diagnosis.unexplained_predictions.empty())
    return Ending::unsettled;
  if (!diagnosis.verification) return Ending::uncompared;
  const ReportedVerification& whole = *diagnosis.verification;
  return whole.equal || whole.numbers_equal ? Ending::accepted : Ending::unequal;
}

void require_comparison(Diagnosis& diagnosis) {
  const bool rewritten = diagnosis.fixed > 0 || diagnosis.output.has_value();
  const bool compared =
      diagnosis.verification && (diagnosis.verification->equal || diagnosis.verification->numbers_equal);
  if (!diagnosis.error_code.empty() || !rewritten || compared || diagnosis.exit_code != 0) return;
  // With -o an untouched copy is written where nothing had to be fixed: there is nothing to compare.
  if (diagnosis.fixed == 0 && diagnosis.not_compared.empty() && !diagnosis.verification) return;
  diagnosis.exit_code = 1;
  diagnosis.status = RunStatus::findings;
}

}  // namespace md

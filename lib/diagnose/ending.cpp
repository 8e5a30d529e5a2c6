#include "lib/diagnose/ending.h"

namespace md {
namespace {

int fatal_left(const Diagnosis& diagnosis) {
  const auto fatal = diagnosis.after.find("fatal");
  return fatal == diagnosis.after.end() ? 0 : fatal->second;
}

}  // namespace

std::string_view name(Ending ending) {
  switch (ending) {
    case Ending::accepted:
      return "accepted";
    case Ending::uncompared:
      return "uncompared";
    case Ending::unequal:
      return "unequal";
    case Ending::unsettled:
      return "unsettled";
    case Ending::refused:
      return "refused";
    case Ending::none:
      break;
  }
  return "none";
}

Ending ending_of(const Diagnosis& diagnosis) {
  if (!diagnosis.error_code.empty() || diagnosis.targets.empty() || !diagnosis.prediction ||
      diagnosis.prediction->after_verdict.empty())
    return Ending::none;
  if (diagnosis.prediction->after_verdict != "compiles") return Ending::refused;
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
  diagnosis.status = "findings";
}

}  // namespace md

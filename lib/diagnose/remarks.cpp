#include "lib/diagnose/remarks.h"

#include <algorithm>

#include "lib/diagnose/describe.h"
#include "lib/diagnose/fp16_evidence.h"
#include "lib/diagnose/hybrid_gap.h"
#include "lib/op/dialect.h"

namespace md {

std::vector<std::string> fp16_remarks(const std::vector<Tracked>& tracked, const Model& input,
                                      const Model& now, const HeadroomOptions& values) {
  const bool repaired = std::any_of(tracked.begin(), tracked.end(), [](const Tracked& known) {
    return concerns_fp16(*known.rule) && known.applied();
  });
  std::vector<std::string> remarks;
  if (repaired) remarks.push_back(fp16_before_and_after(input, now, values));
  if (values_given(values)) remarks.push_back(fp16_remains(now, values));
  std::erase(remarks, "");
  return remarks;
}

std::string hybrid_remark(const std::vector<const Target*>& targets, const Model& now,
                          const HeadroomOptions& values) {
  const bool on_gpu = std::any_of(targets.begin(), targets.end(), [](const Target* target) {
    return target->name().starts_with("litert-gpu") || target->name().starts_with("tflite-gpu");
  });
  return on_gpu ? hybrid_gap_note(now, values) : "";
}

std::vector<std::string> recipe_of(const std::vector<Tracked>& tracked, const Model& edited) {
  if (edited.dialect->reopening.empty()) return {};
  for (const Tracked& known : tracked) {
    if (!known.applied()) continue;
    if (auto recipe = recipe_behind_fix(*known.rule); !recipe.empty()) return recipe;
  }
  return {std::string(edited.dialect->reopening)};
}

}  // namespace md

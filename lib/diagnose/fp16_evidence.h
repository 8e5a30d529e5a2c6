// What a run of the model in simulated fp16 says about the places that the rules for fp16 name.
#pragma once
#include <optional>
#include <string>

#include "lib/fp16/fp16_report.h"
#include "lib/rule/page/rule.h"

namespace md {

/// True for the rules about fp16 ("judge": "fp16" in the page): their patterns alone say that an overflow is
/// possible, values say whether it happens.
inline bool concerns_fp16(const Rule& rule) { return rule.judge == Judge::fp16; }

/// The model in fp16 on the values that are known of its inputs (`HeadroomOptions::inputs`, ranges,
/// calibration statistics), else on random ones. Runs when it is first asked for; a large model is only run
/// on values that the user gave.
class Fp16Evidence {
 public:
  Fp16Evidence(const Model& model, const HeadroomOptions& values) : model_(model), values_(values) {}

  /// Raises a result to `shown` when a value in it passes 65504 and an output goes wrong, lowers it to
  /// `unlikely` when the inputs are known and everything in it stays far below; the message says on which
  /// inputs. Results that the pattern alone decides stay as they are.
  void weigh(DetectResult& result, int graph);

  /// Null when the model could not be run, or not in reasonable time.
  const Fp16Report* report();

 private:
  const Model& model_;
  const HeadroomOptions& values_;
  bool asked_ = false;
  std::optional<Fp16Report> report_;
};

/// "in fp16, simulated on 1 given sample: ... before; ... after". Empty: not evaluated, or nothing is known
/// of the inputs and nothing overflows.
std::string fp16_before_and_after(const Model& before, const Model& after, const HeadroomOptions& values);

/// "in fp16, simulated on 1 given sample: overflow: ..." for a model in which that happens; else empty.
std::string fp16_remains(const Model& model, const HeadroomOptions& values);

/// True when the user gave inputs or ranges.
inline bool values_given(const HeadroomOptions& values) {
  return !values.inputs.empty() || !values.ranges.empty();
}

}  // namespace md

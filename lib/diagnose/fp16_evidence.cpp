#include "lib/diagnose/fp16_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/eval/budget.h"
#include "lib/op/work.h"

namespace md {
namespace {

constexpr int kSamples = 2;       // exactly and in fp16: two runs each
constexpr double kAmpleBits = 4;  ///< headroom from which inputs that are a little larger do no harm either

std::optional<Fp16Report> run(const Model& model, const HeadroomOptions& values) {
  if (model.graphs.empty()) return std::nullopt;
  Fp16Options options;
  options.inputs = values;
  const bool given = values_given(values);
  const Budget& budget = given ? budget_of_report : budget_of_estimate;
  const auto work = static_cast<double>(total_multiply_adds(model) + 1);
  const int affordable = budget.runs(work, std::numeric_limits<int>::max());
  if (!given && affordable == 0) return std::nullopt;
  options.inputs.samples = std::clamp(affordable, 1, kSamples);
  const auto most = static_cast<std::size_t>(std::max(affordable, 1));
  if (options.inputs.inputs.size() > most) options.inputs.inputs.resize(most);
  Fp16Report report = fp16_report(model, 0, options);
  if (report.verdict == Fp16Verdict::unknown) return std::nullopt;
  return report;
}

double top_of(const Fp16Layer& layer) { return std::max(layer.largest, layer.largest_sum); }

bool passes(const Fp16Layer& layer) { return layer.overflows || layer.sum_passes; }

/// The nodes that a result is about: those it names and those its fixes replace.
std::set<NodeId> nodes_of(const DetectResult& result) {
  std::set<NodeId> nodes(result.nodes.begin(), result.nodes.end());
  for (const ProposedFix& fix : result.fixes)
    nodes.insert(fix.patch.removed.begin(), fix.patch.removed.end());
  return nodes;
}

/// What the outputs are like in fp16.
std::string outputs_text(const Fp16Report& report) {
  if (report.symptom == "zeros") return "the outputs are all zero";
  if (report.symptom == "nan") return "the outputs are NaN";
  if (report.symptom == "inf") return "the outputs are infinite";
  if (std::isinf(report.output_error)) return "some outputs are not finite";
  return fmt::format("the outputs are {:.2g} of their largest value off", report.output_error);
}

}  // namespace

const Fp16Report* Fp16Evidence::report() {
  if (!asked_) {
    asked_ = true;
    report_ = run(model_, values_);
  }
  return report_ ? &*report_ : nullptr;
}

void Fp16Evidence::weigh(DetectResult& result, int graph) {
  if (result.likelihood == Likelihood::shown || graph != 0) return;
  const Fp16Report* seen = report();
  if (!seen) return;
  // Random inputs are evidence of an overflow where the rule mends one.
  if (seen->source.kind == InputSource::Kind::random && result.fixes.empty()) return;
  const std::set<NodeId> nodes = nodes_of(result);
  const Fp16Layer* first = nullptr;
  const Fp16Layer* largest = nullptr;
  for (const Fp16Layer& layer : seen->layers) {
    if (!nodes.contains(layer.node)) continue;
    if (!first && passes(layer)) first = &layer;
    if (!largest || top_of(layer) > top_of(*largest)) largest = &layer;
  }
  const bool known = seen->source.kind != InputSource::Kind::random;
  if (first) {
    const bool harms = !seen->symptom.empty();
    if (harms) result.likelihood = Likelihood::shown;
    result.message +=
        fmt::format("; with {} \"{}\" reaches {:.3g}{}", seen->source.text, first->name, top_of(*first),
                    harms ? " and " + outputs_text(*seen) : ", the outputs stay near");
  } else if (known && largest) {
    const double bits = top_of(*largest) > 0 ? std::log2(largest_f16 / top_of(*largest))
                                             : std::numeric_limits<double>::infinity();
    if (bits >= kAmpleBits) result.likelihood = Likelihood::unlikely;
    result.message += fmt::format("; with {} it stays at {:.3g}, {:.1f} bits below", seen->source.text,
                                  top_of(*largest), bits);
  }
}

std::string fp16_before_and_after(const Model& before, const Model& after, const HeadroomOptions& values) {
  const auto a = run(before, values);
  if (!a || (!values_given(values) && a->symptom.empty())) return {};
  const auto b = run(after, values);
  if (!b) return {};
  return fmt::format("in fp16, simulated on {}: {} before, {} after", a->source.text, outputs_text(*a),
                     outputs_text(*b));
}

std::string fp16_remains(const Model& model, const HeadroomOptions& values) {
  const auto report = run(model, values);
  if (!report || report->symptom.empty()) return {};
  return fmt::format("in fp16, simulated on {}: {}; `modeldoctor fp16` shows every layer",
                     report->source.text, report->summary);
}

}  // namespace md

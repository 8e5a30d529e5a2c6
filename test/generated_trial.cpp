#include <fmt/format.h>

#include <algorithm>

#include "lib/diagnose/diagnose.h"
#include "lib/edit/changes.h"
#include "lib/fp16/fp16_report.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"
#include "lib/report/report.h"
#include "lib/verify/verify.h"
#include "test/generated_models.h"

namespace md::test {
namespace {

const RuleBook& rules() {
  static const RuleBook book = std::move(*RuleBook::load({}));
  return book;
}

Result<DiagnoseOutcome> run(const Document& document, const std::string& target, bool apply, bool unsafe) {
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = "generated.tflite";
  request.targets = {target};
  request.rules = &rules();
  request.options.apply = apply;
  request.options.unsafe_fixes = unsafe;
  request.options.samples = 4;
  request.command = apply ? "fix" : "check";
  return diagnose(request);
}

/// The least trusted of the fixes that were made: "safe", "unsafe"; and whether all are exact.
struct Promise {
  bool unsafe = false, bounded = false;
};

Promise promise_of(const Diagnosis& diagnosis) {
  Promise promise;
  for (const Finding& finding : diagnosis.findings)
    for (const ReportedFix& fix : finding.fixes)
      if (fix.applied) {
        promise.unsafe = promise.unsafe || fix.applicability != Applicability::safe;
        promise.bounded = promise.bounded || fix.exactness == Exactness::bounded;
      }
  return promise;
}

bool same_interface(const Graph& a, const Graph& b) {
  const auto same = [&](const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](ValueId i, ValueId j) {
      return a.value(i).name == b.value(j).name && a.value(i).dtype == b.value(j).dtype &&
             a.value(i).shape == b.value(j).shape;
    });
  };
  return same(a.inputs, b.inputs) && same(a.outputs, b.outputs);
}

std::string judge_result(const Document& before, const Document& after, const Model& meant,
                         const Diagnosis& diagnosis) {
  if (const auto difference = same_structure(meant, after.model()))
    return "the written file differs from what was meant: " + *difference;
  const Promise promise = promise_of(diagnosis);
  if (promise.unsafe) return {};
  if (!same_interface(before.model().graphs[0], after.model().graphs[0]))
    return "safe fixes changed the interface";
  CompareOptions options;
  options.samples = 3;
  options.fp16_yardstick = options.find_layer = false;
  if (promise.bounded) options.exactness = Exactness::bounded, options.max_error = 1e-2;
  const ModelComparison comparison = verify_models(before.model(), after.model(), options);
  if (!comparison.evaluated || comparison.equal) return {};
  // At the end of the range of floats a rounding may decide between a number and infinity; `fix` removes such
  // a file and says so (exit 3).
  const bool overflows = std::any_of(comparison.outputs.begin(), comparison.outputs.end(),
                                     [](const OutputComparison& output) { return output.nonfinite > 0; });
  if (overflows) return {};
  std::string text = "the rewritten model computes something else:";
  for (const OutputComparison& output : comparison.outputs)
    if (!output.equal) text += " " + output.name + " " + output.where;
  for (const std::string& difference : comparison.interface_differences) text += " " + difference;
  return text;
}

std::string mend(const Document& document, const std::string& target, bool unsafe) {
  auto fixed = run(document, target, true, unsafe);
  if (!fixed) return "fix: " + fixed.error().message;
  if (fixed->diagnosis.exit_code > 3) return "fix: " + fixed->diagnosis.error_message;
  (void)render(std::span(&fixed->diagnosis, 1), ReportFormat::json);
  (void)render(std::span(&fixed->diagnosis, 1), ReportFormat::text);
  if (!fixed->edited) return {};
  MemorySink sink;
  if (auto written = document.write(*fixed->edited, sink); !written)
    return "write: " + written.error().message;
  const auto again = open_document(MappedFile::from_bytes("fixed.tflite", sink.bytes));
  if (!again) return "the written file: " + again.error().message;
  if (std::string fault = judge_result(document, **again, *fixed->edited, fixed->diagnosis); !fault.empty())
    return fault;
  const auto second = run(**again, target, true, unsafe);
  if (!second) return "a second fix: " + second.error().message;
  if (!second->edited) return {};
  std::string titles;
  for (const Finding& finding : second->diagnosis.findings)
    for (const ReportedFix& fix : finding.fixes)
      if (fix.applied) titles += fmt::format(" {} ({})", finding.rule, fix.title);
  return "a second fix finds more to do:" + titles;
}

}  // namespace

void prepare_trials() { (void)rules(); }

std::string model_fault(const std::string& bytes, std::uint64_t seed) {
  const auto document = open_document(MappedFile::from_bytes("generated.tflite", bytes));
  if (!document) return "open: " + document.error().message;
  (void)print((*document)->model());
  static const std::string targets[] = {"litert-gpu@2.3.0", "litert-gpu@2.3.0", "litert-gpu@2.1.3",
                                        "tflite-gpu", "litert-gpu+cpu@2.3.0"};
  const std::string& target = targets[seed % std::size(targets)];
  const auto checked = run(**document, target, false, false);
  if (!checked) return "check: " + checked.error().message;
  if (checked->diagnosis.exit_code > 1) return "check: " + checked->diagnosis.error_message;
  if (std::string fault = mend(**document, target, seed % 3 == 0); !fault.empty()) return fault;
  if (seed % 4 == 0) (void)fp16_text(fp16_report((*document)->model(), 0, {}));
  return {};
}

}  // namespace md::test

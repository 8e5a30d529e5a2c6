// The whole of `check` and `fix` as a call, for programs that have no use for a command line.
//
//     auto rules = md::RuleBook::load();
//     md::FixRequest request;
//     request.rules = &*rules;
//     request.source.path = "model.tflite";
//     request.source.logs = *md::read_logs({"err.txt"});
//     auto outcome = md::fix(request);           // writes model.fixed.tflite and model.diagnosis.json
//     if (outcome) puts(md::render(std::span(&outcome->diagnosis, 1), md::ReportFormat::json).c_str());
//
// Open, pin shapes, cut, diagnose, mend, compare the whole, accept by a baseline, write, open again, give
// both files their names: `check` is what comes before the writing, and mends nothing.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/baseline/baseline.h"
#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/fix/output.h"
#include "lib/fix/source.h"
#include "lib/graph/document.h"
#include "lib/rule/page/rule.h"
#include "lib/verify/verify.h"

namespace md {

/// One size for an input that may change its own.
struct PinnedShape {
  std::string input;
  Shape shape;
};

/// What a baseline accepts: found, reported, not counted.
struct Accepting {
  const Baseline* baseline = nullptr;  ///< null: nothing is accepted
  std::string today;                   ///< "2026-12-01", see today()
  std::set<std::string> left_out;      ///< rules that are not looked for: their entries are not stale
  bool strict = false;                 ///< an entry that is stale or expired is a finding
};

/// Where the result goes. Nothing is written by `check`, and by `fix` with `dry_run`.
struct OutputWish {
  std::string path;       ///< "": MODEL.fixed.EXT beside the model
  bool in_place = false;  ///< the model itself is replaced
  bool force = false;     ///< also over a file that this program did not write
  bool dry_run = false;
};

struct FixRequest {
  FixSource source;
  bool companion_logs = false;       ///< without a log, those that lie beside the model are read
  const RuleBook* rules = nullptr;   ///< must outlive the call
  std::vector<std::string> targets;  ///< "litert-gpu@2.3.0"; empty: from the logs, else the format's
  DiagnoseOptions options;           ///< limits, exactness, unsafe fixes, selection, symptoms; not `apply`
  std::vector<std::string> input_files;  ///< .npz, .npy: the model's inputs, besides options.values
  std::vector<NamedRange> ranges;        ///< of inputs, besides options.values
  std::vector<PinnedShape> shapes;       ///< applied before anything is looked for
  std::vector<std::string> cuts;         ///< values that become outputs; what lies behind them goes
  OutputWish output;
  Accepting accepting;
  bool hash = false;    ///< the input's SHA-256 goes into the diagnosis
  std::string command;  ///< what the diagnosis calls the run; "": "fix" or "check"
  /// Options as a user gave them, for the command that the report proposes next.
  std::vector<std::string> repeated_options;
};

struct FixOutcome {
  /// Findings, fixes with their proofs, the comparison of the whole, prediction before and after, what was
  /// written. Where the result could not be written, or was refuted as a whole, `error_code` and `exit_code`
  /// say so and nothing was written but, for a refuted one, the diagnosis.
  Diagnosis diagnosis;
  std::shared_ptr<const Document> document;  ///< the input; null without a model
  std::optional<Model> start;   ///< the input with shapes pinned and cut short; nullopt: as the file has it
  std::optional<Model> edited;  ///< what is written, in a dry run what would be; nullopt: as the file has it
  OutputPlan plan;              ///< the names of the outputs; empty for `check`
  BaselineUse baseline;         ///< entries that this run met
};

/// Diagnoses, mends what can be proven, and writes the model and its diagnosis, both or none, unless
/// `output.dry_run`. Errors are what keeps it from a diagnosis: a model, an input or a log that cannot be
/// read, names that the model does not have, outputs that may not be written. Their message names the file,
/// and nothing was written. Several threads may call it at once.
Result<FixOutcome> fix(const FixRequest& request);

/// The same without mending and without writing: what a fix would do is listed as candidates.
Result<FixOutcome> check(const FixRequest& request);

/// The diagnosis of a run that ended in an error, as reports show it.
Diagnosis failed_run(const FixRequest& request, const Error& error);

/// usage, input, unsupported 2; check 3; internal 4.
int exit_code(const Error& error);

}  // namespace md

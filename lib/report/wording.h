// Words and groupings that several reporters share.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/diagnose/diagnosis.h"

namespace md::reporters {

/// The same fault at several places, shown once.
struct Group {
  std::vector<const Finding*> findings;  ///< at least one; in the diagnosis' order
  const Finding& first() const { return *findings.front(); }
};
std::vector<Group> group_findings(const Diagnosis& run);

/// By consequence: "will not compile", "wrong result", "slow", "note".
std::string_view consequence(Severity severity);
/// Who is to blame, where it is not the model, and what to do instead: one sentence; "" where it is the
/// model.
std::string_view fault_words(const Finding& finding);
/// The consequence of a finding: where a log tells what the tool did, what did not come about ("does not
/// load").
std::string consequence(const Finding& finding);
/// "ONNX Runtime, while the model runs, at Reshape (/a/b)": who spoke, doing what; "" where nothing is known.
std::string origin_words(const ReportedRecord& record);
/// The further lines that say what is known of a failure that no rule knows.
std::vector<std::string> failure_words(const ReportedRecord& record);
/// The line of a record that says most.
std::string shown_line(const ReportedRecord& record);
/// "s0/n3"; for a node that an earlier fix made: "s0/new from n3,n5".
std::string place(const ReportedLocation& at);
/// "model.tflite:s0/n3 SELECT_V2 \"mask/where\"", or the log's place for a finding without a model.
std::string where(const Diagnosis& run, const Finding& finding);
/// "err.txt:12", of the first record that belongs to the finding; "" when none does.
std::string log_place(const Diagnosis& run, const Finding& finding);
/// "[*]" when a fix that would be applied is known, "[fixed]" ("[would be fixed]" in a dry run), or "".
std::string mark(const Diagnosis& run, const Finding& finding);
/// "fixed", in a dry run "would be fixed".
std::string_view fixed_word(const Diagnosis& run);
/// True while the fault is in the file: not mended, or mended in a dry run only.
bool remains_in_file(const Diagnosis& run, const Finding& finding);
/// What became of a fix, for its line: "fixed by", "would be fixed by", "can be fixed by", "not applied:".
std::string_view fix_verb(const Diagnosis& run, const ReportedFix& fix);
/// The fix that was applied, else the best one that is offered; null when there is none.
const ReportedFix* leading_fix(const Finding& finding);
/// "exact, every element was followed", "rounding, equal on 24 samples (largest difference 3e-07, 1e-07
/// relative)".
std::string proof_words(const ReportedFix& fix);
/// "+2 ops, -12 kB, +1.2 M multiply-adds"; "no cost".
std::string cost_words(const ReportedCost& cost);
/// "litert-gpu 2.3.0 (assumed)".
std::string target_words(const ReportedTarget& target);
/// "3 found (2 will not compile, 1 wrong result), 3 fixed, nothing left".
std::string summary_words(const Diagnosis& run);
/// "2 accepted by baseline.json (1 wrong result, 1 note)"; "" when nothing is.
std::string accepted_words(const Diagnosis& run);
/// What the end of the run allows to be said about the target ("litert-gpu should now take the whole graph"
/// and its weaker forms); "" when nothing was rewritten or nothing is known.
std::string ending_words(const Diagnosis& run);
/// "equal on 8 samples: largest difference 2.4e-07 (...) on 3 ordinary, ..."; "not compared as a whole: WHY";
/// "" when nothing was rewritten.
std::string whole_words(const Diagnosis& run);
/// The lines of a text, without their ends and without empty ones at its end; for indented output.
std::vector<std::string> lines_of(std::string_view text);
/// "will not compile" and so on, counted: "2 will not compile, 1 wrong result"; "none" when all are zero.
std::string counts_words(const SeverityCounts& counts);
/// The same of a run: where a log tells of anything but compiling, what is fatal is called a failure.
std::string counts_words(const Diagnosis& run, const SeverityCounts& counts);
std::string model_path(const Diagnosis& run);
/// A run that failed before it found anything: its one line says all.
bool is_error_alone(const Diagnosis& run);
/// "5 models: 3 clean, 1 with findings (2 will not compile), 1 failed".
std::string totals_words(std::span<const Diagnosis> runs);

}  // namespace md::reporters

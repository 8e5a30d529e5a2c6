// The result of a run: everything found, root cause first. Reporters are pure functions of this.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/diagnose/finding.h"
#include "lib/target/target.h"

namespace md {

using Verdict = Prediction::Verdict;
template <>
inline constexpr std::array<Word<Verdict>, 3> kWords<Verdict> = {
    {{Verdict::compiles, "compiles"}, {Verdict::refused, "refused"}, {Verdict::crash, "crash"}}};

/// How it is known which runtime and version is meant.
enum class TargetSource { flag, log, fit, usual };
template <>
inline constexpr std::array<Word<TargetSource>, 4> kWords<TargetSource> = {
    {{TargetSource::flag, "flag"},
     {TargetSource::log, "log"},
     {TargetSource::fit, "fit"},
     {TargetSource::usual, "default"}}};

enum class RunStatus {
  clean,
  accepted,  ///< nothing counts, but a baseline accepts something
  findings,  ///< something at --fail-on remains
  fixed,     ///< something was rewritten, and nothing at --fail-on remains
  failed     ///< an error ended the run
};
template <>
inline constexpr std::array<Word<RunStatus>, 5> kWords<RunStatus> = {{{RunStatus::clean, "clean"},
                                                                      {RunStatus::accepted, "accepted"},
                                                                      {RunStatus::findings, "findings"},
                                                                      {RunStatus::fixed, "fixed"},
                                                                      {RunStatus::failed, "failed"}}};

using SeverityCounts = std::map<Severity, int>;

struct ReportedRecord {
  std::string path, text, tool;
  int line = 0;
  std::vector<std::string> rules;
  bool benign = false;
  int failure = 0;  ///< records with one number are one failure; 0: none
  /// What is known of a failure besides its words, see Record: Stage::load, "Resize", "/a/Resize", ...; may
  /// be empty.
  Stage stage = Stage::unknown;
  std::string op = {}, node = {}, condition = {}, status = {}, source = {}, frame = {};
  std::string shown = {};              ///< the line of the text that says most; empty: the first
  std::vector<int> consequences = {};  ///< lines that only report it again
};

struct ReportedTarget {
  std::string name, version, table;
  TargetSource source = TargetSource::usual;
  bool assumed = false;
};

struct ReportedPrediction {
  Verdict verdict = Verdict::compiles;   ///< of the input
  std::optional<Verdict> after_verdict;  ///< of the rewritten model; nullopt: nothing was rewritten
  struct Row {
    std::string text;
    int graph = 0;
    std::int32_t node = -1;
    bool hidden = false;
  };
  std::vector<Row> records;
};

struct ReportedModel {
  std::string path, format, sha256;
  std::uint64_t bytes = 0;
  std::size_t nodes = 0;
};

/// The worst difference over some of the samples; max_rel is relative to the largest |output| of its sample.
struct ReportedDifference {
  std::int64_t samples = 0;
  double max_abs = 0, max_rel = 0;
};

struct ReportedVerification {
  std::string runtime, note;
  std::int64_t samples = 0;
  double max_abs = 0, max_rel = 0;  ///< over all samples, extremes among them
  std::optional<double> argmax_agreement;
  bool equal = false;                  ///< numbers and interface
  bool numbers_equal = false;          ///< the interface may differ
  std::vector<std::string> interface;  ///< what differs in names, types and shapes of inputs and outputs
  /// Apart: inputs as a model meets them, and extremes (huge values, infinities, NaN), where only the
  /// relative difference says something. Both empty in diagnoses of older versions.
  std::optional<ReportedDifference> ordinary = std::nullopt, extreme = std::nullopt;
};

struct ReportedOutput {
  std::string path, sha256;
  std::uint64_t bytes = 0;
};

/// Why something that was found does not count: an entry of a baseline.
struct Suppression {
  std::string baseline;       ///< the file, as the user named it
  std::string entry;          ///< which of its entries: "a.tflite: LRT012 at attn/k (BROADCAST_TO), number 1"
  std::string reason, owner;  ///< as people wrote them there; may be empty
  std::string until;          ///< the last day on which it is accepted, "2027-01-31"; empty: for good
};

struct AcceptedFinding {
  Finding finding;
  Suppression suppression;
};

/// A failure without a rule that is accepted all the same.
struct AcceptedLine {
  int log = -1;      ///< index into Diagnosis::log; -1: what the runtime was predicted to say
  std::string text;  ///< of the record or the prediction
  Suppression suppression;
};

struct Diagnosis {
  std::string command;
  RunStatus status = RunStatus::clean;
  bool dry_run = false;  ///< nothing was written: what is called applied or fixed would be
  int exit_code = 0;
  std::optional<ReportedModel> model;
  std::string stated_name;  ///< what the user wants the model to be called in fingerprints and baselines; may
                            ///< be empty
  std::vector<ReportedTarget> targets;
  std::optional<ReportedPrediction> prediction;
  std::vector<std::string> log_paths;  ///< the logs that were read, also those without trouble
  std::vector<ReportedRecord> log;
  std::vector<Finding> findings;
  std::vector<int> unexplained;  ///< indices into log
  std::vector<std::string> unexplained_predictions;
  std::vector<AcceptedFinding> accepted;     ///< found, and not counted: a baseline accepts them
  std::vector<AcceptedLine> accepted_lines;  ///< the same for lines and predictions that nothing explains
  std::vector<std::string> ruled_out, notes;
  std::optional<ReportedVerification> verification;
  std::string not_compared;  ///< why the rewritten model was not compared with the input as a whole
  std::optional<ReportedOutput> output;
  /// Options of the command line that decide what is found, each word for itself: for the next command.
  std::vector<std::string> options;
  std::vector<std::string> recipe;  ///< lines of Python that take a mended .pt2 on; "model.fixed.pt2" is it
  SeverityCounts before, after;     ///< open findings
  int fixed = 0;
  std::string error_code, error_message;
  std::string rules_version;
};

/// Open findings by severity (every severity has an entry). What nothing explains counts as fatal.
SeverityCounts count_open(const Diagnosis& diagnosis);

/// What a baseline accepts, by severity; lines that nothing explains count as fatal. Empty: nothing is.
SeverityCounts count_accepted(const Diagnosis& diagnosis);

/// Fills `after`, `fixed`, and unless the run failed `status` and `exit_code`. `fail_on`: nullopt:
/// never.
void settle(Diagnosis& diagnosis, std::optional<Severity> fail_on);

/// Marks the run as failed with one clear line.
void fail_run(Diagnosis& diagnosis, int exit_code, std::string code, std::string message);

/// Several files: the worst of 4 > 2 > 3 > 1 > 0.
int worse_exit_code(int a, int b);

}  // namespace md

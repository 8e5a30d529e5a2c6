// The baselines of a run over several models: read before, pruned or written again when all models are done.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/fix/fix.h"

namespace md {

struct BaselineWish {
  std::string accepted;  ///< the file whose entries do not count; "": none. "-" is standard input
  std::string written;   ///< the file to write what is found to; "": none
  bool strict = false;   ///< stale and expired entries are findings
  bool prune = false;    ///< and are removed from `accepted`
};

/// A run, and the severity from which on it fails: models may have their own.
struct JudgedRun {
  Diagnosis* diagnosis = nullptr;
  std::optional<Severity> fail_on;  ///< nullopt: never
  BaselineUse use;                  ///< FixOutcome::baseline
};

class BaselineFiles {
 public:
  /// Reads what the wish names. `rules`, and which of them are looked for: entries of the others are never
  /// stale. Errors: a file that is no baseline, options that need another.
  static Result<BaselineFiles> open(const BaselineWish& wish, const RuleBook& rules,
                                    const DiagnoseOptions& options);

  /// For FixRequest::accepting; points into this object.
  Accepting accepting() const;
  /// When all models are done: strictness, pruning, writing. The diagnoses may change. Gives lines for
  /// people. Errors: a baseline that cannot be written.
  Result<std::vector<std::string>> finish(std::span<const JudgedRun> runs);

 private:
  /// Entries that nothing meets any more, and whose model is gone; its note goes into the last run.
  void note_orphans(std::span<const Diagnosis> found, Diagnosis& last);
  Status prune(bool all_ran);
  Status write(std::span<const JudgedRun> runs, std::span<const Diagnosis> found);

  BaselineWish wish_;
  std::optional<Baseline> accepted_, written_;
  std::string today_;
  std::set<std::string> left_out_;
  BaselineUse use_;
  std::vector<std::string> said_;
};

}  // namespace md

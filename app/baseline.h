// --baseline, --write-baseline and their like: the files around lib/baseline.
#pragma once
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "app/options.h"
#include "lib/baseline/baseline.h"
#include "lib/rule/page/rule.h"

namespace md::app {

/// A run, and the severity from which on it fails: models may have their own.
struct JudgedRun {
  Diagnosis* diagnosis = nullptr;
  std::string fail_on;
};

class BaselineFiles {
 public:
  /// Reads what the options name. Errors: a file that is no baseline, options that go with another.
  static Result<BaselineFiles> open(const Options& options, const RuleBook& rules);

  /// Applies --baseline to one run; several threads may call it.
  void apply(Diagnosis& run, std::string_view fail_on);
  /// When all models are done: strictness, pruning, writing. The diagnoses may change; what to tell people is
  /// printed. Errors: a baseline that cannot be written.
  Status finish(std::span<const JudgedRun> runs);

 private:
  Status prune(bool all_ran);
  Status write(std::span<const JudgedRun> runs, std::span<const Diagnosis> found);

  std::optional<Baseline> accepted_, written_;
  std::string accepted_path_, written_path_, today_;
  std::set<std::string> left_out_;
  bool strict_ = false, prune_ = false;
  BaselineUse use_;
  std::unique_ptr<std::mutex> guard_ = std::make_unique<std::mutex>();
};

}  // namespace md::app

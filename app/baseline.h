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

class BaselineFiles {
 public:
  /// Reads what the options name. Errors: a file that is no baseline, options that go with another.
  static Result<BaselineFiles> open(const Options& options, const RuleBook& rules);

  /// Applies --baseline to one run; several threads may call it.
  void apply(Diagnosis& run, std::string_view fail_on);
  /// When all models are done: strictness, pruning, writing. `runs` may change; what to tell people is
  /// printed. Errors: a baseline that cannot be written.
  Status finish(std::span<Diagnosis*> runs, std::string_view fail_on);

 private:
  Status prune(bool all_ran);
  Status write(std::span<Diagnosis*> runs, std::string_view fail_on);

  std::optional<Baseline> accepted_, written_;
  std::string accepted_path_, written_path_, today_;
  std::set<std::string> left_out_;
  bool strict_ = false, prune_ = false;
  BaselineUse use_;
  std::unique_ptr<std::mutex> guard_ = std::make_unique<std::mutex>();
};

}  // namespace md::app

// A rule page tests itself: its log and model blocks, run.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/rule.h"

namespace md {

struct ExampleFailure {
  std::string path;
  int line = 0;
  std::string what;
  std::string text() const;  ///< "path:line: what"
};

/// Runs every log block (a signature must hit, or none may) and every model block:
///   fires     the rule finds a site (`advice` in the fence line: one that it only advises on). When it
///   offers fixes, each of
///             them is applied: the graph must stay sound with the same inputs and outputs (unless the fix
///             says it is unsafe), the proof must not contradict it, and the rule must not find the site
///             again.
///   declines  it finds none (declining with a reason is fine; `reason="text"` asks that the reason holds
///   this text).
/// Further words in the fence line: `f16` runs the block a second time with every f32 made f16;
/// `target=litert-gpu@2.1.5` gives the detector that target and its predicted records; `log` gives it the
/// page's own log examples as the user's log; `log="text"` that line; `no-proof` where no kernel can evaluate
/// the site; `unproven` where the fix is known to differ on purpose.
std::vector<ExampleFailure> run_rule_examples(const Rule& rule);

/// What a rule finds in one graph of an example.
struct FoundInExample {
  DetectResult result;
  int graph = 0;
};

/// One model block as its fence line means it, for those who hold other laws over it.
class ExampleCase {
 public:
  /// Reads the block. Error: its text or its fence line is wrong.
  static Result<ExampleCase> open(const Rule& rule, const ModelExample& example);
  /// The model of the block and, where it says `f16`, the same in f16.
  const std::vector<Model>& models() const { return models_; }
  /// The rule is run on every graph of `model` with the block's target, predicted records and log.
  Result<std::vector<FoundInExample>> find(const Model& model) const;
  /// The block says that proofs of its fixes cannot be made, or do not hold.
  bool proved() const { return proved_; }

 private:
  const Rule* rule_ = nullptr;
  std::vector<Model> models_;
  std::string target_;
  std::vector<std::string> messages_;
  bool proved_ = true;
};

}  // namespace md

// Real runtimes as child processes: `verify --on NAME`, `verify --runner CMD`, `runners`. The exchange is
// described in scripts/runners/README.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/eval/tensor.h"
#include "lib/proof/compare_models.h"

namespace md {

struct RunnerInfo {
  std::string name, what;  ///< "litert-gpu", "the LiteRT GPU accelerator, the whole model on the GPU"
  std::string script;      ///< path of its program; empty: not found
  bool installed = false;
  std::string runtime;  ///< "ai-edge-litert 2.3.0" when installed
  std::string hint;     ///< how to install it, else
};
/// The runners that come with the program; asks each whether its runtime is there (`probe` false: does not
/// start them). Scripts are looked for in $MODELDOCTOR_RUNNERS and in scripts/runners beside the program and
/// above it.
std::vector<RunnerInfo> list_runners(bool probe = true);
std::string runners_text(const std::vector<RunnerInfo>& runners);

struct RunnerResult {
  enum class Status { ok, refused, failed, crash, timeout, not_installed } status = Status::failed;
  std::string runtime;          ///< name and version, as the runner says
  std::string error;            ///< for people: what it said, or "killed by signal 6"
  std::string log;              ///< what it printed on stderr
  std::vector<Tensor> outputs;  ///< in the model's order
};
std::string_view name(RunnerResult::Status status);

struct RunnerOptions {
  std::string runner;                  ///< a name of list_runners(), or
  std::optional<std::string> command;  ///< a shell command that gets the folder appended (--runner CMD)
  bool fp16 = false;
  int timeout_seconds = 300;
};
/// Runs the model file once. Never throws; a missing runner is status not_installed with the hint in `error`.
RunnerResult run_on(const std::string& model_path, const Model& model, const std::vector<Tensor>& inputs,
                    const RunnerOptions& options);

/// `reference` evaluated here against `model` on a runner, sample by sample of compare.inputs (else one
/// plausible sample). note says what the runtime said when it did not run.
ModelComparison verify_on(const Model& reference, const std::string& model_path, const Model& model,
                          const RunnerOptions& runner, const CompareOptions& compare);

}  // namespace md

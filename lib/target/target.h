// A target is a runtime and version with its constraint table (lib/runtime/NAME/*.constraints.json). Run over
// a model it gives the same records that the runtime's own log would hold.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/version.h"
#include "lib/graph/graph.h"

namespace md {

/// What the runtime would say about one node. `text` is the log line, word for word ("GATHER_ND: Operation is
/// not supported.").
struct PredictedRecord {
  std::string text;
  int graph = 0;
  NodeId node = none_id;
  ValueId value = none_id;  ///< the tensor that the text names, or none_id
  bool hidden =
      false;  ///< an earlier check of the same node fails first, so the runtime does not print this one
  bool benign = false;  ///< a consequence, never a cause: the line "DEQUANTIZE: " of fp16 constants
};

struct Prediction {
  enum class Verdict { compiles, refused, crash } verdict = Verdict::compiles;
  std::vector<PredictedRecord> records;  ///< by node, the visible one of each node first
  /// Of the main graph: nodes, those that the delegate runs when the CPU may run the rest, and into how many
  /// runs the nodes that it takes fall.
  std::size_t nodes = 0, accelerated = 0, partitions = 0;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;  ///< "litert-gpu", "litert-gpu+cpu", "tflite-gpu"
  Version version;                       ///< as asked for
  Version table;                         ///< the measured version whose table is used
  bool assumed = false;                  ///< table differs from version, or the version was guessed
  std::string source = "default";        ///< flag | log | fit | default
  /// What the accelerator refuses runs on the CPU: a refusal costs time, it does not end the model.
  virtual bool falls_back() const = 0;
  virtual bool has_table() const = 0;  ///< false: only rules apply, nothing is predicted
  virtual Prediction predict(const Model& model) const = 0;
  /// The records of one node only; empty when the target takes it.
  virtual std::vector<PredictedRecord> predict_node(const Model& model, int graph, NodeId node) const = 0;
};

/// "litert-gpu@2.3.0", "litert-gpu" (newest), "executorch-xnnpack@1.5.1". Errors: an unknown name, with the
/// nearest known one.
Result<std::unique_ptr<Target>> open_target(std::string_view text);
/// Names and measured versions of every table, for help texts and version fitting.
struct TargetListing {
  std::string name;
  std::vector<Version> versions;  ///< ascending
};
std::vector<TargetListing> known_targets();

/// The names of all targets. Reads no table.
std::vector<std::string> target_names();

}  // namespace md

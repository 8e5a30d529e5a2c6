// A target whose verdict is read off a constraint table.
#pragma once
#include "lib/target/partition.h"
#include "lib/target/table.h"
#include "lib/target/target.h"

namespace md {

class TableTarget : public Target {
 public:
  /// `checks` null: a target without one.
  TableTarget(std::string name, const Table* checks, bool falls_back)
      : name_(std::move(name)), checks_(checks), falls_back_(falls_back) {}
  std::string name() const override { return name_; }
  bool falls_back() const override { return falls_back_; }
  bool has_table() const override { return checks_ != nullptr; }
  Prediction predict(const Model& model) const override;
  std::vector<PredictedRecord> predict_node(const Model& model, int graph, NodeId node) const override;

 private:
  struct NodeVerdict {
    std::vector<PredictedRecord> records;
    bool kernel = false, crash = false;  ///< fails while its kernel is built; takes the process with it
    std::int64_t stage = 0;              ///< of its first record
  };
  struct GraphVerdict {
    std::vector<PredictedRecord> records, left_out;
    std::vector<std::int64_t> stages;  ///< parallel to records
    bool refused = false, fails = false, crash = false;
    Partitioning parts;
  };
  GraphVerdict judge_graph(const Model& model, int graph) const;
  NodeVerdict judge(const Model& model, const DelegateView& view, int graph, NodeId id) const;
  void judge_file(const Model& model, Prediction& prediction) const;
  std::string name_;
  const Table* checks_;
  bool falls_back_ = false;
};

}  // namespace md

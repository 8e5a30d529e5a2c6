// Computed int64 values (indices, positions, comparisons of lengths): the accelerator has no 64-bit integers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "lib/edit/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::array<std::string_view, 36> operators = {"CAST",          "ADD",
                                                        "SUB",           "MUL",
                                                        "MAXIMUM",       "MINIMUM",
                                                        "FLOOR_DIV",     "FLOOR_MOD",
                                                        "NEG",           "ABS",
                                                        "SELECT",        "SELECT_V2",
                                                        "EQUAL",         "NOT_EQUAL",
                                                        "LESS",          "LESS_EQUAL",
                                                        "GREATER",       "GREATER_EQUAL",
                                                        "RESHAPE",       "TRANSPOSE",
                                                        "CONCATENATION", "PACK",
                                                        "SLICE",         "STRIDED_SLICE",
                                                        "GATHER",        "GATHER_ND",
                                                        "ARG_MAX",       "ARG_MIN",
                                                        "TILE",          "PAD",
                                                        "BROADCAST_TO",  "EXPAND_DIMS",
                                                        "SQUEEZE",       "EMBEDDING_LOOKUP",
                                                        "ONE_HOT",       "SPLIT"};

bool is_wide(const Graph& graph, ValueId id) { return id >= 0 && graph.value(id).dtype == DType::i64; }

class Narrowing {
 public:
  explicit Narrowing(const DetectContext& context)
      : graph_(context.graph), patch_(graph_, context.graph_index, "int32 instead of int64") {}

  DetectResult run() {
    for (const NodeId id : graph_.order) visit(id);
    for (const ValueId id : values_) {
      ValueChange& change = patch_.patch().value_changes.emplace_back();
      change.value = id;
      change.dtype = DType::i32;
      interface_ = interface_ || graph_.is_input(id) || graph_.is_output(id);
    }
    if (result_.nodes.empty()) return std::move(result_);
    result_.value = values_.empty() ? none_id : *values_.begin();
    result_.message =
        fmt::format("{} computed int64 values: the accelerator has no 64-bit integers", values_.size());
    if (result_.state == DetectResult::State::matched) result_.fixes.emplace_back(patch_.take());
    if (interface_ && !result_.fixes.empty()) {
      result_.fixes.back().unsafe = true;
      result_.fixes.back().unsafe_reason =
          "an input or output becomes int32: callers must pass or take that type";
    }
    return std::move(result_);
  }

 private:
  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const auto computed = [&](ValueId v) { return is_wide(graph_, v) && !graph_.value(v).is_constant(); };
    const bool touches = std::any_of(node.inputs.begin(), node.inputs.end(), computed) ||
                         std::any_of(node.outputs.begin(), node.outputs.end(), computed);
    if (!touches) return;
    result_.nodes.push_back(id);
    if (std::find(operators.begin(), operators.end(), node.op) == operators.end())
      return decline(fmt::format("{} is not known to take int32 in place of int64", node.op));
    NodeChange change;
    change.node = id;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      operand(id, static_cast<int>(i), node.inputs[i], change);
    for (const ValueId v : node.outputs)
      if (computed(v)) {
        values_.insert(v);
        if (node.op == "CAST") change.set_attrs.set("out_data_type", EnumValue{2, "INT32"});
        if (node.op == "ARG_MAX" || node.op == "ARG_MIN")
          change.set_attrs.set("output_type", EnumValue{2, "INT32"});
      }
    if (!change.set_attrs.empty()) patch_.change(std::move(change));
  }

  void operand(NodeId id, int at, ValueId value, NodeChange& change) {
    if (!is_wide(graph_, value)) return;
    if (!graph_.value(value).is_constant()) {
      values_.insert(value);
      if (graph_.node(id).op == "CAST") change.set_attrs.set("in_data_type", EnumValue{2, "INT32"});
      return;
    }
    const auto numbers = integer_values(graph_, value);
    const auto fits = [](std::int64_t n) {
      return n >= std::numeric_limits<std::int32_t>::min() && n <= std::numeric_limits<std::int32_t>::max();
    };
    if (!numbers || !std::all_of(numbers->begin(), numbers->end(), fits))
      return decline("a constant does not fit into 32 bits");
    const std::vector<double> stored(numbers->begin(), numbers->end());
    patch_.rewire(
        id, at, patch_.add_constant(graph_.value(value).name, DType::i32, graph_.value(value).shape, stored));
  }

  void decline(std::string why) {
    result_.state = DetectResult::State::declined;
    result_.reason = std::move(why);
  }

  const Graph& graph_;
  PatchBuilder patch_;
  DetectResult result_;
  std::set<ValueId> values_;
  bool interface_ = false;
};

}  // namespace

std::vector<DetectResult> LRT031(const DetectContext& context) {
  DetectResult result = Narrowing(context).run();
  if (result.nodes.empty()) return {};
  return {std::move(result)};
}

}  // namespace md

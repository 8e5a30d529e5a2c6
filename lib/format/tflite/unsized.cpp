// Tensors whose size is known only when the model runs, by the rules of TFLite's interpreter: a size-giving
// operand (a shape, axes, paddings, ...) that is neither constant nor computed from static shapes alone, or
// an operator whose result's size depends on the data (WHERE, UNIQUE).
#include "lib/format/tflite/dialect.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace md {
namespace {

/// Operands that give the size of the result.
const std::map<std::string_view, std::vector<std::size_t>>& size_operands() {
  static const std::map<std::string_view, std::vector<std::size_t>> table = {{"RESHAPE", {1}},
                                                                             {"TILE", {1}},
                                                                             {"BROADCAST_TO", {1}},
                                                                             {"FILL", {0}},
                                                                             {"SLICE", {2}},
                                                                             {"STRIDED_SLICE", {1, 2, 3}},
                                                                             {"PAD", {1}},
                                                                             {"PADV2", {1}},
                                                                             {"MIRROR_PAD", {1}},
                                                                             {"MEAN", {1}},
                                                                             {"SUM", {1}},
                                                                             {"REDUCE_MAX", {1}},
                                                                             {"REDUCE_MIN", {1}},
                                                                             {"REDUCE_PROD", {1}},
                                                                             {"REDUCE_ALL", {1}},
                                                                             {"REDUCE_ANY", {1}},
                                                                             {"TRANSPOSE", {1}},
                                                                             {"TRANSPOSE_CONV", {0}},
                                                                             {"RESIZE_BILINEAR", {1}},
                                                                             {"RESIZE_NEAREST_NEIGHBOR", {1}},
                                                                             {"TOPK_V2", {1}},
                                                                             {"EXPAND_DIMS", {1}},
                                                                             {"ONE_HOT", {1}},
                                                                             {"ARG_MAX", {1}},
                                                                             {"ARG_MIN", {1}},
                                                                             {"SPLIT", {0}},
                                                                             {"SPLIT_V", {1, 2}},
                                                                             {"RANGE", {0, 1, 2}},
                                                                             {"SPARSE_TO_DENSE", {1}},
                                                                             {"SCATTER_ND", {2}},
                                                                             {"SPACE_TO_BATCH_ND", {1, 2}},
                                                                             {"BATCH_TO_SPACE_ND", {1, 2}},
                                                                             {"RANDOM_UNIFORM", {0}},
                                                                             {"RANDOM_STANDARD_NORMAL", {0}},
                                                                             {"MULTINOMIAL", {1}}};
  return table;
}

constexpr std::string_view data_dependent[] = {"WHERE", "UNIQUE"};

/// Operators that the runtime evaluates while it prepares, when all their operands are known by then.
constexpr std::string_view evaluated_early[] = {
    "RANK", "BROADCAST_ARGS", "RANGE",         "CONCATENATION", "GATHER",
    "MUL",  "RESHAPE",        "STRIDED_SLICE", "REDUCE_PROD",   "TILE"};

template <std::size_t N>
bool listed(const std::string_view (&names)[N], std::string_view op) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

}  // namespace

UnsizedValue first_unsized_value(const Graph& graph) {
  std::vector<char> known(graph.values.size(), 0), dynamic(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.values.size(); ++i) known[i] = graph.values[i].is_constant();
  UnsizedValue first;
  const auto is = [](const std::vector<char>& marks, ValueId id) {
    return id >= 0 && marks[static_cast<std::size_t>(id)] != 0;
  };
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    bool all_known = !node.inputs.empty(), any_dynamic = false;
    for (const ValueId input : node.inputs) {
      all_known = all_known && (input < 0 || is(known, input));
      any_dynamic = any_dynamic || is(dynamic, input);
    }
    bool unsized = any_dynamic || listed(data_dependent, node.op);
    if (const auto operands = size_operands().find(node.op); operands != size_operands().end())
      for (const std::size_t operand : operands->second)
        if (operand < node.inputs.size() && node.inputs[operand] >= 0)
          unsized = unsized || !is(known, node.inputs[operand]);
    const bool evaluated =
        !unsized && (node.op == "SHAPE" || (all_known && listed(evaluated_early, node.op)));
    for (const ValueId output : node.outputs) {
      if (output < 0) continue;
      known[static_cast<std::size_t>(output)] = evaluated;
      dynamic[static_cast<std::size_t>(output)] = unsized;
      if (unsized && (first.value == none_id || output < first.value)) first = {id, output};
    }
  }
  return first;
}

}  // namespace md

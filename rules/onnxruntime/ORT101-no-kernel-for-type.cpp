#include <fmt/format.h>

#include <algorithm>

#include "lib/format/onnx/operators.h"
#include "lib/op/ops.h"
#include "lib/rewrite/onnx/forms.h"
#include "lib/rewrite/onnx/types.h"

namespace md {
namespace {

/// Operators that ONNX Runtime expands into others before it looks for kernels: its message then names an
/// operator that the file does not have.
constexpr std::string_view expanded_by_runtime[] = {"Clip",
                                                    "Range",
                                                    "PRelu",
                                                    "LeakyRelu",
                                                    "Elu",
                                                    "Selu",
                                                    "Celu",
                                                    "Softplus",
                                                    "Softsign",
                                                    "ThresholdedRelu",
                                                    "ReduceL1",
                                                    "ReduceL2",
                                                    "ReduceLogSum",
                                                    "ReduceLogSumExp",
                                                    "ReduceSumSquare",
                                                    "LayerNormalization",
                                                    "GroupNormalization",
                                                    "RMSNormalization",
                                                    "Attention",
                                                    "Gelu",
                                                    "HardSwish",
                                                    "Mish",
                                                    "Shrink",
                                                    "MeanVarianceNormalization",
                                                    "SoftmaxCrossEntropyLoss",
                                                    "Bernoulli",
                                                    "CastLike",
                                                    "GreaterOrEqual",
                                                    "LessOrEqual",
                                                    "Hardmax",
                                                    "Swish",
                                                    "AffineGrid",
                                                    "CenterCropPad"};

bool of_unusual_type(const Graph& graph, const Node& node) {
  const ValueId x = onnx::operand(node, 0);
  const DType dtype = x < 0 ? DType::unknown : graph.value(x).dtype;
  return dtype != DType::unknown && dtype != DType::f32 && dtype != DType::f16 && dtype != DType::i64;
}

/// Where only the first such node was named, the others of that operator and type fail as it does.
std::vector<NodeId> with_alike(const Graph& graph, const std::vector<NodeId>& named) {
  const auto type_of_first = [&](const Node& node) {
    return onnx::operand(node, 0) < 0 ? DType::unknown : graph.value(node.inputs[0]).dtype;
  };
  std::vector<NodeId> all;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (std::any_of(named.begin(), named.end(), [&](NodeId other) {
          const Node& first = graph.node(other);
          return first.op == node.op && type_of_first(first) == type_of_first(node);
        }))
      all.push_back(id);
  }
  return all;
}

/// Without a table of kernels: nothing is known of nodes that a fix made, and where one node of bfloat16 has
/// no kernel, none that computes in it has.
std::vector<NodeId> as_far_as_known(const Graph& graph, std::vector<NodeId> nodes) {
  const auto touches = [&](NodeId id) {
    const auto is = [&](ValueId v) { return v >= 0 && graph.value(v).dtype == DType::bf16; };
    const Node& node = graph.node(id);
    return std::any_of(node.inputs.begin(), node.inputs.end(), is) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), is);
  };
  if (std::any_of(nodes.begin(), nodes.end(), touches)) {
    nodes.clear();
    for (const NodeId id : graph.order)
      if (touches(id) && graph.node(id).op != "Cast") nodes.push_back(id);
  }
  std::erase_if(nodes, [&](NodeId id) { return graph.node(id).origin == none_id; });
  return nodes;
}

}  // namespace

std::vector<DetectResult> ORT101(const DetectContext& context) {
  const Graph& graph = context.graph;
  constexpr std::string_view lookup = "Could not find an implementation", other = "Failed to find kernel";
  std::vector<NodeId> nodes = with_alike(graph, onnx::blamed(context, {lookup, other}));
  if (!context.target || !context.target->has_table()) nodes = as_far_as_known(graph, std::move(nodes));
  const bool told = !onnx::texts_with(context, lookup).empty() || !onnx::texts_with(context, other).empty();
  if (nodes.empty() && told)
    for (const NodeId id : graph.order)
      if (std::find(std::begin(expanded_by_runtime), std::end(expanded_by_runtime), graph.node(id).op) !=
              std::end(expanded_by_runtime) &&
          of_unusual_type(graph, graph.node(id)) && graph.node(id).origin != none_id)
        nodes.push_back(id);
  std::vector<DetectResult> results = onnx::without_kernel(context, nodes);
  // A version that the runtime has no kernel for: the operator set below it has the same operator.
  for (DetectResult& result : results) {
    if (result.state != DetectResult::State::declined || context.graph_index != 0) continue;
    const Node& node = graph.node(result.nodes.front());
    const int set = node.version - 1;
    std::string reason;
    if (set < 7 || onnx_set_version(context.model) <= set || !onnx_row(node.op, set)) continue;
    auto patch = onnx::restamped(context.model, set, reason);
    if (!patch) continue;
    result.state = DetectResult::State::matched;
    result.reason.clear();
    result.fixes.emplace_back(std::move(*patch), Exactness::exact);
    break;
  }
  // Without a table a log's operator may stand here in a type that is taken: nothing is said of it then.
  if (!context.target || !context.target->has_table())
    std::erase_if(results,
                  [](const DetectResult& result) { return result.state == DetectResult::State::declined; });
  return results;
}

}  // namespace md

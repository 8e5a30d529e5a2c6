// Operators that the accelerator has no kernel for and that no rewrite of this catalogue replaces: where to
// cut.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/constant_scatter.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

struct Advice {
  std::string_view op, what;
};
constexpr std::array<Advice, 31> advices = {{
    {"NON_MAX_SUPPRESSION_V4",
     "the boxes that survive depend on their scores: cut the model at the boxes and scores (--cut-before), "
     "and suppress on the host"},
    {"NON_MAX_SUPPRESSION_V5",
     "the boxes that survive depend on their scores: cut the model at the boxes and scores (--cut-before), "
     "and suppress on the host"},
    {"STABLEHLO_SCATTER",
     "scatter has no kernel and no exact rewrite in general: write the update as torch.where with a mask, or "
     "as a matmul with a one-hot matrix"},
    {"SCATTER_ND",
     "scatter has no kernel: write the update as torch.where with a mask, or as a matmul with a one-hot "
     "matrix"},
    {"CONV_3D",
     "3-D convolution needs rank 5: write it as a sum of 2-D convolutions over the depth slices, each of "
     "rank 4"},
    {"CONV_3D_TRANSPOSE",
     "3-D convolution needs rank 5: write it as a sum of 2-D transposed convolutions over the depth slices"},
    {"WHILE",
     "loops have no kernel: unroll a fixed number of steps at export, or run the loop on the host with one "
     "step as the model"},
    {"CALL", "calls have no kernel: inline the function at export"},
    {"WHERE",
     "the number of results depends on the values: cut the model in front of it (--cut-before) and select on "
     "the host"},
    {"UNIQUE", "the number of results depends on the values: cut the model in front of it (--cut-before)"},
    {"HASHTABLE_LOOKUP", "tables of strings or ids belong on the host: cut the model behind the look-up"},
    {"HASHTABLE_FIND", "tables of strings or ids belong on the host: cut the model behind the look-up"},
    {"RANDOM_UNIFORM", "random numbers have no kernel: pass them in as an input"},
    {"RANDOM_STANDARD_NORMAL", "random numbers have no kernel: pass them in as an input"},
    {"MULTINOMIAL", "random numbers have no kernel: sample on the host from the returned probabilities"},
    {"STABLEHLO_RNG_BIT_GENERATOR", "random numbers have no kernel: pass them in as an input"},
    {"LOCAL_RESPONSE_NORMALIZATION",
     "has no kernel: train with another normalization, or write it with AVERAGE_POOL over channels"},
    {"L2_POOL_2D", "has no kernel: SQUARE, AVERAGE_POOL_2D, SQRT is the same"},
    {"SVDF",
     "has no kernel: keep the layer on the CPU, or write it as convolutions with the state as an input"},
    {"RNN", "has no kernel: export the cell, with the state as an input and an output"},
    {"UNIDIRECTIONAL_SEQUENCE_RNN",
     "has no kernel: export the cell, with the state as an input and an output"},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM",
     "has no kernel: export the cell, with the state as an input and an output"},
    {"BIDIRECTIONAL_SEQUENCE_LSTM", "has no kernel: export the cells, with the states as inputs and outputs"},
    {"REVERSE_SEQUENCE", "has no kernel: torch.flip of whole rows has (REVERSE_V2)"},
    {"SEGMENT_SUM", "has no kernel: a matmul with a constant membership matrix is the same"},
    {"UNSORTED_SEGMENT_SUM", "has no kernel: a matmul with a constant membership matrix is the same"},
    {"MATRIX_DIAG", "has no kernel: multiply with a constant identity matrix"},
    {"STABLEHLO_CONVOLUTION",
     "no LiteRT runtime has a kernel for it (3-D transposed convolutions): write it with 2-D ones"},
    {"STABLEHLO_GATHER", "no kernel: index with constant or one-dimensional indices"},
    {"REDUCE_WINDOW", "no kernel: pools of two dimensions have one"},
    {"DILATE", "no kernel: a transposed convolution with a unit kernel is the same"},
}};

/// A custom operator that the target does not take; the detection head has a rule of its own.
bool is_refused_custom(const DetectContext& context, NodeId id) {
  if (context.graph.node(id).custom == "TFLite_Detection_PostProcess" || !context.target ||
      !context.target->has_table())
    return false;
  return !context.target->predict_node(context.model, context.graph_index, id).empty();
}

}  // namespace

std::vector<DetectResult> LRT056(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const bool custom = node.op == "CUSTOM" && is_refused_custom(context, id);
    const auto advice =
        std::find_if(advices.begin(), advices.end(), [&](const Advice& a) { return a.op == node.op; });
    if (advice == advices.end() && !custom) continue;
    std::string why;
    if (node.op == "STABLEHLO_SCATTER" && constant_scatter(context.model, context.graph_index, id, why))
      continue;  // LRT067
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.value = node.outputs.empty() ? none_id : node.outputs[0];
    std::string boundary;
    for (const ValueId v : node.inputs)
      if (is_runtime_operand(graph, v))
        boundary += fmt::format("{}\"{}\"", boundary.empty() ? "" : ", ", graph.value(v).name);
    result.message =
        fmt::format("{}{}{}: the accelerator has no kernel for it, and no rewrite of the file replaces it",
                    node.op, custom ? " " : "", node.custom);
    result.reason = fmt::format("{}{}{}",
                                custom ? "a custom operator runs only in a program that brings it: cut the "
                                         "model in front of it (--cut-before) and compute it there"
                                       : advice->what,
                                boundary.empty() ? "" : "; what it reads: ", boundary);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

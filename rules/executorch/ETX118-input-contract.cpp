#include <fmt/format.h>

#include <cctype>
#include <set>

#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// The numbers behind "input " in the runtime's messages ("Error resizing tensor at input 0", "Input 1 has
/// unexpected ...").
std::set<std::size_t> complained_inputs(const DetectContext& context) {
  std::set<std::size_t> inputs;
  if (!context.log_messages) return inputs;
  for (const std::string& message : *context.log_messages)
    for (const std::string_view word : {"at input ", "Input "})
      for (std::size_t at = message.find(word); at != std::string::npos; at = message.find(word, at + 1)) {
        std::size_t digits = at + word.size(), number = 0;
        const std::size_t first = digits;
        while (digits < message.size() && digits < first + 4 &&
               std::isdigit(static_cast<unsigned char>(message[digits])))
          number = number * 10 + static_cast<std::size_t>(message[digits++] - '0');
        if (digits > first) inputs.insert(number);
      }
  return inputs;
}

}  // namespace

struct LayoutFault {
  std::string_view op;
  bool mixed_only;  ///< fails only where tensors of both orders meet
  bool refuses;     ///< an error at run time; else the numbers may be wrong
};

/// Portable kernels that were run with channels-last tensors (release 1.5.1). Those that are not here were
/// right, or not run.
constexpr LayoutFault layout_faults[] = {{"aten::_native_batch_norm_legit_no_training", false, true},
                                         {"aten::native_group_norm", false, true},
                                         {"aten::add", true, true},
                                         {"aten::permute_copy", true, true},
                                         {"aten::_softmax", true, true},
                                         {"aten::slice_copy", true, true},
                                         {"aten::select_copy", true, true},
                                         {"aten::argmax", true, true},
                                         {"aten::index", true, true},
                                         {"aten::cumsum", true, true},
                                         {"aten::repeat", true, true},
                                         {"aten::amax", true, true},
                                         {"aten::split_with_sizes_copy", true, true},
                                         {"aten::index_select", true, true},
                                         {"aten::squeeze_copy", true, true},
                                         {"aten::view_copy", true, true},
                                         {"aten::native_layer_norm", false, false},
                                         {"aten::cat", false, false},
                                         {"aten::constant_pad_nd", false, false},
                                         {"aten::flip", false, false},
                                         {"aten::gather", false, false},
                                         {"aten::topk", false, false},
                                         {"aten::_log_softmax", false, false},
                                         {"aten::unsqueeze_copy", false, false}};

/// Kernels that were lowered for channels-last tensors and do not take them.
void find_layout_faults(const DetectContext& context, std::vector<DetectResult>& results) {
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    const std::string_view format = node.attrs.text("memory_format");
    if (format.empty()) continue;
    const std::string_view base = std::string_view(node.op).substr(0, node.op.find('.'));
    for (const LayoutFault& fault : layout_faults) {
      if (fault.op != base || (fault.mixed_only && format != "mixed")) continue;
      DetectResult result;
      result.state = DetectResult::State::advice;
      result.likelihood = fault.refuses ? Likelihood::shown : Likelihood::possible;
      result.nodes = {id};
      result.message = fmt::format("{} gets {} tensors, {}", node.op,
                                   format == "mixed" ? "channels-last and contiguous" : "channels-last",
                                   fault.refuses ? "which its portable kernel refuses"
                                                 : "with which its portable kernel gave wrong numbers");
      result.reason =
          "make the model and its example inputs contiguous (.contiguous(), no "
          "memory_format=torch.channels_last), export the .pt2 and lower again; or give the operator to a "
          "backend";
      results.push_back(std::move(result));
    }
  }
}

/// What a lowered program wants at its inputs: those that the log complains about, and those in an unusual
/// memory format; and kernels behind them that do not take that format.
std::vector<DetectResult> ETX118(const DetectContext& context) {
  std::vector<DetectResult> results;
  const std::set<std::size_t> complained = complained_inputs(context);
  const Graph& graph = context.graph;
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.likelihood = Likelihood::possible;
  bool any_reordered = false;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string key = fmt::format("plan {} input {}", graph.name, i);
    std::string contract;
    for (const auto& [name, text] : context.model.metadata)
      if (name == key) contract = text;
    const bool logged = complained.count(i) > 0;
    const bool reordered = contract.find("stored in the order") != std::string::npos;
    if (contract.empty() || (!logged && !reordered)) continue;
    if (logged) result.likelihood = Likelihood::shown;
    any_reordered = any_reordered || reordered;
    result.message += fmt::format("{}input {} of {} must be {}", result.message.empty() ? "" : "; ", i,
                                  graph.name, contract);
  }
  result.reason = any_reordered
                      ? "pass it in that memory format, or export the .pt2 with contiguous example inputs "
                        "and lower again"
                      : "pass a tensor of that type, rank and size; for other sizes export the .pt2 with "
                        "dynamic_shapes (or other example inputs) and lower again";
  if (!result.message.empty()) results.push_back(std::move(result));
  find_layout_faults(context, results);
  return results;
}

}  // namespace md

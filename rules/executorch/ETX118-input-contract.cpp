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

/// What a lowered program wants at its inputs: those that the log complains about, and those in an unusual
/// memory format. Kernels behind them that do not take that format are in the page's rows.
std::vector<DetectResult> ETX118(const DetectContext& context) {
  std::vector<DetectResult> results;
  if (context.model.format != Format::pte) return results;
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
  return results;
}

}  // namespace md

#include "lib/target/partition.h"

#include <array>
#include <functional>
#include <queue>

namespace md {
namespace {

/// Positions in execution order, the earliest first.
using ReadyQueue = std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>;

}  // namespace

Partitioning partition(const Graph& graph, const std::vector<bool>& supported) {
  Partitioning result;
  result.nodes = graph.order.size();
  std::vector<std::size_t> position(graph.nodes.size(), 0), waiting(graph.order.size(), 0);
  for (std::size_t i = 0; i < graph.order.size(); ++i) position[static_cast<std::size_t>(graph.order[i])] = i;
  std::array<ReadyQueue, 2> ready;  // not supported, supported
  for (std::size_t i = 0; i < graph.order.size(); ++i) {
    for (const ValueId input : graph.node(graph.order[i]).inputs)
      if (input >= 0 && graph.producer(input) >= 0) ++waiting[i];
    if (waiting[i] == 0) ready[supported[i]].push(i);
  }
  while (!ready[0].empty() || !ready[1].empty()) {
    const bool kind = ready[0].empty() || (!ready[1].empty() && ready[1].top() < ready[0].top());
    std::vector<std::size_t> run;
    while (!ready[kind].empty()) {
      const std::size_t i = ready[kind].top();
      ready[kind].pop();
      run.push_back(i);
      for (const ValueId output : graph.node(graph.order[i]).outputs) {
        if (output < 0) continue;
        for (const Use& use : graph.uses(output)) {
          const std::size_t reader = position[static_cast<std::size_t>(use.node)];
          if (--waiting[reader] == 0) ready[supported[reader]].push(reader);
        }
      }
    }
    if (!kind) continue;
    ++result.partitions;
    if (run.size() <= result.accelerated) continue;
    result.accelerated = run.size();
    result.chosen.assign(result.nodes, false);
    for (const std::size_t i : run) result.chosen[i] = true;
  }
  if (result.chosen.empty()) result.chosen.assign(result.nodes, false);
  return result;
}

}  // namespace md

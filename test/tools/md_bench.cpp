// Developer tool of scripts/bench.sh: runs a model in the reference evaluator and prints one JSON line.
//   md_bench MODEL RUNS
// seconds: of the fastest run; live_bytes: the largest set of values that some node needs at once, without
// constants; peak_bytes: most memory of its own that the process had on top of what it had before the first
// run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "lib/fp16/headroom.h"
#include "lib/graph/document.h"

using namespace md;

namespace {

/// A line of /proc/self/status, in bytes.
double status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return 1024 * std::stod(line.substr(key.size() + 1));
  return 0;
}

double largest_live_set(const Graph& graph) {
  const auto bytes = [&](ValueId v) {
    const Value& value = graph.value(v);
    if (value.is_constant()) return 0.0;
    double n = static_cast<double>(bit_width(value.dtype)) / 8;
    for (const std::int64_t d : value.shape) n *= static_cast<double>(std::max<std::int64_t>(d, 1));
    return n;
  };
  std::map<ValueId, std::size_t> last;
  for (std::size_t i = 0; i < graph.order.size(); ++i)
    for (const ValueId v : graph.node(graph.order[i]).inputs)
      if (v != none_id) last[v] = i;
  for (const ValueId v : graph.outputs) last[v] = graph.order.size();
  double live = 0, most = 0;
  for (const ValueId v : graph.inputs) live += bytes(v);
  for (std::size_t i = 0; i < graph.order.size(); ++i) {
    const Node& node = graph.node(graph.order[i]);
    for (const ValueId v : node.outputs)
      if (v != none_id) live += bytes(v);
    most = std::max(most, live);
    for (auto at = last.begin(); at != last.end();) {
      const bool dies = at->second == i;
      if (dies) live -= bytes(at->first);
      at = dies ? last.erase(at) : std::next(at);
    }
  }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: md_bench MODEL RUNS\n"), 2;
  auto document = open_document(argv[1]);
  if (!document) return std::fprintf(stderr, "%s\n", document.error().message.c_str()), 2;
  const Model& model = (*document)->model();
  const auto inputs = plausible_inputs(model, 0, {}, 0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the high-water mark begins anew
  const double before = status_bytes("RssAnon");
  double fastest = 1e30;
  for (int run = 0; run < std::stoi(argv[2]); ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (auto done = evaluate(model, 0, inputs); !done)
      return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
    fastest =
        std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double peak = status_bytes("VmHWM") - status_bytes("RssFile") - before;
  std::printf("{\"seconds\": %.4f, \"live_bytes\": %.0f, \"peak_bytes\": %.0f}\n", fastest,
              largest_live_set(model.graphs[0]), peak);
  return 0;
}

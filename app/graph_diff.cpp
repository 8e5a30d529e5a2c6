#include "app/graph_diff.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/base/escape.h"
#include "lib/base/sha256.h"
#include "lib/op/text.h"

namespace md::app {
namespace {

struct Line {
  std::string kind;  ///< operator | input | output | constant | signature | graph
  std::string text;
};

/// Everything of a graph that can change, one line each. Ids are not in the text, so that graphs read from
/// two files compare.
std::vector<Line> describe(const Graph& graph, const Dialect& dialect) {
  std::vector<Line> lines;
  for (const ValueId id : graph.inputs)
    if (id >= 0)
      lines.push_back(
          {"input", fmt::format("input %{} : {}", graph.value(id).name, print_type(graph.value(id)))});
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (!value.is_constant() || graph.uses(static_cast<ValueId>(v)).empty()) continue;
    lines.push_back({"constant", fmt::format("const %{} : {} (content {:.12})", value.name, print_type(value),
                                             sha256(value.constant->bytes))});
  }
  for (const NodeId id : graph.order) lines.push_back({"operator", print_node(graph, id, dialect)});
  for (const ValueId id : graph.outputs)
    if (id >= 0)
      lines.push_back(
          {"output", fmt::format("output %{} : {}", graph.value(id).name, print_type(graph.value(id)))});
  return lines;
}

struct Change {
  int graph = 0;
  char sign = '-';
  Line line;
};

/// What only one side has, in the order of each side: gone lines first.
std::vector<Change> compare(const Model& before, const Model& after) {
  std::vector<Change> changes;
  const std::size_t graphs = std::max(before.graphs.size(), after.graphs.size());
  for (std::size_t g = 0; g < graphs; ++g) {
    std::vector<Line> old, now;
    if (g < before.graphs.size()) old = describe(before.graphs[g], *before.dialect);
    if (g < after.graphs.size()) now = describe(after.graphs[g], *after.dialect);
    std::map<std::string, int> balance;
    for (const Line& line : now) ++balance[line.text];
    for (const Line& line : old)
      if (--balance[line.text] < 0) changes.push_back({static_cast<int>(g), '-', line});
    balance.clear();
    for (const Line& line : old) ++balance[line.text];
    for (const Line& line : now)
      if (--balance[line.text] < 0) changes.push_back({static_cast<int>(g), '+', line});
  }
  return changes;
}

}  // namespace

std::string graph_diff_text(const Model& before, const Model& after, const std::string& before_name,
                            const std::string& after_name) {
  const std::vector<Change> changes = compare(before, after);
  if (changes.empty()) return "";
  std::string out =
      escape_terminal("--- " + before_name) + "\n" + escape_terminal("+++ " + after_name) + "\n";
  int graph = -1;
  for (const Change& change : changes) {
    if (change.graph != graph) {
      graph = change.graph;
      const auto g = static_cast<std::size_t>(graph);
      const std::string name = g < before.graphs.size() ? before.graphs[g].name : after.graphs[g].name;
      out += escape_terminal(fmt::format("@@ s{} {} @@", graph, name)) + "\n";
    }
    out += change.sign + escape_terminal(change.line.text) + "\n";
  }
  return out;
}

std::string graph_diff_json(const Model& before, const Model& after, const std::string& before_name,
                            const std::string& after_name) {
  nlohmann::json changes = nlohmann::json::array();
  for (const Change& change : compare(before, after))
    changes.push_back({{"graph", change.graph},
                       {"change", change.sign == '-' ? "removed" : "added"},
                       {"kind", change.line.kind},
                       {"text", change.line.text}});
  const nlohmann::json json = {
      {"before", before_name}, {"after", after_name}, {"changes", changes}, {"same", changes.empty()}};
  return escape_json(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace md::app

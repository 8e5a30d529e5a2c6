#include "lib/rewrite/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lib/graph/encode.h"

namespace md {

namespace {

const Value& value_of(const Graph& graph, const Patch& patch, ValueId id) {
  return is_new_value(id) ? patch.new_values[new_value_index(id)] : graph.value(id);
}

std::string numbers(const std::vector<std::int64_t>& list) {
  return fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace

std::string lowered_title(const Patch& patch) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Node& node : patch.new_nodes) {
    std::string name;
    for (const char c : node.op)
      name += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == name; });
    if (known != counts.end())
      ++known->second;
    else
      counts.emplace_back(name, 1);
  }
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += i == 0 ? "" : i + 1 == counts.size() ? " and " : ", ";
    text +=
        counts[i].second == 1 ? counts[i].first : fmt::format("{} x {}", counts[i].second, counts[i].first);
  }
  return text.empty() ? "nothing is left to compute" : text + " at rank 4";
}

std::string moves_in_pytorch(const Graph& graph, const Patch& patch) {
  std::string text = "x";
  ValueId last = none_id;
  for (const Node& node : patch.new_nodes) {
    if (node.inputs.empty() || node.outputs.size() != 1 || (last != none_id && node.inputs.front() != last))
      return "";
    last = node.outputs.front();
    const auto list =
        node.inputs.size() > 1 ? decode_integers(value_of(graph, patch, node.inputs[1])) : std::nullopt;
    if (!list) return "";
    if (node.op == "RESHAPE") {
      text += fmt::format(".reshape({})", numbers(*list));
    } else if (node.op == "TRANSPOSE") {
      text += fmt::format(".permute({})", numbers(*list));
    } else if (node.op == "TILE") {
      text += fmt::format(".repeat({})", numbers(*list));
    } else if (node.op == "SLICE") {
      const Shape& size = value_of(graph, patch, last).shape;
      const Shape& whole = value_of(graph, patch, node.inputs.front()).shape;
      for (std::size_t i = 0; i < size.size(); ++i)
        if (size[i] != whole[i]) text += fmt::format(".narrow({}, {}, {})", i, (*list)[i], size[i]);
    } else {
      return "";
    }
  }
  return last == none_id ? "" : text;
}

}  // namespace md

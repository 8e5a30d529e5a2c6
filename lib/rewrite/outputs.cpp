// Rewrites of what the graph returns.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/rewrite/families.h"
#include "lib/rewrite/output_hazard.h"

namespace md::rewrites {
namespace {

std::string_view name_of(OutputHazard::Kind kind) {
  switch (kind) {
    case OutputHazard::Kind::linked:
      return "linked";
    case OutputHazard::Kind::merged_scale:
      return "merged scale";
    case OutputHazard::Kind::reduced_sum:
      return "reduced sum";
    case OutputHazard::Kind::merged_padding:
      return "merged padding";
  }
  return "";
}

/// Another output of the same name: which of them a program gets is not defined.
bool shares_its_name(const Graph& graph, ValueId output) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](ValueId other) {
    return other != output && graph.value(other).name == graph.value(output).name;
  });
}

/// The outputs that the GPU delegate loses in one of the named ways, each as a RESHAPE copy.
std::vector<DetectResult> copied_outputs(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  std::vector<DetectResult> results;
  std::set<ValueId> seen;
  for (const ValueId output : graph.outputs) {
    if (!seen.insert(output).second) continue;
    const auto hazard = output_hazard(graph, output);
    if (!hazard || std::none_of(site.arguments.begin(), site.arguments.end(),
                                [&](const Datum& d) { return d.text == name_of(hazard->kind); }))
      continue;
    DetectResult result;
    result.nodes = {hazard->producer, hazard->reader};
    result.value = output;
    result.words = {{"hazard", std::string(name_of(hazard->kind))},
                    {"output", graph.value(output).name},
                    {"producer", graph.node(hazard->producer).op},
                    {"reader", graph.node(hazard->reader).op}};
    if (shares_its_name(graph, output)) {
      result.state = DetectResult::State::declined;
      result.likelihood = Likelihood::possible;
      result.reason = fmt::format(
          "two outputs are named \"{}\": the runtime finds outputs by name, so which of them a program "
          "gets is not defined; give them names of their own first",
          graph.value(output).name);
    } else {
      result.fixes.emplace_back(output_copy_patch(graph, site.context.graph_index, output,
                                                  title_of(site, "return a RESHAPE copy").c_str()));
    }
    results.push_back(std::move(result));
  }
  return results;
}

constexpr NamedRewrite table[] = {
    {"copied_outputs", 1, 4, "kinds of loss: linked, merged padding, merged scale, reduced sum",
     "each output that gets lost that way through a RESHAPE to its own shape", copied_outputs, ""},
};

}  // namespace

std::span<const NamedRewrite> output_rewrites() { return table; }

}  // namespace md::rewrites

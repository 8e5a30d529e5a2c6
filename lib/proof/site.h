// The part of a graph that differs between two versions of a model, with what it reads and what it gives.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// Ids of values and nodes mean the same in both versions; what a patch added has ids past the old ends.
struct Site {
  int graph = 0;
  std::vector<NodeId> before, after;  ///< nodes to run, in execution order
  std::vector<ValueId> inputs;        ///< run-time values that either version reads from outside
  std::vector<std::pair<ValueId, ValueId>> outputs;  ///< values to compare, (before, after)
  std::vector<ValueId> folded;  ///< values read from outside that depend on constants only
  int context = 0;              ///< unchanged nodes above the site that were added to it
};

/// Nodes that differ in operator, attributes, operands or results, or that touch a value whose type or
/// constant differs.
Site find_site(const Model& before, const Model& after, int graph_index);

/// The same without nodes that only read other values than before: those are compared with what they stand
/// for instead, which proves more than the node would show and asks for no kernel of it. nullopt: no such
/// node.
std::optional<Site> find_narrow_site(const Model& before, const Model& after, int graph_index);

/// Why a site cannot be run on these versions, as part of a sentence: a node or value that it names is not in
/// the graph in which it is looked up. nullopt: it can.
std::optional<std::string> unfit_site(const Model& before, const Model& after, const Site& site);

/// The same site with up to `levels` levels of its unchanged producers added (at most `max_nodes`): for
/// rewrites that rest on where their operands come from. Unchanged when there is nothing to add.
Site with_context(const Model& before, const Model& after, const Site& site, int levels, int max_nodes);

}  // namespace md

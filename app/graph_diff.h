// What changed between two graphs: operators, values, constants.
#pragma once
#include <string>

#include "lib/graph/graph.h"

namespace md::app {

/// One line a change, like a unified diff: "-" gone, "+" new, "~" changed. Empty: the graphs are the same.
std::string graph_diff_text(const Model& before, const Model& after, const std::string& before_name,
                            const std::string& after_name);
/// The same as JSON.
std::string graph_diff_json(const Model& before, const Model& after, const std::string& before_name,
                            const std::string& after_name);

}  // namespace md::app

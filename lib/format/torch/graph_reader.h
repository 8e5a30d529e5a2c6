// Reads one graph of a torch.export program, and the graphs nested in its nodes, into the view and the
// layout.
#pragma once
#include <string>

#include "lib/format/torch/layout.h"

namespace md {

/// Appends the graph (and inner graphs behind it) to `model` and `layout`; returns its index. `where` is for
/// errors.
Result<int> read_pt2_graph(Json graph, const std::string& name, const std::string& where, Model& model,
                           Pt2Layout& layout, int depth = 0);

/// "s17" of Symbol('s17', positive=True, integer=True); other expressions with their symbols shortened.
std::string pt2_symbol_text(std::string_view expression);

}  // namespace md

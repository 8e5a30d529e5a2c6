// How messages name a node: by its number in the file, which a node that a patch made does not have.
#pragma once
#include <fmt/format.h>

#include <string>

#include "lib/graph/graph.h"

namespace md {

/// "RESHAPE (node 17)", or "RESHAPE" for a node that is not in the file. `name`: what to call the operator.
inline std::string node_place(const Node& node, const std::string& name) {
  return node.origin == none_id ? name : fmt::format("{} (node {})", name, node.origin);
}

}  // namespace md

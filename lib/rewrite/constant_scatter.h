// Scatters that write at places known when the model is read: their result picks rows of the operand and of
// the updates.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct ConstantScatter {
  std::int64_t row_size = 1;  ///< elements of a row
  std::int64_t rows = 1;      ///< of the operand; the updates' rows count from here on
  std::int64_t update_rows = 1;
  std::vector<std::int64_t> list;  ///< for every row of the result, the row that it is
};

/// `reason`: why there is none.
std::optional<ConstantScatter> constant_scatter(const Model& model, int graph_index, NodeId node,
                                                std::string& reason);

}  // namespace md

// GATHER_ND whose indices do not depend on the model's inputs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/rewrite/select_rows.h"

namespace md {

struct ConstantGather {
  NodeId node = none_id;
  ValueId data = none_id, out = none_id;
  std::int64_t rows = 1;            ///< product of the indexed axes
  std::int64_t row_size = 1;        ///< elements of one row
  std::vector<std::int64_t> list;   ///< the row of every entry, in order
  std::vector<std::int64_t> sizes;  ///< of the indexed axes
  /// One list an indexed axis when the entries are all combinations of them in row-major order; else empty.
  std::vector<std::vector<std::int64_t>> per_axis;
};

/// The indices are folded when they are made from constants. `reason`: why there is none (an index out of
/// range, ...).
std::optional<ConstantGather> constant_gather(const Model& model, int graph_index, NodeId node,
                                              std::string& reason);

/// Writes `gather.out` from `gather.data`. False: not with this picker.
bool write_gather(TfliteBuilder& build, const ConstantGather& gather, RowPicker picker);

}  // namespace md

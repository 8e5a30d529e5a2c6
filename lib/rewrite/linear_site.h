// Sites around GATHER_ND that compute a constant linear map of one value, and that map as one matrix a group
// of axes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/format/tflite/builder.h"
#include "lib/rewrite/linear_form.h"

namespace md {

struct LinearSite {
  ValueId source = none_id, result = none_id;
  std::vector<NodeId> nodes;    ///< in execution order
  std::vector<NodeId> gathers;  ///< the GATHER_ND among them
};

/// Sites with arithmetic between GATHER_ND with constant indices that all read one value, up to the value
/// that they end in.
std::vector<LinearSite> linear_sites(const Model& model, int graph_index);

/// result[to axes] = matrix * source[from axes]; axes of size 1 belong to no group.
struct AxisMap {
  std::vector<std::size_t> from, to;
  std::int64_t rows = 1, columns = 1;  ///< product of the sizes of `to` and of `from`
  bool identity = false;               ///< then `matrix` is empty
  std::vector<double> matrix;          ///< rows x columns
  double at(std::int64_t row, std::int64_t column) const;
};

/// The map of the site as a product of maps over disjoint groups of axes; checked on many elements. nullopt:
/// it is not such a product, or a matrix would have more than `most_entries` entries.
std::optional<std::vector<AxisMap>> factor(const Model& model, int graph_index, const LinearSite& site,
                                           std::int64_t most_entries = std::int64_t{1} << 22);

/// Writes site.result from site.source: one FULLY_CONNECTED a map that is not the identity. False: not at
/// rank 4.
bool write_maps(TfliteBuilder& build, const LinearSite& site, const std::vector<AxisMap>& maps);

/// Multiply-adds of write_maps.
std::int64_t work_of(const Graph& graph, const LinearSite& site, const std::vector<AxisMap>& maps);

}  // namespace md

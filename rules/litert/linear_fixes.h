// What LRT002 and LRT003 propose for a site that computes a constant linear map.
#pragma once
#include <string>
#include <vector>

#include "lib/rewrite/constant_gather.h"
#include "lib/rewrite/linear_site.h"
#include "lib/rule/page/detector.h"

namespace md {

/// Every tap of the site is one point of all axes (as in grid sampling), not of the resampled axes only.
bool samples_points(const Graph& graph, const LinearSite& site);

/// A finding with both ways: constant matrices, and a GATHER a tap; the cheaper one that the target takes
/// first.
DetectResult linear_result(const DetectContext& context, const LinearSite& site,
                           const std::vector<AxisMap>& maps);

/// The GATHER_ND nodes of sites that LRT002 and LRT003 mend.
std::vector<NodeId> gathers_of_linear_sites(const Model& model, int graph_index);

/// Gathers instead of the GATHER_ND, nothing else changed. nullopt: not with this picker.
std::optional<ProposedFix> gather_fix(const DetectContext& context,
                                      const std::vector<ConstantGather>& gathers, RowPicker picker);
/// GATHER with constant indices fails inside the delegate before 2.3.0.
bool takes_constant_gather(const Target* target);

}  // namespace md

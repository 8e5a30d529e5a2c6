// Proof that both versions of one site compute the same: by movement, by every value, or by samples.
#pragma once
#include "lib/proof/proof.h"
#include "lib/proof/site.h"

namespace md {

/// Samples of a site that cannot be made smaller, however much one costs.
inline constexpr int fewest_samples = 3;

/// Never throws; a missing kernel gives method `none` with a note.
Proof prove_site(const Model& before, const Model& after, const Site& site, const ProofOptions& options);

}  // namespace md

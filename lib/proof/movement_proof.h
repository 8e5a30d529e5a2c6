// Proof for sites that only move data: both versions are run on distinct index values, so equality of the
// results is a proof for that shape.
#pragma once
#include <optional>

#include "lib/proof/proof.h"
#include "lib/proof/site_runner.h"

namespace md {

/// nullopt when the site computes with its inputs, or moves by indices known only at run time.
std::optional<Proof> prove_movement(const Model& before, const Model& after, const SiteRunner& runner);

}  // namespace md

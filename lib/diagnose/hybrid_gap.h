// How far the numbers of a dynamically quantized model move because the CPU runtime rounds activations to
// eight bits and a GPU does not: a difference that no fix makes and none removes.
#pragma once
#include <string>

#include "lib/fp16/headroom.h"

namespace md {

/// Operators with float activations and 8-bit weights. The CPU quantizes each row of activations on the fly;
/// a GPU computes in floats with the weights' real values.
int count_hybrid_operators(const Model& model);

/// One sentence with the estimated distance between both ways, on what is known of the inputs, or that it is
/// not estimated because that would take too long; "" when there is no such operator, when the distance is
/// below the 1e-3 that a device may be off anyway, or when the model cannot be evaluated.
std::string hybrid_gap_note(const Model& model, const HeadroomOptions& values);

}  // namespace md

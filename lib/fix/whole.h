// The comparison of the whole model that ends every `fix`.
#pragma once
#include <string>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/fp16/headroom.h"
#include "lib/graph/document.h"

namespace md {

/// Compares the input with what was written and records the result in the diagnosis (a note where nothing
/// could be evaluated). Error (check): they differ by more than the applied fixes state, though all of them
/// are safe. `values`: inputs that the user gave are compared on as well.
Status compare_whole(const Model& input, const Model& written, double max_error,
                     const HeadroomOptions& values, Diagnosis& diagnosis);

}  // namespace md

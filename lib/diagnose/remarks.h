// What a report says beside the findings: about fp16, about quantized arithmetic, and what to do with a
// mended program.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/tracking.h"
#include "lib/fp16/headroom.h"
#include "lib/target/target.h"

namespace md {

/// What the fixes did to the model as an fp16 device computes it, and that something there is left. Empty
/// where no rule about fp16 mended anything and the user gave no values.
std::vector<std::string> fp16_remarks(const std::vector<Tracked>& tracked, const Model& input,
                                      const Model& now, const HeadroomOptions& values);

/// Where a GPU target computes a quantized model in another way than the CPU, the difference is not the
/// fix's; "" where there is none, see hybrid_gap_note.
std::string hybrid_remark(const std::vector<const Target*>& targets, const Model& now,
                          const HeadroomOptions& values);

/// Lines of Python that take a mended program on: the page of the first applied rule says them. Empty for
/// formats that no script opens again.
std::vector<std::string> recipe_of(const std::vector<Tracked>& tracked, const Model& edited);

}  // namespace md

// A region of one floating-point type computed in another: bfloat16 in float32, float64 in float32.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

/// One result for the graph when it holds values of `from`: all of them become `to`, with their constants,
/// casts, dtype arguments and checks. Words: {count} of the values, and {interface}, what becomes of the
/// interface.
std::vector<DetectResult> retype_region(const DetectContext& context, DType from, DType to);

}  // namespace md

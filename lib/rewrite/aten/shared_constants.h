// Constants that several nodes read, split so that each reader has a placeholder of its own over the same
// bytes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

/// One result with a patch that gives every use of the chosen constants but the first a constant of its own;
/// the writer stores the bytes once. Nothing when no chosen constant has several uses. Words: {count} of
/// the constants, and {first}.
std::vector<DetectResult> split_shared_constants(const DetectContext& context,
                                                 const std::function<bool(ValueId)>& chosen);

/// True when a message of the user's log holds `text`.
bool log_says(const DetectContext& context, std::string_view text);

}  // namespace md

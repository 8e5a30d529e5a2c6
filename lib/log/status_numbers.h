// Numbers that runtimes give instead of a sentence.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace md {

/// "InvalidArgument: an argument does not fit" for a tool's status number; "" where the number is not known.
/// `tool` may be a backend ("executorch-xnnpack"). Source: the runtimes' public headers.
std::string status_words(std::string_view tool, long number);

/// Every runtime's meaning of a number ("18", "0x12") or of a status name ("INVALID_GRAPH"), one line each.
std::vector<std::string> statuses_named(std::string_view word);

}  // namespace md

// How deep a JSON text nests: asked before it is parsed, because what is built from it is walked by
// recursion.
#pragma once
#include <string_view>

namespace md {

/// No file of this program nests deeper than 12; a hostile one may nest until the stack ends.
inline constexpr int kMaxJsonDepth = 64;

/// The byte at which the text opens its 65th bracket, or npos. One pass, no memory; brackets inside strings
/// do not count. What a JSON parser accepts is never deeper than what is counted here.
std::size_t too_deep_json(std::string_view text);

}  // namespace md

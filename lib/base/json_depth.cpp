#include "lib/base/json_depth.h"

namespace md {

std::size_t too_deep_json(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth) return i;
    if (c == ']' || c == '}') --depth;
  }
  return std::string_view::npos;
}

}  // namespace md

#include "lib/config/glob.h"

#include <vector>

namespace md {

bool glob_matches(std::string_view pattern, std::string_view path) {
  if (pattern.find('/') == std::string_view::npos) path.remove_prefix(path.rfind('/') + 1);
  const std::size_t letters = path.size();
  // fits[i][j]: the pattern from i matches the path from j.
  std::vector<std::vector<char>> fits(pattern.size() + 1, std::vector<char>(letters + 1, 0));
  fits[pattern.size()][letters] = 1;
  for (std::size_t i = pattern.size(); i-- > 0;) {
    const std::string_view rest = pattern.substr(i);
    const bool across = rest.starts_with("**"), folders = rest.starts_with("**/");
    const std::vector<char>& next = fits[i + (folders ? 3 : across ? 2 : 1)];
    bool behind_slash = false;
    for (std::size_t j = letters + 1; j-- > 0;) {
      const bool more = j < letters;
      if (folders) behind_slash = more && ((path[j] == '/' && next[j + 1]) || behind_slash);
      const bool longer = more && (across || path[j] != '/') && fits[i][j + 1];
      if (folders)
        fits[i][j] = next[j] || behind_slash;
      else if (rest.front() == '*')
        fits[i][j] = next[j] || longer;
      else
        fits[i][j] = more && (rest.front() == '?' ? path[j] != '/' : path[j] == rest.front()) && next[j + 1];
    }
  }
  return fits[0][0] != 0;
}

}  // namespace md

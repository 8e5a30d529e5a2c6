// Patterns of file names, as .gitignore has them.
#pragma once
#include <string_view>

namespace md {

/// `*` and `?` match within one folder, `**` across folders ("a/**/b" also "a/b"); the rest is literal. A
/// pattern without a slash is matched against the last part of the path. Time: both lengths multiplied.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace md

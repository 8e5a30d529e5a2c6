// Which files of a user's folder are rule pages.
#pragma once
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace md {

/// The pages of a directory and of those below it, ordered by path. Error (usage): it cannot be read.
Result<std::vector<std::string>> rule_page_files(const std::string& directory);

}  // namespace md

// What can be known to be wrong with a rewrite block before it meets a model.
#pragma once
#include <optional>
#include <string>

#include "lib/rule/language/language.h"

namespace md {

struct LanguageError {
  int line = 0;
  std::string what;
};

std::optional<LanguageError> check_rewrite(const RewriteTree& tree);

}  // namespace md

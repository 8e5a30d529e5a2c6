// What a page says of a line of a log: its sentences, filled in with what the signature captured.
#pragma once
#include <map>
#include <string>

#include "lib/rule/page/rule.h"

namespace md {

struct LogWords {
  std::string message, reason, at_source;  ///< empty: the page has none, or a word in it is not in the log
};

/// The page's `message`, `reason` and `at_source`, of its row where it has `rows` by a captured word. A
/// sentence that needs a word which only a model gives is left out.
LogWords words_from_log(const Rule& rule, const std::map<std::string, std::string, std::less<>>& captures);

}  // namespace md

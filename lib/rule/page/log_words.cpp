#include "lib/rule/page/log_words.h"

#include <optional>

namespace md {
namespace {

using Words = std::map<std::string, std::string, std::less<>>;

/// Each "{word}" of the text by what it stands for; nullopt where one is not known, or is an expression over
/// a graph.
std::optional<std::string> filled(std::string_view text, const Words& words) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "{{" || text.substr(at, 2) == "}}") {
      out += text[at];
      at += 2;
      continue;
    }
    if (text[at] != '{') {
      out += text[at++];
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) return std::nullopt;
    const auto word = words.find(text.substr(at + 1, end - at - 1));
    if (word == words.end()) return std::nullopt;
    out += word->second;
    at = end + 1;
  }
  return out;
}

}  // namespace

LogWords words_from_log(const Rule& rule, const Words& captures) {
  Words words = captures;
  std::string_view message = rule.message, reason = rule.reason, at_source = rule.at_source;
  const auto key = rule.rows.by.empty() ? captures.end() : captures.find(rule.rows.by);
  if (key != captures.end())
    if (const Rows::Row* row = rule.rows.find(key->second))
      for (const auto& [word, text] : *row) {
        if (word == "message") message = text;
        if (word == "reason") reason = text;
        if (word == "at_source") at_source = text;
        if (const auto value = filled(text, captures)) words.insert_or_assign(word, *value);
      }
  return {filled(message, words).value_or(""), filled(reason, words).value_or(""),
          filled(at_source, words).value_or("")};
}

}  // namespace md

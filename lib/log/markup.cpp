#include "lib/log/markup.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace md {
namespace {

bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of an HTML tag at the beginning of `text`; 0 where there is none.
/// Only tags that notebooks and issues write: "<module>" and "<int>" are no
/// markup.
std::size_t tag_length(std::string_view text) {
  static constexpr std::string_view names[] = {"span",    "pre",    "div",   "br", "code", "font", "details",
                                               "summary", "strong", "table", "tr", "td",   "th"};
  std::size_t at = 1;
  if (at < text.size() && text[at] == '/') ++at;
  const std::size_t begin = at;
  while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
  const std::string_view name = text.substr(begin, at - begin);
  if (std::find(std::begin(names), std::end(names), name) == std::end(names)) return 0;
  if (at >= text.size() || (text[at] != '>' && text[at] != ' ' && text[at] != '/')) return 0;
  const std::size_t end = text.substr(0, 400).find('>', at);
  return end == std::string_view::npos ? 0 : end + 1;
}

/// What an entity stands for and how long it is; length 0: none.
std::pair<char, std::size_t> entity(std::string_view text) {
  static constexpr std::pair<std::string_view, char> entities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''}};
  for (const auto& [name, character] : entities)
    if (starts(text, name)) return {character, name.size()};
  return {'\0', 0};
}

std::string_view strip_quote_marks(std::string_view text) {
  while (!text.empty() && text.front() == '>') {
    if (starts(text, ">>>")) break;  // Python's prompt
    if (text.size() > 1 && text[1] != ' ' && text[1] != '>') break;
    text.remove_prefix(std::min<std::size_t>(text.size(), text.size() > 1 && text[1] == ' ' ? 2 : 1));
  }
  return text;
}

/// Length of "[31m" or "[0;31m" at the beginning of `text`; 0 where there is
/// none.
std::size_t colour_length(std::string_view text) {
  std::size_t at = 1;
  bool digits = false;
  while (at < text.size() && at < 14 && (is_digit(text[at]) || text[at] == ';')) {
    digits = digits || is_digit(text[at]);
    ++at;
  }
  return digits && at < text.size() && text[at] == 'm' ? at + 1 : 0;
}

/// Length of a terminal code at the beginning of `text`, 0 where there is none.
std::size_t code_length(std::string_view text) {
  std::size_t head = 0;
  for (const std::string_view written :
       {std::string_view("\x1b"), std::string_view("\\u001b"), std::string_view("\\x1b"),
        std::string_view("\\033"), std::string_view("^[")})
    if (head == 0 && starts(text, written)) head = written.size();
  if (head == 0) return text.front() == '[' ? colour_length(text) : 0;
  const bool real = text.front() == '\x1b';
  const char kind = head < text.size() ? text[head] : '\0';
  std::size_t at = head + 1;
  if (kind == '[') {
    if (!real) {
      const std::size_t colour = colour_length(text.substr(head));
      return colour == 0 ? 0 : head + colour;
    }
    while (at < text.size() && (text[at] < 0x40 || text[at] > 0x7e)) ++at;
    return std::min(at + 1, text.size());
  }
  if (!real) return 0;
  if (kind == ']') {
    while (at < text.size() && text[at] != '\a' && text[at] != '\x1b') ++at;
    at += at < text.size() && text[at] == '\x1b' ? 2 : 1;
  }
  return std::min(at, text.size());
}

}  // namespace

std::string_view strip_terminal_codes(std::string_view raw, std::string& storage) {
  const std::size_t lone_return = raw.rfind('\r');
  if (lone_return != std::string_view::npos) raw = raw.substr(lone_return + 1);
  const auto holds = [&](char c) { return raw.find(c) != std::string_view::npos; };
  if (!holds('[') && !holds('\x1b')) return raw;  // every code has one of the two
  const auto may_begin = [](char c) { return c == '\x1b' || c == '[' || c == '\\' || c == '^'; };
  bool changed = false;
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t length = may_begin(raw[at]) ? code_length(raw.substr(at)) : 0;
    if (length > 0 && !changed) {
      storage.assign(raw.substr(0, at));
      changed = true;
    }
    if (length == 0 && changed) storage += raw[at];
    at += std::max<std::size_t>(length, 1);
  }
  return changed ? std::string_view(storage) : raw;
}

std::string_view strip_markup(std::string_view raw, std::string& storage) {
  const std::string_view text = strip_quote_marks(raw);
  if (starts(text, "```") || starts(text, "~~~")) return {};
  const auto holds = [&](char c) { return text.find(c) != std::string_view::npos; };
  if (!holds('<') && !holds('&')) return text;
  bool changed = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, length] =
        text[at] == '&' ? entity(text.substr(at)) : std::pair<char, std::size_t>('\0', 0);
    const std::size_t tag = text[at] == '<' ? tag_length(text.substr(at)) : 0;
    if ((length > 0 || tag > 0) && !changed) {
      storage.assign(text.substr(0, at));
      changed = true;
    }
    if (length > 0)
      storage += character;
    else if (tag == 0 && changed)
      storage += text[at];
    at += std::max<std::size_t>({length, tag, 1});
  }
  return changed ? std::string_view(storage) : text;
}

}  // namespace md

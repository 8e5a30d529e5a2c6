#include "lib/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace md {
namespace {

struct Range {
  char32_t first, last;
};
/// Sorted. Variation selectors and joiners are in it: two names that look the same are no help to anybody.
constexpr Range kUnprintable[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1345f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

struct Decoded {
  char32_t code_point = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< else one byte that is not UTF-8
};

/// Strict: no overlong forms, no surrogates, nothing past U+10FFFF.
Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {lead, 1, false};
  char32_t code_point = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80u) return {lead, 1, false};
    code_point = code_point << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < least[length] || surrogate || code_point > 0x10ffff) return {lead, 1, false};
  return {code_point, length, true};
}

/// Calls keep(bytes) for what can be printed and change(decoded) for the rest.
template <class Keep, class Change>
void walk(std::string_view text, Keep&& keep, Change&& change) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded decoded = decode(text, at);
    if (decoded.valid && !is_unprintable(decoded.code_point)) {
      at += decoded.bytes;
      continue;
    }
    keep(text.substr(kept, at - kept));
    change(decoded);
    kept = at += decoded.bytes;
  }
  keep(text.substr(kept));
}

void append_escape(std::string& out, const Decoded& decoded) {
  if (decoded.code_point == '\n')
    out += "\\n";
  else if (!decoded.valid || decoded.code_point < 0x80)
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(decoded.code_point));
  else
    out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(decoded.code_point));
}

/// Older GitHub runners, Azure and TeamCity take "##name[" anywhere in a line as a command.
void disarm_brackets(std::string& line, std::string_view hash) {
  for (std::size_t at = line.find("##"); at != std::string::npos; at = line.find("##", at + 1)) {
    std::size_t end = at + 2;
    while (end < line.size() &&
           ((line[end] >= 'a' && line[end] <= 'z') || (line[end] >= 'A' && line[end] <= 'Z')))
      ++end;
    if (end < line.size() && line[end] == '[') line.replace(at, 1, hash), at += hash.size() - 1;
  }
}

bool begins_formula(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  if (std::string_view("=+-@").find(text.front()) != std::string_view::npos) return true;
  // The full-width forms of the same characters: spreadsheets take them in some languages.
  return text.starts_with("\uff1d") || text.starts_with("\uff0b") || text.starts_with("\uff0d") ||
         text.starts_with("\uff20");
}

std::string with_percent(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : escape_terminal_lines(text))
    if (special.find(c) != std::string_view::npos)
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  return out;
}

bool is_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool is_unprintable(char32_t code_point) {
  const auto* after = std::upper_bound(std::begin(kUnprintable), std::end(kUnprintable), code_point,
                                       [](char32_t c, const Range& range) { return c < range.first; });
  return after != std::begin(kUnprintable) && code_point <= std::prev(after)->last;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto push = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) return push(code_point);
  const int more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr std::array<char32_t, 4> lead = {0, 0xc0, 0xe0, 0xf0};
  push(lead[static_cast<std::size_t>(more)] | code_point >> (6 * more));
  for (int i = more - 1; i >= 0; --i) push(0x80 | (code_point >> (6 * i) & 0x3f));
}

std::string escape_unprintable(std::string_view text) {
  std::string out;
  walk(
      text, [&](std::string_view kept) { out += kept; },
      [&](const Decoded& decoded) { append_escape(out, decoded); });
  return out;
}

std::string escape_terminal(std::string_view text) {
  std::string out;
  walk(
      text, [&](std::string_view kept) { out += kept; },
      [&](const Decoded& decoded) {
        if (decoded.code_point == '\t')
          out += ' ';
        else
          append_escape(out, decoded);
      });
  const std::size_t begin = out.find_first_not_of(' ');
  if (begin != std::string::npos && out.compare(begin, 2, "::") == 0) out.replace(begin, 1, "\\x3a");
  disarm_brackets(out, "\\x23");
  return out;
}

std::string escape_terminal_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    out += escape_terminal(line);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string escape_csv(std::string_view text) {
  std::string cell = escape_terminal(text);
  // A tab or a line end in front of a formula is dropped by some spreadsheets.
  if (begins_formula(cell) || (!text.empty() && static_cast<unsigned char>(text.front()) < 0x20))
    cell.insert(0, "'");
  if (cell.find_first_of(",;\"'") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string escape_workflow_message(std::string_view text) { return with_percent(text, "%\r\n"); }
std::string escape_workflow_property(std::string_view text) { return with_percent(text, "%\r\n:,"); }

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : escape_terminal_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  line = escape_terminal(line);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i], before = i > 0 ? line[i - 1] : ' ',
               next = i + 1 < line.size() ? line[i + 1] : ' ';
    const bool mark = std::string_view("\\`*[]|~").find(c) != std::string_view::npos ||
                      (c == '_' && !(is_letter(before) && is_letter(next)));
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '@' && is_letter(next) && !is_letter(before))
      out += "@<!-- -->";  // else it calls a person
    else if (mark)
      out += '\\', out += c;
    else
      out += c;
  }
  return out;
}

std::string escape_markdown_code(std::string_view text, bool cell) {
  std::string inner;
  std::size_t run = 0, longest = 0;
  for (const char c : escape_terminal(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|' && cell) inner += '\\';
    inner += c;
  }
  const std::string fence(longest + 1, '`');
  const bool pad = inner.starts_with('`') || inner.ends_with('`') || inner.empty();
  return pad ? fence + " " + inner + " " + fence : fence + inner + fence;
}

std::string escape_json(std::string dumped) {
  disarm_brackets(dumped, "\\u0023");
  const bool plain = std::all_of(dumped.begin(), dumped.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x7f;  // the dump has escapes for the controls below
  });
  if (plain) return dumped;
  std::string out;
  walk(
      dumped, [&](std::string_view kept) { out += kept; },
      [&](const Decoded& decoded) {
        const auto unit = [&](char32_t u) { out += fmt::format("\\u{:04x}", static_cast<unsigned>(u)); };
        if (decoded.code_point < 0x20)
          out += static_cast<char>(decoded.code_point);  // the line ends between the members
        else if (!decoded.valid)
          unit(0xfffd);
        else if (decoded.code_point < 0x10000)
          unit(decoded.code_point);
        else
          unit(0xd7c0 + (decoded.code_point >> 10)), unit(0xdc00 + (decoded.code_point & 0x3ff));
      });
  return out;
}

}  // namespace md

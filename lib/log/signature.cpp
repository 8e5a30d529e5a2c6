#include "lib/log/signature.h"

#include <algorithm>

#include <fmt/format.h>

namespace md {
namespace {

constexpr std::size_t shortest_useful_literal = 8;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool literal_at(std::string_view message, std::size_t at, std::string_view literal) {
  if (at > message.size() || message.size() - at < literal.size()) return false;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const char c = message[at + i];
    if (c != literal[i] && !(literal[i] == ' ' && is_blank(c))) return false;
  }
  return true;
}

/// The next occurrence of a literal that has no blank at its start in `message`, from `at` on.
std::size_t find_literal(std::string_view message, std::string_view literal, std::size_t at) {
  const char first = literal.front();
  while (at < message.size()) {
    if (first == ' ') {
      while (at < message.size() && !is_blank(message[at])) ++at;
    } else {
      at = message.find(first, at);
    }
    if (at >= message.size()) break;
    if (literal_at(message, at, literal)) return at;
    ++at;
  }
  return std::string_view::npos;
}

std::size_t integer_end(std::string_view message, std::size_t at) {
  std::size_t end = at;
  if (end < message.size() && (message[end] == '-' || message[end] == '+')) ++end;
  const std::size_t first_digit = end;
  while (end < message.size() && is_digit(message[end])) ++end;
  return end > first_digit ? end : at;
}

std::size_t shape_end(std::string_view message, std::size_t at) {
  static constexpr std::string_view open = "[{(", close = "]})";
  if (at >= message.size()) return at;
  const std::size_t kind = open.find(message[at]);
  std::size_t end = at + (kind == std::string_view::npos ? 0 : 1);
  const std::string_view inside = kind == std::string_view::npos ? "0123456789x?" : "0123456789,-?x* ";
  while (end < message.size() && inside.find(message[end]) != std::string_view::npos) ++end;
  if (kind == std::string_view::npos) return end;
  return end < message.size() && message[end] == close[kind] ? end + 1 : at;
}

bool is_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), is_identifier);
}

}  // namespace

struct Signature::Attempt {
  std::string_view message;
  std::size_t budget;  ///< steps left: bounds the time whatever the message holds
  std::vector<std::pair<std::size_t, std::size_t>> spans;  ///< by part: begin, end
  bool spend(std::size_t steps) {
    budget -= std::min(budget, steps);
    return budget > 0;
  }
};

Result<Signature::Part> Signature::parse_capture(std::string_view inside) {
  const std::size_t mark = inside.find_first_of(":=");
  if (mark == std::string_view::npos || !is_name(inside.substr(0, mark)))
    return input_error(fmt::format("capture {{{}}}: expected {{name:kind}} or {{name=WORD|WORD}}", inside));
  Part part;
  part.text = inside.substr(0, mark);
  const std::string_view rest = inside.substr(mark + 1);
  if (inside[mark] == '=') {
    part.kind = Kind::choice;
    for (std::size_t at = 0; at <= rest.size();) {
      const std::size_t end = std::min(rest.find('|', at), rest.size());
      if (end == at) return input_error(fmt::format("capture {{{}}}: an empty word", inside));
      part.choices.emplace_back(rest.substr(at, end - at));
      at = end + 1;
    }
    std::stable_sort(part.choices.begin(), part.choices.end(),
                     [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
    return part;
  }
  if (rest == "word")
    part.kind = Kind::word;
  else if (rest == "int")
    part.kind = Kind::integer;
  else if (rest == "shape")
    part.kind = Kind::shape;
  else if (rest == "text")
    part.kind = Kind::text;
  else if (rest == "lines")
    part.kind = Kind::lines;
  else
    return input_error(fmt::format(
        "capture {{{}}}: unknown kind \"{}\"; known: word, int, shape, text, lines", inside, rest));
  return part;
}

Result<Signature> Signature::compile(std::string_view text) {
  Signature signature;
  signature.text_ = text;
  std::string literal;
  const auto flush = [&] {
    if (literal.empty()) return;
    if (literal.size() > signature.longest_.size()) signature.longest_ = literal;
    signature.parts_.push_back({Kind::literal, literal, {}});
    literal.clear();
  };
  const auto error = [&](std::string_view what) {
    return input_error(fmt::format("signature \"{}\": {}", text, what));
  };
  // A closing full stop is lost when people quote a message: the words in front of it decide.
  if (text.ends_with('.') && !text.ends_with("}.") && !text.ends_with("..")) text.remove_suffix(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      literal += c, ++at;
    } else if (c == '}') {
      return error("a closing brace without an opening one (a brace of the text is written }})");
    } else if (c != '{') {
      literal += is_blank(c) ? ' ' : c;
    } else {
      const std::size_t close = text.find('}', at);
      if (close == std::string_view::npos)
        return error("an opening brace without a closing one (a brace of the text is written {{)");
      flush();
      auto part = parse_capture(text.substr(at + 1, close - at - 1));
      if (!part) return error(part.error().message);
      for (const Part& other : signature.parts_)
        if (other.kind != Kind::literal && other.text == part->text)
          return error(fmt::format("the name \"{}\" is used twice", part->text));
      if (!signature.parts_.empty() && signature.parts_.back().kind != Kind::literal)
        return error("two captures without text between them");
      signature.parts_.push_back(std::move(*part));
      at = close;
    }
  }
  flush();
  if (signature.longest_.size() < shortest_useful_literal)
    return error(fmt::format("needs a literal text of at least {} characters, the longest here is \"{}\"",
                             shortest_useful_literal, signature.longest_));
  return signature;
}

bool Signature::match_from(Attempt& attempt, std::size_t part, std::size_t at) const {
  if (part == parts_.size()) return true;
  if (!attempt.spend(1)) return false;
  if (parts_[part].kind != Kind::literal) return match_capture(attempt, part, at);
  attempt.spans[part] = {at, at + parts_[part].text.size()};
  return literal_at(attempt.message, at, parts_[part].text) &&
         match_from(attempt, part + 1, at + parts_[part].text.size());
}

bool Signature::match_capture(Attempt& attempt, std::size_t part, std::size_t at) const {
  const std::string_view message = attempt.message;
  const Part& capture = parts_[part];
  const auto take = [&](std::size_t end) {
    attempt.spans[part] = {at, end};
    return match_from(attempt, part + 1, end);
  };
  switch (capture.kind) {
    case Kind::integer:
    case Kind::shape: {
      const std::size_t end =
          capture.kind == Kind::integer ? integer_end(message, at) : shape_end(message, at);
      return end > at && take(end);
    }
    case Kind::choice:
      return std::any_of(capture.choices.begin(), capture.choices.end(), [&](const std::string& word) {
        return literal_at(message, at, word) && take(at + word.size());
      });
    default:
      break;
  }
  const bool word = capture.kind == Kind::word;
  const bool one_line = capture.kind != Kind::lines;
  const auto stops = [&](char c) { return (one_line && c == '\n') || (word && is_blank(c)); };
  if (part + 1 == parts_.size()) {
    std::size_t end = at;
    while (end < message.size() && !stops(message[end])) ++end;
    while (word && end > at &&
           (message[end - 1] == ',' || message[end - 1] == ';' || message[end - 1] == ':'))
      --end;
    return (!word || end > at) && take(end);
  }
  // Shortest first: every place on the line (in the word) where the next literal stands.
  for (std::size_t end = at; end <= message.size() && attempt.spend(1); ++end) {
    if ((!word || end > at) && literal_at(message, end, parts_[part + 1].text) && take(end)) return true;
    if (end < message.size() && stops(message[end])) return false;
  }
  return false;
}

/// Where a capture in front of the first literal begins.
std::optional<std::size_t> Signature::leading_start(std::string_view message, std::size_t literal_at_) const {
  const Part& lead = parts_.front();
  const std::string_view before = message.substr(0, literal_at_);
  std::size_t start = before.size();
  switch (lead.kind) {
    case Kind::word:
      while (start > 0 && !is_blank(before[start - 1])) --start;
      break;
    case Kind::text:
      while (start > 0 && before[start - 1] != '\n') --start;
      return start;
    case Kind::lines:
      return 0;
    case Kind::integer:
      while (start > 0 && is_digit(before[start - 1])) --start;
      break;
    case Kind::shape: {
      const std::size_t open = before.find_last_of("[{(");
      if (open == std::string_view::npos || shape_end(message, open) != before.size()) return std::nullopt;
      return open;
    }
    default:
      for (const std::string& word : lead.choices) {
        if (before.size() < word.size() || before.substr(before.size() - word.size()) != word) continue;
        const std::size_t at = before.size() - word.size();
        if (at == 0 || !is_identifier(before[at - 1])) return at;
      }
      return std::nullopt;
  }
  return start < before.size() ? std::optional(start) : std::nullopt;
}

std::optional<Signature::Hit> Signature::match(std::string_view message) const {
  const bool captured_first = parts_.front().kind != Kind::literal;
  const std::size_t anchor = captured_first ? 1 : 0;
  const std::string& literal = parts_[anchor].text;
  Attempt attempt{message, 64 * message.size() + 4096, {}};
  attempt.spans.resize(parts_.size());
  for (std::size_t at = find_literal(message, literal, 0); at != std::string_view::npos && attempt.budget > 0;
       at = find_literal(message, literal, at + 1)) {
    if (captured_first) {
      const std::optional<std::size_t> start = leading_start(message, at);
      if (!start) continue;
      attempt.spend(at - *start);
      attempt.spans[0] = {*start, at};
    } else if (at > 0 && is_identifier(literal.front()) && is_identifier(message[at - 1])) {
      continue;
    }
    if (!match_from(attempt, anchor, at)) continue;
    Hit hit;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto [begin, end] = attempt.spans[i];
      if (parts_[i].kind != Kind::literal)
        hit.captures[parts_[i].text] = std::string(message.substr(begin, end - begin));
    }
    return hit;
  }
  return std::nullopt;
}

}  // namespace md

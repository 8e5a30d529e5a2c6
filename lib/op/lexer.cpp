#include "lib/op/lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "lib/base/escape.h"

namespace md {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_value_letter(char c) { return is_word(c) || c == '/' || c == '.' || c == ';'; }

}  // namespace

Lexer::Lexer(std::string path, int first_line, std::string_view text)
    : path_(std::move(path)), text_(text), line_(first_line) {
  advance();
}

Token Lexer::take() {
  Token token = std::move(token_);
  advance();
  return token;
}

bool Lexer::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  advance();
  return true;
}

bool Lexer::accept_name(std::string_view word) {
  if (!token_.is_name(word)) return false;
  advance();
  return true;
}

bool Lexer::expect(std::string_view symbol) {
  return accept(symbol) || fail(fmt::format("expected \"{}\", not {}", symbol, seen()));
}

bool Lexer::fail(std::string_view what, int line) {
  if (!failed_) error_ = fmt::format("{}:{}: {}", path_, line ? line : token_.line, what);
  failed_ = true;
  at_ = text_.size();
  token_ = Token{};
  token_.line = line_;
  return false;
}

std::string Lexer::seen() const {
  switch (token_.kind) {
    case Token::Kind::end:
      return "the end";
    case Token::Kind::value:
      return "%" + token_.text;
    case Token::Kind::string:
      return quoted(token_.text);
    default:
      return "\"" + token_.text + "\"";
  }
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (c == '\n') ++line_;
      ++at_;
    } else {
      return;
    }
    glued_ = false;
  }
}

void Lexer::advance() {
  if (failed_) return;
  glued_ = true;
  skip_blanks();
  token_ = Token{};
  token_.line = line_;
  token_.glued = glued_;
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (c == '%') {
    read_value();
  } else if (c == '"') {
    token_.kind = Token::Kind::string;
    read_string('"');
  } else if (is_digit(c) || ((c == '-' || c == '+') && is_digit(next))) {
    read_number();
  } else if (is_word(c) && !(c == '_' && !is_word(next))) {
    token_.kind = Token::Kind::name;
    while (at_ < text_.size() && is_word(text_[at_])) token_.text += text_[at_++];
  } else if (c == '-' && text_.substr(at_ + 1, 3) == "inf") {
    token_.kind = Token::Kind::real;
    token_.text = "-inf";
    token_.value = -HUGE_VAL;
    at_ += 4;
  } else {
    read_symbol();
  }
}

void Lexer::read_value() {
  token_.kind = Token::Kind::value;
  ++at_;
  if (at_ < text_.size() && text_[at_] == '"')
    read_string('"');
  else
    while (at_ < text_.size() && is_value_letter(text_[at_])) token_.text += text_[at_++];
  if (failed_) return;
  if (at_ < text_.size() && text_[at_] == '@') {
    const char* begin = text_.data() + at_ + 1;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token_.id);
    if (error != std::errc() || token_.id < 0) {
      fail("expected a number behind \"@\" in a value's name");
      return;
    }
    at_ = static_cast<std::size_t>(end - text_.data());
  }
  if (token_.text.empty() && token_.id < 0) fail("expected a name behind \"%\"");
}

void Lexer::read_number() {
  const std::size_t begin = at_++;
  bool real = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool exponent = c == 'e' || c == 'E';
    const bool sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (!is_digit(c) && c != '.' && !exponent && !sign) break;
    real = real || c == '.' || exponent;
    ++at_;
  }
  token_.text = std::string(text_.substr(begin, at_ - begin));
  const std::string_view digits = std::string_view(token_.text).substr(token_.text[0] == '+' ? 1 : 0);
  const char* last = digits.data() + digits.size();
  if (!real) {
    token_.kind = Token::Kind::integer;
    const auto [end, error] = std::from_chars(digits.data(), last, token_.number);
    if (error == std::errc() && end == last) {
      token_.value = static_cast<double>(token_.number);
      return;
    }
  }
  token_.kind = Token::Kind::real;
  const auto [end, error] = std::from_chars(digits.data(), last, token_.value);
  if (error == std::errc::result_out_of_range)
    token_.value = std::strtod(token_.text.c_str(), nullptr);
  else if (error != std::errc() || end != last)
    fail(fmt::format("\"{}\" is no number", token_.text));
}

void Lexer::read_string(char quote) {
  const int opened = line_;
  ++at_;
  while (at_ < text_.size() && text_[at_] != quote) {
    char c = text_[at_++];
    if (c == '\n') ++line_;
    if (c == '\\' && at_ < text_.size()) {
      c = text_[at_++];
      if (read_code_point(c)) continue;
      if (c == 'n') c = '\n';
    }
    token_.text += c;
  }
  if (at_ >= text_.size()) {
    fail("this text has no closing quote", opened);
    return;
  }
  ++at_;
}

bool Lexer::read_code_point(char kind) {
  const bool braced = kind == 'u' && at_ < text_.size() && text_[at_] == '{';
  if (!braced && kind != 'x') return false;
  const std::size_t begin = at_ + (braced ? 1 : 0);
  const std::size_t end = braced ? text_.find('}', begin) : begin + 2;
  if (end > text_.size() || end == begin || end - begin > 6) return false;
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text_.data() + begin, text_.data() + end, number, 16);
  if (error != std::errc() || rest != text_.data() + end || number > 0x10ffff) return false;
  if (braced)
    append_utf8(token_.text, number);
  else
    token_.text += static_cast<char>(static_cast<unsigned char>(number));
  at_ = end + (braced ? 1 : 0);
  return true;
}

void Lexer::read_symbol() {
  token_.kind = Token::Kind::symbol;
  for (const std::string_view symbol : {"...", "==", "!=", "<=", ">=", "::"})
    if (text_.substr(at_, symbol.size()) == symbol) {
      token_.text = symbol;
      at_ += symbol.size();
      return;
    }
  const char c = text_[at_];
  if (std::string_view("()[]{},=:.?_@<>-|").find(c) == std::string_view::npos) {
    fail(fmt::format("unexpected character \"{}\"", c));
    return;
  }
  token_.text = c;
  ++at_;
}

std::string quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + escape_unprintable(escaped) + '"';
}

namespace {
template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
}  // namespace

std::string number_text(double value) { return shortest(value); }
std::string number_text(float value) { return shortest(value); }

}  // namespace md

// A log signature: literal text and captures, matched in linear time. "{name:word}" takes a run without
// blanks,
// "{name:int}" digits with an optional sign, "{name:shape}" a list of numbers in brackets, braces or
// parentheses (or "1x2x3"), "{name:text}" anything on the line, also nothing, "{name:lines}" anything across
// lines (the frames of a traceback between its exception and a file). "{op=DIV|SUB}" takes one of the words.
// "{{" and "}}" are braces. Case-sensitive; found anywhere in a record's message, but never in the middle of
// an identifier. Line ends and tabs of the message count as blanks.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace md {

class Signature {
 public:
  /// Errors: unbalanced braces, unknown capture kind, a name used twice, captures without text between them,
  /// no literal of at least 8 characters.
  static Result<Signature> compile(std::string_view text);
  struct Hit {
    std::map<std::string, std::string, std::less<>> captures;
  };
  /// The first place where the signature fits; a capture takes the shortest text that lets the rest fit.
  std::optional<Hit> match(std::string_view message) const;
  const std::string& text() const { return text_; }
  /// The longest literal, for a prefilter over many signatures.
  std::string_view longest_literal() const { return longest_; }

 private:
  enum class Kind { literal, word, integer, shape, text, lines, choice };
  struct Part {
    Kind kind = Kind::literal;
    std::string text;                  ///< literal text, or the capture's name
    std::vector<std::string> choices;  ///< longest first
  };
  struct Attempt;
  static Result<Part> parse_capture(std::string_view inside);
  bool match_from(Attempt& attempt, std::size_t part, std::size_t at) const;
  bool match_capture(Attempt& attempt, std::size_t part, std::size_t at) const;
  std::optional<std::size_t> leading_start(std::string_view message, std::size_t literal_at) const;

  std::string text_;
  std::vector<Part> parts_;
  std::string longest_;
};

}  // namespace md

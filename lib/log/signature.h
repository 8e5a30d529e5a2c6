// A log signature: literal text and captures, matched in linear time. "{name:word}" takes a run without blanks,
// "{name:int}" digits with an optional sign, "{name:shape}" a bracketed or braced list of numbers, "{name:text}" anything
// on the line. "{op=DIV|SUB}" takes one of the words. Case-sensitive; found anywhere in a record's message.
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
  /// Errors: unbalanced braces, unknown capture kind, no literal of at least 8 characters.
  static Result<Signature> compile(std::string_view text);
  struct Hit {
    std::map<std::string, std::string, std::less<>> captures;
  };
  std::optional<Hit> match(std::string_view message) const;
  const std::string& text() const { return text_; }
  /// The longest literal, for a prefilter over many signatures.
  std::string_view longest_literal() const { return longest_; }

 private:
  enum class Kind { literal, word, integer, shape, text, choice };
  struct Part {
    Kind kind = Kind::literal;
    std::string text;                  ///< literal text, or the capture's name
    std::vector<std::string> choices;
  };
  std::string text_;
  std::vector<Part> parts_;
  std::string longest_;
};

}  // namespace md

// The tokens of the text form of graphs and of the rule language: one lexer, so that both read alike.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace md {

struct Token {
  enum class Kind {
    end,
    value,  ///< %x, %"any text", %x@7 (text "x", id 7), %@7 (no name, id 7)
    name,   ///< letters, digits, '_'
    integer,
    real,    ///< has a point or an exponent
    string,  ///< "..." with \" and \\ and \n, \x1b (a byte), \u{202e} (a code point)
    symbol   ///< one of ( ) [ ] { } , = : . ? _ @ | or == != < <= > >= :: ...
  } kind = Kind::end;
  std::string text;
  std::int64_t number = 0;  ///< integer
  double value = 0;         ///< integer or real
  int id = -1;              ///< behind '@' in a value
  int line = 0;
  bool glued = false;  ///< no blank between this token and the one before
  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  bool is_name(std::string_view word) const { return kind == Kind::name && text == word; }
};

/// Splits text into tokens, one ahead. "#" begins a comment that ends with the line. The first error sticks:
/// after it every token is `end`, and error() tells it.
class Lexer {
 public:
  Lexer(std::string path, int first_line, std::string_view text);
  const Token& peek() const { return token_; }
  Token take();
  bool accept(std::string_view symbol);
  bool accept_name(std::string_view word);
  /// Takes the symbol, or fails with "expected ...".
  bool expect(std::string_view symbol);

  bool failed() const { return failed_; }
  /// Remembers an error at the line of the current token (or at `line`); the first one wins. Returns false.
  bool fail(std::string_view what, int line = 0);
  tl::unexpected<Error> error() const { return input_error(error_); }
  /// What the current token looks like, for messages: "\"(\"", "the end".
  std::string seen() const;
  const std::string& path() const { return path_; }

 private:
  void advance();
  void skip_blanks();
  void read_value();
  void read_number();
  void read_string(char quote);
  /// Behind a backslash and `kind`: "1b" of \x1b, "{202e}" of \u{202e}. False: it is not one, nothing is
  /// taken.
  bool read_code_point(char kind);
  void read_symbol();

  std::string path_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  bool glued_ = false, failed_ = false;
  std::string error_;
  Token token_;
};

/// `text` as a "..." literal that reads back the same; what cannot be printed is an escape.
std::string quoted(std::string_view text);
/// A number that reads back as the same double: "0.1", "3.0", "inf", "nan".
std::string number_text(double value);
/// The same for a float: the shortest text that reads back as this float.
std::string number_text(float value);

}  // namespace md

// JSON text that keeps the byte range of every value, so that a writer can replace one number and leave all
// other bytes as they are. Numbers are not converted before somebody asks; integers are read as int64, never
// through double.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace md {

struct JsonSpan {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t size() const { return end - begin; }
};

class JsonText;

/// One value of a JsonText; cheap to copy. A default one is "absent": every look-up on it is absent too.
class Json {
 public:
  enum class Kind : std::uint8_t { absent, null, boolean, number, string, array, object };
  Json() = default;
  Json(const JsonText* text, std::uint32_t index) : text_(text), index_(index) {}
  explicit operator bool() const { return kind() != Kind::absent; }
  Kind kind() const;
  JsonSpan span() const;                ///< with the quotes or brackets
  Json at(std::string_view key) const;  ///< the last member of that name, as Python reads it; linear
  std::uint32_t count() const;
  /// First element or member value, and the one after this one; absent at the end.
  Json first() const;
  Json next() const;
  std::string key() const;       ///< of a member of an object
  JsonSpan key_span() const;     ///< with the quotes
  std::string text() const;      ///< of a string, unescaped; "" otherwise
  std::string_view raw() const;  ///< the bytes of the value
  bool is_integer() const;       ///< a number that fits int64
  std::int64_t integer(std::int64_t otherwise = 0) const;
  /// A number, or one of the strings "Infinity", "-Infinity", "NaN" that torch writes.
  std::optional<double> number() const;
  bool boolean() const { return raw() == "true"; }

 private:
  const JsonText* text_ = nullptr;
  std::uint32_t index_ = 0;
};

class JsonText {
 public:
  /// Parses. `where` names the file and member in errors, which give the byte offset in the text.
  static Result<JsonText> parse(std::string_view text, const std::string& where);
  Json root() const { return Json(this, 0); }
  std::string_view text() const { return text_; }

 private:
  friend class Json;
  friend class JsonParser;
  struct Entry {
    JsonSpan span, key;
    std::uint32_t next = 0, children = 0;  ///< `next` 0: none; the first child is the entry behind this one
    Json::Kind kind = Json::Kind::absent;
  };
  std::string_view text_;
  std::vector<Entry> entries_;
};

/// Text as a JSON string with its quotes (non-ASCII bytes as they are).
std::string json_quote(std::string_view text);
/// A double as torch writes it: shortest form that reads back equal, with ".0" when it looks like an integer,
/// and non-finite numbers as strings.
std::string json_float(double value);

}  // namespace md

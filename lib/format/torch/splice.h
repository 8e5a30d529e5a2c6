// Replacements of byte ranges in a text, composed from the inside out: an inner range is replaced first, an
// outer one may then be rebuilt from the edited text of its parts.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/torch/json.h"

namespace md {

class Splices {
 public:
  explicit Splices(std::string_view text) : text_(text) {}
  bool empty() const { return edits_.empty(); }
  /// Replaces a range; earlier replacements inside it are dropped.
  void replace(JsonSpan span, std::string with);
  void insert(std::uint32_t at, std::string text) { replace({at, at}, std::move(text)); }
  /// The range's text with the replacements inside it applied.
  std::string text_of(JsonSpan span) const;
  std::string whole() const { return text_of({0, static_cast<std::uint32_t>(text_.size())}); }
  /// Replaces a bracketed list or object by these parts, keeping its brackets.
  void replace_elements(JsonSpan list, const std::vector<std::string>& parts);
  std::string_view original() const { return text_; }

 private:
  struct Edit {
    std::uint32_t end = 0;
    std::string text;
  };
  std::string_view text_;
  std::map<std::uint32_t, Edit> edits_;
};

}  // namespace md

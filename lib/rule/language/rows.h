// Texts of a page by a word of the match: a page about many operators speaks of the one that it found.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace md {

struct Rows {
  using Row = std::map<std::string, std::string, std::less<>>;  ///< word -> text
  std::string by;                                               ///< the word whose text is the key, e.g. "op"
  std::map<std::string, Row, std::less<>> table;
  /// The row of `key`, or one whose key covers it ("aten::cat.*", see is_root), else the one named
  /// "otherwise"; null when there is none.
  const Row* find(std::string_view key) const;
  /// The operators of a table by "op": what `row(...)` stands for in a pattern.
  std::vector<std::string> operators() const;
};

}  // namespace md

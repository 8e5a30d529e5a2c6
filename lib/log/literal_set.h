// Many literals searched at once: one pass over the text, whatever their number (Aho-Corasick, compiled to a
// table).
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace md {

class LiteralSet {
 public:
  /// A literal's position in `literals` is its id. Empty literals never occur. Line ends and tabs of the text
  /// count as blanks, so that a message that was wrapped is found too.
  explicit LiteralSet(std::span<const std::string_view> literals);
  std::size_t size() const { return count_; }

  /// Calls found(id) for every occurrence of every literal, in order of their ends.
  template <class Found>
  void scan(std::string_view text, Found&& found) const {
    std::uint32_t state = 0;
    for (const char c : text) {
      state = next_[state * classes_ + class_of_[static_cast<unsigned char>(c)]];
      for (std::uint32_t s = report_[state]; s != 0; s = report_[fail_[s]])
        for (std::uint32_t i = output_begin_[s]; i < output_begin_[s + 1]; ++i) found(outputs_[i]);
    }
  }

 private:
  std::size_t count_ = 0;
  std::uint32_t classes_ = 1;  ///< bytes that no literal holds share class 0
  std::array<std::uint8_t, 256> class_of_{};
  std::vector<std::uint32_t> next_;          ///< state * classes_ + class -> state
  std::vector<std::uint32_t> fail_;          ///< the longest proper suffix that is a state
  std::vector<std::uint32_t> report_;        ///< the state itself or its nearest suffix with outputs; 0: none
  std::vector<std::uint32_t> output_begin_;  ///< state -> range of outputs_
  std::vector<std::uint32_t> outputs_;
};

}  // namespace md

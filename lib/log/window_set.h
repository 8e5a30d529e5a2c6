// A first look for long literals: which of them may be in a text? Every literal is represented by eight
// characters in a row, those that fewest other literals have; a text is looked at once, through a small table
// of bits. What it gives are candidates: the caller looks again. Some hundred literals cost microseconds to
// prepare, where an automaton over all their characters costs megabytes.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace md {

class WindowSet {
 public:
  static constexpr std::size_t width = 8;
  /// A literal's position in `literals` is its id; a shorter one than `width` is always a candidate. Line
  /// ends and tabs of literals and texts count as blanks.
  explicit WindowSet(std::span<const std::string_view> literals);
  /// The ids of the literals that may be in the text, ascending, each once: all that are, and by chance
  /// others.
  std::vector<std::uint32_t> candidates(std::string_view text) const;

 private:
  struct Entry {
    std::uint64_t window = 0;
    std::uint32_t id = 0;
  };
  static constexpr int bits = 16;  ///< of the table's index: 8 kB, in the nearest cache
  static std::size_t slot(std::uint64_t window) { return (window * 0x9e3779b97f4a7c15u) >> (64 - bits); }

  std::vector<Entry> entries_;           ///< ordered by window, then id
  std::vector<std::uint64_t> occupied_;  ///< a bit for each slot that a window falls into
  std::vector<std::uint32_t> short_;     ///< ids without a window
};

}  // namespace md

// "Did you mean": the closest of the known words.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace md {

/// Number of single-character insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word closest to `word` without regard to case, or "" when none is close (two letters differ, or
/// a third of a long word).
std::string nearest(std::string_view word, std::span<const std::string> known);

/// " (did you mean \"x\"?)", or "" when nothing is close: to be put behind an error about an unknown word.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace md

// The words by which lines of logs are judged, see vocabulary.h.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace md {

enum class PhraseKind : std::uint8_t {
  benign,
  missing,
  detail,
  symptom,
  cause,
  trouble,
  hint,
  faint,
  echo,
  refusal,
  load,
  header,
  count,
  version,
  classic,    ///< only the classic delegate, or what loads it, says so
  successor,  ///< only its successor does
  tool
};

struct Phrase {
  PhraseKind kind;
  std::string_view text;
  std::string_view tool = {};
};

/// Those that tell a tool; they stand last in all_phrases().
std::span<const Phrase> tool_phrases();

/// Of two tools in a text the earlier phrase of the table wins.
std::span<const Phrase> all_phrases();

}  // namespace md

#include "lib/log/vocabulary.h"

#include <algorithm>
#include <vector>

#include "lib/log/literal_set.h"
#include "lib/log/phrases.h"

namespace md {
namespace {

const LiteralSet& phrase_set() {
  static const LiteralSet set = [] {
    std::vector<std::string_view> texts;
    for (const Phrase& phrase : all_phrases()) texts.push_back(phrase.text);
    return LiteralSet(texts);
  }();
  return set;
}

}  // namespace

Words find_words(std::string_view text) {
  using Kind = PhraseKind;
  const std::span<const Phrase> phrases = all_phrases();
  Words words;
  std::size_t tool = phrases.size();
  phrase_set().scan(text, [&](std::uint32_t id) {
    switch (phrases[id].kind) {
      case Kind::benign:
        words.benign = true;
        break;
      case Kind::missing:
        words.missing = true;
        break;
      case Kind::detail:
        words.detail = true;
        break;
      case Kind::symptom:
        words.symptom = true;
        break;
      case Kind::cause:
        words.cause = true;
        break;
      case Kind::trouble:
        words.trouble = true;
        break;
      case Kind::hint:
        words.hint = true;
        break;
      case Kind::faint:
        words.faint = true;
        break;
      case Kind::echo:
        words.echo = true;
        break;
      case Kind::refusal:
        words.refusal = true;
        break;
      case Kind::load:
        words.begins_load = true;
        break;
      case Kind::header:
        words.delegate_header = true;
        break;
      case Kind::count:
        words.delegate_count = true;
        break;
      case Kind::version:
        words.versions = true;
        break;
      case Kind::classic:
        words.classic = true;
        break;
      case Kind::successor:
        words.successor = true;
        break;
      case Kind::tool:
        tool = std::min<std::size_t>(tool, id);
        break;
    }
  });
  if (tool < phrases.size()) words.tool = phrases[tool].tool;
  return words;
}

}  // namespace md

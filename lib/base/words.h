// Enums whose values have a word in files and reports, said once.
#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace md {

template <class E>
struct Word {
  E value;
  std::string_view text;
};

/// Every value of E with its word, in the order in which people are told of them; specialised beside the
/// enum. A value that is left out has no word ("").
template <class E>
inline constexpr std::array<Word<E>, 0> kWords = {};

template <class E>
std::string_view word(E value) {
  for (const Word<E>& known : kWords<E>)
    if (known.value == value) return known.text;
  return "";
}

template <class E>
std::optional<E> from_word(std::string_view text) {
  for (const Word<E>& known : kWords<E>)
    if (known.text == text) return known.value;
  return std::nullopt;
}

}  // namespace md

#include "lib/base/nearest.h"

#include <algorithm>
#include <vector>

namespace md {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  const auto lower = [](std::string_view text) {
    std::string out(text);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
  };
  const std::string wanted = lower(word);
  std::size_t best =
      word.size() <= 2 ? 2 : std::max<std::size_t>(2, word.size() / 3) + 1;  // one more than is close
  std::string found;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best) best = distance, found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string found = nearest(word, known);
  return found.empty() ? "" : " (did you mean \"" + found + "\"?)";
}

}  // namespace md

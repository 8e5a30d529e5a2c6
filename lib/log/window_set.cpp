#include "lib/log/window_set.h"

#include <algorithm>
#include <array>

namespace md {
namespace {

constexpr std::array<std::uint8_t, 256> folding = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = static_cast<std::uint8_t>(c);
  for (const char c : {'\n', '\t', '\r'}) table[static_cast<unsigned char>(c)] = ' ';
  return table;
}();

std::uint64_t shifted(std::uint64_t window, char c) {
  return window << 8 | folding[static_cast<unsigned char>(c)];
}

/// found(window) for every eight characters in a row.
template <class Found>
void each_window(std::string_view text, Found&& found) {
  std::uint64_t window = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    window = shifted(window, text[i]);
    if (i + 1 >= WindowSet::width) found(window);
  }
}

}  // namespace

WindowSet::WindowSet(std::span<const std::string_view> literals) : occupied_((std::size_t{1} << bits) / 64) {
  std::vector<std::uint32_t> count(std::size_t{1} << bits);  // by slot: near enough to tell a rare one
  for (const std::string_view literal : literals)
    each_window(literal, [&](std::uint64_t window) { ++count[slot(window)]; });
  for (std::size_t id = 0; id < literals.size(); ++id) {
    if (literals[id].size() < width) {
      short_.push_back(static_cast<std::uint32_t>(id));
      continue;
    }
    std::uint64_t rarest = 0;
    std::uint32_t fewest = 0;
    each_window(literals[id], [&](std::uint64_t window) {
      const std::uint32_t times = count[slot(window)];
      if (fewest == 0 || times < fewest) rarest = window, fewest = times;
    });
    entries_.push_back({.window = rarest, .id = static_cast<std::uint32_t>(id)});
    const std::size_t at = slot(rarest);
    occupied_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.window != b.window ? a.window < b.window : a.id < b.id;
  });
}

std::vector<std::uint32_t> WindowSet::candidates(std::string_view text) const {
  std::vector<std::uint32_t> ids = short_;
  each_window(text, [&](std::uint64_t window) {
    const std::size_t at = slot(window);
    if ((occupied_[at / 64] >> (at % 64) & 1) == 0) return;
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), window,
                                  [](const Entry& e, std::uint64_t wanted) { return e.window < wanted; });
    for (; entry != entries_.end() && entry->window == window; ++entry)
      if (ids.empty() || ids.back() != entry->id) ids.push_back(entry->id);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace md

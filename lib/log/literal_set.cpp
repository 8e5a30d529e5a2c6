#include "lib/log/literal_set.h"

#include <string>

namespace md {
namespace {

char folded(char c) { return c == '\n' || c == '\t' || c == '\r' ? ' ' : c; }

}  // namespace

LiteralSet::LiteralSet(std::span<const std::string_view> literals) : count_(literals.size()) {
  std::size_t total = 1;
  for (const std::string_view literal : literals) {
    total += literal.size();
    for (const char c : literal) {
      std::uint8_t& slot = class_of_[static_cast<unsigned char>(folded(c))];
      if (slot == 0) slot = static_cast<std::uint8_t>(classes_++);
    }
  }
  for (const char c : {'\n', '\t', '\r'}) class_of_[static_cast<unsigned char>(c)] = class_of_[' '];

  next_.reserve(total * classes_);
  next_.assign(classes_, 0);
  std::vector<std::vector<std::uint32_t>> ends(1);
  for (std::size_t id = 0; id < literals.size(); ++id) {
    if (literals[id].empty()) continue;
    std::uint32_t state = 0;
    for (const char c : literals[id]) {
      const std::size_t slot = state * classes_ + class_of_[static_cast<unsigned char>(folded(c))];
      if (next_[slot] == 0) {
        next_[slot] = static_cast<std::uint32_t>(ends.size());
        ends.emplace_back();
        next_.resize(next_.size() + classes_, 0);
      }
      state = next_[slot];
    }
    ends[state].push_back(static_cast<std::uint32_t>(id));
  }

  fail_.assign(ends.size(), 0), report_.assign(ends.size(), 0);
  std::vector<std::uint32_t> queue{0};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t state = queue[head];
    report_[state] = !ends[state].empty() ? state : state == 0 ? 0 : report_[fail_[state]];
    for (std::uint32_t k = 0; k < classes_; ++k) {
      const std::uint32_t child = next_[state * classes_ + k];
      const std::uint32_t through_suffix = state == 0 ? 0 : next_[fail_[state] * classes_ + k];
      if (child == 0) {
        next_[state * classes_ + k] = through_suffix;
      } else {
        fail_[child] = through_suffix;
        queue.push_back(child);
      }
    }
  }
  output_begin_.reserve(ends.size() + 1);
  for (const std::vector<std::uint32_t>& ids : ends) {
    output_begin_.push_back(static_cast<std::uint32_t>(outputs_.size()));
    outputs_.insert(outputs_.end(), ids.begin(), ids.end());
  }
  output_begin_.push_back(static_cast<std::uint32_t>(outputs_.size()));
}

}  // namespace md

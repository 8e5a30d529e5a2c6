#include "lib/log/literal_set.h"

#include <algorithm>
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

  // The trie first, its edges as lists: most states have one child, and rows of classes are filled only once.
  struct Edge {
    std::uint32_t child = 0, next = 0;  ///< `next`: the parent's next edge; 0: none
    std::uint8_t on = 0;
  };
  std::vector<Edge> edges(1);
  std::vector<std::uint32_t> first(1, 0);
  edges.reserve(total), first.reserve(total);
  std::vector<std::vector<std::uint32_t>> ends(1);
  ends.reserve(total);
  for (std::size_t id = 0; id < literals.size(); ++id) {
    if (literals[id].empty()) continue;
    std::uint32_t state = 0;
    for (const char c : literals[id]) {
      const std::uint8_t on = class_of_[static_cast<unsigned char>(folded(c))];
      std::uint32_t edge = first[state];
      while (edge != 0 && edges[edge].on != on) edge = edges[edge].next;
      if (edge == 0) {
        edge = static_cast<std::uint32_t>(edges.size());
        edges.push_back({.child = static_cast<std::uint32_t>(first.size()), .next = first[state], .on = on});
        first[state] = edge;
        first.push_back(0), ends.emplace_back();
      }
      state = edges[edge].child;
    }
    ends[state].push_back(static_cast<std::uint32_t>(id));
  }

  // Breadth first: a state's row is that of its longest proper suffix, with its own children in it.
  next_.assign(first.size() * classes_, 0);
  fail_.assign(first.size(), 0), report_.assign(first.size(), 0);
  std::vector<std::uint32_t> queue{0};
  queue.reserve(first.size());
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t state = queue[head], suffix = fail_[state];
    report_[state] = !ends[state].empty() ? state : state == 0 ? 0 : report_[suffix];
    std::uint32_t* row = &next_[static_cast<std::size_t>(state) * classes_];
    const std::uint32_t* through = &next_[static_cast<std::size_t>(suffix) * classes_];
    if (state != 0) std::copy(through, through + classes_, row);
    for (std::uint32_t edge = first[state]; edge != 0; edge = edges[edge].next) {
      const Edge& e = edges[edge];
      if (state != 0) fail_[e.child] = through[e.on];
      row[e.on] = e.child;
      queue.push_back(e.child);
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

#include <algorithm>

#include "lib/rewrite/rank_lowering.h"

namespace md {

namespace {

std::int64_t size_along(const Shape& shape, std::size_t axis, std::size_t rank) {
  const std::size_t missing = rank - shape.size();
  return axis < missing ? 1 : shape[axis - missing];
}

}  // namespace

MergedAxes merge_axes(const Shape& out, const std::vector<Shape>& operands) {
  using Group = std::vector<std::size_t>;
  const auto key = [&](std::size_t axis) {
    std::vector<bool> has;
    for (const Shape& s : operands) has.push_back(size_along(s, axis, out.size()) != 1);
    return has;
  };
  std::vector<Group> groups;
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] == 1) continue;
    if (!groups.empty() && key(groups.back().front()) == key(axis))
      groups.back().push_back(axis);
    else
      groups.push_back({axis});
  }
  MergedAxes result;
  result.groups = static_cast<int>(groups.size());
  if (groups.size() > 4) return result;
  const auto size = [&](const Group& group) {
    std::int64_t n = 1;
    for (const std::size_t axis : group) n *= out[axis];
    return n;
  };
  // One huge axis is slow to read as channels: split the last group first, then the largest. The batch axis
  // stays 1.
  while (groups.size() < 3) {
    auto best = groups.end();
    for (auto it = groups.begin(); it != groups.end(); ++it)
      if (it->size() > 1 && (best == groups.end() || it + 1 == groups.end() || size(*it) > size(*best)))
        best = it;
    if (best == groups.end()) break;
    const Group last{best->back()};
    best->pop_back();
    groups.insert(best + 1, last);
  }
  while (groups.size() < 4) groups.insert(groups.begin(), Group{});
  for (const Group& group : groups) result.out.push_back(size(group));
  for (const Shape& s : operands) {
    Shape merged;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const bool has = !groups[g].empty() && size_along(s, groups[g].front(), out.size()) != 1;
      merged.push_back(has ? result.out[g] : 1);
    }
    result.operands.push_back(std::move(merged));
  }
  return result;
}

}  // namespace md

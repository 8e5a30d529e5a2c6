// Union-find: items 0..n-1 in sets that are joined. Near constant time a call (paths are halved).
#pragma once
#include <cstddef>
#include <numeric>
#include <vector>

namespace md {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t n) : parent_(n) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  /// The set's representative: the same for all its items until the next join.
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace md

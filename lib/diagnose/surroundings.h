// What lies around a patch, cut out of a large model, so that trying a fix costs what the site costs and not
// what the graph costs: with thousands of sites the difference is hours.
#pragma once
#include <cstddef>
#include <vector>

#include "lib/edit/patch.h"
#include "lib/graph/graph.h"

namespace md {

/// A patch and the part of the model that matters to its proof, its cost and what targets say of it.
struct Excerpt {
  Model
      model;  ///< the same graphs by number; other graphs than the patch's are empty unless a node calls one
  Patch patch;  ///< in the ids of `model`
};

/// Looks at one model, which must outlive it. Not for use by several threads.
class Surroundings {
 public:
  /// Cost O(graph), once.
  explicit Surroundings(const Model& model);

  /// The nodes that the patch touches, the readers of what they read and write, producers several levels up
  /// (as far as proofs look) and everything that constants among their operands are computed from. Values
  /// that come from outside are inputs of the excerpt, values that are read outside are outputs; ids keep
  /// their order. A patch that changes the interface gets the whole model.
  Excerpt around(const Patch& patch) const;

  /// True when a NaN or an infinity can arise above the values that the patch reads: a constant there is not
  /// finite, or is past 65504 and so becomes infinite in fp16. Each constant is looked at once.
  bool nonfinite_may_reach(const Patch& patch);

  /// Multiply-adds of the whole model, counted when first asked for.
  std::int64_t total_work();

 private:
  bool reaches_past_f16(int graph, ValueId value);

  const Model& model_;
  std::vector<std::vector<char>> constant_only_;     ///< by graph and value: computed from constants alone
  std::vector<std::vector<std::int32_t>> position_;  ///< by graph and node: place in the execution order
  std::vector<std::vector<signed char>> past_f16_;   ///< by graph and value: -1 not known yet
  std::int64_t total_work_ = -1;
};

}  // namespace md

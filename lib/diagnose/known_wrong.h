// A rewrite may only use operators at a type and shape whose numbers are known good on the target: what the
// rules of silent faults say of its own operators.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/rule/page/rule.h"
#include "lib/target/target.h"

namespace md {

/// Operators of a rewritten graph that a target accepts and computes wrongly.
struct KnownWrong {
  std::string by;       ///< "LRT071: PAD of i32 [1x2x4]: ...", for people; empty: nothing is known against it
  bool mended = false;  ///< every such fault has a fix that the next round makes: the rewrite is a step
};

/// Looks at the sites of silent rules that hold one of `nodes` after the rewrite and did not stand there
/// before. Nodes keep their ids from `before` to `after`. `book`: all rules; `chosen`: those that may fix.
/// Linear in the size of the graph times the number of silent rules: give it an excerpt.
KnownWrong known_wrong(const Model& before, const Model& after, int graph, const std::set<NodeId>& nodes,
                       const std::vector<const Target*>& targets, const std::vector<Rule>& book,
                       const std::vector<const Rule*>& chosen);

}  // namespace md

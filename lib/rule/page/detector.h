// What a C++ detector next to a rule page looks like: rules/<family>/ID-name.cpp defines
//     std::vector<md::DetectResult> ID(const md::DetectContext&);
// It looks and returns values; it never changes anything. CMake finds the file and writes the table.
// The page owns what holds for the rule as a whole (versions, exactness, whether a fix is safe, the advice
// for the source); a detector returns sites, what is peculiar to each of them, and patches.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/edit/patch.h"
#include "lib/graph/graph.h"
#include "lib/proof/proof.h"
#include "lib/target/target.h"

namespace md {

class OperatorIndex;
struct Rule;

struct DetectContext {
  const Model& model;
  int graph_index = 0;
  const Graph& graph;
  const Target* target = nullptr;  ///< the target of this run, or null
  const std::vector<PredictedRecord>* predicted =
      nullptr;  ///< the target's records for the whole model, or null
  const std::vector<std::string>* log_messages = nullptr;  ///< failing messages of the user's log, or null
  bool allow_unsafe = false;
  const OperatorIndex* operators = nullptr;  ///< of `graph`; run_rule makes one where the caller has none
  const Rule* rule = nullptr;                ///< whose detector this is; set by run_rule

  /// The nodes that the page's "roots" name, in execution order: where a site may be.
  std::vector<NodeId> roots() const;
  /// True when the target's version is in the page's "runtimes". With a word: in one of those with that
  /// "case" (a part of the fault that other versions do not have). Without a target the rule as such is
  /// looked for, its cases are not.
  bool fails(std::string_view part = {}) const;
};

/// One way to mend a site; a result may offer several, best first.
struct ProposedFix {
  ProposedFix() = default;
  explicit ProposedFix(Patch of) : patch(std::move(of)) {}
  ProposedFix(Patch of, Exactness as) : patch(std::move(of)), exactness(as) {}

  Patch patch;
  /// Only where the page's "exactness" lists several: which of them this fix is. run_rule fills in the page's
  /// one otherwise, so it is there in every fix that leaves run_rule.
  std::optional<Exactness> exactness;
  bool unsafe = false;  ///< changes the interface, more than doubles the work, or rests on an assumption
  std::string unsafe_reason;  ///< required when unsafe
  /// It rests on what the page's "assumes" says, which nothing here showed: unsafe for that reason.
  bool assumes = false;
  /// The types of inputs and outputs change because the runtime cannot take the old ones (bfloat16): said in
  /// the message, and not held against the fix.
  bool retypes_interface = false;
  /// The numbers change, and are meant to (training mode becomes inference): unsafe, and a proof that sees
  /// the difference does not refuse it.
  bool changes_results = false;
  /// Right by construction where nothing can be evaluated: the file as it stands computes nothing (an unknown
  /// operator, a form of another version, forbidden types), or on what the evaluator lacks (sequences). "Not
  /// proven" is said then, and is no reason against the fix.
  bool by_law = false;
  /// Worth applying although results change in their last bits and neither a log nor a target asks for it.
  bool uncalled = false;
};

/// How sure it is that a silent fault does harm here. Less than `shown` is reported as a note.
enum class Likelihood {
  shown,     ///< the pattern alone decides, or a value past the limit was computed
  possible,  ///< nothing in the model excludes it: the fix is applied
  unlikely   ///< it takes unusual inputs: the fix is offered, and applied when the user selects the rule or
             ///< states the symptom
};

struct DetectResult {
  Likelihood likelihood = Likelihood::shown;
  enum class State {
    matched,   ///< the fault is here and `fixes` mends it
    declined,  ///< the fault is here, but the rewrite does not apply: `reason`
    advice     ///< the fault is here and no rewrite of the file exists: `reason` says what to do
  } state = State::matched;
  std::vector<NodeId> nodes;  ///< the site, the node that the runtime complains about first
  ValueId value = none_id;    ///< the tensor worth naming
  std::string message;        ///< what is wrong here, in the user's words; empty: the rule's own summary
  std::string reason;
  /// What the page's "at_source" and "rows" name in braces: {length}. See rules/README.md.
  std::map<std::string, std::string, std::less<>> words;
  std::string at_source;  ///< the change to make in the user's own code; filled in by run_rule from the page
  std::vector<ProposedFix> fixes;
};

using Detector = std::vector<DetectResult> (*)(const DetectContext&);
struct DetectorEntry {
  std::string_view id;
  Detector detect;
};
/// Generated: every rules/*/ID-name.cpp, ordered by file name.
const std::vector<DetectorEntry>& detector_table();

}  // namespace md

// What a C++ detector next to a rule page looks like: rules/<family>/ID-name.cpp defines
//     std::vector<md::DetectResult> ID(const md::DetectContext&);
// It looks and returns values; it never changes anything. CMake finds the file and writes the table.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/edit/patch.h"
#include "lib/eval/proof.h"
#include "lib/graph/graph.h"
#include "lib/target/target.h"

namespace md {

struct DetectContext {
  const Model& model;
  int graph_index = 0;
  const Graph& graph;
  const Target* target = nullptr;  ///< the target of this run, or null
  const std::vector<PredictedRecord>* predicted =
      nullptr;  ///< the target's records for the whole model, or null
  const std::vector<std::string>* log_messages = nullptr;  ///< failing messages of the user's log, or null
  bool allow_unsafe = false;
};

/// One way to mend a site; a result may offer several, best first.
struct ProposedFix {
  Patch patch;
  Exactness exactness = Exactness::exact;
  bool unsafe = false;  ///< changes the interface, more than doubles the work, or rests on an assumption
  std::string unsafe_reason;  ///< required when unsafe
  /// The types of inputs and outputs change because the runtime cannot take the old ones (bfloat16): said in
  /// the message, and not held against the fix.
  bool retypes_interface = false;
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
  std::string at_source;  ///< the change to make in the user's own code, sizes filled in
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

// A finding as the engine keeps it and reports read it: what is wrong, where, how that is known, and what was
// tried. What can be one of few things is an enum; its word is made at the edge (lib/report/fields.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/words.h"
#include "lib/log/log.h"
#include "lib/proof/proof.h"
#include "lib/rule/page/severity.h"

namespace md {

template <>
inline constexpr std::array<Word<Exactness>, 3> kWords<Exactness> = {
    {{Exactness::exact, "exact"}, {Exactness::rounding, "rounding"}, {Exactness::bounded, "bounded"}}};
template <>
inline constexpr std::array<Word<ProofMethod>, 4> kWords<ProofMethod> = {
    {{ProofMethod::movement, "movement"},
     {ProofMethod::exhaustive, "exhaustive"},
     {ProofMethod::sampled, "sampled"},
     {ProofMethod::none, "none"}}};

enum class FindingState {
  matched,   ///< the fault is here, and the rule knows a rewrite
  declined,  ///< the fault is here, but the rewrite does not apply: `reason`
  advice     ///< no rewrite of the file mends it, or only a log is at hand
};
template <>
inline constexpr std::array<Word<FindingState>, 3> kWords<FindingState> = {
    {{FindingState::matched, "matched"},
     {FindingState::declined, "declined"},
     {FindingState::advice, "advice"}}};

/// How sure it is which nodes a line of the log is about, ascending.
enum class Attribution { none, op, tensor, exact };
template <>
inline constexpr std::array<Word<Attribution>, 3> kWords<Attribution> = {
    {{Attribution::exact, "exact"}, {Attribution::tensor, "tensor"}, {Attribution::op, "op"}}};

template <>
inline constexpr std::array<Word<Stage>, 8> kWords<Stage> = {{{Stage::setup, "setup"},
                                                              {Stage::program_export, "export"},
                                                              {Stage::convert, "convert"},
                                                              {Stage::lower, "lower"},
                                                              {Stage::build, "build"},
                                                              {Stage::load, "load"},
                                                              {Stage::prepare, "prepare"},
                                                              {Stage::run, "run"}}};

struct ReportedSource {
  std::string file;
  int line = 0;
  std::string function;
};

struct ReportedLocation {
  int graph = 0;
  std::int32_t node = -1;  ///< id in the input file; -1: made by an earlier round, see origin
  std::string op, value, layer, shape, dtype;
  std::vector<std::int32_t> origin;  ///< input-file nodes that a made node came from
  std::vector<ReportedSource> source;
};

struct ReportedProof {
  ProofMethod method = ProofMethod::none;
  std::string dtype;
  std::int64_t samples = 0;
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  bool equal = false;
  std::string nonfinite, counterexample, note;
};

struct ReportedCost {
  std::int64_t ops = 0, bytes = 0, macs = 0;  ///< after minus before
};

struct ReportedFix {
  std::string title, reason;
  Applicability applicability = Applicability::manual;
  Exactness exactness = Exactness::exact;
  bool applied = false;  ///< in a dry run: would be applied
  /// Mends a note that nothing shows to do harm: offered, and applied only when the user asks for it
  /// (`reason` says how).
  bool needs_asking = false;
  ReportedCost cost;
  std::vector<ReportedProof> proofs;
};

struct Finding {
  std::string rule, name, message, reason, docs, at_source, fingerprint;
  Severity severity = Severity::fatal;
  FindingState state = FindingState::matched;
  Blame fault = Blame::model;  ///< who has to change something
  Attribution attribution = Attribution::none;
  Stage stage = Stage::unknown;  ///< what the tool did when it failed, where a log tells it
  int round = 1;
  bool assumed = false;
  bool mended = false;  ///< gone because the fix of another finding removed its cause
  std::vector<std::string> caused_by;
  std::vector<ReportedLocation> locations;
  std::vector<int> log;  ///< indices into Diagnosis::log
  std::vector<ReportedFix> fixes;
  /// From a log alone: the formats of model files that a fix of this kind exists for; empty: none does.
  std::vector<std::string> mendable_in;
  bool open() const;  ///< no fix that was applied mends it
};

}  // namespace md

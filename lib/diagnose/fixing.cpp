#include "lib/diagnose/fixing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/diagnose/cost.h"
#include "lib/diagnose/describe.h"
#include "lib/diagnose/fp16_evidence.h"
#include "lib/diagnose/known_wrong.h"
#include "lib/edit/apply.h"
#include "lib/edit/well_typed.h"
#include "lib/op/dialect.h"
#include "lib/proof/proof.h"
#include "lib/proof/tolerance.h"

namespace md {
namespace {

// A rewrite that more than doubles a model's work is `unsafe`; below this many multiply-adds nobody notices.
constexpr std::int64_t kNoticeableWork = 10'000'000;

struct Tried {
  ReportedFix reported;
  bool applicable = false;
  int leftover = 0;  ///< what the targets would still refuse or compute wrongly at the nodes of the rewrite
};

void lower(ReportedFix& fix, Applicability applicability, std::string reason) {
  fix.applicability = std::min(fix.applicability, applicability);
  if (reason.empty()) return;
  fix.reason += fix.reason.empty() ? "" : "; ";
  fix.reason += reason;
}

/// A note is what nothing shows to do harm here. Its fix waits for the user's word where it changes results,
/// be it in their last bits, or where the harm takes unusual inputs. Bit for bit the same computation costs
/// nothing that anybody could miss.
bool waits_for_word(const FoundSite& site, const ProposedFix& fix, const DiagnoseOptions& options) {
  if (site.severity != Severity::note || fix.uncalled || !options.select.empty()) return false;
  return site.result.likelihood == Likelihood::unlikely || fix.exactness != Exactness::exact;
}

/// How to ask for it: by name, by what is seen, or by inputs that show the need (fp16 alone depends on them).
std::string how_to_ask(const FoundSite& site) {
  const Rule& rule = *site.rule;
  std::string ways = "--select " + rule.id;
  if (!rule.symptom.empty()) ways += fmt::format(" or --symptom {}", rule.symptom);
  if (!site.target.empty()) ways += fmt::format(" or --target {}", site.target);
  return fmt::format("nothing shows that it is needed here; ask with {}{}", ways,
                     concerns_fp16(rule) ? ", or give --inputs or --range that show it" : "");
}

ReportedFix claim(const FoundSite& site, const ProposedFix& fix) {
  ReportedFix reported;
  reported.title = fix.patch.title;
  reported.exactness = *fix.exactness;
  reported.applicability = site.rule->applicability;
  if (fix.unsafe) lower(reported, Applicability::unsafe, fix.unsafe_reason);
  return reported;
}

std::set<NodeId> changed_nodes(const Model& before, const Model& after, const Patch& patch) {
  std::set<NodeId> nodes;
  const auto g = static_cast<std::size_t>(patch.graph);
  for (std::size_t n = before.graphs[g].nodes.size(); n < after.graphs[g].nodes.size(); ++n)
    nodes.insert(static_cast<NodeId>(n));
  for (const Rewire& rewire : patch.rewires) nodes.insert(rewire.node);
  for (const NodeChange& change : patch.node_changes) nodes.insert(change.node);
  return nodes;
}

int leftover_records(const FixingInput& in, const Model& after, int graph, const std::set<NodeId>& nodes) {
  int records = 0;
  for (const Target* target : in.targets)
    if (target->has_table())
      for (const NodeId id : nodes)
        records += static_cast<int>(target->predict_node(after, graph, id).size());
  return records;
}

/// Counts what is left to do at the nodes of the rewrite, and refuses one whose own operators are known to be
/// computed wrongly: a model that is refused is better than one that is wrong.
void weigh_result(const FixingInput& in, const Model& before, const Model& after, const Patch& patch,
                  Tried& tried) {
  const std::set<NodeId> nodes = changed_nodes(before, after, patch);
  tried.leftover = leftover_records(in, after, patch.graph, nodes);
  const KnownWrong wrong = known_wrong(before, after, patch.graph, nodes, in.targets, in.book, in.chosen);
  if (wrong.by.empty()) return;
  ++tried.leftover;
  if (!wrong.mended)
    lower(tried.reported, Applicability::manual, "its result would be computed wrongly (" + wrong.by + ")");
}

/// True when callers would notice: another number, type or shape of inputs or outputs. Another tensor behind
/// the same name is no change.
bool changes_interface(const Model& before, const Model& after, const Patch& patch) {
  const Graph& a = before.graphs[static_cast<std::size_t>(patch.graph)];
  const Graph& b = after.graphs[static_cast<std::size_t>(patch.graph)];
  const auto same = [&](const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](ValueId i, ValueId j) {
      return a.value(i).dtype == b.value(j).dtype && a.value(i).shape == b.value(j).shape;
    });
  };
  return (patch.graph_inputs && !same(a.inputs, b.inputs)) ||
         (patch.graph_outputs && !same(a.outputs, b.outputs));
}

Tried try_fix(const FixingInput& in, Surroundings& surroundings, const FoundSite& site,
              const ProposedFix& fix) {
  Tried tried;
  tried.reported = claim(site, fix);
  ReportedFix& reported = tried.reported;
  const Excerpt local = surroundings.around(fix.patch);
  auto after = apply_patches(local.model, std::span(&local.patch, 1));
  if (!after) {
    lower(reported, Applicability::manual, after.error().message);
    return tried;
  }
  if (const auto fault = ill_typed(local.model, *after)) {
    lower(reported, Applicability::manual, "its types do not hold together: " + *fault);
    return tried;
  }
  if (after->dialect->settle) after->dialect->settle(local.model, *after);
  reported.cost = cost_of_change(local.model, *after);
  if (reported.cost.macs > kNoticeableWork && reported.cost.macs > surroundings.total_work())
    lower(reported, Applicability::unsafe,
          fmt::format("more than doubles the model's work (+{} multiply-adds)", reported.cost.macs));
  if (!fix.retypes_interface && changes_interface(local.model, *after, local.patch))
    lower(reported, Applicability::unsafe, fix.unsafe ? "" : "changes the model's interface");
  weigh_result(in, local.model, *after, local.patch, tried);

  ProofOptions options;
  options.exactness = *fix.exactness;
  options.max_error = promised_error(in.options.max_error, fix.retypes_interface);
  options.samples = in.options.samples;
  options.seed = in.options.seed;
  options.thorough = in.options.thorough;
  options.repairs_fp16 = concerns_fp16(*site.rule);
  const Proof proof = in.proofs.prove(local.model, *after, local.patch.graph, options);
  reported.proofs.push_back(report(proof));
  if (fix.exactness == Exactness::bounded && options.max_error > in.options.max_error) {
    std::string& note = reported.proofs.back().note;
    note += (note.empty() ? "" : "; ") + another_bound(options.max_error, in.options.max_error);
  }
  if (proof.method == ProofMethod::none && fix.by_law)
    reported.proofs.back().note += proof.note.empty() ? "nothing could be evaluated" : "";
  else if (proof.method == ProofMethod::none)
    lower(reported, Applicability::unsafe,
          "not proven: " + (proof.note.empty() ? std::string("nothing could be evaluated") : proof.note));
  else if (!proof.equal && fix.changes_results)
    lower(reported, Applicability::unsafe, "gives other numbers, as it is meant to: " + proof.counterexample);
  else if (!proof.equal)
    lower(reported, Applicability::manual, "refuted: " + proof.counterexample);
  else if (!proof.nonfinite.empty() && surroundings.nonfinite_may_reach(fix.patch))
    lower(reported, Applicability::unsafe, "differs on values that can reach it: " + proof.nonfinite);

  const bool trusted = reported.applicability == Applicability::safe ||
                       (reported.applicability == Applicability::unsafe && in.options.unsafe_fixes);
  const bool unproven = proof.method == ProofMethod::none && in.options.require_proof;
  const bool inexact = fix.exactness != Exactness::exact;
  if (inexact && in.options.exact_only)
    lower(reported, reported.applicability, "not bit for bit, and --exact-only was given");
  if (reported.applicability != Applicability::manual && waits_for_word(site, fix, in.options)) {
    reported.needs_asking = true;
    lower(reported, reported.applicability, how_to_ask(site));
  }
  tried.applicable = trusted && !unproven && !reported.needs_asking && !(inexact && in.options.exact_only);
  return tried;
}

/// What a patch touches, for the choice of patches that can be applied together.
class Claims {
 public:
  bool conflicts(const Model& model, const Patch& patch) const {
    const Claims other(model, patch);
    return meet(touched_, other.touched_) || meet(written_, other.written_) || meet(vanished_, other.read_) ||
           meet(read_, other.vanished_) ||
           (interface_.contains(patch.graph) && (patch.graph_inputs || patch.graph_outputs));
  }
  void add(const Model& model, const Patch& patch) {
    const Claims other(model, patch);
    touched_.insert(other.touched_.begin(), other.touched_.end());
    written_.insert(other.written_.begin(), other.written_.end());
    vanished_.insert(other.vanished_.begin(), other.vanished_.end());
    read_.insert(other.read_.begin(), other.read_.end());
    if (patch.graph_inputs || patch.graph_outputs) interface_.insert(patch.graph);
  }
  Claims() = default;

 private:
  using Place = std::pair<int, std::int32_t>;
  Claims(const Model& model, const Patch& patch) {
    const int g = patch.graph;
    const Graph& graph = model.graphs[static_cast<std::size_t>(g)];
    const auto read = [&](ValueId id) {
      if (id >= 0) read_.insert({g, id});
    };
    for (const Node& node : patch.new_nodes) {
      for (const ValueId id : node.inputs) read(id);
      for (const ValueId id : node.outputs)
        if (id >= 0) written_.insert({g, id});
    }
    for (const Rewire& rewire : patch.rewires) touched_.insert({g, rewire.node}), read(rewire.value);
    for (const NodeChange& change : patch.node_changes) touched_.insert({g, change.node});
    for (const ValueChange& change : patch.value_changes) written_.insert({g, change.value});
    for (const NodeId id : patch.removed) {
      touched_.insert({g, id});
      for (const ValueId out : graph.node(id).outputs)
        if (out >= 0 && !written_.contains({g, out})) vanished_.insert({g, out});
    }
  }
  static bool meet(const std::set<Place>& a, const std::set<Place>& b) {
    const auto& [small, large] = a.size() < b.size() ? std::tie(a, b) : std::tie(b, a);
    return std::any_of(small.begin(), small.end(),
                       [&large = large](const Place& place) { return large.contains(place); });
  }
  std::set<Place> touched_, written_, vanished_, read_;
  std::set<int> interface_;
};

struct Chosen {
  std::size_t site = 0, tried = 0;
  Patch patch;
};

/// Patches that are right one by one may contradict each other: one retypes what another reads.
Result<Model> apply_together(const Model& model, const std::vector<Patch>& patches) {
  auto changed = apply_patches(model, patches);
  if (!changed) return changed;
  if (const auto fault = ill_typed(model, *changed)) return fail(Error::Kind::internal, *fault);
  return changed;
}

/// Applies all at once; when they do not compose after all, as many as do, in order.
std::optional<Model> apply_chosen(const Model& model, std::vector<Chosen>& chosen) {
  std::vector<Patch> patches;
  for (const Chosen& choice : chosen) patches.push_back(choice.patch);
  if (auto all = apply_together(model, patches)) return std::move(*all);
  patches.clear();
  std::optional<Model> result;
  std::erase_if(chosen, [&](const Chosen& choice) {
    patches.push_back(choice.patch);
    auto next = apply_together(model, patches);
    if (next)
      result = std::move(*next);
    else
      patches.pop_back();
    return !next;
  });
  return result;
}

}  // namespace

std::vector<ReportedFix> list_candidates(const Surroundings& surroundings, const FoundSite& site,
                                         const DiagnoseOptions& options) {
  std::vector<ReportedFix> fixes;
  for (const ProposedFix& fix : site.result.fixes) {
    ReportedFix reported = claim(site, fix);
    const Excerpt local = surroundings.around(fix.patch);
    if (auto after = apply_patches(local.model, std::span(&local.patch, 1)))
      reported.cost = cost_of_change(local.model, *after);
    else
      lower(reported, Applicability::manual, after.error().message);
    if (reported.applicability != Applicability::manual && waits_for_word(site, fix, options)) {
      reported.needs_asking = true;
      lower(reported, reported.applicability, how_to_ask(site));
    }
    fixes.push_back(std::move(reported));
  }
  return fixes;
}

FixingResult mend(const FixingInput& in) {
  FixingResult result;
  result.fixes.resize(in.sites.size());
  std::vector<Chosen> chosen;
  Claims claims;
  Surroundings surroundings(in.model);
  for (std::size_t s = 0; s < in.sites.size(); ++s) {
    const FoundSite& site = in.sites[s];
    std::optional<Chosen> best;
    int best_leftover = 0;
    for (const ProposedFix& fix : site.result.fixes) {
      if (claims.conflicts(in.model, fix.patch)) continue;
      Tried tried = try_fix(in, surroundings, site, fix);
      result.fixes[s].push_back(std::move(tried.reported));
      if (!tried.applicable) continue;
      // A rewrite whose own operators the target refuses is a step at best: a later proposal may do it at
      // once.
      if (!best || tried.leftover < best_leftover) {
        best = Chosen{s, result.fixes[s].size() - 1, fix.patch};
        best_leftover = tried.leftover;
      }
      if (best_leftover == 0) break;
    }
    if (!best) continue;
    claims.add(in.model, best->patch);
    chosen.push_back(std::move(*best));
  }
  if (chosen.empty()) return result;
  result.model = apply_chosen(in.model, chosen);
  if (!result.model) return result;
  for (const Chosen& choice : chosen) result.fixes[choice.site][choice.tried].applied = true;
  if (in.model.dialect->settle) in.model.dialect->settle(in.model, *result.model);
  return result;
}

}  // namespace md

#include "lib/proof/proof.h"

#include <fmt/format.h>

#include "lib/eval/budget.h"
#include "lib/fp16/fp16_report.h"
#include "lib/proof/prover.h"
#include "lib/proof/site_runner.h"

namespace md {
namespace {

constexpr int context_levels[] = {2, 6};  // how far up the graph a rewrite's reasons are looked for
constexpr int context_nodes = 24;

/// What is meant to repair fp16 must do so.
void check_repair(const Model& before, const Model& after, int graph_index, Proof& proof) {
  const Fp16Judgement judgement = judge_fp16(before, after, graph_index);
  proof.note += (proof.note.empty() ? "" : "; ") + judgement.text;
  if (!judgement.evaluated || judgement.overflowing == 0 || judgement.better) return;
  proof.equal = false;
  proof.counterexample = judgement.text;
}

}  // namespace

Proof prove(const Model& before, const Model& after, int graph_index, const ProofOptions& options) {
  const auto g = static_cast<std::size_t>(graph_index);
  if (graph_index < 0 || g >= before.graphs.size() || g >= after.graphs.size()) {
    Proof none;
    none.note = fmt::format("there is no graph {}", graph_index);
    return none;
  }
  const Site site = find_site(before, after, graph_index);
  // Where the readers of what is replaced are large products, equal bits in front of them are proof enough.
  if (options.exactness == Exactness::exact && !options.repairs_fp16 && !unfit_site(before, after, site) &&
      SiteRunner(before, after, site).work(1) > budget_of_proof.work / fewest_samples)
    if (const auto narrow = find_narrow_site(before, after, graph_index))
      if (Proof narrower = prove_site(before, after, *narrow, options); narrower.equal) return narrower;
  Proof proof = prove_site(before, after, site, options);
  if (proof.method == ProofMethod::none && !options.repairs_fp16)
    if (const auto narrow = find_narrow_site(before, after, graph_index))
      if (Proof narrower = prove_site(before, after, *narrow, options); narrower.equal) return narrower;
  if (proof.equal && options.repairs_fp16) check_repair(before, after, graph_index, proof);
  if (proof.equal || proof.counterexample.empty()) return proof;
  // The rewrite may rest on where its operands come from (an exponential is never negative): look at what is
  // above.
  for (const int levels : context_levels) {
    const Site wider = with_context(before, after, site, levels, context_nodes);
    if (wider.context == 0) break;
    Proof with_producers = prove_site(before, after, wider, options);
    if (!with_producers.equal) continue;
    with_producers.note += (with_producers.note.empty() ? "" : "; ") +
                           fmt::format("together with the {} nodes above the site", wider.context);
    if (options.repairs_fp16) check_repair(before, after, graph_index, with_producers);
    return with_producers;
  }
  return proof;
}

}  // namespace md

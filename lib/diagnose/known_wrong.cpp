#include "lib/diagnose/known_wrong.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/diagnose/fp16_evidence.h"
#include "lib/diagnose/targets.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// A fault that the pattern alone decides and no log line tells. Overflow in fp16 depends on values, and is
/// there before and after a rewrite.
bool tells_silent_faults(const Rule& rule, const Model& model, const Target& target) {
  return rule.severity == Severity::silent && rule.graph && !concerns_fp16(rule) &&
         rule.looks_at(*model.dialect) && (rule.detector || !rule.rewrites.empty()) &&
         rule_concerns(rule, target);
}

std::vector<DetectResult> silent_sites(const Rule& rule, const Model& model, int graph, const Target& target,
                                       const OperatorIndex& operators) {
  const Graph& g = model.graphs[static_cast<std::size_t>(graph)];
  std::vector<DetectResult> sites =
      run_rule(rule, {model, graph, g, &target, nullptr, nullptr, false, &operators});
  // What a signature-bearing rule declines is no fault by itself; neither is what nothing shows.
  std::erase_if(sites, [&](const DetectResult& site) {
    return site.nodes.empty() || site.likelihood != Likelihood::shown ||
           (site.state == DetectResult::State::declined && !rule.log.empty());
  });
  return sites;
}

bool holds_one_of(const DetectResult& site, const std::set<NodeId>& nodes) {
  return std::any_of(site.nodes.begin(), site.nodes.end(), [&](NodeId id) { return nodes.contains(id); });
}

}  // namespace

KnownWrong known_wrong(const Model& before, const Model& after, int graph, const std::set<NodeId>& nodes,
                       const std::vector<const Target*>& targets, const std::vector<Rule>& book,
                       const std::vector<const Rule*>& chosen) {
  KnownWrong result{"", true};
  const OperatorIndex then(before.graphs[static_cast<std::size_t>(graph)]),
      now(after.graphs[static_cast<std::size_t>(graph)]);
  for (const Target* target : targets) {
    if (!target->has_table()) continue;
    for (const Rule& rule : book) {
      if (!tells_silent_faults(rule, after, *target)) continue;
      std::vector<DetectResult> sites = silent_sites(rule, after, graph, *target, now);
      std::erase_if(sites, [&](const DetectResult& site) { return !holds_one_of(site, nodes); });
      if (sites.empty()) continue;
      std::set<NodeId> known;
      for (const DetectResult& site : silent_sites(rule, before, graph, *target, then))
        known.insert(site.nodes.front());
      for (const DetectResult& site : sites) {
        if (known.contains(site.nodes.front())) continue;
        if (result.by.empty())
          result.by = fmt::format("{}: {}", rule.id, site.message.empty() ? rule.summary : site.message);
        const bool may_fix = std::find(chosen.begin(), chosen.end(), &rule) != chosen.end();
        result.mended = result.mended && may_fix && rule.applicability == Applicability::safe &&
                        std::any_of(site.fixes.begin(), site.fixes.end(),
                                    [](const ProposedFix& fix) { return !fix.unsafe; });
      }
    }
  }
  return result;
}

}  // namespace md

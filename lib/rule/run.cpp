// Running one rule over one graph.
#include <algorithm>
#include <map>

#include "lib/rule/rewrite.h"
#include "lib/rule/rule.h"

namespace md {
namespace {

DetectResult result_of(const Rule& rule, Rewrite::Site site, const DetectContext& context) {
  DetectResult result;
  result.state = site.outcome == Rewrite::Site::Outcome::fires ? DetectResult::State::matched : DetectResult::State::declined;
  result.nodes = site.bindings.nodes;
  const Node& root = context.graph.node(site.root);
  result.value = root.outputs.empty() ? none_id : root.outputs.front();
  result.reason = std::move(site.reason);
  const auto section = rule.sections.find("At the source");
  if (section != rule.sections.end()) result.at_source = fill_template(section->second, Scope{context.graph}, site.bindings);
  for (ProposedFix& fix : site.fixes) {
    fix.exactness = rule.exactness;
    fix.unsafe = rule.applicability == "unsafe";
    if (fix.unsafe) fix.unsafe_reason = "the rule says when: see \"When it is not safe\"";
    result.fixes.push_back(std::move(fix));
  }
  return result;
}

/// Firing beats declining beats a false condition; among equals the earlier block stays.
bool better(const Rewrite::Site& a, const Rewrite::Site& b) { return static_cast<int>(a.outcome) < static_cast<int>(b.outcome); }
static_assert(static_cast<int>(Rewrite::Site::Outcome::fires) == 0);

}  // namespace

std::vector<DetectResult> run_rule(const Rule& rule, const DetectContext& context) {
  if (!rule.looks_at(context.model.format)) return {};
  std::vector<DetectResult> results;
  if (rule.detector) results = rule.detector(context);
  std::map<NodeId, Rewrite::Site> sites;  // one a root, whatever number of blocks matches it
  std::vector<NodeId> order;
  for (const auto& rewrite : rule.rewrites) {
    if (rewrite->format() != context.model.format) continue;
    for (Rewrite::Site& site : rewrite->run(context)) {
      const NodeId root = site.root;
      const auto known = sites.find(root);
      if (known == sites.end()) {
        sites.emplace(root, std::move(site));
        order.push_back(root);
      } else if (better(site, known->second)) {
        known->second = std::move(site);
      }
    }
  }
  for (const NodeId root : order) {
    Rewrite::Site& site = sites.at(root);
    if (site.outcome == Rewrite::Site::Outcome::unmet && rule.log.empty()) continue;
    const bool taken = std::any_of(results.begin(), results.end(), [&](const DetectResult& r) {
      return r.state == DetectResult::State::matched && std::find(r.nodes.begin(), r.nodes.end(), root) != r.nodes.end();
    });
    if (!taken) results.push_back(result_of(rule, std::move(site), context));
  }
  return results;
}

}  // namespace md

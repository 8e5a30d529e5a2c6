// Running one rule over one graph.
#include <algorithm>
#include <iterator>
#include <map>

#include "lib/rule/page.h"
#include "lib/rule/rewrite.h"
#include "lib/rule/rule.h"

namespace md {
namespace {

DetectResult result_of(const Rule& rule, Rewrite::Site site, const DetectContext& context) {
  DetectResult result;
  result.state = site.outcome == Rewrite::Site::Outcome::fires ? DetectResult::State::matched
                                                               : DetectResult::State::declined;
  result.nodes = site.bindings.nodes;
  const Node& root = context.graph.node(site.root);
  result.value = root.outputs.empty() ? none_id : root.outputs.front();
  result.reason = std::move(site.reason);
  const auto section = rule.sections.find("At the source");
  if (section != rule.sections.end())
    result.at_source = fill_template(dedented(section->second), Scope{context.graph}, site.bindings);
  for (ProposedFix& fix : site.fixes) {
    fix.exactness = rule.exactness;
    fix.unsafe = rule.applicability == "unsafe";
    if (fix.unsafe) fix.unsafe_reason = "the rule says when: see \"When it is not safe\"";
    result.fixes.push_back(std::move(fix));
  }
  return result;
}

/// Firing beats declining beats a false condition; among equals the earlier block stays.
bool better(const Rewrite::Site& a, const Rewrite::Site& b) {
  return static_cast<int>(a.outcome) < static_cast<int>(b.outcome);
}
static_assert(static_cast<int>(Rewrite::Site::Outcome::fires) == 0);

/// The sites of all rewrite blocks, one a root whatever number of blocks matches it, in execution order of
/// the first.
std::vector<Rewrite::Site> rewrite_sites(const Rule& rule, const DetectContext& context) {
  std::vector<Rewrite::Site> sites;
  std::map<NodeId, std::size_t> at;
  for (const auto& rewrite : rule.rewrites) {
    if (rewrite->format() != context.model.format) continue;
    for (Rewrite::Site& site : rewrite->run(context)) {
      const auto [known, is_new] = at.emplace(site.root, sites.size());
      if (is_new)
        sites.push_back(std::move(site));
      else if (better(site, sites[known->second]))
        sites[known->second] = std::move(site);
    }
  }
  return sites;
}

}  // namespace

std::vector<DetectResult> run_rule(const Rule& rule, const DetectContext& context) {
  if (!rule.looks_at(context.model.format)) return {};
  std::vector<DetectResult> results;
  std::map<NodeId, std::size_t> by_root;
  for (Rewrite::Site& site : rewrite_sites(rule, context)) {
    if (site.outcome == Rewrite::Site::Outcome::unmet && rule.log.empty()) continue;
    by_root.emplace(site.root, results.size());
    results.push_back(result_of(rule, std::move(site), context));
  }
  if (!rule.detector) return results;
  for (DetectResult& found : rule.detector(context)) {
    const auto known = found.nodes.empty() ? by_root.end() : by_root.find(found.nodes.front());
    if (known == by_root.end()) {
      results.push_back(std::move(found));
      continue;
    }
    // The page's rewrites are the better answer where they fit; the detector's fixes come behind them.
    DetectResult& result = results[known->second];
    if (result.state != DetectResult::State::matched)
      result = std::move(found);
    else
      std::move(found.fixes.begin(), found.fixes.end(), std::back_inserter(result.fixes));
  }
  return results;
}

}  // namespace md

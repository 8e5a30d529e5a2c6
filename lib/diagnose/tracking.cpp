#include "lib/diagnose/tracking.h"

#include <algorithm>
#include <unordered_map>

#include "lib/diagnose/describe.h"

namespace md {
namespace {

bool share_node(const Tracked& a, const Tracked& b) {
  return std::any_of(a.nodes.begin(), a.nodes.end(), [&](NodeId id) {
    return std::find(b.nodes.begin(), b.nodes.end(), id) != b.nodes.end();
  });
}

bool holds_one_of(const Tracked& tracked, const std::set<NodePlace>& places) {
  return std::any_of(tracked.nodes.begin(), tracked.nodes.end(), [&](NodeId id) {
    return places.contains({tracked.graph, id});
  });
}

bool holds_all_of(const Tracked& tracked, const std::set<NodePlace>& places) {
  return std::all_of(places.begin(), places.end(), [&](const NodePlace& place) {
    return place.graph == tracked.graph &&
           std::find(tracked.nodes.begin(), tracked.nodes.end(), place.node) != tracked.nodes.end();
  });
}

}  // namespace

TrackedRound track(std::vector<Tracked> known, const std::vector<FoundSite>& sites, const Model& model,
                   int round, bool assumed) {
  TrackedRound tracked{.all = std::move(known), .of_site = {}};
  std::vector<Tracked>& all = tracked.all;
  for (const FoundSite& site : sites) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Tracked& one) {
      return !one.applied() && one.rule == site.rule && one.graph == site.graph &&
             one.nodes == site.result.nodes;
    });
    tracked.of_site.push_back(static_cast<std::size_t>(same - all.begin()));
    if (same != all.end())
      same->seen = round;
    else
      all.push_back({.rule = site.rule,
                     .graph = site.graph,
                     .nodes = site.result.nodes,
                     .seen = round,
                     .finding = describe(site, model, round, assumed && !site.by_log)});
  }
  return tracked;
}

std::vector<Tracked> with_mended(std::vector<Tracked> all, int last_round) {
  for (Tracked& gone : all) {
    if (gone.applied() || gone.seen == last_round) continue;
    gone.finding.mended = true;
    std::set<std::string> causes;
    for (const Tracked& other : all)
      if (other.applied() && other.seen == gone.seen && other.graph == gone.graph && share_node(other, gone))
        causes.insert(other.finding.rule);
    if (causes.empty())
      for (const Tracked& other : all)
        if (other.applied() && other.seen == gone.seen) causes.insert(other.finding.rule);
    gone.finding.caused_by.assign(causes.begin(), causes.end());
  }
  return all;
}

std::vector<Tracked> with_causes(std::vector<Tracked> all) {
  std::unordered_map<std::int64_t, std::vector<const Tracked*>> at;
  const auto key = [](int graph, NodeId node) {
    return (static_cast<std::int64_t>(graph) << 32) | static_cast<std::uint32_t>(node);
  };
  for (const Tracked& large : all)
    if (large.nodes.size() > 1 && large.finding.state == FindingState::matched)
      for (const NodeId id : large.nodes) at[key(large.graph, id)].push_back(&large);
  for (Tracked& inner : all) {
    if (inner.nodes.empty() || !inner.finding.caused_by.empty()) continue;
    const auto found = at.find(key(inner.graph, inner.nodes.front()));
    if (found == at.end()) continue;
    std::set<std::string> causes;
    for (const Tracked* large : found->second)
      if (large->rule != inner.rule && large->nodes.size() > inner.nodes.size() &&
          large->finding.round == inner.finding.round)
        causes.insert(large->finding.rule);
    inner.finding.caused_by.assign(causes.begin(), causes.end());
  }
  return all;
}

std::set<int> explained_records(const std::vector<Tracked>& all) {
  std::set<int> explained;
  for (const Tracked& tracked : all) explained.insert(tracked.finding.log.begin(), tracked.finding.log.end());
  return explained;
}

std::vector<Tracked> with_adopted_records(std::vector<Tracked> all, const std::vector<LogEvidence>& evidence,
                                          const std::vector<Prediction>& predictions, const Model& now) {
  std::set<std::string> still_predicted;
  for (const Prediction& prediction : predictions)
    for (const PredictedRecord& record : prediction.records) still_predicted.insert(record.text);
  const std::set<int> explained = explained_records(all);
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const LogEvidence& item = evidence[i];
    if (item.record->benign || item.nodes.empty() || explained.contains(static_cast<int>(i))) continue;
    const bool gone = item.attribution == Attribution::exact &&
                      !still_predicted.contains(std::string(item.record->headline()));
    const bool removed = std::none_of(item.nodes.begin(), item.nodes.end(), [&](const NodePlace& place) {
      return now.graphs[static_cast<std::size_t>(place.graph)].is_live(place.node);
    });
    for (Tracked& tracked : all) {
      if (tracked.finding.state != FindingState::matched || !holds_one_of(tracked, item.nodes)) continue;
      if (!tracked.finding.open() && !gone && !removed) continue;
      if (tracked.finding.open() && !holds_all_of(tracked, item.nodes)) continue;
      tracked.finding.log.push_back(static_cast<int>(i));
      break;
    }
  }
  return all;
}

}  // namespace md

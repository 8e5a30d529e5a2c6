#include "lib/diagnose/detection.h"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "lib/diagnose/fp16_evidence.h"
#include "lib/diagnose/targets.h"
#include "lib/op/dialect.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// Signature look-ups by text: a prediction repeats few distinct texts over many nodes.
class Explanations {
 public:
  explicit Explanations(const std::vector<const Rule*>& rules) : rules_(rules) {}
  const std::set<const Rule*>& of(const std::string& text) {
    const auto [entry, fresh] = known_.try_emplace(text);
    if (fresh)
      for (const Rule* rule : rules_)
        if (explains(*rule, text)) entry->second.insert(rule);
    return entry->second;
  }

 private:
  const std::vector<const Rule*>& rules_;
  std::unordered_map<std::string, std::set<const Rule*>> known_;
};

std::vector<int> graphs_to_search(const Model& model) {
  if (model.dialect->executed_graphs) return model.dialect->executed_graphs(model);
  std::vector<int> all(model.graphs.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// An overflow of fp16 shows as zeros, as NaN or as wrong numbers, depending on what comes behind it: each of
/// these words lifts the rules that look for one.
bool stated(const Rule& rule, const DiagnoseOptions& options) {
  if (rule.symptom.empty()) return false;
  const auto shows_overflow = [](std::string_view word) {
    return word == "zeros" || word == "nan" || word == "wrong";
  };
  return std::any_of(options.symptoms.begin(), options.symptoms.end(), [&](const std::string& seen) {
    return seen == rule.symptom ||
           (concerns_fp16(rule) && shows_overflow(seen) && shows_overflow(rule.symptom));
  });
}

class Round {
 public:
  explicit Round(const RoundInput& input)
      : in_(input), explanations_(input.rules), fp16_(input.model, input.options.values) {
    for (const Prediction& prediction : in_.predictions)
      for (const PredictedRecord& record : prediction.records)
        for (const Rule* rule : explanations_.of(record.text)) predicted_.insert(rule);
    for (const LogEvidence& item : in_.evidence) {
      if (item.of_other_model) continue;
      for (const Rule* rule : item.rules) logged_.insert(rule);
      // Lines that a rule's signature hits count too: runtimes mark few of theirs as errors.
      if ((item.record->failure || !item.rules.empty()) && !item.record->benign)
        messages_.push_back(item.record->message);
    }
  }

  RoundResult run() {
    const std::vector<int> graphs = graphs_to_search(in_.model);
    for (const Rule* rule : in_.rules) {
      if (!rule->looks_at(*in_.model.dialect) || (!rule->detector && rule->rewrites.empty())) continue;
      const bool pattern = rule->graph || stated(*rule, in_.options);
      if (!pattern && !logged_.contains(rule) && !predicted_.contains(rule)) continue;
      if (rule->graph) result_.silent_rules_run.push_back(rule);
      for (const int graph : graphs) look(*rule, graph);
    }
    drop_overshadowed();
    std::stable_sort(result_.sites.begin(), result_.sites.end(), [](const FoundSite& a, const FoundSite& b) {
      if (a.severity != b.severity) return a.severity > b.severity;
      return std::pair(a.graph, a.root()) < std::pair(b.graph, b.root());
    });
    return std::move(result_);
  }

 private:
  void look(const Rule& rule, int graph) {
    if (in_.targets.empty()) {
      for (DetectResult& found : detect(rule, graph, nullptr, nullptr))
        consider(rule, graph, std::move(found), nullptr, nullptr);
      return;
    }
    for (std::size_t t = 0; t < in_.targets.size(); ++t)
      for (DetectResult& found : detect(rule, graph, in_.targets[t], &in_.predictions[t]))
        consider(rule, graph, std::move(found), in_.targets[t], &in_.predictions[t]);
  }

  std::vector<DetectResult> detect(const Rule& rule, int graph, const Target* target,
                                   const Prediction* prediction) {
    const DetectContext context{in_.model,
                                graph,
                                in_.model.graphs[static_cast<std::size_t>(graph)],
                                target,
                                prediction ? &prediction->records : nullptr,
                                messages_.empty() ? nullptr : &messages_,
                                in_.options.unsafe_fixes,
                                &operators_of(graph)};
    try {
      return run_rule(rule, context);
    } catch (const std::length_error&) {
      return {};  // sizes past what memory can hold: no rewrite could be written down
    } catch (const std::bad_alloc&) {
      return {};
    }
  }

  const OperatorIndex& operators_of(int graph) {
    const auto known = operators_.find(graph);
    if (known != operators_.end()) return known->second;
    return operators_.emplace(graph, OperatorIndex(in_.model.graphs[static_cast<std::size_t>(graph)]))
        .first->second;
  }

  /// Keeps a result that something triggers, and says how severe it is.
  void consider(const Rule& rule, int graph, DetectResult found, const Target* target,
                const Prediction* prediction) {
    FoundSite site;
    site.rule = &rule;
    site.graph = graph;
    site.result = std::move(found);
    site.by_prediction = prediction && is_predicted(site, *prediction);
    collect_evidence(site);
    const bool concerned = !target || rule_concerns(rule, *target);
    const bool symptom = stated(rule, in_.options);
    // A rule with signatures that declined is no fault: without a record at this place nothing says that one
    // is there.
    const bool by_pattern =
        rule.graph && concerned && (site.result.state != DetectResult::State::declined || rule.log.empty());
    if (!site.by_log && !site.by_prediction && !by_pattern && !symptom) return;
    // The line that named this place was what the table says of it; it no longer says so: an earlier fix
    // mended it.
    if (site.result.state == DetectResult::State::declined && prediction && !site.by_prediction && !symptom &&
        site.by_log && site.attribution == Attribution::exact)
      return;
    if (concerns_fp16(rule)) fp16_.weigh(site.result, graph);
    site.severity = severity_of(site, target, symptom);
    if (!target && !rule.runtimes.empty()) site.target = rule.runtimes.front().target;
    merge(std::move(site));
  }

  bool is_predicted(const FoundSite& site, const Prediction& prediction) {
    return std::any_of(prediction.records.begin(), prediction.records.end(),
                       [&](const PredictedRecord& record) {
                         return record.graph == site.graph &&
                                std::find(site.result.nodes.begin(), site.result.nodes.end(), record.node) !=
                                    site.result.nodes.end() &&
                                explanations_.of(record.text).contains(site.rule);
                       });
  }

  void collect_evidence(FoundSite& site) {
    for (std::size_t i = 0; i < in_.evidence.size(); ++i) {
      const LogEvidence& item = in_.evidence[i];
      if (std::find(item.rules.begin(), item.rules.end(), site.rule) == item.rules.end() ||
          item.of_other_model)
        continue;
      // Some runtimes' lines name an operator, so they belong to the nodes they were tied to. Other
      // tools' lines are about the program as a whole, or name a node beside the site.
      const bool tied = in_.model.dialect->lines_name_nodes && !item.nodes.empty();
      const bool here =
          !tied || std::any_of(site.result.nodes.begin(), site.result.nodes.end(), [&](NodeId id) {
            return item.nodes.contains({site.graph, id});
          });
      if (!here) continue;
      site.by_log = true;
      site.evidence.push_back(static_cast<int>(i));
      site.attribution = std::max(site.attribution, item.attribution);
    }
  }

  Severity severity_of(const FoundSite& site, const Target* target, bool symptom) const {
    Severity severity = site.rule->severity;
    if (site.result.likelihood != Likelihood::shown && !symptom && !site.by_log) return Severity::note;
    if (!site.by_log && !site.by_prediction) {
      if (!target && !symptom) return Severity::note;  // no backend was named: nothing is known to fail
      if (!site.rule->symptom.empty() && !symptom && !site.rule->graph) return Severity::note;
    }
    if (target && target->falls_back() && severity == Severity::fatal && !site.rule->stops_fallback)
      return Severity::perf;
    return severity;
  }

  /// Several targets find the same site: the severest counts, and further ways to mend it are kept.
  void merge(FoundSite site) {
    const auto same = std::find_if(result_.sites.begin(), result_.sites.end(), [&](const FoundSite& known) {
      return known.rule == site.rule && known.graph == site.graph && known.result.nodes == site.result.nodes;
    });
    if (same == result_.sites.end()) {
      result_.sites.push_back(std::move(site));
      return;
    }
    same->severity = std::max(same->severity, site.severity);
    same->by_log = same->by_log || site.by_log;
    same->by_prediction = same->by_prediction || site.by_prediction;
    if (in_.targets.size() < 2) return;
    for (ProposedFix& fix : site.result.fixes) {
      const bool known =
          std::any_of(same->result.fixes.begin(), same->result.fixes.end(),
                      [&](const ProposedFix& other) { return other.patch.title == fix.patch.title; });
      if (!known) same->result.fixes.push_back(std::move(fix));
    }
    if (same->result.state != DetectResult::State::matched &&
        site.result.state == DetectResult::State::matched)
      same->result.state = DetectResult::State::matched;
  }

  /// A rule that declined (or only advises) at a node that another rule mends was a near miss: not worth
  /// reporting.
  void drop_overshadowed() {
    std::set<NodePlace> mended, advised;
    for (const FoundSite& site : result_.sites)
      for (const NodeId id : site.result.nodes) {
        if (site.result.state == DetectResult::State::matched) mended.insert({site.graph, id});
        if (site.result.state == DetectResult::State::advice) advised.insert({site.graph, id});
      }
    std::erase_if(result_.sites, [&](const FoundSite& site) {
      if (site.result.state == DetectResult::State::matched) return false;
      const NodePlace place{site.graph, site.root()};
      if (mended.contains(place)) return true;
      return site.result.state == DetectResult::State::declined && advised.contains(place);
    });
  }

  const RoundInput& in_;
  Explanations explanations_;
  Fp16Evidence fp16_;
  std::set<const Rule*> predicted_, logged_;
  std::vector<std::string> messages_;
  std::map<int, OperatorIndex> operators_;  ///< by graph
  RoundResult result_;
};

}  // namespace

bool explains(const Rule& rule, std::string_view text) {
  return std::any_of(rule.log.begin(), rule.log.end(),
                     [&](const Signature& signature) { return signature.match(text).has_value(); });
}

RoundResult run_round(const RoundInput& input) { return Round(input).run(); }

}  // namespace md

#include "lib/diagnose/unexplained.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/diagnose/describe.h"
#include "lib/diagnose/selection.h"

namespace md {
namespace {

/// True when the page looks into such a model by itself: with a pattern or a detector.
bool is_searched(const Rule& rule, const Model& model) {
  return (rule.detector || !rule.rewrites.empty()) && rule.looks_at(*model.dialect);
}

using FailureOfLog = std::pair<std::string, int>;  ///< the log's path, the failure's number in it

/// Failures of which some record is explained, by a site or by a rule that knows its text.
std::set<FailureOfLog> explained_failures(const std::vector<LogEvidence>& evidence,
                                          const std::set<int>& explained) {
  std::set<FailureOfLog> failures;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const LogEvidence& item = evidence[i];
    const bool known = !item.rules.empty() && !item.of_other_model;
    if (item.record->failure && (known || explained.contains(static_cast<int>(i))))
      failures.insert({item.path, item.record->failure_number});
  }
  return failures;
}

/// The rules of a record whose pages advise. With a model one is enough: the others' patterns were looked for
/// too, and are not there either. A page that has no pattern loses nothing by that, and speaks for them.
std::vector<std::size_t> advising(const LogEvidence& item, const Model* model) {
  std::vector<std::size_t> which;
  if (model) {
    const auto silent = std::find_if(item.rules.begin(), item.rules.end(),
                                     [&](const Rule* rule) { return !is_searched(*rule, *model); });
    return {silent == item.rules.end() ? 0 : static_cast<std::size_t>(silent - item.rules.begin())};
  }
  for (std::size_t r = 0; r < item.rules.size(); ++r)
    if (item.speaks[r]) which.push_back(r);
  return which;
}

Tracked advice(const LogEvidence& item, std::size_t which, int index, const Model* model) {
  const Rule& rule = *item.rules[which];
  Tracked advice{.rule = &rule,
                 .graph = 0,
                 .nodes = {},
                 .seen = 0,
                 .finding = describe_log_hit(item, which, index, model)};
  const bool mended_elsewhere =
      model && is_searched(rule, *model) && rule.applicability != Applicability::manual;
  if (mended_elsewhere && advice.finding.reason.empty())
    advice.finding.reason = "the log names it, but the pattern that its fix needs is not in this file";
  else if (!model && !advice.finding.mendable_in.empty())
    advice.finding.reason =
        "from the log alone: give the model too, and it is located and fixed where that is possible";
  return advice;
}

/// One finding for all lines of which the page says the same.
std::vector<Tracked> with_advice(std::vector<Tracked> tracked, Tracked advice) {
  const auto same = std::find_if(tracked.begin(), tracked.end(), [&](const Tracked& known) {
    return known.rule == advice.rule && known.seen == 0 && known.finding.message == advice.finding.message;
  });
  if (same != tracked.end())
    same->finding.log.push_back(advice.finding.log.front());
  else
    tracked.push_back(std::move(advice));
  return tracked;
}

}  // namespace

ExplainedLog explain_log(std::vector<Tracked> tracked, const std::vector<LogEvidence>& evidence,
                         const std::vector<const Rule*>& chosen, const Model* model) {
  ExplainedLog result;
  const std::set<int> explained = explained_records(tracked);
  const std::set<FailureOfLog> failures = explained_failures(evidence, explained);
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const LogEvidence& item = evidence[i];
    const int index = static_cast<int>(i);
    if (item.record->benign || explained.contains(index) || left_out_on_purpose(item.rules, chosen)) continue;
    if (item.rules.empty() || item.of_other_model) {
      // A rule that knows the line says nothing of this model, where the log is another's.
      const bool consequence =
          item.record->failure && item.rules.empty() &&
          (!item.record->leads || failures.contains({item.path, item.record->failure_number}));
      if ((item.record->failure || !item.rules.empty()) && !consequence) result.unexplained.push_back(index);
      continue;
    }
    for (const std::size_t r : advising(item, model))
      tracked = with_advice(std::move(tracked), advice(item, r, index, model));
  }
  result.tracked = std::move(tracked);
  return result;
}

std::vector<std::string> unexplained_predictions(const std::vector<Prediction>& predictions,
                                                 const std::vector<Tracked>& tracked, const RuleIndex& index,
                                                 const std::vector<const Rule*>& chosen) {
  std::set<NodePlace> open;
  for (const Tracked& known : tracked)
    if (known.finding.open())
      for (const NodeId id : known.nodes) open.insert({known.graph, id});
  std::set<std::string> texts;
  for (const Prediction& prediction : predictions)
    for (const PredictedRecord& record : prediction.records) {
      // "DEQUANTIZE: " without a reason is a consequence of the other refusals, never a failure of its own.
      if (record.hidden || record.text.ends_with(": ") || open.contains({record.graph, record.node}))
        continue;
      if (!left_out_on_purpose(index.hits(record.text), chosen)) texts.insert(record.text);
    }
  return {texts.begin(), texts.end()};
}

std::vector<std::string> not_in_log(std::vector<std::string> predictions, const std::vector<int>& unexplained,
                                    const std::vector<LogEvidence>& evidence) {
  std::erase_if(predictions, [&](const std::string& text) {
    return std::any_of(unexplained.begin(), unexplained.end(), [&](int index) {
      const std::string_view said = evidence[static_cast<std::size_t>(index)].record->headline();
      return said == text || (kernel_failure_in(text) == text && kernel_failure_in(said).starts_with(text));
    });
  });
  return predictions;
}

}  // namespace md

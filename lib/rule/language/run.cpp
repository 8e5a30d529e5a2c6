// Running one rule over one graph.
#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>

#include "lib/rewrite/dropped_check.h"
#include "lib/rule/language/rewrite.h"
#include "lib/rule/page/operator_index.h"
#include "lib/rule/page/page.h"
#include "lib/rule/page/rule.h"

namespace md {
namespace {

Scope scope_of(const DetectContext& context) { return {context.graph, nullptr, none_id, &context}; }

void make_unsafe(ProposedFix& fix, std::string reason) {
  fix.unsafe = true;
  fix.unsafe_reason += (fix.unsafe_reason.empty() ? "" : "; ") + std::move(reason);
}

/// The page's sentence of this kind for a match: the row's own, else the page's, filled in; empty: none, or a
/// word is missing.
std::string sentence(const Rule& rule, std::string_view kind, const std::string& of_page,
                     const DetectContext& context, const Bindings& bindings) {
  const std::string* text = &of_page;
  Bindings all = bindings;
  if (!rule.rows.by.empty()) {
    const auto key = bindings.names.find(rule.rows.by);
    const Rows::Row* row = key == bindings.names.end() ? nullptr : rule.rows.find(key->second.text);
    if (row)
      for (const auto& [word, content] : *row) {
        if (word == kind) text = &content;
        all.names.insert_or_assign(word, Datum::of(fill_template(content, scope_of(context), bindings)));
      }
  }
  if (text->empty()) return {};
  return fill_sentence(*text, scope_of(context), all).value_or(std::string());
}

/// The sentences that the page has for every site, filled in with what was found at this one.
void speak(const Rule& rule, const DetectContext& context, const Bindings& bindings, DetectResult& result) {
  if (result.message.empty()) result.message = sentence(rule, "message", rule.message, context, bindings);
  if (result.reason.empty() && result.state != DetectResult::State::matched)
    result.reason = sentence(rule, "reason", rule.reason, context, bindings);
  if (result.at_source.empty())
    result.at_source = sentence(rule, "at_source", rule.at_source, context, bindings);
}

/// What the page says of all its fixes.
void complete(const Rule& rule, const DetectContext& context, DetectResult& result) {
  for (ProposedFix& fix : result.fixes) {
    if (!fix.exactness) fix.exactness = rule.exactness.front();
    if (fix.assumes)
      make_unsafe(fix, rule.assumes.empty() ? "it rests on what nothing in the file shows" : rule.assumes);
    if (dropped_check(context.graph, fix.patch) != none_id)
      make_unsafe(fix, rule.drops_checks.empty() ? "a check is removed: the program no longer stops there"
                                                 : rule.drops_checks);
  }
}

/// Fills in what a named rewrite leaves open about a site.
DetectResult at_site(DetectResult found, const Rewrite::Site& site, const Graph& graph) {
  if (found.nodes.empty()) found.nodes = site.bindings.nodes;
  if (found.nodes.empty() && !graph.order.empty()) found.nodes = {graph.order.front()};
  const auto named = site.bindings.names.find("value");  // let value = %x: the tensor worth naming
  if (named != site.bindings.names.end() && named->second.kind == Datum::Kind::value)
    found.value = named->second.value;
  if (found.value == none_id && site.root != none_id && !graph.node(site.root).outputs.empty())
    found.value = graph.node(site.root).outputs.front();
  return found;
}

/// A `let likelihood = "possible"` of the pattern (else the pattern decides alone), and `let assumed = ...`
/// where the page's "assumes" depends on the match.
void weigh(const Rule& rule, const Bindings& bindings, DetectResult& result) {
  const auto word = bindings.names.find("likelihood");
  if (word != bindings.names.end() && result.likelihood == Likelihood::shown)
    result.likelihood = word->second.text == "possible"   ? Likelihood::possible
                        : word->second.text == "unlikely" ? Likelihood::unlikely
                                                          : Likelihood::shown;
  const auto assumed = bindings.names.find("assumed");
  for (ProposedFix& fix : result.fixes)
    fix.assumes =
        fix.assumes || (!rule.assumes.empty() && assumed != bindings.names.end() && assumed->second.flag);
}

/// The page speaks, and says what holds for all fixes of its rewrite blocks.
void by_page(const Rule& rule, const DetectContext& context, const Rewrite::Site& site,
             DetectResult& result) {
  Bindings words = site.bindings;
  for (const auto& [name, text] : result.words) words.names.insert_or_assign(name, Datum::of(text));
  speak(rule, context, words, result);
  const auto section = rule.sections.find("At the source");
  if (result.at_source.empty() && section != rule.sections.end())
    result.at_source = fill_template(dedented(section->second), scope_of(context), words);
  weigh(rule, site.bindings, result);
  if (rule.applicability != Applicability::unsafe) return;
  for (ProposedFix& fix : result.fixes)
    if (!fix.unsafe) make_unsafe(fix, "the rule says when: see \"When it is not safe\"");
}

/// One result a site, or those of a rewrite that is about the graph as a whole.
std::vector<DetectResult> results_of(const Rule& rule, Rewrite::Site site, const DetectContext& context) {
  using Outcome = Rewrite::Site::Outcome;
  std::vector<DetectResult> results = std::move(site.found);
  if (results.empty() || !site.fixes.empty()) {
    DetectResult result;
    if (!results.empty()) result = std::move(results.front());
    result.state = site.outcome == Outcome::fires     ? DetectResult::State::matched
                   : site.outcome == Outcome::advises ? DetectResult::State::advice
                                                      : DetectResult::State::declined;
    if (result.state == DetectResult::State::declined) result.reason = std::move(site.reason);
    if (!site.fixes.empty()) result.reason.clear();
    result.fixes.insert(result.fixes.begin(), std::make_move_iterator(site.fixes.begin()),
                        std::make_move_iterator(site.fixes.end()));
    results.assign(1, std::move(result));
  }
  for (DetectResult& result : results) {
    result = at_site(std::move(result), site, context.graph);
    by_page(rule, context, site, result);
  }
  return results;
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
    if (&rewrite->dialect() != context.model.dialect) continue;
    for (Rewrite::Site& site : rewrite->run(context)) {
      if (site.root == none_id) {
        sites.push_back(std::move(site));
        continue;
      }
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

std::vector<NodeId> DetectContext::roots() const {
  assert(rule && operators);
  return operators->find(rule->roots);
}

bool DetectContext::fails(std::string_view part) const {
  assert(rule);
  if (!target) return part.empty();
  return rule->fails_on(target->name(), target->version, part);
}

std::vector<DetectResult> run_rule(const Rule& rule, const DetectContext& given) {
  if (!rule.looks_at(*given.model.dialect)) return {};
  std::optional<OperatorIndex> own;
  DetectContext context = given;
  context.rule = &rule;
  if (!context.operators) context.operators = &own.emplace(given.graph);
  std::vector<DetectResult> results;
  std::map<NodeId, std::size_t> by_root;
  for (Rewrite::Site& site : rewrite_sites(rule, context)) {
    // A condition that does not hold is worth saying where a log names the place; a stated symptom names
    // none, and would make a fault of every operator that the pattern begins at.
    const bool unmet = site.outcome == Rewrite::Site::Outcome::unmet;
    if (unmet && (rule.log.empty() || !rule.symptom.empty() || site.root == none_id)) continue;
    if (site.root != none_id) by_root.emplace(site.root, results.size());
    for (DetectResult& result : results_of(rule, std::move(site), context))
      results.push_back(std::move(result));
  }
  const bool detects = rule.detector && (rule.scans || context.operators->has(rule.roots));
  for (DetectResult& found : detects ? rule.detector(context) : std::vector<DetectResult>()) {
    Bindings words;
    for (const auto& [name, text] : found.words) words.names.emplace(name, Datum::of(text));
    speak(rule, context, words, found);
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
  for (DetectResult& result : results) complete(rule, context, result);
  return results;
}

}  // namespace md

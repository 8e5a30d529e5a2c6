#include "lib/diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/diagnose/describe.h"
#include "lib/diagnose/fingerprint.h"
#include "lib/diagnose/fixing.h"
#include "lib/diagnose/foreign_log.h"
#include "lib/diagnose/fp16_evidence.h"
#include "lib/diagnose/hybrid_gap.h"
#include "lib/diagnose/targets.h"
#include "lib/diagnose/tracking.h"
#include "lib/op/dialect.h"

namespace md {
namespace {

/// True when the page looks into such a model by itself: with a pattern or a detector.
bool is_searched(const Rule& rule, const Model& model) {
  return (rule.detector || !rule.rewrites.empty()) && rule.looks_at(*model.dialect);
}

std::string_view name(Prediction::Verdict verdict) {
  switch (verdict) {
    case Prediction::Verdict::compiles:
      return "compiles";
    case Prediction::Verdict::refused:
      return "refused";
    case Prediction::Verdict::crash:
      break;
  }
  return "crash";
}

/// What a failing record says besides its words.
void tell_failure(const Record& from, ReportedRecord& to) {
  to.failure = from.failure_number;
  to.stage = md::name(from.told().stage);
  to.op = from.told().op, to.node = from.told().node, to.condition = from.told().condition,
  to.status = from.told().status;
  to.source = from.told().source, to.frame = from.told().frame, to.shown = from.told().decisive;
  to.consequences = from.told().consequences;
}

class Run {
 public:
  explicit Run(const DiagnoseRequest& request)
      : request_(request), out_(outcome_.diagnosis), index_(*request.rules) {}

  Result<DiagnoseOutcome> operator()() {
    auto resolved = resolve_targets(request_);
    if (!resolved) return tl::make_unexpected(resolved.error());
    owned_targets_ = std::move(resolved->targets);
    out_.command = request_.command;
    out_.stated_name = request_.model_name;
    out_.dry_run = request_.dry_run;
    out_.options = request_.repeated_options;
    out_.rules_version = request_.rules->version();
    out_.notes = std::move(resolved->notes);
    choose_rules();
    evidence_ = gather_evidence(request_.logs, index_);
    refit_targets();
    if (owned_targets_.empty()) infer_target();
    report_inputs();
    if (request_.document) examine(request_.start ? *request_.start : request_.document->model());
    explain_log();
    drop_repeated_predictions();
    finish();
    return std::move(outcome_);
  }

 private:
  void choose_rules() {
    const DiagnoseOptions& options = request_.options;
    for (const Rule& rule : request_.rules->rules()) {
      const bool wanted = options.select.empty() || rule_is_named(rule, options.select);
      if (wanted && !rule_is_named(rule, options.ignore)) rules_.push_back(&rule);
    }
  }

  std::vector<const Rule*> rules_of_log() const {
    std::vector<const Rule*> hit;
    for (const LogEvidence& item : evidence_) hit.insert(hit.end(), item.rules.begin(), item.rules.end());
    return hit;
  }

  void refit_targets() {
    for (auto& target : owned_targets_) {
      auto older = refit_assumed(*target, rules_of_log());
      if (!older) continue;
      std::erase_if(out_.notes, [&](const std::string& note) {
        return note.starts_with("the log tells no version of " + target->name());
      });
      out_.notes.push_back(
          fmt::format("the log tells no version of {}: {} is assumed, the newest that is known to say this",
                      target->name(), older->version.text()));
      target = std::move(older);
    }
  }

  void infer_target() {
    const std::vector<const Rule*> hit = rules_of_log();
    if (auto target = target_from_rules(hit, request_.logs))
      owned_targets_.push_back(std::move(target));
    else if (request_.document)
      out_.notes.push_back(
          "no --target and no log that names one: the rules of every backend were run, as notes");
  }

  void report_inputs() {
    for (const auto& target : owned_targets_) {
      targets_.push_back(target.get());
      const bool table = target->has_table();
      out_.targets.push_back({target->name(), target->version.text(), table ? target->table.text() : "",
                              target->source,
                              target->assumed || (table && target->table != target->version)});
    }
    for (const Log& log : request_.logs) {
      out_.log_paths.push_back(log.path);
      out_.notes.insert(out_.notes.end(), log.notes.begin(), log.notes.end());
    }
    for (const LogEvidence& item : evidence_) {
      ReportedRecord record{item.path,
                            item.record->message,
                            item.record->tool,
                            item.record->line_main > 0 ? item.record->line_main : item.record->line_begin,
                            {},
                            item.record->benign};
      if (item.record->failure) tell_failure(*item.record, record);
      for (const Rule* rule : item.rules) record.rules.push_back(rule->id);
      out_.log.push_back(std::move(record));
    }
    if (!request_.document) return;
    const Model& model = request_.document->model();
    ReportedModel reported;
    reported.path = request_.model_path;
    reported.format = model.dialect->name;
    reported.bytes = request_.document->file().bytes().size();
    for (const Graph& graph : model.graphs) reported.nodes += graph.order.size();
    out_.model = std::move(reported);
  }

  std::vector<Prediction> predict(const Model& model) const {
    std::vector<Prediction> predictions;
    for (const Target* target : targets_)
      predictions.push_back(target->has_table() ? target->predict(model) : Prediction{});
    return predictions;
  }

  void examine(const Model& input) {
    std::vector<Prediction> predictions = predict(input);
    if (!targets_.empty() && targets_.front()->has_table()) report_prediction(predictions.front(), input);
    attribute(evidence_, input, predictions);
    std::vector<std::string> foreign = disown_foreign_logs(evidence_, input, predictions);
    if (!foreign.empty())
      out_.notes.insert(out_.notes.end(), foreign.begin(), foreign.end());
    else if (is_of_other_model(evidence_))
      out_.notes.push_back("this log is of another model: it names operators that this model does not have");

    const bool assumed =
        std::any_of(targets_.begin(), targets_.end(), [](const Target* target) { return target->assumed; });
    const Model* model = &input;
    const int rounds = request_.options.apply ? request_.options.max_rounds : 1;
    int round = 1;
    for (;; ++round) {
      const RoundResult found =
          run_round({*model, targets_, predictions, evidence_, rules_, request_.options});
      if (round == 1) rule_out(found);
      const std::vector<std::size_t> tracks = track(tracked_, found.sites, *model, round, assumed);
      if (round > rounds || !request_.options.apply) {
        if (!request_.options.apply) {
          const Surroundings surroundings(*model);
          for (std::size_t s = 0; s < found.sites.size(); ++s)
            tracked_[tracks[s]].finding.fixes =
                list_candidates(surroundings, found.sites[s], request_.options);
        }
        break;
      }
      FixingResult fixing =
          mend({*model, found.sites, targets_, request_.options, proofs_, request_.rules->rules(), rules_});
      for (std::size_t s = 0; s < found.sites.size(); ++s)
        tracked_[tracks[s]].finding.fixes = std::move(fixing.fixes[s]);
      if (!fixing.model) break;
      outcome_.edited = std::move(*fixing.model);
      model = &*outcome_.edited;
      predictions = predict(*model);
    }
    if (out_.prediction && outcome_.edited)
      out_.prediction->after_verdict = name(predictions.front().verdict);
    state_fp16(input, *model);
    state_hybrid_gap(*model);
    state_recipe();
    mark_mended(tracked_, round);
    mark_causes(tracked_);
    adopt_records(tracked_, evidence_, predictions, *model);
    collect_unexplained_predictions(predictions);
  }

  /// What the fixes did to the model as an fp16 device computes it, or that something there is left.
  void state_fp16(const Model& input, const Model& now) {
    const HeadroomOptions& values = request_.options.values;
    const bool repaired = std::any_of(tracked_.begin(), tracked_.end(), [](const Tracked& tracked) {
      return concerns_fp16(*tracked.rule) && tracked.applied();
    });
    std::string text;
    if (repaired) text = fp16_before_and_after(input, now, values);
    if (!text.empty()) out_.notes.push_back(std::move(text));
    if (values_given(values))
      if (text = fp16_remains(now, values); !text.empty()) out_.notes.push_back(std::move(text));
  }

  /// Where the device computes a quantized model in another way than the CPU, the difference is not the
  /// fix's.
  void state_hybrid_gap(const Model& now) {
    const bool on_gpu = std::any_of(targets_.begin(), targets_.end(), [](const Target* target) {
      return target->name().starts_with("litert-gpu") || target->name().starts_with("tflite-gpu");
    });
    if (!on_gpu) return;
    if (std::string text = hybrid_gap_note(now, request_.options.values); !text.empty())
      out_.notes.push_back(std::move(text));
  }

  /// What to do with a mended program in the user's own script: the page of the first applied rule says it.
  void state_recipe() {
    if (!outcome_.edited || outcome_.edited->dialect->reopening.empty()) return;
    for (const Tracked& tracked : tracked_) {
      if (!tracked.applied()) continue;
      out_.recipe = recipe_behind_fix(*tracked.rule);
      if (!out_.recipe.empty()) return;
    }
    out_.recipe = {std::string(outcome_.edited->dialect->reopening)};
  }

  void report_prediction(const Prediction& prediction, const Model& input) {
    ReportedPrediction reported;
    reported.verdict = name(prediction.verdict);
    for (const PredictedRecord& record : prediction.records) {
      const Graph& graph = input.graphs[static_cast<std::size_t>(record.graph)];
      const std::int32_t node = record.node == none_id ? none_id : graph.node(record.node).origin;
      reported.records.push_back({record.text, record.graph, node, record.hidden});
    }
    out_.prediction = std::move(reported);
    if (targets_.front()->falls_back() && prediction.accelerated < prediction.nodes)
      out_.notes.push_back(fmt::format("{} of {} nodes on the GPU, {} partition{}", prediction.accelerated,
                                       prediction.nodes, prediction.partitions,
                                       prediction.partitions == 1 ? "" : "s"));
  }

  void rule_out(const RoundResult& found) {
    for (const Rule* rule : found.silent_rules_run)
      if (std::none_of(found.sites.begin(), found.sites.end(),
                       [&](const FoundSite& site) { return site.rule == rule; }))
        out_.ruled_out.push_back(rule->id);
  }

  void collect_unexplained_predictions(const std::vector<Prediction>& predictions) {
    std::set<NodePlace> open;
    for (const Tracked& tracked : tracked_)
      if (tracked.finding.open())
        for (const NodeId id : tracked.nodes) open.insert({tracked.graph, id});
    std::set<std::string> texts;
    for (const Prediction& prediction : predictions)
      for (const PredictedRecord& record : prediction.records) {
        // "DEQUANTIZE: " without a reason is a consequence of the other refusals, never a failure of its own.
        if (record.hidden || record.text.ends_with(": ") || open.contains({record.graph, record.node}))
          continue;
        if (left_out_on_purpose(index_.hits(record.text))) continue;
        texts.insert(record.text);
      }
    out_.unexplained_predictions.assign(texts.begin(), texts.end());
  }

  /// True when a rule that --select or --ignore left out would explain it.
  bool left_out_on_purpose(const std::vector<const Rule*>& hit) const {
    return std::any_of(hit.begin(), hit.end(), [&](const Rule* rule) {
      return std::find(rules_.begin(), rules_.end(), rule) == rules_.end();
    });
  }

  /// Failures (log and number) of which some record is explained, by a site or by a rule that knows its text.
  std::set<std::pair<std::string, int>> explained_failures(const std::set<int>& explained) const {
    std::set<std::pair<std::string, int>> failures;
    for (std::size_t i = 0; i < evidence_.size(); ++i) {
      const LogEvidence& item = evidence_[i];
      const bool known = !item.rules.empty() && !item.of_other_model;
      if (item.record->failure && (known || explained.contains(static_cast<int>(i))))
        failures.insert({item.path, item.record->failure_number});
    }
    return failures;
  }

  /// Failing records that no site explains: advice from the rule's page where a signature hits, else
  /// unexplained.
  void explain_log() {
    const std::set<int> explained = explained_records(tracked_);
    const std::set<std::pair<std::string, int>> failures = explained_failures(explained);
    for (std::size_t i = 0; i < evidence_.size(); ++i) {
      const LogEvidence& item = evidence_[i];
      const int index = static_cast<int>(i);
      if (item.record->benign || explained.contains(index) || left_out_on_purpose(item.rules)) continue;
      if (item.rules.empty() || item.of_other_model) {
        // A rule that knows the line says nothing of this model, where the log is another's.
        const bool consequence =
            item.record->failure && item.rules.empty() &&
            (!item.record->leads || failures.contains({item.path, item.record->failure_number}));
        if ((item.record->failure || !item.rules.empty()) && !consequence) out_.unexplained.push_back(index);
        continue;
      }
      // With a model one rule is enough: the others' patterns were looked for too, and are not there either.
      // A page that has no pattern loses nothing by that, and speaks for them.
      if (request_.document) {
        const auto silent = std::find_if(item.rules.begin(), item.rules.end(), [&](const Rule* r) {
          return !is_searched(*r, request_.document->model());
        });
        advise(item, silent == item.rules.end() ? 0 : static_cast<std::size_t>(silent - item.rules.begin()),
               index);
        continue;
      }
      for (std::size_t r = 0; r < item.rules.size(); ++r)
        if (item.speaks[r]) advise(item, r, index);
    }
  }

  /// What the log says and nothing explains is predicted as well: once is enough.
  void drop_repeated_predictions() {
    std::erase_if(out_.unexplained_predictions, [&](const std::string& text) {
      return std::any_of(out_.unexplained.begin(), out_.unexplained.end(), [&](int index) {
        const std::string_view said = evidence_[static_cast<std::size_t>(index)].record->headline();
        return said == text || (kernel_failure_in(text) == text && kernel_failure_in(said).starts_with(text));
      });
    });
  }

  /// One finding for all lines of which the page says the same.
  void advise(const LogEvidence& item, std::size_t which, int index) {
    const Rule& rule = *item.rules[which];
    const Model* model = request_.document ? &request_.document->model() : nullptr;
    Tracked advice{&rule, 0, {}, 0, describe_log_hit(item, which, index, model)};
    const auto same = std::find_if(tracked_.begin(), tracked_.end(), [&](const Tracked& known) {
      return known.rule == &rule && known.seen == 0 && known.finding.message == advice.finding.message;
    });
    if (same != tracked_.end()) {
      same->finding.log.push_back(index);
      return;
    }
    const bool mended_elsewhere = model && is_searched(rule, *model) && rule.applicability != "manual";
    if (mended_elsewhere && advice.finding.reason.empty())
      advice.finding.reason = "the log names it, but the pattern that its fix needs is not in this file";
    else if (!model && !advice.finding.mendable_in.empty())
      advice.finding.reason =
          "from the log alone: give the model too, and it is located and fixed where that is possible";
    tracked_.push_back(std::move(advice));
  }

  void finish() {
    std::stable_sort(tracked_.begin(), tracked_.end(), [](const Tracked& a, const Tracked& b) {
      const auto key = [](const Tracked& t) {
        // What the log names comes before what was only found in the graph.
        return std::tuple(!t.finding.caused_by.empty(), -severity_rank(t.finding.severity),
                          t.finding.log.empty(), t.finding.round);
      };
      return key(a) < key(b);
    });
    for (Tracked& tracked : tracked_) out_.findings.push_back(std::move(tracked.finding));
    set_fingerprints(out_);
    out_.before = out_.after = {};
    for (const char* severity : {"fatal", "note", "perf", "silent"}) out_.before[severity] = 0;
    for (const Finding& finding : out_.findings) ++out_.before[finding.severity];
    out_.before["fatal"] += static_cast<int>(out_.unexplained.size() + out_.unexplained_predictions.size());
    const bool failures = std::any_of(evidence_.begin(), evidence_.end(), [](const LogEvidence& item) {
      return (item.record->failure || !item.rules.empty()) && !item.record->benign;
    });
    if (!request_.logs.empty() && !failures) out_.notes.push_back("the log shows no failure");
    settle(out_, fail_on_word(request_.options.fail_on));
  }

  const DiagnoseRequest& request_;
  DiagnoseOutcome outcome_;
  Diagnosis& out_;
  RuleIndex index_;
  std::vector<std::unique_ptr<Target>> owned_targets_;
  std::vector<const Target*> targets_;
  std::vector<const Rule*> rules_;
  std::vector<LogEvidence> evidence_;
  std::vector<Tracked> tracked_;
  ProofMemo proofs_;
};

}  // namespace

Result<DiagnoseOutcome> diagnose(const DiagnoseRequest& request) { return Run(request)(); }

std::string_view fail_on_word(const std::optional<Severity>& fail_on) {
  return fail_on ? name(*fail_on) : std::string_view("never");
}

bool rule_is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& named) {
    return rule.id.starts_with(named) || rule.name == named ||
           std::find(rule.aliases.begin(), rule.aliases.end(), named) != rule.aliases.end();
  });
}

}  // namespace md

// The links of a diagnosis, each by itself: functions from values to values.
#include <algorithm>

#include "lib/diagnose/foreign_log.h"
#include "lib/diagnose/records.h"
#include "lib/diagnose/remarks.h"
#include "lib/diagnose/rounds.h"
#include "lib/diagnose/selection.h"
#include "lib/diagnose/targets.h"
#include "lib/diagnose/unexplained.h"
#include "lib/diagnose/verdict.h"
#include "test/catch.h"
#include "test/text_document.h"

namespace md {
namespace {

using test::TextDocument;
using Texts = std::vector<std::string>;

const RuleBook& book() {
  static const RuleBook rules = *RuleBook::load();
  return rules;
}

const Rule* rule(const std::string& id) { return book().find(id); }

std::vector<const Rule*> all_rules() { return choose_rules(book(), {}, {}); }

const char* kHardtanh = R"(
input %x : f32[1, 4]
%a = RELU_0_TO_1(%x) : f32[1, 4]
%b = EXP(%a) : f32[1, 4]
%y = RELU_0_TO_1(%b) : f32[1, 4]
output %y
)";

/// Evidence by hand: the record is the caller's.
LogEvidence evidence_of(const Record& record, std::vector<const Rule*> rules = {}) {
  LogEvidence item;
  item.path = "err.txt";
  item.record = &record;
  item.captures.resize(rules.size());
  item.speaks.assign(rules.size(), true);
  item.rules = std::move(rules);
  return item;
}

Record failure(const std::string& message) {
  Record record;
  record.message = message;
  record.failure = true;
  return record;
}

/// A finding that a round made of a site.
Tracked site(const std::string& id, std::vector<NodeId> nodes, int seen = 1) {
  Tracked tracked{.rule = rule(id), .graph = 0, .nodes = std::move(nodes), .seen = seen, .finding = {}};
  tracked.finding.rule = id;
  tracked.finding.severity = Severity::fatal;
  tracked.finding.state = FindingState::matched;
  tracked.finding.round = seen;
  return tracked;
}

Tracked mended_site(const std::string& id, std::vector<NodeId> nodes, int seen = 1) {
  Tracked tracked = site(id, std::move(nodes), seen);
  tracked.finding.fixes.emplace_back().applied = true;
  return tracked;
}

Texts ids_of(const std::vector<Finding>& findings) {
  Texts ids;
  for (const Finding& finding : findings) ids.push_back(finding.rule);
  return ids;
}

}  // namespace

TEST_CASE("rules are chosen by id, prefix and name, and what is left out is known", "[chain]") {
  CHECK(all_rules().size() == book().rules().size());
  const auto chosen = choose_rules(book(), {"LRT01", "mean-as-sum-overflow"}, {"LRT015"});
  Texts ids;
  for (const Rule* one : chosen) ids.push_back(one->id);
  CHECK(std::find(ids.begin(), ids.end(), "LRT012") != ids.end());
  CHECK(std::find(ids.begin(), ids.end(), "F16001") != ids.end());
  CHECK(std::find(ids.begin(), ids.end(), "LRT015") == ids.end());
  CHECK(std::find(ids.begin(), ids.end(), "LRT006") == ids.end());
  CHECK(left_out_on_purpose({rule("LRT012"), rule("LRT015")}, chosen));
  CHECK_FALSE(left_out_on_purpose({rule("LRT012")}, chosen));
  CHECK_FALSE(left_out_on_purpose({}, chosen));
}

TEST_CASE("without a target the rules that the log names choose one", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  DiagnoseRequest request;
  request.rules = &book();
  request.document = &document;
  const auto backend = std::find_if(book().rules().begin(), book().rules().end(), [](const Rule& one) {
    return !one.runtimes.empty() && one.runtimes.front().target == "executorch-coreml";
  });
  REQUIRE(backend != book().rules().end());
  const Record record = failure("whatever");
  const ResolvedTargets found = with_inferred_target({}, {evidence_of(record, {&*backend})}, request);
  REQUIRE(found.targets.size() == 1);
  CHECK(found.targets.front()->name() == "executorch-coreml");
  CHECK(found.targets.front()->source == "log");
  CHECK(found.targets.front()->assumed);
  CHECK(found.notes.empty());
  const ResolvedTargets none = with_inferred_target({}, {evidence_of(record)}, request);
  CHECK(none.targets.empty());
  CHECK(none.notes.size() == 1);
  request.document = nullptr;
  CHECK(with_inferred_target({}, {evidence_of(record)}, request).notes.empty());
  ResolvedTargets told;
  told.targets.push_back(*open_target("litert-gpu@2.3.0"));
  told = with_inferred_target(std::move(told), {evidence_of(record, {&*backend})}, request);
  REQUIRE(told.targets.size() == 1);
  CHECK(told.targets.front()->name() == "litert-gpu");
}

TEST_CASE("a line is placed at its nodes, a log of another model at none", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const Record own = failure("RELU_0_TO_1: Not supported op RELU_0_TO_1"), other = failure("COS: something");
  const PlacedEvidence placed = place_evidence({evidence_of(own)}, document.model(), {});
  CHECK(placed.evidence.at(0).nodes.size() == 2);
  CHECK(placed.evidence.at(0).attribution == Attribution::op);
  CHECK(placed.notes.empty());
  const PlacedEvidence foreign = place_evidence({evidence_of(other)}, document.model(), {});
  CHECK(foreign.evidence.at(0).of_other_model);
  CHECK(foreign.evidence.at(0).nodes.empty());
  CHECK(foreign.notes.size() == 1);
  CHECK(place_evidence({evidence_of(own), evidence_of(other)}, document.model(), {}).notes.empty());
}

TEST_CASE("what a run looks at is reported as it is", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const auto target = *open_target("litert-gpu@2.3.0"), newer = *open_target("litert-gpu@99.0.0"),
             bare = *open_target("executorch");
  const auto targets = reported_targets({target.get(), newer.get(), bare.get()});
  CHECK(targets.at(0).table == "2.3.0");
  CHECK_FALSE(targets.at(0).assumed);
  CHECK(targets.at(1).version == "99.0.0");
  CHECK(targets.at(1).assumed);  // the table is of another version
  CHECK(targets.at(2).table.empty());

  Record record = failure("RELU_0_TO_1: Not supported op RELU_0_TO_1");
  record.line_begin = 3, record.line_main = 5, record.tool = "litert-gpu";
  const auto records = reported_records({evidence_of(record, {rule("LRT015")})});
  CHECK(records.at(0).line == 5);
  CHECK(records.at(0).rules == Texts{"LRT015"});
  CHECK(records.at(0).path == "err.txt");
  record.line_main = 0;
  CHECK(reported_records({evidence_of(record)}).at(0).line == 3);

  const ReportedModel model = reported_model(document, "m.tflite");
  CHECK(model.path == "m.tflite");
  CHECK(model.format == "tflite");
  CHECK(model.nodes == 3);

  const Prediction prediction = target->predict(document.model());
  const ReportedPrediction reported = reported_prediction(prediction, document.model());
  CHECK(reported.verdict == Verdict::refused);
  REQUIRE_FALSE(reported.records.empty());
  CHECK(reported.records.front().node == 0);
  CHECK_FALSE(reported.after_verdict);
}

TEST_CASE("how much a fallback leaves to the CPU is said, where it leaves something", "[chain]") {
  const auto with_cpu = *open_target("litert-gpu+cpu@2.3.0"), alone = *open_target("litert-gpu@2.3.0");
  Prediction prediction;
  prediction.nodes = 7, prediction.accelerated = 4, prediction.partitions = 1;
  CHECK(fallback_note(*with_cpu, prediction) == "4 of 7 nodes on the GPU, 1 partition");
  CHECK(fallback_note(*alone, prediction).empty());
  prediction.accelerated = 7;
  CHECK(fallback_note(*with_cpu, prediction).empty());
}

TEST_CASE("rounds mend until nothing is left, and list candidates where nothing may change", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const auto target = *open_target("litert-gpu@2.3.0");
  const std::vector<const Target*> targets = {target.get()};
  const std::vector<Prediction> before = predict(document.model(), targets);
  REQUIRE(before.size() == 1);
  CHECK_FALSE(before[0].records.empty());
  const std::vector<LogEvidence> evidence;
  const std::vector<const Rule*> rules = all_rules();
  DiagnoseOptions options;
  const RoundsResult looked =
      run_rounds({document.model(), targets, before, evidence, rules, options}, book().rules());
  CHECK_FALSE(looked.edited);
  CHECK(looked.last == 1);
  REQUIRE(looked.tracked.size() == 2);
  REQUIRE_FALSE(looked.tracked[0].finding.fixes.empty());
  CHECK(looked.tracked[0].finding.fixes[0].proofs.empty());
  CHECK(looked.after.at(0).records.size() == before[0].records.size());
  CHECK_FALSE(looked.ruled_out.empty());

  options.apply = true;
  const RoundsResult mended =
      run_rounds({document.model(), targets, before, evidence, rules, options}, book().rules());
  REQUIRE(mended.edited);
  CHECK(mended.last == 2);
  CHECK(mended.after.at(0).records.empty());
  CHECK(std::all_of(mended.tracked.begin(), mended.tracked.end(),
                    [](const Tracked& one) { return one.applied(); }));
  CHECK(mended.ruled_out == looked.ruled_out);
  options.max_rounds = 0;
  CHECK_FALSE(
      run_rounds({document.model(), targets, before, evidence, rules, options}, book().rules()).edited);
  CHECK(predict(document.model(), {}).empty());
}

TEST_CASE("a site that is found again is the same finding, one behind a fix is a new one", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  FoundSite found;
  found.rule = rule("LRT015");
  found.result.nodes = {0};
  TrackedRound first = track({}, {found}, document.model(), 1, false);
  REQUIRE(first.all.size() == 1);
  CHECK(first.of_site == std::vector<std::size_t>{0});
  CHECK(first.all[0].finding.rule == "LRT015");
  TrackedRound again = track(first.all, {found}, document.model(), 2, false);
  CHECK(again.all.size() == 1);
  CHECK(again.all[0].seen == 2);
  CHECK(again.all[0].finding.round == 1);
  again.all[0].finding.fixes.emplace_back().applied = true;
  const TrackedRound behind = track(again.all, {found}, document.model(), 3, false);
  CHECK(behind.all.size() == 2);
  CHECK(behind.of_site == std::vector<std::size_t>{1});
}

TEST_CASE("what a fix of another finding removed is mended by it", "[chain]") {
  const auto all = with_mended(
      {mended_site("LRT012", {1, 2}), site("LRT006", {2}), site("LRT015", {7}), site("LRT009", {9}, 2)}, 2);
  CHECK_FALSE(all[0].finding.mended);  // by its own fix
  CHECK(all[1].finding.mended);
  CHECK(all[1].finding.caused_by == Texts{"LRT012"});
  CHECK(all[2].finding.mended);  // far away, but gone in the same round
  CHECK(all[3].finding.open());
  CHECK(all[3].finding.caused_by.empty());
}

TEST_CASE("a fault inside the site of a larger one is its consequence", "[chain]") {
  Tracked larger = site("LRT001", {1, 2, 3});
  Tracked advice = site("LRT004", {4, 5});
  advice.finding.state = FindingState::advice;
  const auto all =
      with_causes({larger, site("LRT006", {2}), site("LRT009", {4}), site("LRT015", {8}), advice});
  CHECK(all[0].finding.caused_by.empty());
  CHECK(all[1].finding.caused_by == Texts{"LRT001"});
  CHECK(all[2].finding.caused_by.empty());  // advice mends nothing, so it causes nothing
  CHECK(all[3].finding.caused_by.empty());
}

TEST_CASE("a site adopts the lines at its nodes, a mended one only what is gone", "[chain]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const Record record = failure("ABS: predicted text");
  LogEvidence item = evidence_of(record);
  item.nodes = {{0, 0}};
  item.attribution = Attribution::exact;
  const auto lines = [&](const Tracked& tracked, const std::vector<Prediction>& predictions) {
    return with_adopted_records({tracked}, {item}, predictions, document.model())[0].finding.log;
  };
  Prediction still;
  still.records.push_back({"ABS: predicted text", 0, 0, none_id, false});
  const std::vector<int> adopted = {0};
  CHECK(lines(site("LRT012", {0, 1}), {still}) == adopted);
  CHECK(lines(site("LRT012", {1}), {still}).empty());
  CHECK(lines(mended_site("LRT012", {0}), {still}).empty());
  CHECK(lines(mended_site("LRT012", {0}), {}) == adopted);
}

TEST_CASE("lines without a site become advice, once a rule, or stay unexplained", "[chain]") {
  const Record known = failure("a known line");
  Record strange = failure("a strange line");
  strange.leads = true, strange.failure_number = 2;
  Record harmless = failure("harmless");
  harmless.benign = true;
  Record chatter;
  chatter.message = "chatter";
  const std::vector<LogEvidence> evidence = {evidence_of(known, {rule("LRT015"), rule("LRT012")}),
                                             evidence_of(strange), evidence_of(harmless),
                                             evidence_of(chatter), evidence_of(known, {rule("LRT015")})};
  const ExplainedLog alone = explain_log({}, evidence, all_rules(), nullptr);
  CHECK(alone.unexplained == std::vector<int>{1});
  REQUIRE(alone.tracked.size() == 2);
  CHECK(alone.tracked[0].finding.log == std::vector<int>{0, 4});
  CHECK(alone.tracked[0].finding.reason.find("give the model too") != std::string::npos);
  const TextDocument document(kHardtanh, dialect("tflite"));
  const ExplainedLog beside = explain_log({}, evidence, all_rules(), &document.model());
  REQUIRE(beside.tracked.size() == 1);
  CHECK(beside.tracked[0].finding.reason.find("not in this file") != std::string::npos);
  // What was left out on purpose is neither.
  const ExplainedLog without =
      explain_log({}, evidence, choose_rules(book(), {}, {"LRT015"}), &document.model());
  CHECK(without.tracked.empty());
  CHECK(without.unexplained == std::vector<int>{1});
  // A line that a site explains needs no advice, and one of another model gets none.
  Tracked explained = site("LRT015", {0});
  explained.finding.log = {0, 4};
  CHECK(explain_log({explained}, evidence, all_rules(), &document.model()).tracked.size() == 1);
  std::vector<LogEvidence> foreign = {evidence[0]};
  foreign[0].of_other_model = true;
  CHECK(explain_log({}, foreign, all_rules(), &document.model()).unexplained == std::vector<int>{0});
}

TEST_CASE("a prediction counts where no open finding is, and once", "[chain]") {
  const RuleIndex index(book());
  Prediction prediction;
  prediction.records = {{"ABS: a", 0, 0, none_id, false},
                        {"ABS: a", 0, 1, none_id, false},
                        {"COS: hidden", 0, 2, none_id, true},
                        {"DEQUANTIZE: ", 0, 3, none_id, false},
                        {"EXP: b", 0, 4, none_id, false}};
  CHECK(unexplained_predictions({prediction}, {}, index, all_rules()) == Texts{"ABS: a", "EXP: b"});
  CHECK(unexplained_predictions({prediction}, {site("LRT015", {4})}, index, all_rules()) == Texts{"ABS: a"});
  CHECK(unexplained_predictions({prediction}, {mended_site("LRT015", {4})}, index, all_rules()).size() == 2);
  Prediction known;
  known.records = {{"RELU_0_TO_1: Not supported op RELU_0_TO_1", 0, 0, none_id, false}};
  CHECK(unexplained_predictions({known}, {}, index, all_rules()).size() == 1);
  CHECK(unexplained_predictions({known}, {}, index, choose_rules(book(), {}, {"LRT015"})).empty());
  const Record said = failure("ABS: a");
  CHECK(not_in_log({"ABS: a", "EXP: b"}, {0}, {evidence_of(said)}) == Texts{"EXP: b"});
  CHECK(not_in_log({"ABS: a"}, {}, {evidence_of(said)}) == Texts{"ABS: a"});
}

TEST_CASE("remarks are made where there is something to say", "[chain]") {
  const TextDocument document("input %x : f32[1, 4]\n%y = MUL(%x, %x) : f32[1, 4]\noutput %y\n",
                              dialect("tflite"));
  REQUIRE(document.error.empty());
  const Model& model = document.model();
  HeadroomOptions values;
  CHECK(fp16_remarks({site("F16004", {0})}, model, model, values).empty());
  values.ranges["x"] = {1000.0, 2000.0};
  const Texts remarks = fp16_remarks({}, model, model, values);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("overflow") != std::string::npos);
  CHECK_FALSE(fp16_remarks({mended_site("F16004", {0})}, model, model, values).empty());
  const auto gpu = *open_target("litert-gpu@2.3.0");
  CHECK(hybrid_remark({gpu.get()}, model, values).empty());  // no 8-bit weights here
  CHECK(recipe_of({mended_site("LRT015", {0})}, model).empty());
  Model program = model;
  program.dialect = &dialect("pt2");
  const Texts plain = recipe_of({}, program);
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].find("torch.export.load") != std::string::npos);
}

TEST_CASE("findings come causes first, then the worst, then what the log names", "[chain]") {
  Tracked caused = site("A", {0}), mild = site("B", {1}), found = site("C", {2}), logged = site("D", {3});
  caused.finding.caused_by = {"D"};
  mild.finding.severity = Severity::perf;
  logged.finding.log = {0};
  const auto findings = ordered_findings({caused, mild, found, logged});
  CHECK(ids_of(findings) == Texts{"D", "C", "B", "A"});
  const auto counts = count_found(findings, 2);
  CHECK(counts == SeverityCounts{
                      {Severity::fatal, 5}, {Severity::note, 0}, {Severity::perf, 1}, {Severity::silent, 0}});
}

TEST_CASE("a log without trouble shows none", "[chain]") {
  Record harmless = failure("harmless"), chatter;
  harmless.benign = true;
  const Record bad = failure("bad");
  CHECK_FALSE(shows_failure({}));
  CHECK_FALSE(shows_failure({evidence_of(harmless), evidence_of(chatter)}));
  CHECK(shows_failure({evidence_of(bad)}));
  CHECK(shows_failure({evidence_of(chatter, {rule("LRT015")})}));
}

}  // namespace md

// Reporters: one Diagnosis in every format, against blessed texts and against our own schema.
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"

namespace md {
namespace {

/// Everything that a report can hold, with texts that need escaping and numbers that JSON lacks.
Diagnosis sample() {
  Diagnosis d;
  d.command = "fix";
  d.rules_version = "0123456789abcdef";
  d.model = ReportedModel{"models/net.tflite", "tflite", "", 123456, 50};
  d.targets.push_back({"litert-gpu", "2.3.0", "2.3.0", TargetSource::log, false});
  d.prediction = ReportedPrediction{
      Verdict::refused,
      Verdict::refused,
      {{"BROADCAST_TO: Operation is not supported.", 0, 3, false}, {"RESHAPE: hidden <one>", 0, 4, true}}};
  d.log.push_back({"err.txt",
                   "BROADCAST_TO: Operation is not supported.",
                   "litert-gpu",
                   12,
                   {"LRT011", "LRT012"},
                   false});
  d.log.push_back({"err.txt", "NPU accelerator could not be loaded", "litert-gpu", 2, {}, true});
  d.log.push_back({"err.txt",
                   "FROBNICATE: 100% | <strange> \"quoted\" & 'more'\nsecond line",
                   "litert-gpu",
                   14,
                   {},
                   false});
  d.unexplained.push_back(2);

  Finding fixed;
  fixed.rule = "LRT012", fixed.name = "broadcast-to-runtime", fixed.severity = Severity::fatal,
  fixed.state = FindingState::matched;
  fixed.message = "BROADCAST_TO of a runtime value is not taken by the GPU";
  fixed.attribution = Attribution::exact, fixed.docs = "https://example.org/9191",
  fixed.fingerprint = "00000000deadbeef";
  fixed.at_source = "Use cat of bare slices:\n\n    torch.cat([k] * n, dim=1)";
  ReportedLocation at;
  at.node = 3, at.op = "BROADCAST_TO", at.value = "attn/k;1", at.layer = "self.attn", at.shape = "1x2x3x8x16",
  at.dtype = "f32";
  at.source.push_back({"model.py", 41, "forward"});
  fixed.locations.push_back(at);
  fixed.log.push_back(0);
  ReportedFix applied;
  applied.title = "reshape, tile, reshape", applied.applicability = Applicability::safe,
  applied.exactness = Exactness::exact, applied.applied = true;
  applied.cost = {1, -3072, 0};
  ReportedProof movement;
  movement.method = ProofMethod::movement, movement.dtype = "f32", movement.samples = 768,
  movement.equal = true;
  applied.proofs.push_back(movement);
  fixed.fixes.push_back(applied);
  d.findings.push_back(fixed);
  fixed.locations.front().node = 9, fixed.locations.front().value = "attn/v;1";
  d.findings.push_back(fixed);

  Finding silent;
  silent.rule = "LRT013", silent.name = "constant-rank-above-runtime", silent.severity = Severity::silent,
  silent.state = FindingState::matched;
  silent.message =
      "the constant has a higher rank than the runtime operand: token 0 is right, later ones are wrong";
  silent.reason = "the proof found a difference", silent.fingerprint = "00000000cafef00d", silent.round = 2,
  silent.caused_by = {"LRT012"};
  ReportedLocation made;
  made.op = "ADD", made.value = "scores", made.shape = "4x8x8", made.dtype = "f32", made.origin = {3, 4};
  silent.locations.push_back(made);
  ReportedFix refuted;
  refuted.title = "reshape the operand | first", refuted.applicability = Applicability::manual,
  refuted.exactness = Exactness::bounded;
  refuted.reason = "refuted: input 65504 gives 1 before, 0 after";
  refuted.cost = {1, 16, 12'000'000};
  ReportedProof sampled;
  sampled.method = ProofMethod::sampled, sampled.dtype = "f16", sampled.samples = 24;
  sampled.max_abs = std::numeric_limits<double>::infinity(),
  sampled.max_rel = std::numeric_limits<double>::quiet_NaN(), sampled.max_ulp = 3;
  sampled.counterexample = "input 65504 gives 1 before, 0 after";
  refuted.proofs.push_back(sampled);
  silent.fixes.push_back(refuted);
  d.findings.push_back(silent);

  d.ruled_out = {"LRT008", "LRT014"};
  d.notes = {"the log tells no version; it fits litert-gpu 2.2.0, 2.3.0: 2.3.0 is assumed"};
  d.unexplained_predictions = {"CONV_3D: Operation is not supported."};
  d.verification = ReportedVerification{"reference evaluator", "", 8, 0, 0, 1.0, true, true, {}};
  d.verification->max_abs = 2.6e26;
  d.verification->ordinary = ReportedDifference{3, 2.4e-7, 1e-7};
  d.verification->extreme = ReportedDifference{5, 2.6e26, 1.2e-7};
  d.output = ReportedOutput{"models/net.fixed.tflite", std::string(64, 'a'), 123400};
  d.before = {{Severity::fatal, 4}, {Severity::silent, 1}, {Severity::perf, 0}, {Severity::note, 0}};
  settle(d, Severity::silent);
  return d;
}

Diagnosis failed_sample() {
  Diagnosis d;
  d.command = "fix";
  d.rules_version = "0123456789abcdef";
  d.model = ReportedModel{.path = "broken.tflite", .format = "", .sha256 = "", .bytes = 0, .nodes = 0};
  fail_run(d, 2, "input", "broken.tflite: truncated at byte 12, expected a table");
  return d;
}

}  // namespace

TEST_CASE("every format renders the same diagnosis to the blessed text", "[report]") {
  const std::vector<Diagnosis> runs = {sample(), failed_sample()};
  for (const std::string& name : report_format_names()) {
    const auto format = report_format_from_name(name);
    REQUIRE(format.has_value());
    const std::string text = render(runs, *format);
    INFO(name);
    CHECK(test::differs_from_golden(test::fixture("reports/sample." + name + ".golden"), text) == "");
    CHECK(text == render(runs, *format));
    CHECK(text.ends_with("\n"));
  }
}

TEST_CASE("a changed interface is named where the numbers are equal", "[report]") {
  Diagnosis d = sample();
  d.verification->equal = false;
  d.verification->interface = {"output \"y\" is f32 1x24, was f32 1x3x8"};
  const std::string text = render(std::span(&d, 1), ReportFormat::text);
  CHECK(text.find("before and after: the numbers are equal on 8 samples") != std::string::npos);
  CHECK(text.find("the interface changed: output \"y\" is f32 1x24, was f32 1x3x8") != std::string::npos);
  CHECK(text.find("NOT equal") == std::string::npos);
  d.verification->numbers_equal = false;
  CHECK(render(std::span(&d, 1), ReportFormat::text).find("NOT equal") != std::string::npos);
}

TEST_CASE("where the model is not to blame, the report says so and the JSON keeps who is", "[report]") {
  Diagnosis d;
  d.command = "log";
  d.before = {{Severity::fatal, 1}};
  Finding finding;
  finding.rule = "T1", finding.severity = Severity::fatal, finding.state = FindingState::advice,
  finding.message = "no driver", finding.fault = Blame::environment;
  d.findings.push_back(finding);
  settle(d, Severity::silent);
  const std::string text = render(std::span(&d, 1), ReportFormat::text);
  CHECK(text.find("the model is not to blame: the machine, device or application") != std::string::npos);
  const std::string json = render(std::span(&d, 1), ReportFormat::json);
  CHECK(nlohmann::json::parse(json)["findings"][0]["fault"] == "environment");
  const auto again = read_diagnoses("d.json", json);
  REQUIRE(again);
  CHECK(again->front().findings.front().fault == Blame::environment);
}

TEST_CASE("a diagnosis holds to its schema", "[report]") {
  const auto schema = nlohmann::json::parse(diagnosis_schema());
  const std::vector<Diagnosis> runs = {sample(), failed_sample()};
  for (const Diagnosis& run : runs) {
    const auto violations = test::schema_violations(
        schema, nlohmann::json::parse(render(std::span(&run, 1), ReportFormat::json)));
    CHECK(violations == std::vector<std::string>{});
  }
  CHECK(test::schema_violations(schema, nlohmann::json::parse(render(runs, ReportFormat::json))).empty());
  auto broken = nlohmann::json::parse(render(std::span(&runs[0], 1), ReportFormat::json));
  broken["findings"][0]["severity"] = "terrible";
  CHECK_FALSE(test::schema_violations(schema, broken).empty());
  broken = nlohmann::json::parse(render(std::span(&runs[0], 1), ReportFormat::json));
  broken["surprise"] = 1;
  CHECK_FALSE(test::schema_violations(schema, broken).empty());
}

TEST_CASE("what was written as JSON reads back to the same reports", "[report]") {
  const std::vector<Diagnosis> runs = {sample(), failed_sample()};
  for (const ReportFormat through : {ReportFormat::json, ReportFormat::jsonl}) {
    const auto read = read_diagnoses("x.json", render(runs, through));
    REQUIRE(read.has_value());
    for (const std::string& name : report_format_names()) {
      INFO(name);
      CHECK(render(*read, *report_format_from_name(name)) == render(runs, *report_format_from_name(name)));
    }
  }
}

TEST_CASE("files that are no diagnosis are named with what was expected", "[report]") {
  CHECK(read_diagnoses("x.json", "{\"a\": 1}").error().message ==
        "x.json: not a diagnosis of this program: expected \"schema_version\": \"1.x\"");
  CHECK(read_diagnoses("x.json", "hello").error().message ==
        "x.json:1: not JSON; expected a diagnosis that modeldoctor wrote");
  CHECK(read_diagnoses("x.json", "").error().message ==
        "x.json: empty; expected a diagnosis that modeldoctor wrote");
  const auto damaged = read_diagnoses(
      "x.json",
      R"({"schema_version": "1.0", "findings": [{"log": [99], "locations": 3}], "log": [7], "unexplained": [5, -1]})");
  REQUIRE(damaged.has_value());
  for (const std::string& name : report_format_names())
    CHECK_FALSE(render(*damaged, *report_format_from_name(name)).empty());
}

TEST_CASE("exit codes: the worst run decides", "[report]") {
  CHECK(worse_exit_code(0, 1) == 1);
  CHECK(worse_exit_code(3, 1) == 3);
  CHECK(worse_exit_code(3, 2) == 2);
  CHECK(worse_exit_code(2, 4) == 4);
  CHECK(worse_exit_code(4, 2) == 4);
}

TEST_CASE("what remains decides the status", "[report]") {
  Diagnosis d;
  settle(d, Severity::silent);
  CHECK(d.status == RunStatus::clean);
  Finding note;
  note.severity = Severity::note;
  d.findings.push_back(note);
  settle(d, Severity::silent);
  CHECK(d.exit_code == 0);
  settle(d, Severity::note);
  CHECK(d.exit_code == 1);
  d.log.push_back({});
  d.unexplained.push_back(0);
  settle(d, Severity::fatal);
  CHECK(d.exit_code == 1);
  settle(d, std::nullopt);
  CHECK(d.exit_code == 0);
}

}  // namespace md

// Numbers and endings that can be trusted: what a report may say at its end, what it does not touch unasked,
// and what a dry run calls things.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/ending.h"
#include "lib/diagnose/hybrid_gap.h"
#include "lib/op/dialect.h"
#include "lib/report/next_step.h"
#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/text_document.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;
using test::TextDocument;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A refused operator in front of a norm that nothing shows to overflow.
const char* kRefusedAndNorm = R"(
input %x : f32[1, 4, 32]
const %axes : i32[1] = [2]
const %eps : f32[1] = [0.000001]
%h = RELU_0_TO_1(%x) : f32[1, 4, 32]
%a = ADD(%h, %x) : f32[1, 4, 32]
%sq = MUL(%a, %a) : f32[1, 4, 32]
%m = MEAN(%sq, %axes) { keep_dims = true } : f32[1, 4, 1]
%v = ADD(%m, %eps) : f32[1, 4, 1]
%r = RSQRT(%v) : f32[1, 4, 1]
%y = MUL(%a, %r) : f32[1, 4, 32]
output %y
)";

template <class Change>
Diagnosis mended(const std::string& text, Change&& change) {
  static const RuleBook rules = *RuleBook::load();
  const TextDocument document(text, dialect("tflite"));
  REQUIRE(document.error == "");
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = "model.tflite";
  request.targets = {"litert-gpu@2.3.0"};
  request.rules = &rules;
  request.command = "fix";
  request.options.apply = true;
  change(request);
  auto outcome = diagnose(request);
  REQUIRE(outcome.has_value());
  return std::move(outcome->diagnosis);
}

Diagnosis mended(const std::string& text) {
  return mended(text, [](DiagnoseRequest&) {});
}

const Finding& found(const Diagnosis& d, const std::string& rule) {
  const auto at = std::find_if(d.findings.begin(), d.findings.end(),
                               [&](const Finding& finding) { return finding.rule == rule; });
  REQUIRE(at != d.findings.end());
  return *at;
}

std::string text_of(const Diagnosis& d, ReportFormat format = ReportFormat::text) {
  return render(std::span(&d, 1), format);
}

/// A run in which everything went well.
Diagnosis accepted() {
  Diagnosis d;
  d.command = "fix";
  d.model = ReportedModel{"model.tflite", "tflite", "", 1000, 5};
  d.targets.push_back({"litert-gpu", "2.3.0", "2.3.0", TargetSource::flag, false});
  d.prediction = ReportedPrediction{Verdict::refused, Verdict::compiles, {}};
  Finding finding;
  finding.rule = "LRT015", finding.name = "relu-0-to-1", finding.severity = Severity::fatal,
  finding.state = FindingState::matched, finding.message = "RELU_0_TO_1 is not taken";
  ReportedFix fix;
  fix.title = "relu and minimum", fix.applicability = Applicability::safe, fix.exactness = Exactness::exact,
  fix.applied = true;
  finding.fixes.push_back(fix);
  d.findings.push_back(finding);
  ReportedVerification whole;
  whole.runtime = "reference evaluator", whole.samples = 8, whole.equal = whole.numbers_equal = true;
  d.verification = whole;
  d.before = {{Severity::fatal, 1}, {Severity::note, 0}, {Severity::perf, 0}, {Severity::silent, 0}};
  settle(d, Severity::silent);
  return d;
}

constexpr const char* kHappy = "should now take the whole graph";

}  // namespace

TEST_CASE("a fix of a note waits to be asked while a compile error is mended", "[diagnose][ending]") {
  const Diagnosis d = mended(kRefusedAndNorm);
  CHECK_FALSE(found(d, "LRT015").open());
  const Finding& norm = found(d, "F16004");
  CHECK(norm.severity == Severity::note);
  CHECK(norm.open());
  REQUIRE_FALSE(norm.fixes.empty());
  CHECK(norm.fixes.front().needs_asking);
  const std::string text = text_of(d);
  INFO(text);
  CHECK(holds(text, "not applied: "));
  CHECK(holds(text,
              "nothing shows that it is needed here; ask with --select F16004 or --symptom zeros, or "
              "give --inputs or --range"));
  CHECK(d.exit_code == 0);
}

TEST_CASE("a fix of a note is applied when it is selected, or seen, or shown", "[diagnose][ending]") {
  const Diagnosis selected = mended(kRefusedAndNorm, [](DiagnoseRequest& request) {
    request.options.select = {"LRT015", "F16004"};
  });
  CHECK_FALSE(found(selected, "F16004").open());
  for (const char* symptom : {"zeros", "nan", "wrong"}) {
    INFO(symptom);
    const Diagnosis seen =
        mended(kRefusedAndNorm, [&](DiagnoseRequest& request) { request.options.symptoms = {symptom}; });
    CHECK(found(seen, "F16004").severity == Severity::silent);
    CHECK_FALSE(found(seen, "F16004").open());
  }
  const Diagnosis shown = mended(kRefusedAndNorm, [](DiagnoseRequest& request) {
    request.options.values.ranges["x"] = {-2000, 2000};
  });
  CHECK(found(shown, "F16004").severity == Severity::silent);
  CHECK_FALSE(found(shown, "F16004").open());
}

TEST_CASE("a note whose fix is the same bit for bit is mended unasked", "[diagnose][ending]") {
  const Diagnosis d = mended(
      "input %x : f32[1, 6, 9]\nconst %axis : i32[1] = [2]\n%y = ARG_MAX(%x, %axis) : i32[1, 6]\noutput "
      "%y\n");
  CHECK_FALSE(found(d, "LRT063").open());
}

TEST_CASE("a happy end needs nothing fatal, nothing unexplained, the whole compared", "[ending]") {
  Diagnosis d = accepted();
  CHECK(ending_of(d) == Ending::accepted);
  CHECK(holds(text_of(d), kHappy));
  const auto every = {ReportFormat::text, ReportFormat::markdown, ReportFormat::html, ReportFormat::json};

  Diagnosis fatal = d;
  fatal.findings.push_back(d.findings.front());
  fatal.findings.back().fixes.clear();
  settle(fatal, Severity::silent);
  CHECK(ending_of(fatal) == Ending::unsettled);
  Diagnosis line = d;
  line.log.push_back({"err.txt", "FROBNICATE: quux", "litert-gpu", 3, {}, false});
  line.unexplained.push_back(0);
  settle(line, Severity::silent);
  CHECK(ending_of(line) == Ending::unsettled);
  CHECK(line.exit_code == 1);
  Diagnosis predicted = d;
  predicted.unexplained_predictions.push_back("CONV_3D: no");
  settle(predicted, Severity::silent);
  CHECK(ending_of(predicted) == Ending::unsettled);
  Diagnosis other = d;
  other.verification->equal = other.verification->numbers_equal = false;
  CHECK(ending_of(other) == Ending::unequal);
  Diagnosis alone = d;
  alone.verification.reset();
  alone.not_compared = "no kernel for FROBNICATE";
  CHECK(ending_of(alone) == Ending::uncompared);
  for (const Diagnosis& bad : {fatal, line, predicted, other, alone})
    for (const ReportFormat format : every) {
      const std::string text = text_of(bad, format);
      INFO(text);
      CHECK_FALSE(holds(text, kHappy));
      CHECK_FALSE(holds(text, "\"ending\": \"accepted\""));
    }
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::markdown, ReportFormat::html})
    CHECK(holds(text_of(alone, format), "not compared as a whole: no kernel for FROBNICATE"));
  CHECK(nlohmann::json::parse(text_of(alone, ReportFormat::json))["not_compared"] ==
        "no kernel for FROBNICATE");
  Diagnosis broken = d;
  fail_run(broken, 3, "check", "differs");
  CHECK(ending_of(broken) == Ending::none);
}

TEST_CASE("a gate that wants proof does not pass what was not compared as a whole", "[ending]") {
  Diagnosis whole = accepted();
  require_comparison(whole);
  CHECK(whole.exit_code == 0);
  Diagnosis alone = accepted();
  alone.verification.reset();
  alone.not_compared = "it is too large for that here";
  CHECK(alone.exit_code == 0);
  require_comparison(alone);
  CHECK(alone.exit_code == 1);
  CHECK(alone.status == RunStatus::findings);
  Diagnosis other = accepted();
  other.verification->equal = other.verification->numbers_equal = false;
  require_comparison(other);
  CHECK(other.exit_code == 1);
  Diagnosis untouched = accepted();
  untouched.findings.clear(), untouched.verification.reset();
  settle(untouched, Severity::silent);
  require_comparison(untouched);
  CHECK(untouched.exit_code == 0);
}

TEST_CASE("reports show the difference on ordinary inputs first and extremes apart", "[report][ending]") {
  Diagnosis d = accepted();
  d.verification->max_abs = 2.6e26;
  d.verification->ordinary = ReportedDifference{3, 2.5e-7, 1e-7};
  d.verification->extreme = ReportedDifference{5, 2.6e26, 1.5e-7};
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::markdown, ReportFormat::html}) {
    const std::string text = text_of(d, format);
    INFO(text);
    CHECK(holds(text,
                "equal on 8 samples: largest difference 2.5e-07 (1e-07 of the largest output) on 3 "
                "ordinary, 1.5e-07 of the largest output on 5 with extreme values"));
    CHECK_FALSE(holds(text, "e+26"));
  }
  const auto json = nlohmann::json::parse(text_of(d, ReportFormat::json));
  CHECK(json["verification"]["ordinary"]["max_abs"] == 2.5e-7);
  CHECK(json["verification"]["extreme"]["samples"] == 5);
}

TEST_CASE("a dry run never says that something was fixed or written", "[cli][ending]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "model.tflite");
  for (const std::string format : {"text", "concise", "markdown", "html", "github", "junit", "sarif"}) {
    const ProgramResult result = run_program({"fix", model, "--dry-run", "--output-format", format});
    INFO(format << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
    std::string rest = result.out;
    for (std::size_t at = rest.find("would be fixed"); at != std::string::npos;
         at = rest.find("would be fixed"))
      rest.erase(at, 14);
    CHECK_FALSE(holds(rest, "fixed"));
    CHECK_FALSE(holds(rest, "rote "));
    CHECK_FALSE(holds(rest, "should now"));
    CHECK(rest != result.out);
  }
  const auto json = nlohmann::json::parse(
      run_program({"fix", model, "--dry-run", "--output-format", "json"}).out, nullptr, false);
  CHECK(json["dry_run"] == true);
  CHECK(json["summary"]["fixed"] == 0);
  CHECK(json["summary"]["would_fix"].get<int>() > 0);
  CHECK(json["verification"]["equal"] == true);
  CHECK(test::schema_violations(nlohmann::json::parse(diagnosis_schema()), json) ==
        std::vector<std::string>{});
  // In other programs' formats the fault is still there: it is in the file.
  const auto sarif = nlohmann::json::parse(
      run_program({"fix", model, "--dry-run", "--output-format", "sarif"}).out, nullptr, false);
  CHECK(sarif["runs"][0]["results"][0]["kind"] == "fail");
  CHECK(folder.files() == std::vector<std::string>{"model.tflite"});
}

TEST_CASE("where the CPU rounds activations and the GPU does not, the report says by how much",
          "[diagnose][ending]") {
  for (const std::string name : {"transformer-dynamic-int8", "convolutions-dynamic-int8"}) {
    INFO(name);
    const auto document = open_document(test::fixture("evaluator/" + name + ".tflite"));
    REQUIRE(document.has_value());
    CHECK(count_hybrid_operators((*document)->model()) > 0);
    const std::string note = hybrid_gap_note((*document)->model(), {});
    INFO(note);
    CHECK(holds(note, "moves the outputs by up to 0.0"));
    const ProgramResult result = run_program(
        {"check", test::fixture("evaluator/" + name + ".tflite"), "--target", "litert-gpu@2.3.0"});
    CHECK(holds(result.out, "note: " + note));
  }
  for (const std::string name : {"transformer", "transformer-weight-only-int8", "convolutions-int8"}) {
    INFO(name);
    const auto document = open_document(test::fixture("evaluator/" + name + ".tflite"));
    REQUIRE(document.has_value());
    CHECK(hybrid_gap_note((*document)->model(), {}).empty());
  }
}

TEST_CASE("a word for the shell reads back as the same word", "[report][ending]") {
  using reporters::shell_path;
  using reporters::shell_word;
  CHECK(shell_word("a/b-c.tflite") == "a/b-c.tflite");
  CHECK(shell_word("my model.tflite") == "'my model.tflite'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$(rm x)") == "'$(rm x)'");
  CHECK(shell_word("") == "''");
  CHECK(shell_path("-x.tflite") == "./-x.tflite");
  CHECK(shell_path("~/x") == "'~/x'");
}

TEST_CASE("the next command repeats the target, the log and the options", "[cli][ending]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "my model.tflite"),
                    log = folder.copy("cli/hardtanh.log", "it's a log.txt");
  const ProgramResult result = run_program(
      {"check", model, "--log", log, "--target", "litert-gpu@2.2.0", "--symptom", "nan", "--ignore", "F16"});
  INFO(result.out << result.err);
  const std::size_t at = result.out.find("\nnext: modeldoctor ");
  REQUIRE(at != std::string::npos);
  std::string command = result.out.substr(at + 19);
  command.erase(command.find('\n'));
  CHECK(holds(command, "--target litert-gpu@2.2.0"));
  CHECK(holds(command, "--symptom nan"));
  CHECK(holds(command, "--ignore F16"));
  const std::string shell = "'" + test::program() + "' " + command + " > /dev/null 2>&1";
  CHECK(std::system(shell.c_str()) == 0);
  CHECK(folder.has("my model.fixed.tflite"));
}

TEST_CASE("a log asks for a model only where a fix of its file exists", "[cli][ending]") {
  const ScratchFolder folder;
  const std::string log = folder.copy("cli/hardtanh.log", "err.txt");
  const ProgramResult mendable = run_program({"log", log});
  INFO(mendable.out);
  CHECK(holds(mendable.out, "next: modeldoctor fix model.tflite --log " + log));
  Diagnosis d;
  d.command = "log";
  d.log.push_back({"err.txt", "nothing mends this", "torch", 1, {"ETX999"}, false});
  Finding advice;
  advice.rule = "ETX999", advice.severity = Severity::fatal, advice.state = FindingState::advice,
  advice.log = {0};
  d.findings.push_back(advice);
  settle(d, Severity::silent);
  CHECK(reporters::next_step(d) == "modeldoctor explain ETX999");
  d.findings.front().mendable_in = {"pt2"};
  CHECK(holds(reporters::next_step(d), "modeldoctor fix model.pt2 --log err.txt"));
  CHECK(holds(reporters::next_step(d), "torch.export.save"));
}

TEST_CASE("what a dry run applied on demand is asked for again", "[report][ending]") {
  Diagnosis d = accepted();
  d.dry_run = true;
  CHECK(reporters::next_step(d) == "modeldoctor fix model.tflite --target litert-gpu@2.3.0");
  d.findings.front().fixes.front().applicability = Applicability::unsafe;
  CHECK(reporters::next_step(d) == "modeldoctor fix model.tflite --target litert-gpu@2.3.0 --unsafe-fixes");
}

TEST_CASE("the next command gives logs without trouble again: they tell the target", "[report][ending]") {
  Diagnosis d = accepted();
  d.dry_run = true;
  d.targets.front().source = TargetSource::log;
  d.log_paths = {"quiet.txt", "err.txt"};
  d.log.push_back({"err.txt", "RELU_0_TO_1: no", "litert-gpu", 1, {"LRT015"}, false});
  CHECK(reporters::next_step(d) == "modeldoctor fix model.tflite --log quiet.txt --log err.txt");
  d.log_paths = {"-"}, d.log.clear();
  CHECK(reporters::next_step(d) == "modeldoctor fix model.tflite --target litert-gpu@2.3.0");
}

TEST_CASE("the next step never points at a note", "[report][ending]") {
  Diagnosis d = accepted();
  Finding note;
  note.rule = "F16004", note.severity = Severity::note, note.state = FindingState::matched;
  d.findings.insert(d.findings.begin(), note);
  settle(d, Severity::silent);
  CHECK(reporters::next_step(d).empty());
  Finding fatal;
  fatal.rule = "LRT006", fatal.severity = Severity::fatal, fatal.state = FindingState::declined;
  d.findings.push_back(fatal);
  settle(d, Severity::silent);
  CHECK(reporters::next_step(d) == "modeldoctor explain LRT006");
}

TEST_CASE("behind a written .pt2 comes what to do with it", "[cli][ending]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("ETX003-autocast-region-names/before.pt2", "a \"b\".pt2"),
                    log = folder.copy("ETX003-autocast-region-names/compile.log", "lowering.log");
  const ProgramResult result = run_program({"fix", model, "--log", log});
  INFO(result.out << result.err);
  REQUIRE(folder.has("a \"b\".fixed.pt2"));
  CHECK(holds(result.out, "next, in your script:\n    ep = torch.export.load(\"" +
                              folder.path("a \\\"b\\\".fixed.pt2") +
                              "\")\n    program = to_edge_transform_and_lower(ep"));
}

}  // namespace md

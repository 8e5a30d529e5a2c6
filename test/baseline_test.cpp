// What people accept: one finding of one model each, never more, and never out of sight.
#include "lib/baseline/baseline.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/diagnose/diagnose.h"
#include "lib/op/dialect.h"
#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/text_document.h"

namespace md {
namespace {

using Json = nlohmann::json;
using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;
using test::TextDocument;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json file(const std::string& path) { return Json::parse(test::read_text(path)); }

void check_schema(const Json& diagnosis) {
  static const Json schema = Json::parse(diagnosis_schema());
  CHECK(test::schema_violations(schema, diagnosis) == std::vector<std::string>{});
}

void save(const ScratchFolder& folder, const std::string& name, const Json& json) {
  folder.write(name, json.dump(2));
}

Diagnosis examine(const std::string& graph, const std::string& path = "model.tflite") {
  static const RuleBook rules = *RuleBook::load();
  const TextDocument document(graph, dialect("tflite"));
  REQUIRE(document.error.empty());
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = path;
  request.rules = &rules;
  auto outcome = diagnose(request);
  REQUIRE(outcome.has_value());
  return std::move(outcome->diagnosis);
}

const char* kTwins = R"(
input %x : f32[1, 4]
%net;1 = RELU_0_TO_1(%x) : f32[1, 4]
%net;2 = EXP(%net;1) : f32[1, 4]
%net;3 = RELU_0_TO_1(%net;2) : f32[1, 4]
output %net;3
)";

/// The same with a node in front that has nothing to do with it: every number behind it moves.
const char* kTwinsLater = R"(
input %x : f32[1, 4]
%net;1 = EXP(%x) : f32[1, 4]
%net;2 = RELU_0_TO_1(%net;1) : f32[1, 4]
%net;3 = EXP(%net;2) : f32[1, 4]
%net;4 = RELU_0_TO_1(%net;3) : f32[1, 4]
output %net;4
)";

std::set<std::string> fingerprints(const Diagnosis& d) {
  std::set<std::string> found;
  for (const Finding& finding : d.findings) CHECK(found.insert(finding.fingerprint).second);
  return found;
}

/// Two copies of a model that is refused, and a baseline of the first.
struct Siblings {
  ScratchFolder folder;
  std::string a = folder.copy("cli/hardtanh.tflite", "a.tflite"),
              b = folder.copy("cli/hardtanh.tflite", "b.tflite");
  std::string baseline = folder.path("baseline.json");
  ProgramResult check(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "check");
    return run_program(arguments);
  }
  void accept_a() const {
    const ProgramResult result = check({a, "--write-baseline", baseline});
    INFO(result.out << result.err);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.out, "accepted by"));
    CHECK(contains(result.err, "wrote"));
  }
  /// Changes every entry.
  template <class Change>
  void edit(Change&& change) const {
    Json json = file(baseline);
    REQUIRE_FALSE(json["entries"].empty());
    for (Json& entry : json["entries"]) change(entry);
    save(folder, "baseline.json", json);
  }
};

}  // namespace

TEST_CASE("fingerprints differ within a model and between models, and stay when others move", "[baseline]") {
  const Diagnosis twins = examine(kTwins);
  const std::set<std::string> here = fingerprints(twins);
  CHECK(here.size() >= 2);
  CHECK(fingerprints(examine(kTwinsLater)) == here);
  for (const std::string& other : fingerprints(examine(kTwins, "sibling.tflite")))
    CHECK_FALSE(here.contains(other));
}

TEST_CASE("every finding of a folder of models has a fingerprint of its own", "[baseline]") {
  const ScratchFolder folder;
  folder.copy("cli/hardtanh.tflite", "one.tflite");
  folder.copy("cli/hardtanh.tflite", "two.tflite");
  folder.copy("cli/repeat_kv.tflite", "three.tflite");
  const ProgramResult result = run_program({"check", folder.path(""), "--output-format", "json"});
  std::size_t count = 0;
  std::set<std::string> found;
  const Json runs = Json::parse(result.out)["runs"];
  for (const Json& run : runs)
    for (const Json& finding : run["findings"]) found.insert(finding["fingerprint"]), ++count;
  CHECK(count >= 4);
  CHECK(found.size() == count);
}

TEST_CASE("what is accepted of one model counts in its sibling", "[baseline]") {
  const Siblings s;
  CHECK(s.check({s.a, "--report", "json=" + s.folder.path("diagnosis.json"), "-q"}).exit_code == 1);
  s.accept_a();
  for (const std::string& known : {s.folder.path("diagnosis.json"), s.baseline}) {
    INFO(known);
    CHECK(s.check({s.a, "--baseline", known}).exit_code == 0);
    const ProgramResult both = s.check({s.a, s.b, "--baseline", known, "--output-format", "json"});
    CHECK(both.exit_code == 1);
    const Json runs = Json::parse(both.out)["runs"];
    CHECK(runs[0]["status"] == "accepted");
    CHECK(runs[0]["findings"].empty());
    CHECK(runs[1]["status"] == "findings");
    CHECK_FALSE(runs[1]["findings"].empty());
    CHECK_FALSE(runs[1].contains("suppressed"));
  }
}

TEST_CASE("a baseline holds for its models wherever the program is started", "[baseline]") {
  const Siblings s;
  s.accept_a();
  CHECK(file(s.baseline)["entries"][0]["model"] == "a.tflite");
  const Json schema = Json::parse(run_program({"schema", "baseline"}).out);
  CHECK(test::schema_violations(schema, file(s.baseline)) == std::vector<std::string>{});
  CHECK(test::run_program_after("cd '" + s.folder.path("") + "'",
                                {"check", "a.tflite", "--baseline", "baseline.json"})
            .exit_code == 0);
  CHECK(test::run_program_after("cd '" + s.folder.path("") + "'",
                                {"check", "b.tflite", "--baseline", "baseline.json"})
            .exit_code == 1);
}

TEST_CASE("a stated name takes the place of the path", "[baseline]") {
  const Siblings s;
  CHECK(s.check({s.a, "--model-name", "detector", "--write-baseline", s.baseline}).exit_code == 0);
  CHECK(file(s.baseline)["entries"][0]["model"] == "detector");
  CHECK(s.check({s.b, "--model-name", "detector", "--baseline", s.baseline}).exit_code == 0);
  CHECK(s.check({s.a, "--baseline", s.baseline}).exit_code == 1);
  CHECK(s.check({s.a, s.b, "--model-name", "b.tflite=detector", "--baseline", s.baseline}).exit_code == 1);
  CHECK(s.check({s.a, s.b, "--model-name", "detector"}).exit_code == 2);
}

TEST_CASE("what is accepted stays in every report", "[baseline]") {
  const Siblings s;
  s.accept_a();
  s.edit([](Json& entry) {
    entry["reason"] = "runs on the CPU & that is fine", entry["owner"] = "vision",
    entry["until"] = "9999-12-31";
  });
  const ProgramResult result =
      s.check({s.a, "--baseline", s.baseline, "--report",
               "json=" + s.folder.path("r.json") + ",sarif=" + s.folder.path("r.sarif") +
                   ",junit=" + s.folder.path("r.xml") + ",html=" + s.folder.path("r.html")});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, "accepted by " + s.baseline));
  CHECK_FALSE(contains(result.out, "nothing found"));

  const Json json = file(s.folder.path("r.json"));
  check_schema(json);
  CHECK(json["status"] == "accepted");
  CHECK(json["findings"].empty());
  REQUIRE_FALSE(json["suppressed"]["findings"].empty());
  const Json finding = json["suppressed"]["findings"][0];
  CHECK(finding["suppression"]["baseline"] == s.baseline);
  CHECK(finding["suppression"]["reason"] == "runs on the CPU & that is fine");
  CHECK(finding["suppression"]["owner"] == "vision");
  CHECK(finding["suppression"]["until"] == "9999-12-31");
  CHECK(json["summary"]["accepted"]["fatal"].get<int>() >= 1);
  CHECK(json["summary"]["after"]["fatal"] == 0);

  const Json results = file(s.folder.path("r.sarif"))["runs"][0]["results"];
  REQUIRE_FALSE(results.empty());
  for (const Json& one : results) {
    REQUIRE(one["suppressions"].size() == 1);
    CHECK(one["suppressions"][0]["kind"] == "external");
    CHECK(one["suppressions"][0]["status"] == "accepted");
    CHECK(one["suppressions"][0]["justification"] == "runs on the CPU & that is fine");
  }
  CHECK(contains(test::read_text(s.folder.path("r.xml")), "<skipped message=\"accepted by"));
  CHECK(contains(test::read_text(s.folder.path("r.html")), "accepted by"));
  // Read back and rendered again it is the same.
  const ProgramResult again = run_program({"report", s.folder.path("r.json"), "--output-format", "json"});
  CHECK(Json::parse(again.out) == json);
  CHECK(contains(run_program({"check", s.a, "--baseline", s.baseline, "-v"}).out,
                 "runs on the CPU & that is fine [vision] until 9999-12-31"));
}

TEST_CASE("an entry ends with its day", "[baseline]") {
  const Siblings s;
  s.accept_a();
  s.edit([](Json& entry) { entry["until"] = "2001-01-01", entry["owner"] = "vision"; });
  const ProgramResult result = s.check({s.a, "--baseline", s.baseline});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.out, "was accepted until 2001-01-01 (owner: vision): it counts again"));
  CHECK(s.check({s.a, "--baseline", s.baseline, "--fail-on", "never"}).exit_code == 0);
  CHECK(s.check({s.a, "--baseline", s.baseline, "--fail-on", "never", "--strict-baseline"}).exit_code == 1);
  CHECK(s.check({s.a, "--baseline", s.baseline, "--prune-baseline"}).exit_code == 1);
  CHECK(file(s.baseline)["entries"].empty());
}

TEST_CASE("an entry for what is gone is stale", "[baseline]") {
  const Siblings s;
  s.accept_a();
  std::filesystem::copy_file(test::fixture("cli/clean.tflite"), s.a,
                             std::filesystem::copy_options::overwrite_existing);
  const ProgramResult result = s.check({s.a, "--baseline", s.baseline});
  CHECK(result.exit_code == 0);
  CHECK(contains(result.out, "stale"));
  CHECK(s.check({s.a, "--baseline", s.baseline, "--strict-baseline"}).exit_code == 1);
  // Not looked for is not gone: another model, rules that were left out.
  CHECK(s.check({s.b, "--baseline", s.baseline, "--strict-baseline", "--ignore", "LRT"}).exit_code == 0);
  CHECK(s.check({s.a, "--baseline", s.baseline, "--strict-baseline", "--select", "F16003"}).exit_code == 0);
  const ProgramResult pruned =
      s.check({s.a, "--baseline", s.baseline, "--prune-baseline", "--strict-baseline"});
  CHECK(pruned.exit_code == 0);
  CHECK(contains(pruned.err, "removed from"));
  CHECK(file(s.baseline)["entries"].empty());
}

TEST_CASE("an entry of a file that is no more is stale", "[baseline]") {
  const Siblings s;
  s.accept_a();
  std::filesystem::remove(s.a);
  const ProgramResult result =
      s.check({s.b, "--baseline", s.baseline, "--strict-baseline", "--fail-on", "never"});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.out, "no such file"));
}

TEST_CASE("writing a baseline again keeps what people wrote and other models' entries", "[baseline]") {
  const Siblings s;
  s.accept_a();
  s.edit(
      [](Json& entry) { entry["reason"] = "known", entry["owner"] = "me", entry["until"] = "9999-01-01"; });
  const Json before = file(s.baseline);
  CHECK(s.check({s.a, s.b, "--write-baseline", s.baseline}).exit_code == 0);
  const Json after = file(s.baseline);
  CHECK(after["entries"].size() == 2 * before["entries"].size());
  for (const Json& entry : after["entries"]) {
    CHECK(entry["reason"] == (entry["model"] == "a.tflite" ? "known" : ""));
    CHECK(entry["until"] == (entry["model"] == "a.tflite" ? Json("9999-01-01") : Json(nullptr)));
  }
  // The same again gives the same bytes, whatever the order.
  const std::string text = test::read_text(s.baseline);
  CHECK(s.check({s.b, s.a, "--baseline", s.baseline, "--write-baseline", s.baseline}).exit_code == 0);
  CHECK(test::read_text(s.baseline) == text);
  std::filesystem::copy_file(test::fixture("cli/clean.tflite"), s.b,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(s.check({s.b, "--write-baseline", s.baseline}).exit_code == 0);
  CHECK(file(s.baseline) == before);
}

TEST_CASE("writing a baseline judges each model as its configuration says", "[baseline]") {
  const Siblings s;
  s.accept_a();
  s.edit([](Json& entry) { entry["until"] = "2001-01-01"; });  // it counts again, also when written again
  const std::string config = s.folder.write(
      "judge.toml", "fail-on = \"silent\"\n[[per-model]]\npattern = \"a.tflite\"\nfail-on = \"never\"\n");
  CHECK(s.check({s.a, "--config", config}).exit_code == 0);
  CHECK(s.check({s.a, "--config", config, "--write-baseline", s.baseline}).exit_code == 0);
  CHECK(s.check({s.a, "--no-config", "--write-baseline", s.baseline}).exit_code == 1);
}

TEST_CASE("nothing but a baseline is replaced by one", "[baseline]") {
  const Siblings s;
  const std::string notes = s.folder.write("notes.txt", "dear diary\n");
  CHECK(s.check({s.a, "--report", "json=" + s.folder.path("d.json"), "-q"}).exit_code == 1);
  for (const std::string& victim : {s.a, s.b, notes, s.folder.path("d.json")}) {
    const std::string before = test::read_text(victim);
    CHECK(s.check({s.a, "--write-baseline", victim}).exit_code == 2);
    CHECK(test::read_text(victim) == before);
  }
  CHECK(s.check({s.a, "--strict-baseline"}).exit_code == 2);
  CHECK(s.check({s.a, "--baseline", s.folder.path("d.json"), "--prune-baseline"}).exit_code == 2);
}

TEST_CASE("failures that no rule knows can be accepted, for one log and one model", "[baseline]") {
  const Siblings s;
  const std::string text =
      "ERROR: Following operations are not supported by GPU delegate:\n"
      "EXP: Quux is not supported by the flux.\n"
      "No operations will run on the GPU, and all 3 operations will run on the CPU.\n";
  const std::string log = s.folder.write("x.txt", text), other = s.folder.write("y.txt", text);
  CHECK(run_program({"log", log, "--write-baseline", s.baseline}).exit_code == 0);
  CHECK(file(s.baseline)["entries"][0]["kind"] == "log line");
  const ProgramResult known = run_program({"log", log, "--baseline", s.baseline, "--output-format", "json"});
  CHECK(known.exit_code == 0);
  const Json json = Json::parse(known.out);
  check_schema(json);
  CHECK(json["unexplained"].empty());
  CHECK(json["suppressed"]["unexplained"].size() == 1);
  CHECK(run_program({"log", other, "--baseline", s.baseline}).exit_code == 1);
  CHECK(s.check({s.a, "--log", log, "--fail-on", "fatal", "--ignore", "LRT015", "--baseline", s.baseline})
            .exit_code == 1);
}

TEST_CASE("what has become worse is no longer what was accepted", "[baseline]") {
  Diagnosis run = examine(kTwins);
  REQUIRE_FALSE(run.findings.empty());
  Finding& first = run.findings.front();
  const Severity severity = first.severity;
  first.severity = Severity::note;
  Baseline baseline("baseline.json");
  baseline.accept(std::span(&run, 1), {});
  Diagnosis again = run;
  baseline.apply(again, "2026-01-01", {});
  CHECK(again.findings.empty());
  again = run;
  again.findings.front().severity = severity;
  baseline.apply(again, "2026-01-01", {});
  REQUIRE(again.findings.size() == 1);
  CHECK(contains(again.notes.back(), "it counts again"));
}

TEST_CASE("faults of an edited baseline are told with their place", "[baseline]") {
  const auto read = [](const std::string& entry) {
    const auto baseline = Baseline::read(
        "b.json",
        "{\"kind\": \"modeldoctor-baseline\", \"schema_version\": \"1.0\",\n\"entries\": [" + entry + "]}");
    return baseline ? "" : baseline.error().message;
  };
  const std::string good = R"("model": "a.tflite", "rule": "LRT015", "layer": "x", "operator": "ADD")";
  CHECK(read("{" + good + "}") == "");
  CHECK(read("{" + good + R"(, "until": "2027-02-28"})") == "");
  CHECK(contains(read("{" + good + R"(, "until": "2027-02-30"})"),
                 "entry 1 (a.tflite): until: expected a day"));
  CHECK(contains(read("{" + good + R"(, "until": "soon"})"), "got \"soon\""));
  CHECK(contains(read("{" + good + R"(, "untill": "2027-01-01"})"), "did you mean \"until\""));
  CHECK(contains(read("{" + good + R"(, "reason": 7})"), "reason: expected a text"));
  CHECK(contains(read("{" + good + R"(, "occurrence": 0})"), "occurrence"));
  CHECK(contains(read("{" + good + R"(, "severity": "bad"})"), "severity"));
  CHECK(contains(read(R"({"rule": "LRT015"})"), "model is missing"));
  CHECK(contains(read("7"), "expected an object"));
  CHECK(contains(read("{" + good + "},"), "b.json:2: not JSON"));
  CHECK(contains(read("{" + good + "}\n<<<<<<< HEAD\n"), "b.json:3: a merge left its marks"));
  // A merge may bring one entry twice: the one that ends first holds.
  const auto twice = Baseline::read(
      "b.json", "{\"kind\": \"modeldoctor-baseline\", \"schema_version\": \"1.0\", \"entries\": [{" + good +
                    "}, {" + good + R"(, "until": "2027-01-01"}]})");
  REQUIRE(twice.has_value());
  REQUIRE(twice->entries().size() == 1);
  CHECK(twice->entries()[0].until == "2027-01-01");
}

TEST_CASE("JSON that nests without end is refused", "[baseline]") {
  const Siblings s;
  std::string runs, lists;
  for (int i = 0; i < 20000; ++i) runs += "{\"runs\":[", lists += "[";
  std::string closed = runs;
  for (int i = 0; i < 20000; ++i) closed += "]}";
  for (const std::string& text :
       {closed, runs, lists,
        R"({"kind": "modeldoctor-baseline", "schema_version": "1.0", "entries": )" + lists}) {
    const std::string deep = s.folder.write("deep.json", text);
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"report", deep},
                                               {"check", s.a, "--baseline", deep},
                                               {"check", s.a, "--write-baseline", deep}}) {
      const ProgramResult result = run_program(arguments);
      CHECK(result.exit_code == 2);
      CHECK(contains(result.err, "deep.json"));
    }
    s.folder.write("a.diagnosis.json", text);
    CHECK(run_program({"fix", s.a}).exit_code == 2);
  }
}

}  // namespace md

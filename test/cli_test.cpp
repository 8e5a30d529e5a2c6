// The program as users meet it: bad inputs, outputs, exit codes, reports.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/tflite_models.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// One clear line on standard error that holds all parts, nothing on standard output.
void check_refused(const ProgramResult& result, int code, const std::vector<std::string>& parts) {
  INFO("stdout: " << result.out << "\nstderr: " << result.err);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& part : parts) CHECK(contains(result.err, part));
}

nlohmann::json json_file(const std::string& path) {
  return nlohmann::json::parse(test::read_text(path), nullptr, false);
}

void check_schema(const nlohmann::json& diagnosis) {
  static const auto schema = nlohmann::json::parse(diagnosis_schema());
  CHECK(test::schema_violations(schema, diagnosis) == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("inputs that are no model give one clear line and exit 2", "[cli]") {
  const ScratchFolder folder;
  const std::string good = test::read_text(test::fixture("cli/hardtanh.tflite"));
  const std::string missing = folder.path("missing.tflite"), empty = folder.write("empty.tflite", "");
  const std::string truncated = folder.write("truncated.tflite", good.substr(0, good.size() / 3));
  const std::string picture =
      folder.write("picture.tflite", "\x89PNG\r\n\x1a\n----IHDR--------------------------------");
  for (const std::string command : {"check", "fix", "inspect"}) {
    INFO(command);
    check_refused(run_program({command, missing}), 2, {missing, "no such file"});
    check_refused(run_program({command, empty}), 2, {empty, "empty"});
    check_refused(run_program({command, truncated}), 2, {truncated});
    check_refused(run_program({command, picture}), 2, {picture, "PNG"});
  }
  check_refused(run_program({"fix", folder.path("")}), 2, {"directory"});
  std::filesystem::create_directory(folder.path("nothing"));
  check_refused(run_program({"check", folder.path("nothing")}), 2, {"nothing", "without model files"});
  check_refused(run_program({"inspect", folder.path("nothing")}), 2, {"nothing", "directory"});
  if (::getuid() != 0) {
    const std::string secret = folder.write("secret.tflite", good);
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    check_refused(run_program({"check", secret}), 2, {secret, "permission"});
  }
  CHECK(folder.files() ==
        std::vector<std::string>{"empty.tflite", "nothing", "picture.tflite", "truncated.tflite"});
}

TEST_CASE("every truncation of a model is refused or diagnosed, never a crash", "[cli]") {
  const ScratchFolder folder;
  const std::string good = test::read_text(test::fixture("cli/hardtanh.tflite"));
  for (std::size_t size = 0; size < good.size(); size += 41) {
    const ProgramResult result = run_program({"check", folder.write("cut.tflite", good.substr(0, size))});
    INFO(size << ": " << result.err);
    CHECK(result.exit_code <= 2);
  }
}

TEST_CASE("outputs that cannot be written are refused before any work", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  check_refused(run_program({"fix", model, "-o", folder.path("nowhere/out.tflite")}), 2,
                {"nowhere", "does not exist"});
  check_refused(run_program({"fix", model, "-o", model}), 2, {"is the input file"});
  std::filesystem::create_symlink(model, folder.path("link.tflite"));
  check_refused(run_program({"fix", model, "-o", folder.path("link.tflite")}), 2, {"is the input file"});
  std::filesystem::create_hard_link(model, folder.path("hard.tflite"));
  check_refused(run_program({"fix", model, "-o", folder.path("hard.tflite")}), 2, {"is the input file"});
  const std::string theirs = folder.write("theirs.tflite", "somebody's work");
  check_refused(run_program({"fix", model, "-o", theirs}), 2, {"--force"});
  CHECK(test::read_text(theirs) == "somebody's work");
  CHECK(run_program({"fix", model, "-o", theirs, "--force"}).exit_code == 0);
  CHECK(test::read_text(theirs) != "somebody's work");
  CHECK(test::read_text(model) == test::read_text(test::fixture("cli/hardtanh.tflite")));
  if (::getuid() != 0) {
    std::filesystem::create_directory(folder.path("locked"));
    std::filesystem::permissions(folder.path("locked"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    check_refused(run_program({"fix", model, "-o", folder.path("locked/out.tflite")}), 2, {"not writable"});
  }
}

TEST_CASE("the main job, run twice, works twice and gives the same bytes", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/repeat_kv.tflite", "model.tflite"),
                    log = folder.copy("cli/repeat_kv.log", "err.txt");
  const ProgramResult first = run_program({"fix", model, "--log", log});
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(folder.files() ==
        std::vector<std::string>{"err.txt", "model.diagnosis.json", "model.fixed.tflite", "model.tflite"});
  const std::string fixed = test::read_text(folder.path("model.fixed.tflite")),
                    diagnosis = test::read_text(folder.path("model.diagnosis.json"));
  const ProgramResult second = run_program({"fix", model, "--log", log});
  CHECK(second.exit_code == 0);
  CHECK(second.out == first.out);
  CHECK(test::read_text(folder.path("model.fixed.tflite")) == fixed);
  CHECK(test::read_text(folder.path("model.diagnosis.json")) == diagnosis);
  const auto json = nlohmann::json::parse(diagnosis);
  check_schema(json);
  CHECK(json["status"] == "fixed");
  CHECK(json["prediction"]["verdict"] == "refused");
  CHECK(json["prediction"]["verdict_after"] == "compiles");
  CHECK(json["unexplained"].empty());
  // What was written is healthy: nothing is left to find, and fixing it again changes nothing.
  const std::string again = folder.path("model.fixed.tflite");
  CHECK(run_program({"check", again, "--target", "litert-gpu@2.3.0"}).exit_code == 0);
  CHECK(run_program({"fix", again, "--target", "litert-gpu@2.3.0", "-o", folder.path("copy.tflite")})
            .exit_code == 0);
  CHECK(test::read_text(folder.path("copy.tflite")) == fixed);
}

TEST_CASE("a changed output is not ours any more", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "model.tflite");
  REQUIRE(run_program({"fix", model}).exit_code == 0);
  std::string bytes = test::read_text(folder.path("model.fixed.tflite"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder.write("model.fixed.tflite", bytes);
  check_refused(run_program({"fix", model}), 2, {"--force"});
  CHECK(test::read_text(folder.path("model.fixed.tflite")) == bytes);
}

TEST_CASE("a dry run writes nothing, and shows what would change", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "model.tflite");
  const ProgramResult result = run_program({"fix", model, "--dry-run", "--diff"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(folder.files() == std::vector<std::string>{"model.tflite"});
  CHECK(contains(result.out, "RELU_0_TO_1"));
  CHECK(contains(result.out, "\n+"));
}

TEST_CASE("nothing to fix: nothing is written, with -o an identical copy", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/clean.tflite", "model.tflite");
  CHECK(run_program({"fix", model}).exit_code == 0);
  CHECK(folder.files() == std::vector<std::string>{"model.tflite"});
  CHECK(run_program({"fix", model, "-o", folder.path("out.tflite")}).exit_code == 0);
  CHECK(test::read_text(folder.path("out.tflite")) == test::read_text(model));
  CHECK(run_program({"check", model}).exit_code == 0);
}

TEST_CASE("in place replaces the input and nothing else", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "model.tflite");
  CHECK(run_program({"fix", model, "--in-place"}).exit_code == 0);
  CHECK(folder.files() == std::vector<std::string>{"model.diagnosis.json", "model.tflite"});
  CHECK(test::read_text(model) != test::read_text(test::fixture("cli/hardtanh.tflite")));
  CHECK(run_program({"check", model}).exit_code == 0);
}

TEST_CASE("a log of another model is said to be one, and its lines stay open", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/clean.tflite", "model.tflite"),
                    log = folder.copy("cli/hardtanh.log", "err.txt");
  const ProgramResult result = run_program({"check", model, "--log", log, "--output-format", "json"});
  CHECK(result.exit_code == 1);
  const auto json = nlohmann::json::parse(result.out);
  check_schema(json);
  CHECK(contains(json["notes"].dump(), "another model"));
  CHECK_FALSE(json["unexplained"].empty());
  CHECK_FALSE(folder.has("model.fixed.tflite"));
}

TEST_CASE("a failure that no rule knows is listed, exit 1", "[cli]") {
  const ScratchFolder folder;
  const std::string log =
      folder.write("err.txt",
                   "ERROR: Following operations are not supported by GPU delegate:\n"
                   "FROBNICATE: Quux is not supported by the flux.\n"
                   "No operations will run on the GPU, and all 3 operations will run on the CPU.\n");
  const ProgramResult alone = run_program({"log", log});
  INFO(alone.out << alone.err);
  CHECK(alone.exit_code == 1);
  CHECK(contains(alone.out, "FROBNICATE: Quux"));
  CHECK(contains(alone.out, "not explained"));
  const ProgramResult fix = run_program({"fix", "--log", log, "--output-format", "json"});
  CHECK(fix.exit_code == 1);
  check_schema(nlohmann::json::parse(fix.out));
  CHECK(nlohmann::json::parse(fix.out)["unexplained"].size() == 1);
}

TEST_CASE("a log alone gives the rule's advice", "[cli]") {
  const std::string log = test::fixture("cli/hardtanh.log");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"log", log}, {"fix", "--log", log}}) {
    const ProgramResult result = run_program(words);
    CHECK(result.exit_code == 1);
    CHECK(contains(result.out, "LRT015"));
  }
  const ProgramResult piped = run_program({"log", "-"}, test::read_text(log));
  CHECK(piped.exit_code == 1);
  CHECK(contains(piped.out, "LRT015"));
  check_refused(run_program({"log", "-"}), 2, {"empty"});
}

TEST_CASE("several models: all are processed, the worst code counts", "[cli]") {
  const ScratchFolder folder;
  const std::string clean = folder.copy("cli/clean.tflite", "a.tflite"),
                    bad = folder.copy("cli/hardtanh.tflite", "b.tflite");
  CHECK(run_program({"check", clean, bad}).exit_code == 1);
  CHECK(run_program({"check", folder.path("")}).exit_code == 1);
  const ProgramResult mixed =
      run_program({"check", clean, folder.path("c.tflite"), bad, "--output-format", "jsonl"});
  CHECK(mixed.exit_code == 2);
  CHECK(std::count(mixed.out.begin(), mixed.out.end(), '\n') == 3);
  const ProgramResult one_by_one =
      run_program({"check", folder.path(""), "--jobs", "1", "--output-format", "json"});
  CHECK(one_by_one.out ==
        run_program({"check", folder.path(""), "--jobs", "4", "--output-format", "json"}).out);
  check_schema(nlohmann::json::parse(one_by_one.out));
}

TEST_CASE("mistyped words get the nearest right one", "[cli]") {
  check_refused(run_program({"chekc", "x"}), 2, {"check"});
  check_refused(run_program({"check", "x", "--tagret", "y"}), 2, {"--target"});
  check_refused(run_program({"explain", "LRT01S"}), 2, {"did you mean", "LRT01"});
  check_refused(run_program({"check", test::fixture("cli/clean.tflite"), "--select", "LRT01S"}), 2,
                {"did you mean", "LRT01"});
  check_refused(run_program({"check", test::fixture("cli/clean.tflite"), "--target", "litert-gpo"}), 2,
                {"litert-gpu"});
  check_refused(run_program({"check", test::fixture("cli/clean.tflite"), "--output-format", "jsno"}), 2,
                {"json"});
  check_refused(run_program({"check", test::fixture("cli/clean.tflite"), "--fail-on", "bad"}), 2, {"fatal"});
  check_refused(run_program({test::fixture("cli/clean.tflite")}), 2, {"modeldoctor check"});
}

TEST_CASE("reports, baselines and the report command", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  const ProgramResult run =
      run_program({"check", model, "--report",
                   "json=" + folder.path("a.json") + ",sarif=" + folder.path("b.sarif"), "-q"});
  CHECK(run.exit_code == 1);
  CHECK(run.out.empty());
  check_schema(json_file(folder.path("a.json")));
  CHECK(json_file(folder.path("b.sarif"))["version"] == "2.1.0");
  CHECK(run_program({"check", model, "--baseline", folder.path("a.json")}).exit_code == 0);
  CHECK(run_program({"report", folder.path("a.json"), "--html", folder.path("a.html")}).exit_code == 0);
  CHECK(contains(test::read_text(folder.path("a.html")), "LRT015"));
  check_refused(run_program({"check", model, "--report", "json=" + model}), 2, {"input file"});
  check_refused(run_program({"report", model}), 2, {"not JSON"});
}

TEST_CASE("options may stand before the model, and be repeated", "[cli]") {
  const std::string model = test::fixture("cli/repeat_kv.tflite"), log = test::fixture("cli/repeat_kv.log");
  CHECK(run_program({"check", "--target", "litert-gpu@2.3.0", model}).exit_code == 1);
  CHECK(run_program({"fix", "--dry-run", "--log", log, model}).exit_code == 0);
  CHECK(run_program({"fix", "--dry-run", "--log", log, "--log", log, model}).exit_code == 0);
  CHECK(run_program({"check", "--ignore", "LRT012", model}).exit_code == 1);
  CHECK(run_program({"check", "--ignore", "LRT012", "--ignore", "LRT006", model}).exit_code == 0);
  CHECK(run_program({"check", "--ignore", "LRT012,LRT006", model}).exit_code == 0);
  const std::string hardtanh = test::fixture("cli/hardtanh.tflite");
  CHECK(run_program({"check", "--ignore", "LRT001", "--ignore", "LRT015", hardtanh}).exit_code == 0);
  CHECK(run_program({"check", "--ignore", "LRT001,LRT015", hardtanh}).exit_code == 0);
  CHECK(run_program({"check", hardtanh, "--ignore", "LRT015"}).exit_code == 0);
}

TEST_CASE("rules can be left out, and what they explain is then not counted", "[cli]") {
  const std::string model = test::fixture("cli/hardtanh.tflite");
  CHECK(run_program({"check", model, "--ignore", "LRT015"}).exit_code == 0);
  CHECK(run_program({"check", model, "--select", "LRT015"}).exit_code == 1);
  CHECK(run_program({"check", model, "--select", "LRT001"}).exit_code == 0);
  CHECK(run_program({"check", model, "--fail-on", "never"}).exit_code == 0);
}

TEST_CASE("the nearest modeldoctor.toml gives defaults, the command line wins", "[cli]") {
  const ScratchFolder folder;
  const std::string model = test::fixture("cli/hardtanh.tflite");
  const std::string config =
      folder.write("modeldoctor.toml", "ignore = [\"LRT015\"]\n[fix]\ndry-run = true\n");
  CHECK(run_program({"check", model, "--config", config}).exit_code == 0);
  CHECK(run_program({"check", model, "--config", config, "--ignore", "LRT001"}).exit_code == 1);
  const std::string wrong = folder.write("wrong.toml", "ignroe = [\"LRT015\"]\n");
  check_refused(run_program({"check", model, "--config", wrong}), 2, {wrong, "ignore"});
}

TEST_CASE("the schemas that the program carries fit what it reads", "[cli]") {
  const auto rule = nlohmann::json::parse(run_program({"schema", "rule"}).out);
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() + "/rules")) {
    const std::string page = entry.path().extension() == ".md" ? test::read_text(entry.path().string()) : "";
    const std::size_t begin = page.find("```json rule\n");
    if (begin == std::string::npos || entry.path().filename() == "README.md") continue;
    const std::size_t first = page.find('\n', begin) + 1;
    const auto block = nlohmann::json::parse(page.substr(first, page.find("\n```", first) - first));
    INFO(entry.path().string());
    CHECK(test::schema_violations(rule, block) == std::vector<std::string>{});
    ++pages;
  }
  CHECK(pages > 100);
  CHECK_FALSE(
      test::schema_violations(rule, {{"id", "X1"}, {"severity", "bad"}, {"references", {"a"}}}).empty());
  const auto config = nlohmann::json::parse(run_program({"schema", "config"}).out);
  const auto violations = [&](const char* text) {
    return test::schema_violations(config, nlohmann::json::parse(text)).size();
  };
  CHECK(
      violations(
          R"({"ignore": ["LRT015"], "target": "litert-gpu@2.3.0", "fix": {"dry-run": true, "samples": 4}})") ==
      0);
  CHECK(violations(R"({"ignroe": ["LRT015"]})") == 1);
  CHECK(violations(R"({"fix": {"dry-run": "yes"}})") == 1);
  check_refused(run_program({"schema", "rules"}), 2, {"diagnosis, baseline, rule or config"});
}

TEST_CASE("the size of an input that may change is fixed on request", "[cli]") {
  const ScratchFolder folder;
  test::Recipe recipe;
  recipe.dynamic_batch = true;
  const std::string model = folder.write("m.tflite", test::make_tflite(recipe)),
                    out = folder.path("out.tflite");
  check_refused(run_program({"fix", model, "--shape", "x=3,5"}), 2, {"x=3,5", "dimension 1 is fixed"});
  check_refused(run_program({"fix", model, "--shape", "x=3,"}), 2, {"x=3,", "NAME=1,1280"});
  check_refused(run_program({"fix", model, "--shape", "3,4"}), 2, {"NAME=1,1280"});
  const ProgramResult run = run_program({"fix", model, "--shape", "x=3,4", "-o", out});
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  const ProgramResult seen = run_program({"inspect", out, "--output-format", "json"});
  INFO(seen.out);
  CHECK(contains(seen.out, "3"));
  CHECK_FALSE(contains(seen.out, " -1"));
  CHECK(contains(run_program({"inspect", model, "--output-format", "json"}).out, "-1"));
}

TEST_CASE("what is known of the inputs decides about fp16", "[cli]") {
  const std::string model = test::fixture("evaluator/rms-norm-large.tflite"),
                    inputs = test::fixture("evaluator/rms-norm-large.npz");
  const auto by_pattern = run_program({"check", model}),
             by_inputs = run_program({"check", "--inputs", inputs, model});
  CHECK(by_pattern.exit_code == 0);
  CHECK(by_inputs.exit_code == 1);
  CHECK(by_inputs.out.find("with 1 given sample") != std::string::npos);
  CHECK(by_inputs.out.find("the outputs are all zero") != std::string::npos);
  CHECK(run_program({"check", model, "--range", "args_0=-2000:2000"}).exit_code == 1);
  CHECK(run_program({"check", model, "--range", "args_0=-2:2"}).exit_code == 0);
  check_refused(run_program({"check", model, "--range", "arg_0=0:1"}), 2,
                {"--range", "did you mean \"args_0\""});
  check_refused(run_program({"check", model, "--range", "args_0=many"}), 2, {"--range", "NAME=LO:HI"});
  const ScratchFolder folder;
  const auto fixed = run_program({"fix", model, "--inputs", inputs, "-o", folder.path("fixed.tflite")});
  CHECK(fixed.exit_code == 0);
  CHECK(fixed.out.find(
            "in fp16, simulated on 1 given sample: the outputs are all zero before, the outputs are 0.00") !=
        std::string::npos);
}

TEST_CASE("older runtimes have other faults", "[cli]") {
  const std::string model = test::fixture("cli/hardtanh.tflite");
  CHECK(run_program({"check", model, "--target", "litert-gpu@2.1.3"}).exit_code == 0);
  CHECK(run_program({"check", model, "--target", "litert-gpu@2.1.5"}).exit_code == 1);
  CHECK(run_program({"check", "--target", "litert-gpu@2.1.3", "--select", "LRT", model}).exit_code == 0);
  CHECK(run_program({"check", model, "--target", "litert-gpu@2.1.3", "--target", "litert-gpu@2.3.0"})
            .exit_code == 1);
}

TEST_CASE("inspect and diff read any model", "[cli]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  CHECK(contains(run_program({"inspect", model, "-v"}).out, "RELU_0_TO_1"));
  const auto json = nlohmann::json::parse(run_program({"inspect", model, "--output-format", "json"}).out);
  CHECK(json["operators"]["RELU_0_TO_1"] == 1);
  CHECK(run_program({"diff", model, model}).exit_code == 0);
  REQUIRE(run_program({"fix", model}).exit_code == 0);
  const ProgramResult diff = run_program({"diff", model, folder.path("m.fixed.tflite")});
  CHECK(diff.exit_code == 1);
  CHECK(contains(diff.out, "MINIMUM"));
}

}  // namespace md

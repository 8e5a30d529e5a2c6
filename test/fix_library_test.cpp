// `fix` and `check` as calls: what the program does, a program that links lib/ does too.
#include "lib/fix/fix.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "lib/fix/baseline_files.h"
#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/tflite_models.h"

namespace md {
namespace {

using test::run_program;
using test::ScratchFolder;

const RuleBook& book() {
  static const RuleBook rules = *RuleBook::load();
  return rules;
}

std::string as_json(const Diagnosis& run) { return render(std::span(&run, 1), ReportFormat::json); }

/// A captured case, copied: model and log, with the options that its folder asks for.
struct Case {
  ScratchFolder folder;
  std::string model, log;
  FixRequest request;
  std::vector<std::string> options;  ///< the same for the command line

  explicit Case(const std::string& fixture) {
    namespace fs = std::filesystem;
    request.rules = &book();
    for (const auto& file : fs::directory_iterator(test::fixture(fixture))) {
      const std::string name = file.path().filename().string();
      if (file.path().stem() == "before") model = folder.copy(fixture + "/" + name, name);
      if (name == "compile.log") log = folder.copy(fixture + "/" + name, "err.txt");
      if (name == "unsafe") request.options.unsafe_fixes = true;
    }
    request.source.path = model;
    if (log.empty()) return;
    request.source.logs = *read_logs({log});
    options.insert(options.end(), {"--log", log});
  }

  /// What the program prints and its exit code.
  test::ProgramResult program(const std::string& command, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {command, "--output-format", "json"};
    if (!model.empty()) words.push_back(model);
    if (command == "fix" && request.options.unsafe_fixes) words.emplace_back("--unsafe-fixes");
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
};

// One of each: a log and a table, unsafe fixes, an exported program, a lowered one that cannot be written, a
// silent fault, a fault without a fix.
const std::vector<std::string> kCases = {"LRT012-broadcast-to-runtime",      "LRT006-rank-over-4",
                                         "ETX001-aoti-missing-scatter-shim", "ETX009-coreml-bfloat16",
                                         "ETX101-missing-portable-kernel",   "F16004-rms-norm-overflow",
                                         "LRT004-gather-nd-runtime-index"};

}  // namespace

TEST_CASE("fix() writes and reports what the program does, byte for byte", "[fix]") {
  for (const std::string& name : kCases) DYNAMIC_SECTION(name) {
      Case one(name);
      const test::ProgramResult program = one.program("fix");
      INFO(program.err);
      std::map<std::string, std::string> written;
      for (const std::string& file : one.folder.files())
        written[file] = test::read_text(one.folder.path(file));
      REQUIRE(written.size() >= 2);
      for (const auto& [file, text] : written)
        if (file.find("diagnosis") != std::string::npos || file.find("fixed") != std::string::npos)
          std::filesystem::remove(one.folder.path(file));

      const auto outcome = fix(one.request);
      INFO((outcome ? std::string() : outcome.error().message));
      REQUIRE(outcome);
      CHECK(as_json(outcome->diagnosis) == program.out);
      CHECK(outcome->diagnosis.exit_code == program.exit_code);
      for (const std::string& file : one.folder.files())
        CHECK(test::read_text(one.folder.path(file)) == written[file]);
      CHECK(one.folder.files().size() == written.size());
    }
}

TEST_CASE("check() reports what the program does and writes nothing", "[fix]") {
  for (const std::string& name : kCases) DYNAMIC_SECTION(name) {
      Case one(name);
      one.request.options.unsafe_fixes = false;  // no option of check
      const auto before = one.folder.files();
      const auto outcome = check(one.request);
      REQUIRE(outcome);
      CHECK(as_json(outcome->diagnosis) == one.program("check").out);
      CHECK_FALSE(outcome->edited);
      CHECK(one.folder.files() == before);
    }
}

TEST_CASE("logs alone give the program's advice", "[fix]") {
  Case one("LRT012-broadcast-to-runtime");
  one.model.clear(), one.request.source.path.clear();
  const auto outcome = fix(one.request);
  REQUIRE(outcome);
  CHECK(as_json(outcome->diagnosis) == one.program("fix").out);
  CHECK_FALSE(outcome->document);
  one.request.command = "log";
  const auto read = check(one.request);
  REQUIRE(read);
  CHECK(as_json(read->diagnosis) == run_program({"log", one.log, "--output-format", "json"}).out);
}

TEST_CASE("a dry run gives the edited model and leaves the folder alone", "[fix]") {
  Case one("LRT012-broadcast-to-runtime");
  const auto before = one.folder.files();
  one.request.output.dry_run = true;
  const auto outcome = fix(one.request);
  REQUIRE(outcome);
  CHECK(as_json(outcome->diagnosis) == one.program("fix", {"--dry-run"}).out);
  CHECK(one.folder.files() == before);
  REQUIRE(outcome->edited);
  CHECK(outcome->diagnosis.fixed > 0);
  CHECK(outcome->diagnosis.verification);
  CHECK(outcome->diagnosis.prediction->after_verdict == Verdict::compiles);
  MemorySink sink;
  REQUIRE(outcome->document->write(*outcome->edited, sink));
  CHECK_FALSE(sink.bytes.empty());
}

TEST_CASE("a document that is open already needs only a name for its output", "[fix]") {
  Case one("LRT012-broadcast-to-runtime");
  auto document = open_document(one.model);
  REQUIRE(document);
  one.request.source.document = std::move(*document);
  one.request.source.path.clear();
  const auto nameless = fix(one.request);
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().kind == Error::Kind::usage);
  one.request.output.path = one.folder.path("out.tflite");
  const auto outcome = fix(one.request);
  REQUIRE(outcome);
  CHECK(outcome->diagnosis.output->path == one.folder.path("out.tflite"));
  CHECK(one.folder.has("out.tflite"));
  CHECK(one.folder.has("out.diagnosis.json"));
}

TEST_CASE("what keeps a run from its diagnosis is an error that names the file", "[fix]") {
  Case one("LRT012-broadcast-to-runtime");
  const auto refused = [&](const std::string& part) {
    const auto before = one.folder.files();
    const auto outcome = fix(one.request);
    REQUIRE_FALSE(outcome);
    INFO(outcome.error().message);
    CHECK(outcome.error().message.find(part) != std::string::npos);
    CHECK(outcome.error().message.find(one.request.source.path) != std::string::npos);
    CHECK(one.folder.files() == before);
    return outcome.error();
  };
  const FixRequest good = one.request;
  one.request.cuts = {"no such value"};
  refused("no such value");
  one.request = good;
  one.request.ranges = {{.name = "imgae", .low = 0, .high = 255}};
  refused("imgae=0:255");
  one.request = good;
  one.request.input_files = {one.folder.path("no.npz")};
  refused("no.npz");
  one.request = good;
  one.request.targets = {"litert-gpu@x"};
  refused("litert-gpu@x");
  one.request = good;
  one.request.command = "fix";
  one.request.source.path = one.folder.path("missing.tflite");
  const Error error = refused("missing.tflite");
  one.model = one.request.source.path;
  const test::ProgramResult program = one.program("fix");
  CHECK(as_json(failed_run(one.request, error)) == program.out);
  CHECK(exit_code(error) == program.exit_code);
}

TEST_CASE("sizes, cuts and values are typed", "[fix]") {
  const ScratchFolder folder;
  test::Recipe recipe;
  recipe.dynamic_batch = true;
  FixRequest request;
  request.rules = &book();
  request.source.path = folder.write("m.tflite", test::make_tflite(recipe));
  request.output.path = folder.path("out.tflite");
  request.shapes = {{.input = "x", .shape = {3, 4}}};
  request.ranges = {{.name = "x", .low = -1, .high = 1}};
  const auto outcome = fix(request);
  INFO((outcome ? std::string() : outcome.error().message));
  REQUIRE(outcome);
  REQUIRE(outcome->start);
  const auto written = open_document(request.output.path);
  REQUIRE(written);
  const Graph& graph = (*written)->model().graphs[0];
  CHECK(graph.value(graph.inputs[0]).shape == Shape{3, 4});
  const auto noted = std::any_of(
      outcome->diagnosis.notes.begin(), outcome->diagnosis.notes.end(), [](const std::string& note) {
        return note == "for the input sizes x=3,4: every shape behind them is fixed";
      });
  CHECK(noted);
}

TEST_CASE("a baseline accepts in a call what it accepts in the program", "[fix]") {
  Case one("LRT012-broadcast-to-runtime");
  const std::string baseline = one.folder.path("baseline.json");
  REQUIRE(one.program("check", {"--write-baseline", baseline}).exit_code == 0);
  auto files = BaselineFiles::open({.accepted = baseline, .written = "", .strict = true, .prune = false},
                                   book(), one.request.options);
  REQUIRE(files);
  one.request.accepting = files->accepting();
  one.request.repeated_options = {"--baseline", baseline};
  auto outcome = check(one.request);
  REQUIRE(outcome);
  CHECK(outcome->diagnosis.status == RunStatus::accepted);
  CHECK_FALSE(outcome->baseline.used.empty());
  CHECK(as_json(outcome->diagnosis) ==
        one.program("check", {"--baseline", baseline, "--strict-baseline"}).out);
  const std::vector<JudgedRun> runs = {
      {.diagnosis = &outcome->diagnosis, .fail_on = one.request.options.fail_on, .use = outcome->baseline}};
  CHECK(files->finish(runs));
}

TEST_CASE("calls in several threads do not meet", "[fix]") {
  const Case one("LRT012-broadcast-to-runtime"), other("ETX009-coreml-bfloat16");
  const auto first = check(one.request), second = check(other.request);
  REQUIRE((first && second));
  std::string a, b;
  std::thread thread([&] { a = as_json(check(one.request)->diagnosis); });
  b = as_json(check(other.request)->diagnosis);
  thread.join();
  CHECK(a == as_json(first->diagnosis));
  CHECK(b == as_json(second->diagnosis));
}

}  // namespace md

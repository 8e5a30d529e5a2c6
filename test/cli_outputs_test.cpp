// What a run may write over: nothing that it reads, nothing of somebody else's, nothing twice. And what it
// says when it cannot.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/fix/output.h"
#include "lib/fix/run_files.h"
#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"
#include "test/run_program.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::run_program_after;
using test::ScratchFolder;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Exit 2 with one line on standard error that holds all parts, nothing on standard output.
void check_refused(const ProgramResult& result, const std::vector<std::string>& parts) {
  INFO("stdout: " << result.out << "\nstderr: " << result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& part : parts) CHECK(contains(result.err, part));
}

nlohmann::json parsed(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

/// A folder with a model, its log, arrays, a baseline, a configuration and a rule page.
struct Desk {
  ScratchFolder folder;
  std::string model = folder.copy("cli/repeat_kv.tflite", "m.tflite"),
              log = folder.copy("cli/repeat_kv.log", "err.txt"),
              arrays = folder.copy("evaluator/rms-norm-large.npz", "x.npz"), baseline = folder.path("b.json"),
              config = folder.write("c.toml", "ignore = [\"F16003\"]\n"), rules = folder.path("rules"),
              page = folder.path("rules/LRT015.md");
  Desk() {
    std::filesystem::create_directory(rules);
    folder.copy("cli/hardtanh.log", "rules/LRT015.md");  // it is named before it is read
    REQUIRE(run_program({"check", model, "--report", "json=" + baseline, "-q"}).exit_code == 1);
  }
};

const std::vector<std::string> kEveryFormat = report_format_names();

}  // namespace

TEST_CASE("a report never replaces what the run reads or writes", "[cli][outputs]") {
  const Desk desk;
  const std::vector<std::string> options = {"--log",       desk.log,   "--inputs",  desk.arrays, "--baseline",
                                            desk.baseline, "--config", desk.config, "--rules",   desk.rules};
  std::filesystem::create_symlink(desk.log, desk.folder.path("link"));
  std::filesystem::create_hard_link(desk.model, desk.folder.path("hard"));
  const std::vector<std::string> before = desk.folder.files();
  for (const std::string& input :
       {desk.model, desk.log, desk.arrays, desk.baseline, desk.config, desk.page, desk.folder.path("link"),
        desk.folder.path("hard"), desk.folder.path("./rules/../err.txt")}) {
    const std::string old = test::read_text(input);
    for (const std::string command : {"check", "fix"})
      for (const std::string force : {"--force", "-q"}) {
        INFO(command << " " << input << " " << force);
        std::vector<std::string> words = {command, desk.model, "--report", "html=" + input, force};
        words.insert(words.end(), options.begin(), options.end());
        check_refused(run_program(words), {input, "is an input file"});
      }
    CHECK(test::read_text(input) == old);
  }
  for (const std::string output : {"m.fixed.tflite", "m.diagnosis.json", "rules/../m.fixed.tflite"})
    check_refused(run_program({"fix", desk.model, "--report", "json=" + desk.folder.path(output)}),
                  {output, "would be one file"});
  check_refused(run_program({"log", desk.log, "--report", "json=" + desk.log}), {"is an input file"});
  CHECK(desk.folder.files() == before);
}

TEST_CASE("a model is never written over what the run reads", "[cli][outputs]") {
  const Desk desk;
  for (const std::string& input : {desk.log, desk.arrays, desk.baseline, desk.config}) {
    const std::string old = test::read_text(input);
    check_refused(run_program({"fix", desk.model, "--log", desk.log, "--inputs", desk.arrays, "--baseline",
                               desk.baseline, "--config", desk.config, "-o", input, "--force"}),
                  {input, "is an input file"});
    CHECK(test::read_text(input) == old);
    check_refused(
        run_program({"tap", desk.model, "--at", "0", "-o", desk.config, "--config", desk.config, "--force"}),
        {desk.config, "is an input file"});
  }
  // The diagnosis of `-o b.tflite` is b.diagnosis.json, here a log.
  const std::string log = desk.folder.copy("cli/repeat_kv.log", "b.diagnosis.json");
  check_refused(run_program({"fix", desk.model, "--log", log, "-o", desk.folder.path("b.tflite"), "--force"}),
                {log, "is an input file"});
}

TEST_CASE("no path is written twice in one run", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite"),
                    other = folder.copy("cli/hardtanh.tflite", "m.pt2");
  const std::string report = folder.path("r.json");
  check_refused(run_program({"check", model, "--report", "json=" + report + ",sarif=" + report}),
                {"would be one file"});
  check_refused(
      run_program({"check", model, "--report", "json=" + report + ",sarif=" + folder.path("./r.json")}),
      {"would be one file"});
  check_refused(
      run_program_after("cd " + folder.path(""), {"check", model, "--report", "json=r.json,sarif=./r.json"}),
      {"would be one file"});
  check_refused(run_program({"fix", model, model}), {"would be one file"});
  check_refused(run_program({"fix", model, other}), {"m.diagnosis.json", "would be one file"});
  REQUIRE(run_program({"fix", model}).exit_code == 0);
  check_refused(run_program({"fix", model, folder.path("m.fixed.tflite")}), {"m.fixed.tflite", "input file"});
  CHECK(run_program({"check", model, model}).exit_code == 1);
  CHECK_FALSE(folder.has("r.json"));
}

TEST_CASE("a report replaces reports of ours and nothing else", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  const std::string theirs[] = {folder.write("notes.txt", "somebody's notes\n"),
                                folder.write("theirs.json", R"({"tool": {"name": "other"}, "runs": []})"),
                                folder.write("page.html", "<!doctype html>\n<p>modeldoctor</p>\n"),
                                folder.write("empty", "")};
  for (const std::string& file : theirs)
    for (const std::string& format : kEveryFormat) {
      INFO(file << " " << format);
      const std::string old = test::read_text(file);
      check_refused(run_program({"check", model, "--report", format + "=" + file}), {file, "--force"});
      CHECK(test::read_text(file) == old);
    }
  for (const std::string& format : kEveryFormat) {
    INFO(format);
    const std::string report = folder.path("r." + format);
    for (int i = 0; i < 2; ++i)
      CHECK(run_program({"check", model, "-q", "--report", format + "=" + report}).exit_code == 1);
    CHECK(is_our_report(test::read_text(report)));
    // A report of ours in another format is ours too, also with several runs in it.
    CHECK(run_program({"check", model, model, "-q", "--report", format + "=" + report}).exit_code == 1);
    CHECK(run_program({"check", model, "-q", "--report", "html=" + report}).exit_code == 1);
  }
  CHECK(run_program({"check", model, "-q", "--report", "html=" + theirs[0], "--force"}).exit_code == 1);
  CHECK(is_our_report(test::read_text(theirs[0])));
  const std::string diagnosis = folder.path("d.json");
  REQUIRE(run_program({"check", model, "-q", "--report", "json=" + diagnosis}).exit_code == 1);
  check_refused(run_program({"report", diagnosis, "--html", diagnosis}), {"is an input file"});
  check_refused(run_program({"report", diagnosis, "--html", theirs[1]}), {"--force"});
  CHECK(run_program({"report", diagnosis, "--html", folder.path("d.html")}).exit_code == 0);
  CHECK(run_program({"report", diagnosis, "--html", folder.path("d.html")}).exit_code == 0);
  CHECK(run_program({"report", diagnosis, "--html", theirs[1], "--force"}).exit_code == 0);
  check_refused(run_program({"check", model, "--report", "json=" + folder.path("no/r.json")}),
                {"does not exist"});
}

TEST_CASE("a dash is standard output for a report, and people read standard error", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  const ProgramResult run = run_program({"check", model, "--report", "json=-"});
  CHECK(run.exit_code == 1);
  CHECK(parsed(run.out)["status"] == "findings");
  CHECK(contains(run.err, "LRT015"));
  CHECK(run_program({"check", model, "--report", "sarif=-", "-q"}).err.empty());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"fix", model, "-o", "-"}, {"tap", model, "--at", "0", "-o", "-"}})
    check_refused(run_program(words), {"-o -", "name of a file"});
  check_refused(run_program({"check", model, "--report", "json=-,sarif=-"}), {"standard output"});
  check_refused(run_program({"check", model, "--report", "json=-", "--output-format", "sarif"}),
                {"standard output"});
  CHECK(folder.files() == std::vector<std::string>{"m.tflite"});
}

TEST_CASE("a log may come through a pipe", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string pipe = folder.path("pipe"), log = test::fixture("cli/hardtanh.log");
  const ProgramResult run = run_program_after("mkfifo " + pipe + " && cat " + log + " > " + pipe +
                                                  " &\nwhile [ ! -p " + pipe + " ]; do sleep 0.01; done",
                                              {"log", pipe});
  INFO(run.err);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "LRT015"));
}

TEST_CASE("a target that cannot read the file is bad usage", "[cli][outputs]") {
  const std::string model = test::fixture("cli/hardtanh.tflite");
  for (const std::string target :
       {"onnxruntime", "executorch", "executorch-xnnpack", "torch-tensorrt", "litert-torch@0.9.0"})
    check_refused(run_program({"check", model, "--target", target}),
                  {model, target.substr(0, target.find('@')), ".tflite", "litert-gpu"});
  check_refused(run_program({"check", model, "--target", "litert-gpu", "--target", "executorch"}),
                {"executorch", ".tflite"});
  check_refused(run_program({"check", test::fixture("LTC001-amax-no-layout-rewriter/before.pt2"), "--target",
                             "litert-gpu"}),
                {"litert-gpu", ".pt2", "executorch"});
}

TEST_CASE("a log of a runtime that cannot read the file does not choose the target", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string log = folder.copy("LTC002-fft-no-lowering/compile.log", "err.txt");
  const ProgramResult run = run_program({"check", test::fixture("cli/hardtanh.tflite"), "--log", log});
  INFO(run.out);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "for litert-gpu"));
  CHECK(contains(run.out, "litert-torch, which does not read .tflite"));
  CHECK(contains(run.out, "LRT015"));
}

TEST_CASE("one broken model among several", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string clean = folder.copy("cli/clean.tflite", "a.tflite"),
                    broken = folder.write("b.tflite", "no model"),
                    bad = folder.copy("cli/hardtanh.tflite", "c.tflite");
  const auto run = [&](const std::string& format) {
    const ProgramResult result = run_program({"check", clean, broken, bad, "--output-format", format});
    INFO(format);
    CHECK(result.exit_code == 2);
    return result.out;
  };
  const std::string totals = "3 models: 1 clean, 1 with findings (1 will not compile), 1 failed\n";
  CHECK(run("text").ends_with(totals));
  CHECK(run("concise").ends_with(totals));
  CHECK(contains(run("concise"), clean + ": clean\n"));
  CHECK(contains(run("concise"), bad + ":s0/"));
  const auto json = parsed(run("json"));
  CHECK(json["runs"][1]["model"]["path"] == broken);
  CHECK(test::schema_violations(nlohmann::json::parse(diagnosis_schema()), json["runs"][1]) ==
        std::vector<std::string>{});
  CHECK(contains(run("github"), ",file=" + broken + "::"));
  CHECK(contains(run("junit"), "<testsuite name=\"" + broken + "\""));
  const auto sarif = parsed(run("sarif"));
  CHECK(contains(sarif["runs"][1]["invocations"].dump(), "\"uri\":\"" + broken + "\""));
  CHECK(contains(run("markdown"), "## " + broken));
  CHECK(contains(run("html"), "<h2>" + broken + "</h2>"));
  const ProgramResult fixed = run_program({"fix", clean, broken, bad, "--output-format", "concise"});
  CHECK(fixed.exit_code == 2);
  CHECK(fixed.out.ends_with("3 models: 1 clean, 1 fixed, 1 failed\n"));
  CHECK(folder.has("c.fixed.tflite"));
}

TEST_CASE("a standard output that takes nothing is exit 4 with a reason", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"check", model},
                                                {"explain", "LRT015"},
                                                {"rules"},
                                                {"--help"},
                                                {"explain", "RELU_0_TO_1: Not supported op RELU_0_TO_1"},
                                                {"inspect", model},
                                                {"schema"}}) {
    INFO(words.front());
    const ProgramResult full = run_program_after("exec > /dev/full", words);
    CHECK(full.exit_code == 4);
    CHECK(contains(full.err, "standard output: the disk is full"));
    const ProgramResult closed = run_program_after("exec >&-", words);
    CHECK(closed.exit_code == 4);
    CHECK(contains(closed.err, "standard output: is closed"));
  }
  // The number of a closed stream must not become an output file's.
  CHECK(run_program_after("exec >&- 2>&- <&-", {"fix", model}).exit_code == 4);
  CHECK(run_program({"verify", model, folder.path("m.fixed.tflite")}).exit_code == 0);
  CHECK(parsed(test::read_text(folder.path("m.diagnosis.json")))["status"] == "fixed");
}

TEST_CASE("a link that leads nowhere is not replaced", "[cli][outputs]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite"), link = folder.path("l.tflite");
  std::filesystem::create_symlink("nothing", link);
  for (const std::string force : {"--force", "-q"}) {
    check_refused(run_program({"fix", model, "-o", link, force}), {link, "leads to no file"});
    check_refused(run_program({"check", model, "--report", "json=" + link, force}), {"leads to no file"});
    check_refused(run_program({"tap", model, "--at", "0", "-o", link, "--force"}), {"leads to no file"});
  }
  CHECK(std::filesystem::is_symlink(link));
  CHECK(folder.files() == std::vector<std::string>{"l.tflite", "m.tflite"});
}

TEST_CASE("a missing TMPDIR is one clear line", "[cli][outputs]") {
  const std::string model = test::fixture("cli/hardtanh.tflite");
  const ProgramResult run =
      run_program_after("export TMPDIR=/no/such/folder", {"verify", model, "--runner", "true"});
  INFO(run.out << run.err);
  CHECK(run.exit_code == 2);
  CHECK(contains(run.out + run.err, "TMPDIR=/no/such/folder"));
  CHECK_FALSE(contains(run.err, "internal"));
}

TEST_CASE("files that belong together: which were replaced is said", "[outputs]") {
  const ScratchFolder folder;
  const std::string first = folder.write("first", "old"), second = folder.path("second");
  StagedFiles files;
  REQUIRE(files.add_text(first, "new"));
  REQUIRE(files.add_text(second, "new"));
  CHECK(test::read_text(first) == "old");
  std::filesystem::create_directory(second);  // a rename onto it fails
  folder.write("second/x", "");
  const Status status = files.commit();
  REQUIRE_FALSE(status);
  CHECK(status.error().message.starts_with(second + ": "));
  CHECK(contains(status.error().message, first + " was written"));
  CHECK_FALSE(contains(status.error().message, "nothing"));
  CHECK(test::read_text(first) == "new");
}

TEST_CASE("what a killed run left is removed, what a running one writes is not", "[outputs]") {
  const ScratchFolder folder;
  const std::string out = folder.path("o.tflite");
  // No process has this number: it is above the largest that the kernel gives.
  const std::string left = folder.write("o.tflite.4194305.abc123.part", "x");
  const std::string kept[] = {
      folder.write("o.tflite." + std::to_string(::getpid()) + ".abc123.part", "x"),
      folder.write("p.tflite.4194305.abc123.part", "x"), folder.write("o.tflite.4194305.abc12.part", "x"),
      folder.write("o.tflite.notes.part", "x"), folder.write("o.tflite.4194305.abc123.part.txt", "x")};
  REQUIRE(write_text(out, "text"));
  CHECK_FALSE(std::filesystem::exists(left));
  for (const std::string& file : kept) CHECK(std::filesystem::exists(file));
}

TEST_CASE("paths that do not exist yet are compared too", "[outputs]") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("real"));
  std::filesystem::create_directory_symlink("real", folder.path("link"));
  RunFiles files;
  files.writes(folder.path("real/out"), "one");
  CHECK(files.check());
  files.writes("-", "standard output"), files.writes("-", "standard output");
  CHECK(files.check());
  files.writes(folder.path("link/../link/./out"), "other");
  REQUIRE_FALSE(files.check());
  CHECK(files.check().error().kind == Error::Kind::usage);
}

}  // namespace md

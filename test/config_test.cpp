// modeldoctor.toml: which file holds, what it may say, and errors that name file, line and the nearest word.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/program_version.h"
#include "lib/config/config_file.h"
#include "lib/config/glob.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/json_schema.h"
#include "test/paths.h"
#include "test/run_program.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;
using Json = nlohmann::json;

/// Runs in `folder`; the user's own configuration is the one below `user`.
ProgramResult run_in(const std::string& folder, const std::vector<std::string>& words,
                     const std::string& user = "/nonexistent") {
  return test::run_program_after("cd '" + folder + "' && export XDG_CONFIG_HOME='" + user + "'", words);
}

void check_refused(const ProgramResult& result, const std::vector<std::string>& parts) {
  INFO("exit " << result.exit_code << "\nstdout: " << result.out << "\nstderr: " << result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& part : parts) {
    INFO("expected " << part);
    CHECK(result.err.find(part) != std::string::npos);
  }
}

/// A project with a model and a folder below it.
struct Project {
  ScratchFolder folder;
  std::string root, model;
  Project() : root(folder.path("")), model(folder.copy("cli/hardtanh.tflite", "m.tflite")) {
    root.pop_back();
    std::filesystem::create_directories(root + "/a/b");
  }
  std::string toml(const std::string& text, const std::string& name = "modeldoctor.toml") const {
    return folder.write(name, text);
  }
};

std::string error_of(const std::string& text) {
  const auto file = parse_config("c.toml", text, "0.1.0");
  return file ? "" : file.error().message;
}

}  // namespace

TEST_CASE("a configuration file found in a folder cannot act", "[config]") {
  const Project p;
  const std::pair<std::string, std::string> acts[] = {{"verify", "runner = \"touch ran; false\""},
                                                      {"verify", "on = \"litert-cpu\""},
                                                      {"fix", "force = true"},
                                                      {"fix", "in-place = true"},
                                                      {"fix", "output = \"x.tflite\""},
                                                      {"check", "report = \"json=x.json\""},
                                                      {"report", "html = \"x.html\""},
                                                      {"fix", "unsafe-fixes = true"},
                                                      {"tap", "output = \"x.tflite\""},
                                                      {"fix", "cut-before = \"x\""}};
  for (const auto& [command, line] : acts) {
    const std::string key = line.substr(0, line.find(' '));
    p.toml("[" + command + "]\n" + line + "\n");
    const auto before = p.folder.files();
    check_refused(run_in(p.root, {"verify", "m.tflite"}),
                  {"modeldoctor.toml:2: ", key, "--config modeldoctor.toml"});
    check_refused(run_in(p.root + "/a/b", {"check", p.model}), {p.root + "/modeldoctor.toml:2: ", key});
    p.toml(line + "\n");
    check_refused(run_in(p.root, {"fix", "m.tflite"}), {"modeldoctor.toml:1: ", key});
    CHECK(p.folder.files() == before);
  }
}

TEST_CASE("what only judges is said in one list: an option that is not on it is refused", "[config]") {
  const Project p;
  const Json schema = Json::parse(run_program({"schema", "config"}).out);
  const std::set<std::string> judges = {
      "arithmetic",    "atol",    "baseline", "color",   "dry-run", "exact-only", "fail-on",
      "fp16",          "hash",    "ignore",   "inputs",  "jobs",    "max-error",  "quiet",
      "output-format", "range",   "rules",    "rtol",    "samples", "seed",       "select",
      "require-proof", "symptom", "target",   "verbose", "saturate"};
  std::size_t refused = 0, taken = 0;
  for (const auto& [name, table] : schema["properties"].items()) {
    if (!table.contains("properties")) continue;
    for (const auto& [key, option] : table["properties"].items()) {
      const std::string type = option.value("type", "list");
      const std::string value = type == "boolean"                    ? "true"
                                : type == "string" || type == "list" ? "\"x\""
                                                                     : "1";
      p.toml("[" + name + "]\n" + key + " = " + value + "\n");
      const ProgramResult run = run_in(p.root, {"config", "show"});
      const bool says = run.err.find("a file found in a folder") != std::string::npos;
      INFO(name << "." << key << ": " << run.err);
      CHECK(says == !judges.contains(key));
      ++(says ? refused : taken);
    }
  }
  CHECK(refused > 10);
  CHECK(taken > 30);
}

TEST_CASE("the same file acts when it is named or lies in the user's own folder", "[config]") {
  const Project p;
  const std::string named = p.toml("[fix]\noutput = \"named.tflite\"\n", "own.toml");
  CHECK(run_in(p.root + "/a", {"fix", p.model, "--config", named}).exit_code <= 1);
  CHECK(p.folder.has("named.tflite"));  // from the folder of the file, not from where it was started
  std::filesystem::create_directories(p.root + "/home/modeldoctor");
  p.toml("[fix]\nforce = true\ndry-run = true\n", "home/modeldoctor/modeldoctor.toml");
  const ProgramResult run = run_in(p.root, {"config", "show", "fix"}, p.root + "/home");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("force = true") != std::string::npos);
}

TEST_CASE("the nearest file counts, over the user's own, under the command line", "[config]") {
  const Project p;
  const auto code = [&](const std::string& where, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"check", p.model});
    const ProgramResult run = run_in(where, words, p.root + "/home");
    INFO(run.out << run.err);
    CHECK(run.exit_code <= 1);
    return run.exit_code;
  };
  CHECK(code(p.root + "/a/b") == 1);
  p.toml("ignore = [\"LRT015\"]\n");
  CHECK(code(p.root) == 0);
  CHECK(code(p.root + "/a/b") == 0);  // a parent's file is found
  CHECK(code(p.root + "/a/b", {"--ignore", "LRT001"}) == 1);
  CHECK(code(p.root + "/a/b", {"--no-config"}) == 1);
  p.toml("ignore = [\"LRT001\"]\n", "a/modeldoctor.toml");
  CHECK(code(p.root + "/a/b") == 1);  // one file, the nearest
  CHECK(code(p.root) == 0);
  std::filesystem::create_directories(p.root + "/home/modeldoctor");
  p.toml("fail-on = \"never\"\nignore = [\"LRT015\"]\n", "home/modeldoctor/modeldoctor.toml");
  CHECK(code(p.root + "/a/b") == 0);
  p.toml("fail-on = \"silent\"\nignore = [\"LRT001\"]\n", "a/modeldoctor.toml");
  CHECK(code(p.root + "/a/b") == 1);
  p.toml("fail-on = \"fatal\"\n[check]\nfail-on = \"never\"\n", "a/modeldoctor.toml");
  CHECK(code(p.root + "/a/b") == 0);  // a table goes before the top of its file
}

TEST_CASE("paths in a file are meant from its folder", "[config]") {
  const Project p;
  const std::string known = p.folder.path("known.json");
  run_program({"check", p.model, "--report", "json=" + known, "-q"});
  REQUIRE(p.folder.has("known.json"));
  p.toml("baseline = \"known.json\"\n");
  const ProgramResult run = run_in(p.root + "/a/b", {"check", p.model});
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
}

TEST_CASE("unknown words and wrong values name file, line and what was meant", "[config]") {
  const Project p;
  const std::pair<std::string, std::vector<std::string>> faults[] = {
      {"\nignroe = [\"LRT015\"]\n", {":2: ", "ignroe", "\"ignore\""}},
      {"[chekc]\nsamples = 3\n", {":1: ", "chekc", "\"check\""}},
      {"[check]\n\nfial-on = \"never\"\n", {":3: ", "check.fial-on", "\"fail-on\""}},
      {"[inspect]\nsamples = 3\n", {":2: ", "inspect.samples"}},
      {"fail-on = \"fatale\"\n", {":1: ", "fail-on", "fatal, silent, perf, note or never", "\"fatal\""}},
      {"target = \"litert-gpo\"\n", {":1: ", "litert-gpo", "litert-gpu"}},
      {"output-format = \"sarfi\"\n", {":1: ", "sarfi", "\"sarif\""}},
      {"color = \"purple\"\n", {":1: ", "auto, always or never"}},
      {"jobs = \"two\"\n", {":1: ", "jobs", "number", "two"}},
      {"jobs = -1\n", {":1: ", "jobs", "from 0 to 1024", "-1"}},
      {"dry-run = \"yes\"\n", {":1: ", "dry-run", "true or false"}},
      {"samples = [1, 2]\n", {":1: ", "samples", "not a list"}},
      {"target = 3\n", {":1: ", "target", "in quotes"}},
      {"ignore = [\"LRT9999\"]\n", {":1: ", "LRT9999"}},
      {"ignore = [\"LRT015\"\n", {"modeldoctor.toml:"}},
      {"a = 1\na = 2\n", {":2: "}},
      {"config = \"x\"\n", {":1: ", "config is no option"}},
      {"[check.more]\nx = 1\n", {":1: ", "check.more"}},
      {"[[per-model]]\nignore = [\"LRT015\"]\n", {":1: ", "pattern"}},
      {"[[per-model]]\npattern = \"x\"\nignroe = [\"LRT015\"]\n", {":3: ", "ignroe", "\"ignore\""}},
      {"[[per-model]]\npattern = \"x\"\nignore = [\"LRT9999\"]\n", {":1: ", "LRT9999"}},
      {"[[per-model]]\npattern = \"x\"\nfail-on = \"sometimes\"\n", {":1: ", "fail-on", "sometimes"}},
      {"[per-model]\npattern = \"x\"\n", {":1: ", "[[per-model]]"}},
      {"required-version = \">=99\"\nnewer-key = 1\n", {":1: ", ">=99", std::string(program_version())}},
      {"required-version = \"new\"\n", {":1: ", "required-version"}},
      {std::string(2 << 20, '#'), {"larger than 1 MB"}},
      {"a = " + std::string(100000, '['), {":1: "}}};
  for (const auto& [text, parts] : faults) {
    INFO(text.substr(0, 200));
    p.toml(text);
    std::vector<std::string> all = parts;
    all.push_back("modeldoctor.toml");
    check_refused(run_in(p.root, {"check", "m.tflite"}), all);
  }
  p.toml("required-version = \">=0.1\"\noutput-format = \"sarif\"\n");
  CHECK(run_in(p.root, {"check", "m.tflite"}).out.starts_with("{"));
  CHECK(run_in(p.root, {"inspect", "m.tflite"}).exit_code == 0);  // has no sarif: its own default
  check_refused(run_program({"check", p.model, "--config", p.root}), {p.root, "directory"});
  check_refused(run_program({"check", p.model, "--config", p.root + "/none.toml"}),
                {"none.toml", "cannot be read"});
}

TEST_CASE("[[per-model]] holds for the models that its pattern names", "[config]") {
  const Project p;
  p.folder.copy("cli/hardtanh.tflite", "a/legacy_one.tflite");
  p.toml("[[per-model]]\npattern = \"a/legacy_*.tflite\"\nignore = [\"LRT015\"]\n");
  const auto code = [&](const std::string& where, const std::string& model,
                        std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"check", model});
    return run_in(where, words).exit_code;
  };
  CHECK(code(p.root, "m.tflite") == 1);
  CHECK(code(p.root, "a/legacy_one.tflite") == 0);
  CHECK(code(p.root + "/a", "legacy_one.tflite") == 0);
  CHECK(code(p.root + "/a/b", "../legacy_one.tflite") == 0);
  CHECK(code(p.root, "a/legacy_one.tflite", {"--ignore", "LRT001"}) == 0);  // ignored rules add up
  p.toml(
      "[[per-model]]\npattern = \"legacy_*\"\nfail-on = \"never\"\n\n[[per-model]]\npattern = "
      "\"m.*\"\nselect = \"LRT001\"\n");
  CHECK(code(p.root, "a/legacy_one.tflite") == 0);
  CHECK(code(p.root, "m.tflite") == 0);
  CHECK(code(p.root, "a/legacy_one.tflite", {"--fail-on", "fatal"}) == 1);  // the command line goes before it
  p.toml(
      "target = \"litert-gpu@2.3.0\"\n[[per-model]]\npattern = \"**/legacy_*\"\ntarget = \"executorch\"\n");
  const ProgramResult run =
      run_in(p.root, {"check", "a/legacy_one.tflite", "m.tflite", "--output-format", "json"});
  INFO(run.err);
  const Json runs = Json::parse(run.out)["runs"];
  CHECK(runs[1]["target"][0]["name"] == "litert-gpu");
  CHECK(runs[0]["target"] != runs[1]["target"]);
}

TEST_CASE("patterns of paths", "[config]") {
  CHECK(glob_matches("*.tflite", "a/b/c.tflite"));
  CHECK(glob_matches("models/legacy_*.tflite", "models/legacy_a.tflite"));
  CHECK_FALSE(glob_matches("models/*.tflite", "models/a/b.tflite"));
  CHECK(glob_matches("models/**/b.tflite", "models/b.tflite"));
  CHECK(glob_matches("models/**/b.tflite", "models/a/c/b.tflite"));
  CHECK_FALSE(glob_matches("models/**/b.tflite", "models/ab.tflite"));
  CHECK(glob_matches("models/**", "models/a/b.tflite"));
  CHECK(glob_matches("***", "a"));
  CHECK(glob_matches("a?c", "abc"));
  CHECK_FALSE(glob_matches("a?c/x", "a/c/x"));
  CHECK_FALSE(glob_matches("abc", "abcd"));
  std::string stars, letters(2000, 'a');
  for (int i = 0; i < 400; ++i) stars += "*a";
  CHECK_FALSE(glob_matches(stars + "b", letters));  // no backtracking: it ends
}

TEST_CASE("config show says where every value comes from", "[config]") {
  const Project p;
  p.toml("target = \"litert-gpu@2.3.0\"\n[fix]\nsamples = 5\n");
  const ProgramResult text = run_in(p.root, {"config", "show"});
  INFO(text.out << text.err);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("target = [\"litert-gpu@2.3.0\"]") != std::string::npos);
  CHECK(text.out.find("modeldoctor.toml:1") != std::string::npos);
  CHECK(text.out.find("fix.samples = 5") != std::string::npos);
  const ProgramResult run =
      run_in(p.root, {"config", "show", "--output-format", "json", "fix", "--seed", "7"});
  INFO(run.out << run.err);
  const Json json = Json::parse(run.out);
  const auto option = [&](const char* name) {
    for (const Json& one : json["options"])
      if (one["option"] == name) return one;
    return Json();
  };
  CHECK(option("target")["value"] == Json::array({"litert-gpu@2.3.0"}));
  CHECK(option("target")["origin"] == "file");
  CHECK(option("target")["place"] == "modeldoctor.toml:1");
  CHECK(option("samples")["value"] == 5);
  CHECK(option("samples")["place"] == "modeldoctor.toml:3");
  CHECK(option("seed")["value"] == 7);
  CHECK(option("seed")["origin"] == "command line");
  CHECK(option("fail-on")["value"] == "silent");
  CHECK(option("fail-on")["origin"] == "default");
  CHECK(option("max-error")["value"] == 0.001);
  CHECK(option("dry-run")["value"] == false);
  CHECK(json["files"][0]["origin"] == "folder");
  CHECK(json["version"] == std::string(program_version()));
  check_refused(run_in(p.root, {"config", "show", "fxi"}), {"fxi", "fix"});
  check_refused(run_in(p.root, {"config", "show", "fix", "--sede", "7"}), {"--sede", "--seed"});
}

TEST_CASE("the schema of the file describes tables, versions and models", "[config]") {
  const Json schema = Json::parse(run_program({"schema", "config"}).out);
  const auto violations = [&](const char* text) {
    return test::schema_violations(schema, Json::parse(text)).size();
  };
  CHECK(
      violations(
          R"({"required-version": ">=0.1", "rules": ["r"], "per-model": [{"pattern": "x", "ignore": ["A"]}]})") ==
      0);
  CHECK(violations(R"({"rules": {"color": "auto"}, "log": {"quiet": true}})") == 0);
  CHECK(violations(R"({"per-model": [{"ignore": ["A"]}]})") > 0);
  CHECK(violations(R"({"config": "x"})") > 0);
}

TEST_CASE("errors of TOML have the line", "[config]") {
  CHECK(error_of("a = 1\nb = \n").starts_with("c.toml:2: "));
  CHECK(error_of("[[per-model]]\npattern = 3\n").starts_with("c.toml:2: "));
  CHECK(error_of("d = 1979-05-27\n").empty());  // what it means, the program says
}

TEST_CASE("typing errors: the options of this command, never the same word, short ranges", "[config][cli]") {
  const std::string model = test::fixture("cli/hardtanh.tflite");
  const std::string log_before = run_program({"--log", "x", "check", model}).err;
  CHECK(log_before.find("did you mean --log") == std::string::npos);
  check_refused(run_program({"--log", "x", "check", model}),
                {"--log is an option of check", "behind the command"});
  check_refused(run_program({"inspect", model, "--log", "x"}),
                {"inspect has no option --log", "check, fix have it"});
  check_refused(run_program({"check", model, "--seelct", "x"}), {"--seelct", "did you mean --select?"});
  const std::string diff = run_program({"diff", model, model, "--sampels", "3"}).err;
  CHECK(diff.find("--samples") == std::string::npos);
  for (const std::string option : {"--jobs", "--samples", "--seed", "--max-error"}) {
    const ProgramResult run = run_program({"fix", model, "--dry-run", option, "two"});
    check_refused(run, {option, "two", "expected a"});
    CHECK(run.err.size() < 120);
  }
  check_refused(run_program({"check", model, "--jobs", "99999999999999999999"}), {"from 0 to 1024"});
  check_refused(run_program({"check", model, "--fail-on", "fatel"}), {"--fail-on", "fatel", "\"fatal\""});
}

TEST_CASE("the version is CMake's", "[config][cli]") {
  const std::string cmake = test::read_text(test::source_dir() + "/CMakeLists.txt");
  CHECK(cmake.find("project(modeldoctor VERSION " + std::string(program_version()) + " ") !=
        std::string::npos);
  CHECK(run_program({"--version"}).out == "modeldoctor " + std::string(program_version()) + "\n");
}

}  // namespace md

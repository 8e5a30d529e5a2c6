// Hostile words (names in a model, of files, in logs, in rule pages, in JSON read back) through every command
// and every output format: none of their bytes that act comes out.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/tflite_models.h"
#include "test/zip_models.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;

/// A formula, escape sequences, line ends, workflow commands, C1, bidirectional marks, no width, no UTF-8;
/// and a word that must stay readable.
const std::string hostile =
    "=1+1\x1b[31m\x07\n::set-output "
    "name=a::b\r\n##[error]x\t\x7f\u009b\u202e\u2066\u200b\ufeff\xff|`<b>\u5377\u79ef";
const std::string readable = "\u5377\u79ef";
const std::vector<std::string> formats = {"text",   "concise", "json",     "jsonl", "sarif",
                                          "github", "junit",   "markdown", "html"};

/// Bytes of the forbidden kinds, written down here again: the program's own table is what is tested.
std::string raw_bytes_in(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f || byte == 0xff) return fmt::format("byte {:02x}", byte);
  }
  std::vector<std::string> marks = {"\u061c", "\ufeff", "\u2028", "\u2029", "\u00ad"};
  for (int i = 0x80; i <= 0x9f; ++i) marks.push_back({'\xc2', static_cast<char>(i)});
  for (int i = 0x8b; i <= 0x8f; ++i) marks.push_back({'\xe2', '\x80', static_cast<char>(i)});
  for (int i = 0xaa; i <= 0xae; ++i) marks.push_back({'\xe2', '\x80', static_cast<char>(i)});
  for (int i = 0xa6; i <= 0xa9; ++i) marks.push_back({'\xe2', '\x81', static_cast<char>(i)});
  for (const std::string& mark : marks)
    if (text.find(mark) != std::string::npos)
      return fmt::format("mark ending in {:02x}", static_cast<unsigned char>(mark.back()));
  return "";
}

/// Lines that a CI system takes as a command. Our own are annotations.
std::string workflow_command_in(const std::string& text, bool annotations) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find_first_not_of(' ');
    const bool command = first != std::string::npos && line.compare(first, 2, "::") == 0;
    const bool own = line.starts_with("::error title=") || line.starts_with("::warning title=") ||
                     line.starts_with("::notice title=");
    if ((command && !(annotations && own)) || line.find("##[") != std::string::npos) return line;
  }
  return "";
}

void check_harmless(const ProgramResult& result, const std::vector<std::string>& words) {
  std::string said;
  for (const std::string& word : words) said += " " + word.substr(0, 30);
  INFO(said << ": exit " << result.exit_code << "\n"
            << result.out.substr(0, 2000) << result.err.substr(0, 2000));
  CHECK(result.exit_code <= 2);
  const bool github = std::find(words.begin(), words.end(), "github") != words.end();
  CHECK(raw_bytes_in(result.out) == "");
  CHECK(raw_bytes_in(result.err) == "");
  CHECK(workflow_command_in(result.out, github) == "");
  CHECK(workflow_command_in(result.err, false) == "");
}

ProgramResult run_harmless(const std::vector<std::string>& words) {
  ProgramResult result = run_program(words);
  check_harmless(result, words);
  return result;
}

test::Recipe hostile_recipe() {
  test::Recipe recipe;
  recipe.prefix = hostile, recipe.unit_relu = true, recipe.two_signatures = true, recipe.metadata = true;
  return recipe;
}

std::string hostile_page() {
  std::string page = test::read_text(test::source_dir() + "/rules/executorch/ETX108-coreml-topk-unsorted.md");
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + by.size()))
      page.replace(at, what.size(), by);
  };
  replace("coreml-topk-unsorted", "hostile-words");
  replace("ETX108", "XYZ901"), replace("topk sorted", "hostile words sorted"),
      replace("topk{rest", "hostile words{rest");
  replace("Ask for", hostile + " ask for"), replace("needs iOS", hostile + " needs iOS");
  return page;
}

}  // namespace

TEST_CASE("hostile names in a model and of files, through every command and format",
          "[cli][hostile][names]") {
  const ScratchFolder folder;
  const std::string model = folder.write(hostile + ".tflite", test::make_tflite(hostile_recipe()));
  const std::string log = folder.write(hostile + ".log", "RELU_0_TO_1: Not supported op " + hostile +
                                                             "\nERROR: failed to compile " + hostile + "\n");
  const std::string out = folder.path("out" + hostile + ".tflite"), json = folder.path("d.json");
  for (const std::string& format : formats) {
    CHECK(run_harmless({"check", model, "--target", "litert-gpu@2.3.0", "--output-format", format})
              .out.find(readable) != std::string::npos);
    run_harmless({"check", model, "--log", log, "--output-format", format});
    run_harmless({"log", log, "--output-format", format});
    run_harmless({"fix", model, "--log", log, "--dry-run", "--diff", "--output-format", format});
  }
  run_harmless(
      {"fix", model, "--target", "litert-gpu@2.3.0", "-o", out, "--diff", "--report", "json=" + json, "-v"});
  REQUIRE(std::filesystem::exists(out));
  for (const std::string format : {"text", "json"}) {
    CHECK(run_harmless({"inspect", model, "-v", "--output-format", format}).out.find(readable) !=
          std::string::npos);
    CHECK(run_harmless({"diff", model, out, "--output-format", format}).out.find(readable) !=
          std::string::npos);
    run_harmless({"verify", model, out, "--output-format", format});
  }
  for (const std::string format : {"text", "json", "csv"})
    CHECK(run_harmless({"fp16", model, "--output-format", format}).out.find(readable) != std::string::npos);
  run_harmless({"tap", model, "--at", "2", "-o", folder.path(hostile + "tap.tflite")});
  run_harmless({"tap", model, "--at", hostile, "-o", folder.path("t.tflite")});
  run_harmless({"check", folder.path("none" + hostile)});
  run_harmless({"check", model, "--shape", hostile + "=1"});
  run_harmless({"check", model, "--" + hostile});
  run_harmless({"explain", hostile});
  run_harmless({hostile});
}

TEST_CASE("no cell of a CSV is a formula", "[cli][hostile][names]") {
  const ScratchFolder folder;
  for (const std::string begin : {"=", "+", "-", "@", "\t=", "\n="}) {
    test::Recipe recipe;
    recipe.prefix = begin + "cmd|' /C calc'!A0";
    const ProgramResult run =
        run_program({"fp16", folder.write("m.tflite", test::make_tflite(recipe)), "--output-format", "csv"});
    INFO(run.out);
    REQUIRE(run.out.find("cmd|") != std::string::npos);
    for (const char* bad : {",=", ",\"=", ",+", ",\"+", ",@", ",\"@", ",-c", ",\"-c", ", =", ",\" ="})
      CHECK(run.out.find(bad) == std::string::npos);
  }
}

TEST_CASE("a diagnosis read back is as hostile as any file", "[cli][hostile][names]") {
  const ScratchFolder folder;
  const std::string log =
      folder.write("a.log", "RELU_0_TO_1: Not supported op RELU_0_TO_1\nERROR: what is this\n");
  const std::string path = folder.path("d.json");
  run_program({"fix", test::fixture("cli/hardtanh.tflite"), "--log", log, "-o", folder.path("o.tflite"),
               "--report", "json=" + path});
  nlohmann::json diagnosis = nlohmann::json::parse(test::read_text(path));
  // Every text of it, whatever fields there will be; without the byte that JSON cannot hold.
  std::string words = hostile;
  std::erase(words, '\xff');
  const auto spoil = [&](const auto& self, nlohmann::json& json) -> void {
    if (json.is_string() && !json.get<std::string>().starts_with("1."))
      json = words + json.get<std::string>() + words;
    else if (json.is_structured())
      for (nlohmann::json& part : json) self(self, part);
    else if (json.is_null())
      json = words;
  };
  nlohmann::json open = diagnosis;
  for (nlohmann::json& finding : open["findings"]) finding["open"] = true;
  for (nlohmann::json* one : {&diagnosis, &open}) {
    spoil(spoil, *one);
    const std::string spoiled = folder.write("spoiled.json", one->dump());
    for (const std::string& format : formats) {
      const ProgramResult run = run_harmless({"report", spoiled, "--output-format", format});
      CHECK(run.out.find(readable) != std::string::npos);
    }
    run_harmless({"report", spoiled, "-v"});
  }
}

TEST_CASE("hostile words of a program's layers and of the source it came from", "[cli][hostile][names]") {
  const ScratchFolder folder;
  const std::string good = test::read_text(test::fixture("LTC001-amax-no-layout-rewriter/before.pt2"));
  test::ZipRecipe recipe;
  recipe.parts = test::parts_of(good);
  std::string words = hostile;
  std::erase(words, '\xff');
  const std::string escaped = nlohmann::json(words).dump();
  int changed = 0;
  for (test::ZipPart& part : recipe.parts) {
    if (!part.name.ends_with("models/model.json")) continue;
    for (const std::string key : {"\"stack_trace\": \"", "\"nn_module_stack\": \"", "\"torch_fn\": \""})
      for (std::size_t at = part.content.find(key); at != std::string::npos;
           at = part.content.find(key, at + 1))
        part.content.insert(at + key.size(), escaped.substr(1, escaped.size() - 2)), ++changed;
  }
  REQUIRE(changed > 0);
  const std::string model = folder.write("m.pt2", test::make_zip(recipe));
  for (const std::string& format : formats) run_harmless({"check", model, "--output-format", format, "-v"});
  run_harmless({"inspect", model, "-v"});
}

TEST_CASE("the page of a rule that somebody gives away", "[cli][hostile][names]") {
  const ScratchFolder folder;
  const std::string page = folder.write("XYZ901-coreml-topk-unsorted.md", hostile_page()),
                    rules = folder.path("");
  const ProgramResult explained = run_harmless({"explain", "XYZ901", "--rules", rules});
  INFO(explained.err);
  CHECK(explained.out.find(readable) != std::string::npos);
  run_harmless({"rules", "list", "--rules", rules, "-v"});
  run_harmless({"rules", "test", page});
  const std::string log = folder.write("a.log", "hostile words sorted=False fails on iOS<16\n");
  for (const std::string& format : formats)
    run_harmless({"log", log, "--rules", rules, "--output-format", format});
}

TEST_CASE("colours are the program's own", "[cli][hostile][names]") {
  const ScratchFolder folder;
  const std::string model = folder.write("m.tflite", test::make_tflite(hostile_recipe()));
  for (const std::string command : {"check", "fix"}) {
    const std::string out =
        run_program({command, model, "--target", "litert-gpu@2.3.0", "--color", "always"}).out;
    CHECK(out.find("\x1b[31m") != std::string::npos);
    CHECK(out.find("=1+1\x1b") == std::string::npos);  // where the name has its own
    CHECK(out.find('\x07') == std::string::npos);
  }
}

}  // namespace md

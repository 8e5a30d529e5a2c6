// Every command of the README is run, and what the README shows as its output is its output.
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"

namespace md {
namespace {

struct Example {
  std::string command;
  std::string output;  ///< of the block behind the command; "" when the README shows none
  int line = 0;
};

/// Lines of ```sh blocks; a ```text block behind one belongs to the last command.
std::vector<Example> examples(const std::string& markdown) {
  std::vector<Example> found;
  std::istringstream text(markdown);
  std::string line, fence;
  bool after_command = false;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("```")) {
      const bool closes = !fence.empty();
      if (closes) after_command = fence == "```sh";
      fence = closes ? "" : line;
      if (!closes && fence != "```text") after_command = false;
      continue;
    }
    if (fence == "```sh" && !line.empty() && !line.starts_with("#")) found.push_back({line, "", number});
    if (fence == "```text" && after_command && !found.empty()) found.back().output += line + "\n";
    if (fence.empty() && !line.empty()) after_command = false;
  }
  return found;
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// The command as a shell runs it in the scratch folder, with the built program in place of the two ways to
/// start it.
std::string runnable(std::string command) {
  for (const std::string name : {"scripts/run.sh ", "modeldoctor "})
    if (command.starts_with(name)) command = quoted(test::program()) + " " + command.substr(name.size());
  return command;
}

}  // namespace

TEST_CASE("the README's commands work and print what it says", "[readme]") {
  const test::ScratchFolder folder;
  folder.copy("cli/repeat_kv.tflite", "model.tflite");
  folder.copy("cli/repeat_kv.log", "err.txt");
  folder.copy("cli/hardtanh.tflite", "other.tflite");
  const std::vector<Example> all = examples(test::read_text(test::source_dir() + "/README.md"));
  REQUIRE(all.size() >= 6);
  int shown = 0;
  for (const Example& example : all) {
    INFO("README.md:" << example.line << ": " << example.command);
    // The test command is what runs this test.
    if (example.command.starts_with("scripts/test.sh")) continue;
    const std::string out = folder.path("out"), err = folder.path("err");
    const std::string shell =
        "cd " + quoted(folder.path("")) + " && " + runnable(example.command) + " > out 2> err";
    const int status = std::system(shell.c_str());
    const int code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    INFO(test::read_text(err));
    CHECK((code == 0 || code == 1));
    if (example.output.empty()) continue;
    CHECK(test::read_text(out) == example.output);
    ++shown;
  }
  CHECK(shown >= 1);
}

}  // namespace md

#include "test/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test/golden.h"
#include "test/paths.h"

extern char** environ;

namespace md::test {

namespace fs = std::filesystem;

namespace {

ProgramResult run_words(std::vector<std::string> words, const std::string& input) {
  const ScratchFolder folder;
  const std::string in = folder.write("in", input), out = folder.path("out"), err = folder.path("err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  setenv("XDG_CONFIG_HOME", "/nonexistent", 0);  // no configuration of whoever runs the tests
  ProgramResult result;
  pid_t child = 0;
  if (posix_spawn(&child, words[0].c_str(), &actions, nullptr, argv.data(), environ) == 0) {
    int status = 0;
    waitpid(child, &status, 0);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  posix_spawn_file_actions_destroy(&actions);
  result.out = read_text(out);
  result.err = read_text(err);
  return result;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const std::string& input) {
  std::vector<std::string> words = {program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_words(std::move(words), input);
}

ProgramResult run_program_after(const std::string& shell_line, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"/bin/sh", "-c", shell_line + "; exec \"$@\"", "sh", program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_words(std::move(words), "");
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "modeldoctor-test-XXXXXX").string();
  folder_ = mkdtemp(pattern.data()) ? pattern : "";
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

std::string ScratchFolder::copy(const std::string& fixture_name, const std::string& name) const {
  fs::copy_file(fixture(fixture_name), path(name), fs::copy_options::overwrite_existing);
  return path(name);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

bool ScratchFolder::has(const std::string& name) const { return fs::exists(path(name)); }

std::vector<std::string> ScratchFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace md::test

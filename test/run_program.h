// Runs the built program as a user does.
#pragma once
#include <string>
#include <vector>

namespace md::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out, err;
};

/// Arguments as they are (no shell). `input` goes to standard input.
ProgramResult run_program(const std::vector<std::string>& arguments, const std::string& input = "");

/// The same behind a line of shell, e.g. "ulimit -v 1000000".
ProgramResult run_program_after(const std::string& shell_line, const std::vector<std::string>& arguments);

/// A folder of this test alone, empty at first, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Copies a fixture into the folder and gives its path.
  std::string copy(const std::string& fixture, const std::string& name) const;
  std::string write(const std::string& name, const std::string& text) const;
  bool has(const std::string& name) const;
  std::vector<std::string> files() const;  ///< names, sorted

 private:
  std::string folder_;
};

}  // namespace md::test

// One child process with its output kept and a time limit.
#pragma once
#include <string>
#include <vector>

namespace md {

struct ChildResult {
  int exit_code = -1;  ///< when it exited
  int signal = 0;      ///< when it was killed
  bool timed_out = false, started = false;
  std::string output, errors;  ///< stdout and stderr, the last megabyte of each
  std::string start_error;     ///< why it was not started, in the system's words
};
/// Runs `argv` (argv[0] is looked up in PATH) with an empty standard input, in a process group of its own,
/// until it ends or `timeout_seconds` have passed. Then the group is killed, so that nothing it started there
/// lives on. Processes that left the group are neither killed nor waited for, whatever they hold open.
ChildResult run_child(const std::vector<std::string>& argv, int timeout_seconds);

}  // namespace md

// One child process with its stderr kept and a time limit.
#pragma once
#include <string>
#include <vector>

namespace md {

struct ChildResult {
  int exit_code = -1;  ///< when it exited
  int signal = 0;      ///< when it was killed
  bool timed_out = false, started = false;
  std::string output, errors;  ///< stdout and stderr, the last megabyte of each
};
/// Runs `argv` (argv[0] is looked up in PATH), waits at most `timeout_seconds`, then kills it and its
/// children.
ChildResult run_child(const std::vector<std::string>& argv, int timeout_seconds);

}  // namespace md

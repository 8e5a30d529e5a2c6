#include "lib/verify/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace md {
namespace {

constexpr std::size_t kept = std::size_t{1} << 20;  // bytes of output that are kept

void append(std::string& text, const char* data, std::size_t n) {
  text.append(data, n);
  if (text.size() > 2 * kept) text.erase(0, text.size() - kept);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, int timeout_seconds) {
  ChildResult result;
  std::array<int, 2> out{}, err{};
  if (argv.empty() || pipe2(out.data(), O_CLOEXEC) != 0) return result;
  if (pipe2(err.data(), O_CLOEXEC) != 0) {
    close(out[0]), close(out[1]);
    return result;
  }
  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);  // a group of its own, so that its children can be ended with it
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]), close(err[1]);
  if (pid < 0) {
    close(out[0]), close(err[0]);
    return result;
  }
  result.started = true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  std::array<pollfd, 2> waiting = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  std::array<std::string*, 2> texts = {&result.output, &result.errors};
  int open = 2;
  while (open > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) {
      result.timed_out = true;
      kill(-pid, SIGKILL);
      break;
    }
    if (poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0) continue;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      std::array<char, 65536> block;
      const ssize_t n = read(waiting[i].fd, block.data(), block.size());
      if (n > 0)
        append(*texts[i], block.data(), static_cast<std::size_t>(n));
      else if (n == 0)
        waiting[i].fd = -1, --open;
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  close(out[0]), close(err[0]);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace md

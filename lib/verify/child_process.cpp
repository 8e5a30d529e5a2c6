#include "lib/verify/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

extern char** environ;

namespace md {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kKept = std::size_t{1} << 20;  // bytes of output that are kept
/// How often the child itself is looked at while others may hold its outputs open.
constexpr milliseconds kLook{20};
/// A killed child that a driver holds in the kernel does not end; more patience does not help.
constexpr milliseconds kKillPatience{5000};

/// The reading end of a pipe, and what came out of it.
class Output {
 public:
  Output() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read_ = ends[0], write_ = ends[1];
    fcntl(read_, F_SETFL, O_NONBLOCK);
  }
  ~Output() {
    close_writer();
    if (read_ >= 0) close(read_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool made() const { return read_ >= 0; }
  bool ended() const { return ended_; }
  int reader() const { return read_; }
  int writer() const { return write_; }
  void close_writer() {
    if (write_ >= 0) close(write_);
    write_ = -1;
  }
  /// What is there now, at most what is kept: a process that never stops writing does not hold us up.
  void drain() {
    std::array<char, 65536> block;
    for (std::size_t taken = 0; !ended_ && taken < kKept;) {
      const ssize_t n = ::read(read_, block.data(), block.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        ended_ = true;
        return;
      }
      taken += static_cast<std::size_t>(n);
      text_.append(block.data(), static_cast<std::size_t>(n));
      if (text_.size() > 2 * kKept) text_.erase(0, text_.size() - kKept);
    }
  }
  std::string take() {
    if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
    return std::move(text_);
  }

 private:
  int read_ = -1, write_ = -1;
  bool ended_ = false;
  std::string text_;
};

/// posix_spawnp with the outputs in place. 0, or the error number.
int spawn(const std::vector<std::string>& argv, const Output& out, const Output& err, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  // No terminal: a process group in the background that reads from one is stopped.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.writer(), STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/// Has it ended? It is not reaped, so that its number (and its group's) still means it.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  const int asked = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return asked != 0 ? errno != EINTR : info.si_pid == pid;
}

/// Waits until the child ends; false when `deadline` comes first.
bool wait_until(pid_t pid, Clock::time_point deadline, Output& out, Output& err) {
  while (!has_ended(pid)) {
    const milliseconds left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds{0}) return false;
    const int pause = static_cast<int>(std::min(left, kLook).count());
    std::array<pollfd, 2> waiting = {pollfd{out.ended() ? -1 : out.reader(), POLLIN, 0},
                                     pollfd{err.ended() ? -1 : err.reader(), POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), pause) <= 0) continue;
    if (waiting[0].revents != 0) out.drain();
    if (waiting[1].revents != 0) err.drain();
  }
  return true;
}

/// The state of a child that was killed or has ended; false when it does not end.
bool reap(pid_t pid, int& status) {
  const Clock::time_point deadline = Clock::now() + kKillPatience;
  for (;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return true;
    if ((got < 0 && errno != EINTR) || Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds{1});
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, int timeout_seconds) {
  ChildResult result;
  Output out, err;
  pid_t pid = -1;
  const int error = argv.empty() ? EINVAL : !out.made() || !err.made() ? errno : spawn(argv, out, err, pid);
  if (error != 0) {
    result.start_error = std::strerror(error);
    return result;
  }
  result.started = true;
  out.close_writer(), err.close_writer();
  result.timed_out = !wait_until(pid, Clock::now() + std::chrono::seconds(timeout_seconds), out, err);
  kill(-pid, SIGKILL);
  int status = 0;
  const bool reaped = reap(pid, status);
  out.drain(), err.drain();
  result.output = out.take(), result.errors = err.take();
  if (reaped && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (reaped && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace md

#include "lib/base/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "lib/base/mapped_ranges.h"
#include "lib/base/partial_files.h"

namespace md {
namespace {

void say(const char* text) noexcept {
  // Nothing can be done about a standard error that takes no bytes.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void end(int signal) { end_by_signal(signal); }

/// A page of a mapped file that the file no longer has.
void on_missing_page(int signal, siginfo_t* info, void*) {
  const char* path = mapped_path_at(info->si_addr);
  if (!path) {  // not one of our files: a defect, which ends the program as ever
    end_by_signal(signal);
    return;
  }
  remove_partial_files();
  say("modeldoctor: ");
  say(path);
  say(": became shorter (or its disk failed) while it was read; wait until the file is complete, and run "
      "again\n");
  ::_exit(2);
}

void no_effect(int) {}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = end;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
  // A handler without effect, not SIG_IGN: programs that are started from here have their usual signals.
  action.sa_handler = no_effect;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaction(signal, &action, nullptr);
  struct sigaction page {};
  sigemptyset(&page.sa_mask);
  page.sa_sigaction = on_missing_page;
  page.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &page, nullptr);
}

void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is the stream's own. What is open for reading only refuses to be written.
    [[maybe_unused]] const int opened = ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace md

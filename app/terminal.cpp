#include "app/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/base/escape.h"
#include "lib/fix/fix.h"

namespace md::app {
namespace {

/// One line of at most 4 kB: names inside a damaged file may hold line ends, or megabytes.
std::string one_line(std::string_view message) {
  constexpr std::size_t longest = 4096;
  std::string line(message.substr(0, longest));
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return escape_terminal(line) + (message.size() > longest ? "..." : "");
}

}  // namespace

bool use_color(std::string_view choice, std::FILE* stream) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (!no_color || *no_color == '\0') && ::isatty(::fileno(stream)) != 0;
}

void print_error(std::string_view message) { fmt::print(stderr, "modeldoctor: {}\n", one_line(message)); }
void print_note(std::string_view message) {
  if (!message.empty()) fmt::print(stderr, "{}\n", escape_terminal_lines(message));
}

bool print_data(std::string_view text) {
  static bool failed = false;  // said once; what follows would be the rest of a cut text
  if (failed || text.empty()) return !failed;
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return true;
  failed = true;
  const int code = errno;
  print_error(fmt::format("standard output: {}; what was to be printed is lost or cut",
                          code == EBADF    ? "is closed"
                          : code == EPIPE  ? "its reader went away"
                          : code == ENOSPC ? "the disk is full"
                                           : std::strerror(code)));
  return false;
}

int report(const Error& error) {
  print_error(error.message);
  return exit_code(error);
}

}  // namespace md::app

#include "lib/verify/child_process.h"

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "test/catch.h"

namespace md {
namespace {

/// Long enough for a loaded machine, short enough for a test that fails.
constexpr int kLong = 30;

ChildResult shell(const std::string& script, int seconds) {
  return run_child({"/bin/sh", "-c", script}, seconds);
}

/// Does the process run? One that ended and waits to be reaped does not.
bool runs(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "Z") != 0;
}

/// A kill is carried out a little later.
bool ends_soon(const std::string& pid) {
  for (int i = 0; i < 1000 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !runs(pid);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("a child's outputs, exit code and signal come back", "[verify][child]") {
  const ChildResult spoke = shell("echo out; echo err >&2; exit 3", kLong);
  CHECK(spoke.started);
  CHECK(spoke.exit_code == 3);
  CHECK(spoke.signal == 0);
  CHECK_FALSE(spoke.timed_out);
  CHECK(spoke.output == "out\n");
  CHECK(spoke.errors == "err\n");
  CHECK(shell("kill -SEGV $$", kLong).signal == SIGSEGV);
}

TEST_CASE("a child reads an empty standard input", "[verify][child]") {
  const ChildResult read = shell("cat; echo end", kLong);
  CHECK_FALSE(read.timed_out);
  CHECK(read.output == "end\n");
}

TEST_CASE("of a talkative child the last megabyte is kept", "[verify][child]") {
  const ChildResult talked = shell("head -c 5000000 /dev/zero | tr '\\0' x; echo last", kLong);
  CHECK(talked.exit_code == 0);
  CHECK(talked.output.size() == std::size_t{1} << 20);
  CHECK(talked.output.ends_with("xlast\n"));
}

TEST_CASE("a program that is not there is not started, with the reason", "[verify][child]") {
  const ChildResult missing = run_child({"/no/such/program"}, kLong);
  CHECK_FALSE(missing.started);
  CHECK(missing.start_error == "No such file or directory");
  CHECK_FALSE(run_child({}, kLong).started);
}

TEST_CASE("a grandchild that holds the outputs open does not hold up the result, and is ended",
          "[verify][child]") {
  const ChildResult left = shell("sleep 300 & echo $!; exit 3", kLong);
  CHECK_FALSE(left.timed_out);
  CHECK(left.exit_code == 3);
  REQUIRE(!left.output.empty());
  CHECK(ends_soon(first_line(left.output)));
}

TEST_CASE("a grandchild in a session of its own does not hold up the result", "[verify][child]") {
  // The child ends when its grandchild has left the group: the file is the sign.
  const ChildResult left = shell(
      "sign=$(mktemp -u); setsid sh -c \"echo \\$\\$; touch $sign; exec sleep 300\" & "
      "until [ -e $sign ]; do sleep 0.01; done; rm $sign; exit 4",
      kLong);
  CHECK_FALSE(left.timed_out);
  CHECK(left.exit_code == 4);
  const int grandchild = std::atoi(left.output.c_str());
  REQUIRE(grandchild > 1);
  CHECK(runs(first_line(left.output)));  // a daemon that the runner meant to start
  kill(grandchild, SIGKILL);
}

TEST_CASE("a child that closes its outputs and works on is still limited in time", "[verify][child]") {
  const ChildResult silent = shell("exec >&- 2>&-; sleep 20; exit 0", 1);
  CHECK(silent.timed_out);
  CHECK(silent.signal == SIGKILL);
}

TEST_CASE("after the time limit the child and its grandchildren are gone", "[verify][child]") {
  const ChildResult hung = shell("sleep 300 & echo $!; sleep 300", 1);
  CHECK(hung.timed_out);
  CHECK(hung.signal == SIGKILL);
  REQUIRE(!hung.output.empty());
  CHECK(ends_soon(first_line(hung.output)));
}

}  // namespace md

// md_generate SECONDS [SEED]: generated models through every command, each in a process of its own, so that a
// crash costs one. Models that break something are kept as generated-SEED.tflite in the current folder.
// md_generate model SEED: writes that model.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "test/generated_models.h"

using namespace md::test;

namespace {

constexpr unsigned seconds_a_model = 60;

void keep(std::uint64_t seed) {
  std::ofstream(fmt::format("generated-{}.tflite", seed), std::ios::binary) << generated_model(seed);
}

/// Runs one model in a child; false when it broke something.
bool survives(std::uint64_t seed) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return true;
  if (child == 0) {
    alarm(seconds_a_model);
    const std::string fault = model_fault(generated_model(seed), seed);
    if (!fault.empty()) fmt::print("model {}: {}\n", seed, fault);
    std::fflush(stdout);
    _exit(fault.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    fmt::print("model {}: {}\n", seed,
               WTERMSIG(status) == SIGALRM ? std::string("takes too long")
                                           : fmt::format("ends with signal {}", WTERMSIG(status)));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "md_generate SECONDS [SEED], or md_generate model SEED\n"), 2;
  if (std::string(argv[1]) == "model") return keep(std::strtoull(argc > 2 ? argv[2] : "1", nullptr, 10)), 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::uint64_t seed = std::strtoull(argc > 2 ? argv[2] : "1000000", nullptr, 10), tried = 0, broken = 0;
  prepare_trials();
  for (; std::chrono::steady_clock::now() < end; ++seed, ++tried)
    if (!survives(seed)) ++broken, keep(seed);
  fmt::print("{} models, {} broke something; the next is {}\n", tried, broken, seed);
  return broken ? 1 : 0;
}

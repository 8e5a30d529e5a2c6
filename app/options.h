// What the command line and modeldoctor.toml say.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace md::app {

struct Options {
  std::vector<std::string> models;     ///< files, folders (check only), "-" for standard input
  std::vector<std::string> logs;       ///< "-" for standard input
  std::vector<std::string> targets, select, ignore, rules_folders, symptoms, reports;
  std::string fail_on = "silent", output_format = "text", baseline, output, color = "auto", config;
  bool force = false, in_place = false, dry_run = false, show_diff = false;
  bool unsafe_fixes = false, exact_only = false, require_proof = false, thorough = false, hash = false;
  bool quiet = false, verbose = false;
  double max_error = 1e-3;
  int samples = 24, jobs = 0;
  std::uint64_t seed = 1;
};

}  // namespace md::app

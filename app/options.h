// What the command line and modeldoctor.toml say.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/config/config_file.h"

namespace md::app {

struct Options {
  std::vector<std::string> models;  ///< files, folders (check only), "-" for standard input
  std::vector<std::string> logs;    ///< FILE or MODEL=FILE; "-" for standard input
  std::vector<std::string> names;   ///< --model-name: NAME or MODEL=NAME
  std::vector<std::string> targets, select, ignore, rules_folders, symptoms, reports, cuts, shapes;
  std::vector<std::string> inputs, ranges;  ///< check and fix: .npz or .npy files, "name=lo:hi"
  std::string fail_on = "silent", output_format = "text", output, color = "auto", config;
  std::string baseline, write_baseline;
  bool strict_baseline = false, prune_baseline = false, no_auto_log = false;
  bool force = false, in_place = false, dry_run = false, show_diff = false;
  bool unsafe_fixes = false, exact_only = false, require_proof = false, thorough = false, hash = false;
  bool quiet = false, verbose = false, no_config = false;
  std::vector<PerModelSettings> per_model;  ///< of all configuration files
  std::vector<std::string> config_files;    ///< that are read, no output may replace them
  std::set<std::string> given;              ///< long options that the command line gives
  std::map<std::string, std::string>
      places;  ///< long option -> the line of a configuration file that gives it
  double max_error = 1e-3;
  int samples = 24, jobs = 0;
  std::uint64_t seed = 1;
};

/// verify, fp16 and tap: numbers.
struct NumericOptions {
  std::string model, other;                  ///< other: verify's second model
  std::vector<std::string> inputs, outputs;  ///< .npz or .npy
  std::vector<std::string> ranges;           ///< "name=lo:hi"
  std::string format = "text", arithmetic = "storage", at, out, on, runner;
  bool fp16 = false, saturate = false;
  int timeout = 300;  ///< seconds that a runner may take
  std::optional<double> rtol, atol;
};

}  // namespace md::app

#include "app/repeat.h"

#include <fmt/format.h>

namespace md::app {

std::vector<std::string> repeated_options(const Options& options) {
  std::vector<std::string> words;
  const auto each = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.insert(words.end(), {name, value});
  };
  each("--symptom", options.symptoms);
  each("--inputs", options.inputs);
  each("--range", options.ranges);
  each("--shape", options.shapes);
  each("--cut-before", options.cuts);
  each("--select", options.select);
  each("--ignore", options.ignore);
  each("--rules", options.rules_folders);
  if (!options.baseline.empty()) words.insert(words.end(), {"--baseline", options.baseline});
  if (!options.output.empty()) words.insert(words.end(), {"-o", options.output});
  if (options.in_place) words.emplace_back("--in-place");
  if (options.exact_only) words.emplace_back("--exact-only");
  const Options defaults;
  if (options.fail_on != defaults.fail_on) words.insert(words.end(), {"--fail-on", options.fail_on});
  if (options.max_error != defaults.max_error)
    words.insert(words.end(), {"--max-error", fmt::format("{}", options.max_error)});
  return words;
}

}  // namespace md::app

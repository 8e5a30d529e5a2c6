#include "app/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "lib/base/nearest.h"
#include "lib/base/stream.h"
#include "lib/diagnose/diagnose.h"
#include "lib/op/dialect.h"
#include "lib/verify/verify.h"

namespace md::app {
namespace {

namespace fs = std::filesystem;

bool has_model_extension(const fs::path& path) { return is_model_extension(path.extension().string()); }

/// `place`: where a configuration file says it; "" for the command line.
Status check_names(const std::vector<std::string>& names, const RuleBook& rules, const std::string& place) {
  for (const std::string& name : names) {
    const bool known = std::any_of(rules.rules().begin(), rules.rules().end(),
                                   [&](const Rule& rule) { return rule_is_named(rule, {name}); });
    if (known) continue;
    Error error = rules.unknown_rule(name);
    if (!place.empty()) error.message = fmt::format("{}: {}", place, error.message);
    return tl::make_unexpected(std::move(error));
  }
  return {};
}

bool read_number(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path) {
  if (path != "-") return MappedFile::open(path);
  std::string bytes;
  std::vector<char> chunk(1 << 16);
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), stdin))
    bytes.append(chunk.data(), got);
  if (std::ferror(stdin) != 0) return input_error("standard input: cannot be read");
  return MappedFile::from_bytes("-", std::move(bytes));
}

Result<std::shared_ptr<const MappedFile>> open_text_input(const std::string& path) {
  return path == "-" ? open_input(path) : open_file_or_pipe(path);
}

Result<std::vector<std::string>> expand_models(const std::vector<std::string>& paths) {
  std::vector<std::string> models;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!is_folder(path)) {
      models.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && entry != end; entry.increment(error))
      if (entry->is_regular_file(error) && has_model_extension(entry->path()))
        found.push_back(entry->path().string());
    if (error) return input_error(fmt::format("{}: cannot list the folder: {}", path, error.message()));
    if (found.empty())
      return input_error(fmt::format("{}: a folder without model files (.tflite, .onnx, .pt2, .pte)", path));
    std::sort(found.begin(), found.end());
    models.insert(models.end(), found.begin(), found.end());
  }
  return models;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return path != "-" && fs::is_directory(path, error);
}

Result<std::vector<Log>> read_logs(const std::vector<std::string>& paths) {
  std::vector<Log> logs;
  for (const std::string& path : paths) {
    auto file = open_text_input(path);
    if (!file) return tl::make_unexpected(file.error());
    if ((*file)->bytes().empty())
      return input_error(fmt::format("{}: the log is empty", path == "-" ? "standard input" : path));
    auto log = parse_log(path, (*file)->bytes());
    if (!log) return tl::make_unexpected(log.error());
    logs.push_back(std::move(*log));
  }
  return logs;
}

Result<RuleBook> load_rules(const Options& options) {
  auto rules = RuleBook::load(options.rules_folders);
  if (!rules) return rules;
  const auto place = [&](const char* option) {
    const auto found = options.places.find(option);
    return found == options.places.end() ? "" : found->second;
  };
  if (auto status = check_names(options.select, *rules, place("select")); !status)
    return tl::make_unexpected(status.error());
  if (auto status = check_names(options.ignore, *rules, place("ignore")); !status)
    return tl::make_unexpected(status.error());
  for (const PerModelSettings& entry : options.per_model)
    for (const auto* names : {&entry.select, &entry.ignore})
      if (auto status = check_names(*names, *rules, entry.place); !status)
        return tl::make_unexpected(status.error());
  return rules;
}

Options options_for(Options options, const std::string& model) {
  ModelSettings own = settings_for(options.per_model, model);
  options.ignore.insert(options.ignore.end(), own.ignore.begin(), own.ignore.end());
  if (!own.select.empty() && !options.given.contains("select")) options.select = std::move(own.select);
  if (!own.targets.empty() && !options.given.contains("target")) options.targets = std::move(own.targets);
  if (!own.fail_on.empty() && !options.given.contains("fail-on")) options.fail_on = std::move(own.fail_on);
  return options;
}

Result<const Rule*> find_rule(const RuleBook& rules, const std::string& name) {
  if (const Rule* rule = rules.find(name)) return rule;
  for (const Rule& rule : rules.rules())
    if (rule.name == name) return &rule;
  return tl::make_unexpected(rules.unknown_rule(name));
}

Result<std::map<std::string, std::pair<double, double>>> parse_ranges(
    const Model& model, const std::vector<std::string>& wishes) {
  std::map<std::string, std::pair<double, double>> ranges;
  for (const std::string& wish : wishes) {
    const std::size_t equals = wish.rfind('=');
    const std::size_t colon = equals == std::string::npos ? equals : wish.find(':', equals);
    std::pair<double, double> range;
    if (colon == std::string::npos ||
        !read_number(std::string_view(wish).substr(equals + 1, colon - equals - 1), range.first) ||
        !read_number(std::string_view(wish).substr(colon + 1), range.second))
      return usage_error(fmt::format("--range {}: expected NAME=LO:HI, e.g. image=0:255", wish));
    const std::string name = wish.substr(0, equals);
    const auto input = input_by_name(model, name);
    if (!input)
      return usage_error(fmt::format("--range {}: the model has no input of that name{}", wish,
                                     did_you_mean(name, input_names(model))));
    ranges[model.graphs[0].value(*input).name] = range;
  }
  return ranges;
}

}  // namespace md::app

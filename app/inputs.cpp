#include "app/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/base/nearest.h"
#include "lib/diagnose/selection.h"
#include "lib/op/dialect.h"

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

Result<std::vector<NamedRange>> parse_ranges(const std::vector<std::string>& wishes) {
  std::vector<NamedRange> ranges;
  for (const std::string& wish : wishes) {
    const std::size_t equals = wish.rfind('=');
    const std::size_t colon = equals == std::string::npos ? equals : wish.find(':', equals);
    NamedRange range;
    if (colon == std::string::npos ||
        !read_number(std::string_view(wish).substr(equals + 1, colon - equals - 1), range.low) ||
        !read_number(std::string_view(wish).substr(colon + 1), range.high))
      return usage_error(fmt::format("--range {}: expected NAME=LO:HI, e.g. image=0:255", wish));
    range.name = wish.substr(0, equals);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

Result<std::vector<PinnedShape>> parse_shapes(const std::vector<std::string>& wishes) {
  std::vector<PinnedShape> shapes;
  for (const std::string& wish : wishes) {
    const auto misread = [&] { return usage_error(fmt::format("--shape {}: expected NAME=1,1280", wish)); };
    const std::size_t equals = wish.rfind('=');
    if (equals == std::string::npos || equals == 0) return misread();
    PinnedShape pinned{.input = wish.substr(0, equals), .shape = {}};
    const char* at = wish.data() + equals + 1;
    const char* const end = wish.data() + wish.size();
    do {
      std::int32_t size = 0;
      const auto [rest, failure] = std::from_chars(at, end, size);
      if (failure != std::errc() || (rest != end && *rest != ',' && *rest != 'x')) return misread();
      pinned.shape.push_back(size);
      at = rest == end ? end : rest + 1;
      if (rest != end && at == end) return misread();
    } while (at != end);
    shapes.push_back(std::move(pinned));
  }
  return shapes;
}

}  // namespace md::app

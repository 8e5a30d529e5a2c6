#include "lib/log/companions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "lib/base/nearest.h"

namespace md {
namespace {

namespace fs = std::filesystem;

std::string normal(const std::string& path) { return fs::path(path).lexically_normal().generic_string(); }

/// Models that a name may mean: the one that is spelled so, else all whose path ends with it.
std::vector<std::size_t> models_called(const std::vector<std::string>& models, const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < models.size(); ++i)
    if (normal(models[i]) == normal(name)) return {i};
  for (std::size_t i = 0; i < models.size(); ++i)
    if (normal(models[i]).ends_with("/" + normal(name))) found.push_back(i);
  return found;
}

struct Pair {
  std::size_t model = 0;
  std::string log;
};

/// Nothing for a wish that names no model. Paths may hold "=", so every one of them is tried.
Result<std::optional<Pair>> read_pair(const std::vector<std::string>& models, const std::string& wish) {
  for (std::size_t at = wish.find('='); at != std::string::npos; at = wish.find('=', at + 1)) {
    const std::string name = wish.substr(0, at), log = wish.substr(at + 1);
    const std::vector<std::size_t> called = models_called(models, name);
    if (name.empty() || called.empty()) continue;
    if (called.size() > 1)
      return usage_error(fmt::format("--log {}: {} may be {} or {}; give more of its path", wish, name,
                                     models[called[0]], models[called[1]]));
    if (log.empty()) return usage_error(fmt::format("--log {}: expected MODEL=FILE", wish));
    return std::optional(Pair{called[0], log});
  }
  std::error_code error;
  const std::size_t equals = wish.find('=');
  if (equals == std::string::npos || fs::exists(wish, error)) return std::optional<Pair>();
  return usage_error(fmt::format("--log {}: no model of this run is called {}{}", wish,
                                 wish.substr(0, equals), did_you_mean(wish.substr(0, equals), models)));
}

/// Another model beside this one, whose log "model.log" may be as well.
std::optional<std::string> of_the_same_stem(const fs::path& model) {
  for (const char* extension : {".tflite", ".onnx", ".pt2", ".pte"}) {
    const fs::path other = fs::path(model).replace_extension(extension);
    std::error_code error;
    if (other != model && fs::is_regular_file(other, error)) return other.string();
  }
  return std::nullopt;
}

/// `modeldoctor check model.tflite > model.log` leaves such a file: "model.tflite: tflite, 5 operators".
/// Nobody is told, so nothing else may look like it, least of all "these operators are not supported: A, B".
bool is_our_report(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t end = line.rfind(" operators");
  if (end == std::string_view::npos) return false;
  line = line.substr(0, end);
  const std::size_t comma = line.rfind(", ");
  const std::size_t colon = line.substr(0, comma).rfind(": ");
  if (comma == std::string_view::npos || colon == std::string_view::npos) return false;
  const std::string_view count = line.substr(comma + 2), format = line.substr(colon + 2, comma - colon - 2);
  return !count.empty() && count.find_first_not_of("0123456789") == std::string_view::npos &&
         format.find(' ') == std::string_view::npos;
}

/// "litert-gpu 2.3.0" where the log tells another version than the user asked for; "" otherwise.
std::string unwanted_version(const Log& log, const std::vector<std::string>& targets) {
  std::string unwanted;
  for (const std::string& target : targets) {
    const std::size_t at = target.find('@');
    const std::string name = target.substr(0, std::min(at, target.find('+')));
    const auto told = log.versions.find(name);
    if (at == std::string::npos || told == log.versions.end()) continue;
    if (told->second == target.substr(at + 1)) return "";
    unwanted = name + " " + told->second;
  }
  return unwanted;
}

void read_companion(const std::string& path, const std::vector<std::string>& targets,
                    CompanionLogs& companions, std::vector<std::string>& read) {
  auto file = MappedFile::open(path);
  if (!file || (*file)->bytes().empty()) return;
  const Bytes bytes = (*file)->bytes();
  if (is_our_report({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return;
  auto log = parse_log(path, bytes);
  if (!log) {
    companions.notes.push_back(
        fmt::format("{} lies beside the model and is no log ({})", path, log.error().message));
    return;
  }
  if (const std::string other = unwanted_version(*log, targets); !other.empty()) {
    companions.notes.push_back(fmt::format(
        "{} beside the model is of {} and was not read: --target asks for another version", path, other));
    return;
  }
  read.push_back(path);
  companions.logs.push_back(std::move(*log));
}

}  // namespace

Result<std::vector<std::vector<std::string>>> pair_logs(const std::vector<std::string>& models,
                                                        const std::vector<std::string>& wishes) {
  std::vector<std::vector<std::string>> logs(models.size());
  for (const std::string& wish : wishes) {
    auto pair = read_pair(models, wish);
    if (!pair) return tl::make_unexpected(pair.error());
    if (*pair)
      logs[(*pair)->model].push_back((*pair)->log);
    else if (models.size() == 1)
      logs.front().push_back(wish);
    else
      return usage_error(
          fmt::format("--log {0}: whose log is it? There are {1} models: give --log {2}={0}, one "
                      "--log for each model that has a log",
                      wish, models.size(), models.empty() ? "MODEL" : models.front()));
  }
  return logs;
}

Result<std::vector<std::string>> pair_names(const std::vector<std::string>& models,
                                            const std::vector<std::string>& wishes) {
  std::vector<std::string> names(models.size());
  std::set<std::string> taken;
  for (const std::string& wish : wishes) {
    const std::size_t equals = wish.find('=');
    const std::vector<std::size_t> called = equals == std::string::npos
                                                ? std::vector<std::size_t>()
                                                : models_called(models, wish.substr(0, equals));
    const std::string name = called.size() == 1 ? wish.substr(equals + 1) : wish;
    if (name.empty() || (called.size() != 1 && models.size() != 1))
      return usage_error(
          fmt::format("--model-name {}: expected MODEL=NAME with one of the models of this run", wish));
    if (!taken.insert(name).second)
      return usage_error(fmt::format("--model-name {}: two models cannot have one name", wish));
    names[called.size() == 1 ? called.front() : 0] = name;
  }
  return names;
}

std::vector<std::string> companion_paths(const std::string& model) {
  std::vector<std::string> paths;
  if (model == "-") return paths;
  for (const std::string& start : {fs::path(model).replace_extension().string(), model})
    for (const char* extension : {".log", ".err"}) {
      std::error_code error;
      if (fs::is_regular_file(start + extension, error)) paths.push_back(start + extension);
    }
  return paths;
}

CompanionLogs companion_logs(const std::string& model, const std::vector<std::string>& targets) {
  CompanionLogs companions;
  std::vector<std::string> read;
  for (const std::string& path : companion_paths(model)) {
    const bool whole_name = path.starts_with(model);
    const auto other = whole_name ? std::nullopt : of_the_same_stem(model);
    if (other)
      companions.notes.push_back(
          fmt::format("{} may be the log of {} as well: it was not read; if it is this model's, say --log {}",
                      path, *other, path));
    else
      read_companion(path, targets, companions, read);
  }
  if (!read.empty())
    companions.notes.insert(
        companions.notes.begin(),
        fmt::format("read {}, beside the model and of its name, as its log (--no-auto-log "
                    "leaves it out)",
                    fmt::join(read, ", ")));
  return companions;
}

}  // namespace md

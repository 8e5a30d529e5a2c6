#include "lib/config/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/nearest.h"
#include "lib/base/version.h"
#include "lib/config/glob.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace md {
namespace {

int line_of(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

/// One value as the command line writes it; false for tables, lists and dates.
bool scalar_text(const toml::node& node, ConfigValue& value) {
  if (const auto* text = node.as_string()) {
    value.kind = ConfigValue::Kind::text, value.texts.push_back(text->get());
  } else if (const auto* truth = node.as_boolean()) {
    value.kind = ConfigValue::Kind::boolean, value.texts.emplace_back(truth->get() ? "true" : "false");
  } else if (const auto* whole = node.as_integer()) {
    value.kind = ConfigValue::Kind::integer, value.texts.push_back(std::to_string(whole->get()));
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = ConfigValue::Kind::real, value.texts.push_back(fmt::format("{}", real->get()));
  } else {
    return false;
  }
  return true;
}

ConfigValue value_of(const toml::node& node) {
  ConfigValue value;
  const toml::array* list = node.as_array();
  if (!list) {
    scalar_text(node, value);
    return value;
  }
  bool plain = true;
  for (const toml::node& element : *list) plain = plain && scalar_text(element, value);
  value.kind = plain ? ConfigValue::Kind::list : ConfigValue::Kind::other;
  return value;
}

class Reader {
 public:
  Reader(const std::string& path, ConfigFile& to) : path_(path), to_(to) {}

  Status read(const toml::table& root, std::string_view version) {
    if (auto status = required_version(root, version); !status) return status;
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      const int line = line_of(key.source());
      if (name == "required-version") continue;
      if (name == "per-model") {
        if (auto status = per_model(node, line); !status) return status;
      } else if (const toml::table* table = node.as_table()) {
        if (auto status = settings(name, *table, line); !status) return status;
      } else {
        to_.settings.push_back({"", name, value_of(node), line});
      }
    }
    std::stable_sort(to_.settings.begin(), to_.settings.end(),
                     [](const ConfigSetting& a, const ConfigSetting& b) { return a.line < b.line; });
    return {};
  }

 private:
  tl::unexpected<Error> error(int line, const std::string& what) const {
    return usage_error(fmt::format("{}:{}: {}", path_, line, what));
  }

  Status required_version(const toml::table& root, std::string_view version) const {
    const toml::node* node = root.get("required-version");
    if (!node) return {};
    const int line = line_of(node->source());
    const auto* text = node->as_string();
    const auto range = text ? VersionRange::parse(text->get()) : std::nullopt;
    if (!range)
      return error(line, "required-version: expected a range of versions, e.g. required-version = \">=0.1\"");
    const auto own = Version::parse(version);
    if (own && range->contains(*own)) return {};
    return error(line,
                 fmt::format("required-version = \"{}\", but this is modeldoctor {}: use another version "
                             "of the program, or change that line",
                             range->text(), version));
  }

  Status settings(const std::string& table, const toml::table& from, int line) {
    to_.settings.push_back({table, "", {}, line});
    for (const auto& [key, node] : from) {
      if (node.is_table())
        return error(
            line_of(key.source()),
            fmt::format("[{}.{}]: expected a value; tables are named after commands and hold options", table,
                        key.str()));
      to_.settings.push_back({table, std::string(key.str()), value_of(node), line_of(key.source())});
    }
    return {};
  }

  Status per_model(const toml::node& node, int line) {
    const toml::array* entries = node.as_array();
    if (!entries)
      return error(line, "per-model: expected [[per-model]], with two brackets, once for each pattern");
    for (const toml::node& entry : *entries) {
      const toml::table* table = entry.as_table();
      if (!table) return error(line, "per-model: expected [[per-model]] with pattern = \"...\"");
      if (auto status = entry_of(*table); !status) return status;
    }
    return {};
  }

  Status entry_of(const toml::table& table) {
    const int line = line_of(table.source());
    PerModelSettings entry;
    entry.place = fmt::format("{}:{}", path_, line);
    entry.folder = std::filesystem::path(path_).parent_path().string();
    static const std::vector<std::string> known = {"pattern", "ignore", "select", "target", "fail-on"};
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      ConfigValue value = value_of(node);
      const bool one = name == "pattern" || name == "fail-on";
      if (std::find(known.begin(), known.end(), name) == known.end())
        return error(
            line_of(key.source()),
            fmt::format("[[per-model]] has no key {}{}; it takes pattern, ignore, select, target, fail-on",
                        name, did_you_mean(name, known)));
      if (one ? value.kind != ConfigValue::Kind::text : !is_text_list(node))
        return error(line_of(key.source()),
                     fmt::format("{}: expected {}", name, one ? "a text" : "a text or a list of texts"));
      if (one)
        (name == "pattern" ? entry.pattern : entry.fail_on) = value.texts.front();
      else
        (name == "ignore"   ? entry.ignore
         : name == "select" ? entry.select
                            : entry.targets) = std::move(value.texts);
    }
    if (entry.pattern.empty() || entry.pattern.size() > 1000)
      return error(line, "[[per-model]]: expected a pattern, e.g. pattern = \"models/legacy_*.tflite\"");
    to_.per_model.push_back(std::move(entry));
    return {};
  }

  static bool is_text_list(const toml::node& node) {
    if (node.is_string()) return true;
    const toml::array* list = node.as_array();
    return list && std::all_of(list->begin(), list->end(), [](const toml::node& e) { return e.is_string(); });
  }

  const std::string& path_;
  ConfigFile& to_;
};

std::string path_from(const std::string& folder, const std::string& model) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path full = fs::absolute(model, error).lexically_normal();
  const fs::path base = fs::absolute(folder.empty() ? "." : folder, error).lexically_normal();
  const fs::path relative = full.lexically_relative(base / "");
  return (relative.empty() ? full : relative).generic_string();
}

}  // namespace

Result<ConfigFile> parse_config(const std::string& path, std::string_view text, std::string_view version) {
  if (text.size() > longest_config)
    return usage_error(
        fmt::format("{}: larger than 1 MB; expected a modeldoctor.toml written by hand", path));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return usage_error(
        fmt::format("{}:{}: {}", path, line_of(parsed.error().source()), parsed.error().description()));
  ConfigFile file;
  file.path = path;
  if (auto status = Reader(path, file).read(parsed.table(), version); !status)
    return tl::make_unexpected(status.error());
  return file;
}

ModelSettings settings_for(const std::vector<PerModelSettings>& entries, const std::string& model) {
  ModelSettings settings;
  for (const PerModelSettings& entry : entries) {
    if (!glob_matches(entry.pattern, path_from(entry.folder, model))) continue;
    settings.ignore.insert(settings.ignore.end(), entry.ignore.begin(), entry.ignore.end());
    if (!entry.select.empty()) settings.select = entry.select;
    if (!entry.targets.empty()) settings.targets = entry.targets;
    if (!entry.fail_on.empty()) settings.fail_on = entry.fail_on;
  }
  return settings;
}

}  // namespace md

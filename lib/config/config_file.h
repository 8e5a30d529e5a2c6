// modeldoctor.toml as data: which keys it sets, on which line, to what. What a key means is up to its user.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace md {

struct ConfigValue {
  enum class Kind { boolean, integer, real, text, list, other } kind = Kind::other;
  /// As the command line has them: one, or those of a list (every element a boolean, a number, or a text).
  std::vector<std::string> texts;
};

struct ConfigSetting {
  std::string table;  ///< "fix" for a key of [fix]; "" at the top
  std::string key;
  ConfigValue value;
  int line = 0;
};

/// [[per-model]]: what holds for the models whose path fits.
struct PerModelSettings {
  std::string pattern;  ///< glob_matches against the path from `folder`
  std::string folder;   ///< of the file that says it; "": the current folder
  std::vector<std::string> select, ignore, targets;
  std::string fail_on;  ///< "": not said
  std::string place;    ///< "modeldoctor.toml:7", for messages
};

struct ConfigFile {
  std::string path;
  std::vector<ConfigSetting>
      settings;  ///< in the order of the file; tables that hold none as one without key
  std::vector<PerModelSettings> per_model;
};

/// At most this many bytes are read: nobody writes more by hand.
inline constexpr std::size_t longest_config = std::size_t{1} << 20;

/// Reads TOML text. Errors (usage, "path:line: ..."): not TOML, `required-version` not satisfied by
/// `version` (told before anything else, newer files may hold more), a [[per-model]] that is incomplete or
/// has unknown keys ("did you mean").
Result<ConfigFile> parse_config(const std::string& path, std::string_view text, std::string_view version);

/// What the entries say for one model, in their order: ignored rules add up, of the rest the last one holds.
struct ModelSettings {
  std::vector<std::string> ignore, select, targets;
  std::string fail_on;
};
ModelSettings settings_for(const std::vector<PerModelSettings>& entries, const std::string& model);

}  // namespace md

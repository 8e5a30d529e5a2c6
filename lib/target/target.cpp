#include "lib/target/target.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/embedded.h"
#include "lib/base/nearest.h"
#include "lib/op/dialect.h"
#include "lib/target/readable.h"
#include "lib/target/table_target.h"

namespace md {
namespace {

/// A row of a runtime's targets.json (lib/target/README.md).
struct KnownTarget {
  std::string name;
  std::string table_name;            ///< of its constraint table; "": it has none, only rules apply
  bool falls_back = false;           ///< what the accelerator refuses runs on the CPU
  std::vector<Version> versions;     ///< ascending: those that the rules were measured with, and the table's
  std::vector<std::string> formats;  ///< names of those that the runtime reads
};

/// The rows of all runtimes, without their tables; read once.
std::vector<KnownTarget> read_listed_targets() {
  using Json = nlohmann::json;
  std::vector<KnownTarget> all;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("lib/runtime/") || !file.path.ends_with("/targets.json")) continue;
    const Json json = Json::parse(file.text, nullptr, false);
    assert(json.is_object() && json.contains("targets"));
    for (const Json& row : json.at("targets")) {
      KnownTarget& known = all.emplace_back();
      known.name = row.value("name", "");
      known.table_name = row.value("table", "");
      known.falls_back = row.value("falls_back", false);
      known.formats = row.value("reads", std::vector<std::string>());
      for (const std::string& text : row.value("versions", std::vector<std::string>()))
        if (const auto version = Version::parse(text)) known.versions.push_back(*version);
      assert(!known.versions.empty() && !known.formats.empty());
    }
  }
  return all;
}

const std::vector<KnownTarget>& listed_targets() {
  static const std::vector<KnownTarget> targets = read_listed_targets();
  return targets;
}

Error unknown_target(std::string_view name) {
  std::vector<std::string> names;
  for (const KnownTarget& known : listed_targets()) names.push_back(known.name);
  const std::string close = nearest(name.substr(0, 64), names);
  const std::string hint = close.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                                         : fmt::format("did you mean \"{}\"?", close);
  return {Error::Kind::usage, fmt::format("unknown target \"{}\"; {}", name, hint)};
}

/// The newest measured version that is not above `asked`, else the oldest.
Version nearest_measured(const std::vector<Version>& measured, const Version& asked) {
  const auto above = std::upper_bound(measured.begin(), measured.end(), asked);
  return above == measured.begin() ? measured.front() : *(above - 1);
}

}  // namespace

Result<std::unique_ptr<Target>> open_target(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  const auto& targets = listed_targets();
  const auto known =
      std::find_if(targets.begin(), targets.end(), [&](const KnownTarget& k) { return k.name == name; });
  if (known == targets.end()) return tl::make_unexpected(unknown_target(name));
  const Table* table = known->table_name.empty() ? nullptr : embedded_table(known->table_name);
  assert(table || known->table_name.empty());
  auto target = std::make_unique<TableTarget>(known->name, table, known->falls_back);
  target->version = known->versions.back();
  if (at != std::string_view::npos) {
    const auto asked = Version::parse(text.substr(at + 1));
    if (!asked)
      return usage_error(fmt::format("target \"{}\": \"{}\" is no version; write {}@{}", text,
                                     text.substr(at + 1), name, known->versions.back().text()));
    target->version = *asked;
  }
  target->table = table ? nearest_measured(known->versions, target->version) : target->version;
  target->assumed = target->table != target->version;
  return target;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const KnownTarget& known : listed_targets()) names.push_back(known.name);
  return names;
}

std::vector<TargetListing> known_targets() {
  std::vector<TargetListing> listings;
  for (const KnownTarget& known : listed_targets()) listings.push_back({known.name, known.versions});
  return listings;
}

Status check_readable(const Target& target, const Dialect& dialect) {
  const auto reads = [&](const KnownTarget& known) {
    return std::find(known.formats.begin(), known.formats.end(), dialect.name) != known.formats.end();
  };
  std::vector<std::string> others, taken;
  for (const KnownTarget& known : listed_targets()) {
    if (reads(known) && known.name == target.name()) return {};
    if (reads(known)) others.push_back(known.name);
    if (known.name != target.name()) continue;
    for (const std::string& own : known.formats) taken.push_back("." + own);
  }
  return usage_error(fmt::format("{} does not read .{}, it reads {}; for this file: {}", target.name(),
                                 dialect.name, fmt::join(taken, " and "),
                                 others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", "))));
}

}  // namespace md

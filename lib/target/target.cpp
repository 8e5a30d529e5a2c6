#include "lib/target/target.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/embedded.h"
#include "lib/base/nearest.h"
#include "lib/op/dialect.h"
#include "lib/target/readable.h"
#include "lib/target/table_target.h"

namespace md {
namespace {

struct KnownTarget {
  std::string name;
  const Table* table = nullptr;
  std::vector<Version> versions;     ///< ascending
  std::vector<std::string> formats;  ///< names of those that the runtime reads
};

constexpr std::string_view executorch_backends[] = {"xnnpack", "coreml", "vulkan",  "mlx",     "qnn",
                                                    "tosa",    "vgf",    "ethos-u", "neutron", "cortex-m",
                                                    "cuda",    "metal",  "openvino"};

const std::vector<KnownTarget>& all_targets() {
  static const std::vector<KnownTarget> targets = [] {
    std::vector<KnownTarget> all;
    for (const Table& table : embedded_tables()) {
      all.push_back({table.target, &table, table.versions, table.formats});
      if (table.target == "litert-gpu")
        all.push_back({"litert-gpu+cpu", &table, table.versions, table.formats});
    }
    // The versions that the rules were measured with. The compilers take exported programs; what ExecuTorch
    // makes of one is a .pte.
    all.push_back({"litert-torch", nullptr, {{{0, 9, 0}}, {{0, 10, 0}}}, {"pt2"}});
    const std::vector<std::string> executorch = {"pt2", "pte"};
    all.push_back({"executorch", nullptr, {{{1, 5, 1}}}, executorch});
    for (const std::string_view backend : executorch_backends)
      all.push_back({fmt::format("executorch-{}", backend), nullptr, {{{1, 5, 1}}}, executorch});
    all.push_back({"torch-tensorrt", nullptr, {{{2, 14, 0}}}, {"pt2"}});
    all.push_back({"onnxruntime", nullptr, {{{1, 32, 0}}}, {"onnx"}});
    return all;
  }();
  return targets;
}

Error unknown_target(std::string_view name) {
  std::vector<std::string> names;
  for (const KnownTarget& known : all_targets()) names.push_back(known.name);
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
  const auto& targets = all_targets();
  const auto known =
      std::find_if(targets.begin(), targets.end(), [&](const KnownTarget& k) { return k.name == name; });
  if (known == targets.end()) return tl::make_unexpected(unknown_target(name));
  auto target = std::make_unique<TableTarget>(known->name, known->table);
  target->version = known->versions.back();
  if (at != std::string_view::npos) {
    const auto asked = Version::parse(text.substr(at + 1));
    if (!asked)
      return usage_error(fmt::format("target \"{}\": \"{}\" is no version; write {}@{}", text,
                                     text.substr(at + 1), name, known->versions.back().text()));
    target->version = *asked;
  }
  target->table = known->table ? nearest_measured(known->versions, target->version) : target->version;
  target->assumed = target->table != target->version;
  return target;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"litert-gpu+cpu", "litert-torch", "executorch", "torch-tensorrt",
                                    "onnxruntime"};
  constexpr std::string_view ending =
      ".constraints.json";  // lib/runtime/R/NAME.constraints.json: that of NAME
  for (const EmbeddedFile& file : embedded_files()) {
    std::string_view name = file.path;
    if (!name.starts_with("lib/runtime/") || !name.ends_with(ending)) continue;
    name.remove_prefix(name.rfind('/') + 1), name.remove_suffix(ending.size());
    names.emplace_back(name);
  }
  for (const std::string_view backend : executorch_backends)
    names.push_back(fmt::format("executorch-{}", backend));
  return names;
}

std::vector<TargetListing> known_targets() {
  std::vector<TargetListing> listings;
  for (const KnownTarget& known : all_targets()) listings.push_back({known.name, known.versions});
  return listings;
}

Status check_readable(const Target& target, const Dialect& dialect) {
  const auto reads = [&](const KnownTarget& known) {
    return std::find(known.formats.begin(), known.formats.end(), dialect.name) != known.formats.end();
  };
  std::vector<std::string> others, taken;
  for (const KnownTarget& known : all_targets()) {
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

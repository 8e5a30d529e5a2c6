#include "lib/rule/page/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/rule/language/rewrite.h"

namespace md {
namespace {

/// "rules/litert/LRT001-name.md" -> "litert"
std::string folder_of(const std::string& path) {
  const std::size_t file = path.rfind('/');
  if (file == std::string::npos) return "";
  const std::size_t folder = path.rfind('/', file - 1);
  return path.substr(folder == std::string::npos ? 0 : folder + 1,
                     file - (folder == std::string::npos ? 0 : folder + 1));
}

std::string fails_where(const Rule& rule) {
  std::string text;
  for (const RuntimeRange& range : rule.runtimes)
    if (range.part.empty()) {
      const std::string versions = range.fails.text();
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", range.target,
                          versions == "*" ? "" : " " + versions);
    }
  return text.empty() ? "everywhere" : text;
}

std::string row(const Rule& rule, const std::string& folder) {
  const std::size_t file = rule.path.rfind('/');
  return fmt::format("| [{0} {1}]({2}/{3}) | {4} | {5} | {6} | {7} |\n", rule.id, rule.name, folder,
                     file == std::string::npos ? rule.path : rule.path.substr(file + 1), word(rule.severity),
                     has_fix(rule) ? word(rule.applicability) : "advice", written_in(rule),
                     fails_where(rule));
}

}  // namespace

bool has_fix(const Rule& rule) {
  return rule.applicability != Applicability::manual && (rule.detector || !rule.rewrites.empty());
}

std::string_view written_in(const Rule& rule) {
  if (rule.detector) return "C++";
  const bool named = std::any_of(rule.rewrites.begin(), rule.rewrites.end(), [](const auto& rewrite) {
    const auto& all = rewrite->tree().replacements;
    return std::any_of(all.begin(), all.end(), [](const Replacement& r) { return r.call.has_value(); });
  });
  return named ? "library" : rule.rewrites.empty() ? "log" : "language";
}

std::string rule_index(const std::vector<Rule>& rules) {
  std::map<std::string, std::string> tables;
  std::size_t fixes = 0, without_code = 0;
  for (const Rule& rule : rules) {
    const std::string folder = folder_of(rule.path);
    tables[folder] += row(rule, folder);
    if (!has_fix(rule)) continue;
    ++fixes;
    if (!rule.detector) ++without_code;
  }
  std::string out =
      "# All rules\n\nMade by `modeldoctor rules list --markdown`; a test holds it to the pages. How a rule "
      "is written: in the rule "
      "*language*, by a\nrewrite of the *library* that its page names, in *C++* of its own, or as messages "
      "of a "
      "*log* alone. "
      "[README.md](README.md) says how to add one.\n";
  for (const auto& [folder, table] : tables)
    out +=
        fmt::format("\n## {}\n\n| rule | severity | fix | written in | fails on |\n|---|---|---|---|---|\n{}",
                    folder, table);
  out += fmt::format("\n{} rules; {} of them change the file, {} of these without C++ of their own.\n",
                     rules.size(), fixes, without_code);
  return out;
}

}  // namespace md

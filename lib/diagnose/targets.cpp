#include "lib/diagnose/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lib/op/dialect.h"
#include "lib/target/readable.h"

namespace md {
namespace {

std::vector<const Rule*> rules_of_log(const std::vector<LogEvidence>& evidence) {
  std::vector<const Rule*> hit;
  for (const LogEvidence& item : evidence) hit.insert(hit.end(), item.rules.begin(), item.rules.end());
  return hit;
}

std::string name_part(std::string_view text) { return std::string(text.substr(0, text.find('@'))); }

/// "litert-gpu+cpu" and "litert-gpu" are one runtime; so are "executorch-xnnpack" and "executorch".
std::string family(std::string_view target) {
  target = target.substr(0, target.find('@'));
  if (const auto plus = target.find('+'); plus != std::string_view::npos) target = target.substr(0, plus);
  if (target.starts_with("executorch-")) return "executorch";
  return std::string(target);
}

/// The version that some log tells for the target's runtime; "" when none does.
std::string version_in_logs(const std::vector<Log>& logs, std::string_view target) {
  for (const Log& log : logs)
    for (const std::string& tool : {name_part(target), family(target)})
      if (const auto found = log.versions.find(tool); found != log.versions.end()) return found->second;
  return "";
}

/// The runtime that spoke in a failing record, the first one that is known as a target.
std::string runtime_in_logs(const std::vector<Log>& logs) {
  for (const Log& log : logs)
    for (const Record& record : log.records)
      if (record.failure && !record.benign && !record.tool.empty() && open_target(record.tool))
        return record.tool;
  for (const Log& log : logs)
    for (const auto& [tool, version] : log.versions)
      if (open_target(tool)) return tool;
  return "";
}

std::set<std::string> failing_messages(const std::vector<Log>& logs) {
  std::set<std::string> messages;
  for (const Log& log : logs)
    for (const Record& record : log.records)
      if (record.failure && !record.benign) messages.insert(record.message);
  return messages;
}

/// Every measured version whose visible records explain all operator lines of the log, ascending.
std::vector<Version> fitting_versions(const std::string& runtime, const std::vector<Log>& logs,
                                      const Model& model) {
  const std::set<std::string> messages = failing_messages(logs);
  std::vector<std::pair<Version, std::size_t>> matches;
  std::size_t best = 0;
  for (const TargetListing& listing : known_targets()) {
    if (listing.name != runtime) continue;
    for (const Version& version : listing.versions) {
      auto target = open_target(fmt::format("{}@{}", runtime, version.text()));
      if (!target || !(*target)->has_table()) continue;
      std::set<std::string> predicted;
      for (const PredictedRecord& record : (*target)->predict(model).records)
        if (!record.hidden) predicted.insert(record.text);
      std::size_t hits = 0;
      for (const std::string& message : messages) hits += predicted.count(message);
      best = std::max(best, hits);
      matches.push_back({version, hits});
    }
  }
  std::vector<Version> fitting;
  if (best == 0) return fitting;
  for (const auto& [version, hits] : matches)
    if (hits == best) fitting.push_back(version);
  std::sort(fitting.begin(), fitting.end());
  return fitting;
}

Result<ResolvedTargets> from_flags(const DiagnoseRequest& request) {
  ResolvedTargets resolved;
  for (const std::string& flag : request.targets) {
    const std::string told = version_in_logs(request.logs, flag);
    const bool versioned = flag.find('@') != std::string::npos;
    auto target = open_target(!versioned && !told.empty() ? flag + "@" + told : flag);
    if (!target) return tl::make_unexpected(target.error());
    if (request.document)
      if (auto readable = check_readable(**target, *request.document->model().dialect); !readable)
        return usage_error(fmt::format("{}: {}", request.model_path, readable.error().message));
    (*target)->source = "flag";
    const std::string shown = fmt::format("{}@{}", (*target)->name(), (*target)->version.text());
    const auto logged = Version::parse(told);
    if (versioned && logged && *logged != (*target)->version)
      resolved.notes.push_back(fmt::format("the log is of {} {}, but --target says {}: the flag is used",
                                           family(flag), told, shown));
    const std::string runtime = runtime_in_logs(request.logs);
    if (!runtime.empty() && family(runtime) != family(flag))
      resolved.notes.push_back(
          fmt::format("the log is of {}, but --target says {}: the flag is used", runtime, shown));
    if ((*target)->has_table() && (*target)->table != (*target)->version)
      resolved.notes.push_back(fmt::format("{}: no measured table for {}; the one of {} is used (assumed)",
                                           shown, (*target)->version.text(), (*target)->table.text()));
    resolved.targets.push_back(std::move(*target));
  }
  return resolved;
}

/// Fits the version from the text of the log, else takes the newest.
std::unique_ptr<Target> from_runtime(const std::string& runtime, const DiagnoseRequest& request,
                                     std::vector<std::string>& notes) {
  if (request.document) {
    const std::vector<Version> fitting = fitting_versions(runtime, request.logs, request.document->model());
    if (!fitting.empty()) {
      auto target = open_target(fmt::format("{}@{}", runtime, fitting.back().text()));
      if (target) {
        (*target)->source = "fit";
        (*target)->assumed = fitting.size() > 1;
        std::vector<std::string> texts;
        for (const Version& version : fitting) texts.push_back(version.text());
        if (fitting.size() > 1)
          notes.push_back(fmt::format("the log tells no version; it fits {} {}: {} is assumed", runtime,
                                      fmt::join(texts, ", "), texts.back()));
        return std::move(*target);
      }
    }
  }
  auto target = open_target(runtime);
  if (!target) return nullptr;
  (*target)->source = "log";
  (*target)->assumed = true;
  if ((*target)->has_table())
    notes.push_back(
        fmt::format("the log tells no version of {}: {} is assumed", runtime, (*target)->version.text()));
  return std::move(*target);
}

}  // namespace

Result<ResolvedTargets> resolve_targets(const DiagnoseRequest& request) {
  if (!request.targets.empty()) return from_flags(request);
  ResolvedTargets resolved;
  const std::string runtime = runtime_in_logs(request.logs);
  if (!runtime.empty()) {
    const std::string version = version_in_logs(request.logs, runtime);
    std::unique_ptr<Target> target;
    if (auto told = version.empty() ? open_target(runtime) : open_target(runtime + "@" + version);
        !version.empty() && told) {
      target = std::move(*told);
      target->source = "log";
      if (target->has_table() && target->table != target->version)
        resolved.notes.push_back(fmt::format("no measured table for {} {}; the one of {} is used (assumed)",
                                             runtime, version, target->table.text()));
    } else {
      target = from_runtime(runtime, request, resolved.notes);
    }
    const bool unread =
        target && request.document && !check_readable(*target, *request.document->model().dialect);
    if (target && !unread) resolved.targets.push_back(std::move(target));
    if (!unread) return resolved;
    // Its lines count; what another runtime would say of this file is asked of the file's own.
    resolved.notes = {fmt::format("the log is of {}, which does not read .{}: it is not about this file",
                                  target->name(), request.document->model().dialect->name)};
  }
  if (!request.document) return resolved;
  const std::string_view usual = request.document->model().dialect->default_target;
  if (usual.empty()) return resolved;
  auto target = open_target(usual);
  if (!target) return tl::make_unexpected(target.error());
  (*target)->source = "default";
  (*target)->assumed = false;
  resolved.targets.push_back(std::move(*target));
  return resolved;
}

std::unique_ptr<Target> target_from_rules(const std::vector<const Rule*>& hit, const std::vector<Log>& logs) {
  for (const Rule* rule : hit) {
    for (const RuntimeRange& range : rule->runtimes) {
      const std::string version = version_in_logs(logs, range.target);
      auto target = open_target(version.empty() ? range.target : range.target + "@" + version);
      if (!target) continue;
      (*target)->source = "log";
      (*target)->assumed = version.empty();
      return std::move(*target);
    }
  }
  return nullptr;
}

std::unique_ptr<Target> refit_assumed(const Target& target, const std::vector<const Rule*>& hit) {
  if (!target.assumed || target.source != "log") return nullptr;
  const std::string name = target.name();
  for (const Rule* rule : hit) {
    const auto fails = [&](const Version& version) {
      return std::any_of(rule->runtimes.begin(), rule->runtimes.end(), [&](const RuntimeRange& range) {
        return range.target == name && range.fails.contains(version);
      });
    };
    const bool about = std::any_of(rule->runtimes.begin(), rule->runtimes.end(),
                                   [&](const RuntimeRange& range) { return range.target == name; });
    if (!about || fails(target.version)) continue;
    for (const TargetListing& listing : known_targets()) {
      if (listing.name != name) continue;
      for (auto version = listing.versions.rbegin(); version != listing.versions.rend(); ++version) {
        if (!fails(*version)) continue;
        auto older = open_target(name + "@" + version->text());
        if (!older) continue;
        (*older)->source = "log", (*older)->assumed = true;
        return std::move(*older);
      }
    }
  }
  return nullptr;
}

ResolvedTargets with_fitting_versions(ResolvedTargets resolved, const std::vector<LogEvidence>& evidence) {
  for (auto& target : resolved.targets) {
    auto older = refit_assumed(*target, rules_of_log(evidence));
    if (!older) continue;
    std::erase_if(resolved.notes, [&](const std::string& note) {
      return note.starts_with("the log tells no version of " + target->name());
    });
    resolved.notes.push_back(
        fmt::format("the log tells no version of {}: {} is assumed, the newest that is known to say this",
                    target->name(), older->version.text()));
    target = std::move(older);
  }
  return resolved;
}

ResolvedTargets with_inferred_target(ResolvedTargets resolved, const std::vector<LogEvidence>& evidence,
                                     const DiagnoseRequest& request) {
  if (!resolved.targets.empty()) return resolved;
  std::vector<const Rule*> hit;
  for (const LogEvidence& item : evidence) hit.insert(hit.end(), item.rules.begin(), item.rules.end());
  if (auto target = target_from_rules(hit, request.logs))
    resolved.targets.push_back(std::move(target));
  else if (request.document)
    resolved.notes.push_back(
        "no --target and no log that names one: the rules of every backend were run, as notes");
  return resolved;
}

bool rule_concerns(const Rule& rule, const Target& target) {
  if (rule.runtimes.empty()) return true;
  const std::string name = target.name();
  return rule.applies_to(name, target.version) || rule.applies_to(family(name), target.version);
}

}  // namespace md

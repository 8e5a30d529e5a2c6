// Reports for other programs: SARIF 2.1.0, GitHub workflow commands, JUnit.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/escape.h"
#include "lib/base/program_version.h"
#include "lib/report/formats.h"
#include "lib/report/wording.h"

namespace md::reporters {
namespace {

using Json = nlohmann::json;

std::string_view sarif_level(Severity severity) {
  return severity >= Severity::silent ? "error" : severity == Severity::perf ? "warning" : "note";
}

Json physical(const std::string& path, int line) {
  Json location = {{"artifactLocation", {{"uri", path}}}};
  if (line > 0) location["region"] = {{"startLine", line}};
  return location;
}

/// In a dry run the fault is still in the file, whatever would mend it.
std::string sentence(const Diagnosis& run, const Finding& finding) {
  return fmt::format("{}: {}{}", consequence(finding), finding.message,
                     finding.open() ? "" : fmt::format(" ({})", fixed_word(run)));
}

Json sarif_result(const Diagnosis& run, const Finding& finding) {
  Json result = {{"ruleId", finding.rule},
                 {"level", sarif_level(finding.severity)},
                 {"kind", remains_in_file(run, finding) ? "fail" : "pass"},
                 {"message", {{"text", sentence(run, finding)}}},
                 {"partialFingerprints", {{"modeldoctor/v2", finding.fingerprint}}}};
  if (result["kind"] == "pass") result["level"] = "none";
  Json logical = Json::array();
  for (const ReportedLocation& at : finding.locations)
    logical.push_back({{"kind", "element"},
                       {"name", at.value.empty() ? at.op : at.value},
                       {"fullyQualifiedName", fmt::format("{}:{} {}", model_path(run), place(at), at.op)}});
  Json location = Json::object();
  if (!finding.log.empty()) {
    const ReportedRecord& record = run.log[static_cast<std::size_t>(finding.log.front())];
    location["physicalLocation"] = physical(record.path, record.line);
  } else if (run.model) {
    location["physicalLocation"] = physical(run.model->path, 0);
  }
  if (!logical.empty()) location["logicalLocations"] = logical;
  if (!location.empty()) result["locations"] = Json::array({location});
  Json fixes = Json::array();
  for (const ReportedFix& fix : finding.fixes)
    fixes.push_back({{"title", fix.title},
                     {"applicability", word(fix.applicability)},
                     {run.dry_run ? "would_apply" : "applied", fix.applied},
                     {"proof", proof_words(fix)}});
  if (!fixes.empty()) result["properties"]["fixes"] = fixes;
  return result;
}

Json sarif_unexplained(const std::string& path, int line, const std::string& text) {
  return {{"ruleId", "unexplained"},
          {"level", "error"},
          {"kind", "fail"},
          {"message", {{"text", "a failure that no rule explains: " + text}}},
          {"locations", Json::array({{{"physicalLocation", physical(path, line)}}})}};
}

Json sarif_suppression(const Suppression& suppression) {
  Json json = {{"kind", "external"}, {"status", "accepted"}};
  if (!suppression.reason.empty()) json["justification"] = suppression.reason;
  json["properties"] = {{"baseline", suppression.baseline},
                        {"entry", suppression.entry},
                        {"owner", suppression.owner},
                        {"until", suppression.until}};
  return json;
}

/// What a baseline accepts, marked as such. Where one result says whether it is suppressed, all must.
void add_suppressed(const Diagnosis& run, Json& results) {
  if (run.accepted.empty() && run.accepted_lines.empty()) return;
  for (Json& result : results) result["suppressions"] = Json::array();
  const auto add = [&](Json result, const Suppression& suppression) {
    result["suppressions"] = Json::array({sarif_suppression(suppression)});
    results.push_back(std::move(result));
  };
  for (const AcceptedFinding& accepted : run.accepted)
    add(sarif_result(run, accepted.finding), accepted.suppression);
  for (const AcceptedLine& line : run.accepted_lines) {
    const ReportedRecord* record = line.log < 0 ? nullptr : &run.log[static_cast<std::size_t>(line.log)];
    add(sarif_unexplained(record ? record->path : model_path(run), record ? record->line : 0, line.text),
        line.suppression);
  }
}

Json sarif_rule(const Finding& finding) {
  Json rule = {{"id", finding.rule}, {"name", finding.name}, {"shortDescription", {{"text", finding.name}}}};
  if (finding.docs.starts_with("http")) rule["helpUri"] = finding.docs;
  return rule;
}

Json sarif_run(const Diagnosis& run) {
  Json rules = Json::array(), results = Json::array();
  std::set<std::string> named;
  for (const Finding& finding : run.findings) {
    if (named.insert(finding.rule).second) rules.push_back(sarif_rule(finding));
    results.push_back(sarif_result(run, finding));
  }
  for (const AcceptedFinding& accepted : run.accepted)
    if (named.insert(accepted.finding.rule).second) rules.push_back(sarif_rule(accepted.finding));
  if (!run.unexplained.empty() || !run.unexplained_predictions.empty() || !run.accepted_lines.empty())
    rules.push_back({{"id", "unexplained"},
                     {"name", "unexplained"},
                     {"shortDescription", {{"text", "a failure that no rule explains"}}}});
  for (const int index : run.unexplained) {
    const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
    results.push_back(sarif_unexplained(record.path, record.line, record.text));
  }
  for (const std::string& text : run.unexplained_predictions)
    results.push_back(sarif_unexplained(model_path(run), 0, text));
  add_suppressed(run, results);
  Json invocation = {{"executionSuccessful", run.error_code.empty()}, {"exitCode", run.exit_code}};
  if (!run.error_code.empty()) {
    Json notification = {{"level", "error"}, {"message", {{"text", run.error_message}}}};
    if (run.model)
      notification["locations"] = Json::array({{{"physicalLocation", physical(run.model->path, 0)}}});
    invocation["toolExecutionNotifications"] = Json::array({notification});
  }
  return {{"tool", {{"driver", {{"name", kGenerator}, {"version", program_version()}, {"rules", rules}}}}},
          {"invocations", Json::array({invocation})},
          {"results", results}};
}

std::string github_line(std::string_view level, const std::string& file, int line, const std::string& title,
                        const std::string& message) {
  std::string properties = fmt::format("title={}", escape_workflow_property(title));
  if (!file.empty()) properties += fmt::format(",file={}", escape_workflow_property(file));
  if (line > 0) properties += fmt::format(",line={}", line);
  return fmt::format("::{} {}::{}\n", level, properties, escape_workflow_message(message));
}

std::string junit_case(const Diagnosis& run, const Finding& finding) {
  std::string body;
  if (remains_in_file(run, finding) && finding.severity != Severity::note)
    body = fmt::format("\n      <failure type=\"{}\" message=\"{}\"/>\n    ", word(finding.severity),
                       escape_markup(sentence(run, finding)));
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n",
                     escape_markup(finding.rule), escape_markup(where(run, finding)), body);
}

std::string junit_skipped(const std::string& rule, const std::string& name, const Suppression& suppression) {
  return fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
      escape_markup(rule), escape_markup(name),
      escape_markup(fmt::format("accepted by {}{}", suppression.baseline,
                                suppression.reason.empty() ? "" : ": " + suppression.reason)));
}

std::string junit_failure(const std::string& name, const std::string& message) {
  return fmt::format(
      "    <testcase classname=\"unexplained\" name=\"{}\">\n      <failure type=\"fatal\" "
      "message=\"{}\"/>\n    </testcase>\n",
      escape_markup(name), escape_markup(message));
}

}  // namespace

std::string sarif(Runs runs) {
  Json all = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
              {"version", "2.1.0"},
              {"runs", Json::array()}};
  for (const Diagnosis& run : runs) all["runs"].push_back(sarif_run(run));
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string github(Runs runs) {
  std::string out;
  for (const Diagnosis& run : runs) {
    for (const Finding& finding : run.findings) {
      if (!remains_in_file(run, finding)) continue;
      const std::string_view level =
          sarif_level(finding.severity) == "note" ? "notice" : sarif_level(finding.severity);
      const ReportedRecord* record =
          finding.log.empty() ? nullptr : &run.log[static_cast<std::size_t>(finding.log.front())];
      out += github_line(level, record ? record->path : model_path(run), record ? record->line : 0,
                         finding.rule + " " + finding.name,
                         fmt::format("{}: {}", where(run, finding), sentence(run, finding)));
    }
    for (const int index : run.unexplained) {
      const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
      out += github_line("error", record.path, record.line, "unexplained", record.text);
    }
    for (const std::string& text : run.unexplained_predictions)
      out += github_line("error", model_path(run), 0, "unexplained", text);
    if (!run.error_code.empty())
      out += github_line("error", model_path(run), 0, run.error_code, run.error_message);
  }
  return out;
}

std::string junit(Runs runs) {
  std::string out = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", kJunitMark);
  for (const Diagnosis& run : runs) {
    std::string cases;
    std::size_t tests = 0, failures = 0;
    for (const Finding& finding : run.findings) {
      cases += junit_case(run, finding);
      ++tests;
      if (remains_in_file(run, finding) && finding.severity != Severity::note) ++failures;
    }
    const auto add_failure = [&](const std::string& name, const std::string& message) {
      cases += junit_failure(name, message);
      ++tests, ++failures;
    };
    for (const int index : run.unexplained) {
      const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
      add_failure(fmt::format("{}:{}", record.path, record.line), record.text);
    }
    for (const std::string& text : run.unexplained_predictions) add_failure(model_path(run), text);
    for (const AcceptedFinding& accepted : run.accepted)
      cases += junit_skipped(accepted.finding.rule, where(run, accepted.finding), accepted.suppression);
    for (const AcceptedLine& line : run.accepted_lines)
      cases += junit_skipped("unexplained", line.text, line.suppression);
    const std::size_t skipped = run.accepted.size() + run.accepted_lines.size();
    tests += skipped;
    if (!run.error_code.empty()) add_failure(run.error_code, run.error_message);
    if (tests == 0) {
      cases = fmt::format("    <testcase classname=\"modeldoctor\" name=\"{}\"></testcase>\n",
                          escape_markup(model_path(run)));
      tests = 1;
    }
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\"{}>\n{}  </testsuite>\n",
                       escape_markup(model_path(run)), tests, failures,
                       skipped > 0 ? fmt::format(" skipped=\"{}\"", skipped) : "", cases);
  }
  return out + "</testsuites>\n";
}

}  // namespace md::reporters

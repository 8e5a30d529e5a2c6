// Reports to read in a browser or a pull request: Markdown and one self-contained HTML page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/escape.h"
#include "lib/report/formats.h"
#include "lib/report/wording.h"

namespace md::reporters {
namespace {

std::string title_of(const Diagnosis& run) {
  return run.model ? run.model->path : run.log.empty() ? "log" : run.log.front().path;
}

std::string targets_of(const Diagnosis& run) {
  std::vector<std::string> targets;
  for (const ReportedTarget& target : run.targets) targets.push_back(target_words(target));
  return fmt::format("{}", fmt::join(targets, ", "));
}

std::string fix_cell(const Diagnosis& run, const Finding& finding) {
  const ReportedFix* fix = leading_fix(finding);
  if (!fix) return finding.reason.empty() ? "" : finding.reason;
  return fmt::format("{} {}: {}; {}{}", fix_verb(run, *fix), fix->title, proof_words(*fix),
                     cost_words(fix->cost), fix->needs_asking ? "; " + fix->reason : "");
}

std::string places_of(const Group& group) {
  std::vector<std::string> places;
  for (const Finding* finding : group.findings)
    if (!finding->locations.empty()) places.push_back(place(finding->locations.front()));
  return fmt::format("{}", fmt::join(places, ", "));
}

/// What the run amounts to: the target's answer, and the comparison of the whole.
std::vector<std::string> closing_words(const Diagnosis& run) {
  std::vector<std::string> lines;
  if (const std::string ending = ending_words(run); !ending.empty()) lines.push_back(ending + ".");
  if (const std::string whole = whole_words(run); !whole.empty())
    lines.push_back("Whole model, before and after: " + whole);
  if (!run.verification) return lines;
  for (const std::string& difference : run.verification->interface)
    lines.push_back("The interface changed: " + difference);
  if (!run.verification->note.empty()) lines.push_back(run.verification->note);
  return lines;
}

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 "
    "1rem;color:#1c1c1c;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2rem 0 .4rem}code,pre{font:13px/1.45 "
    "ui-monospace,monospace}"
    "pre{background:#f5f5f5;padding:.7rem;overflow:auto}.finding{border-left:4px solid #888;padding:.2rem 0 "
    ".2rem .9rem;margin:1rem 0}"
    ".fatal,.silent{border-color:#c22}.perf{border-color:#c80}.closed{border-color:#2a2}"
    ".tag{font-size:.8rem;padding:.1rem .4rem;border-radius:.3rem;background:#eee}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre{background:#222}.tag{"
    "background:#333}a{color:#8bf}}";

std::string html_finding(const Diagnosis& run, const Group& group) {
  const Finding& first = group.first();
  const auto e = [](std::string_view text) { return escape_markup(text); };
  std::string out = fmt::format(
      "<div class=\"finding {}\">\n<p><b>{}</b> <span class=\"tag\">{}</span> <span class=\"tag\">{}</span> "
      "<code>{}</code></p>\n<p>{}</p>\n",
      first.open() ? word(first.severity) : "closed", e(first.rule + " " + first.name), e(consequence(first)),
      first.open() ? word(first.state) : fixed_word(run), e(where(run, first)), e(first.message));
  if (group.findings.size() > 1)
    out += fmt::format("<p>{} places: <code>{}</code></p>\n", group.findings.size(), e(places_of(group)));
  if (!first.caused_by.empty())
    out += fmt::format("<p>Goes with {}.</p>\n", e(fmt::format("{}", fmt::join(first.caused_by, ", "))));
  for (const int index : first.log) {
    const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
    out += fmt::format("<pre>{}:{}: {}</pre>\n", e(record.path), record.line, e(record.text));
  }
  if (const std::string_view fault = fault_words(first); !fault.empty())
    out += fmt::format("<p>{}</p>\n", e(fault));
  if (!first.reason.empty()) out += fmt::format("<p>Not fixed: {}</p>\n", e(first.reason));
  for (const ReportedFix& fix : first.fixes)
    out += fmt::format("<p>{} <b>{}</b> ({}): {}; {}{}</p>\n", fix_verb(run, fix), e(fix.title),
                       word(fix.applicability), e(proof_words(fix)), e(cost_words(fix.cost)),
                       fix.reason.empty() ? "" : e("; " + fix.reason));
  if (!first.at_source.empty())
    out +=
        fmt::format("<details><summary>At the source</summary><pre>{}</pre></details>\n", e(first.at_source));
  if (first.docs.starts_with("https://"))
    out += fmt::format("<p><a href=\"{0}\">{0}</a></p>\n", e(first.docs));
  return out + "</div>\n";
}

std::string html_run(const Diagnosis& run) {
  std::string out = fmt::format("<h2>{}</h2>\n", escape_markup(title_of(run)));
  if (const std::string targets = targets_of(run); !targets.empty())
    out += fmt::format("<p>For {}.</p>\n", escape_markup(targets));
  out += fmt::format("<p><b>{}</b></p>\n", escape_markup(summary_words(run)));
  for (const std::string& note : run.notes) out += fmt::format("<p>{}</p>\n", escape_markup(note));
  for (const Group& group : group_findings(run)) out += html_finding(run, group);
  if (!run.unexplained.empty() || !run.unexplained_predictions.empty()) out += "<h2>Not explained</h2>\n";
  for (const int index : run.unexplained) {
    const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
    out += fmt::format("<pre>{}:{}: {}</pre>\n", escape_markup(record.path), record.line,
                       escape_markup(record.text));
  }
  for (const std::string& text : run.unexplained_predictions)
    out += fmt::format("<pre>{}</pre>\n", escape_markup(text));
  for (const std::string& words : closing_words(run)) out += fmt::format("<p>{}</p>\n", escape_markup(words));
  if (run.output)
    out += fmt::format("<p>Wrote <code>{}</code>, {} bytes.</p>\n", escape_markup(run.output->path),
                       run.output->bytes);
  return out;
}

std::string markdown_run(const Diagnosis& run) {
  std::string out = fmt::format("## {}\n\n", escape_markdown(title_of(run)));
  if (const std::string targets = targets_of(run); !targets.empty())
    out += fmt::format("For {}. ", escape_markdown(targets));
  out += escape_markdown(summary_words(run)) + "\n";
  for (const std::string& note : run.notes) out += fmt::format("\n> {}\n", escape_markdown(note));
  const std::vector<Group> groups = group_findings(run);
  if (!groups.empty()) out += "\n| rule | consequence | where | what | fix |\n|---|---|---|---|---|\n";
  for (const Group& group : groups) {
    const Finding& first = group.first();
    out +=
        fmt::format("| {} | {}{} | {}{} | {} | {} |\n", escape_markdown(first.rule + " " + first.name),
                    consequence(first), first.open() ? "" : fmt::format(" ({})", fixed_word(run)),
                    escape_markdown_code(where(run, first), true),
                    group.findings.size() > 1 ? fmt::format(" and {} more", group.findings.size() - 1) : "",
                    escape_markdown(first.message), escape_markdown(fix_cell(run, first)));
  }
  if (!run.unexplained.empty() || !run.unexplained_predictions.empty())
    out += "\nNot explained by any rule:\n\n";
  for (const int index : run.unexplained) {
    const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
    out +=
        fmt::format("- {} {}\n", escape_markdown_code(fmt::format("{}:{}", record.path, record.line), false),
                    escape_markdown(record.text));
  }
  for (const std::string& text : run.unexplained_predictions)
    out += fmt::format("- {}\n", escape_markdown(text));
  for (const std::string& words : closing_words(run)) out += fmt::format("\n{}\n", escape_markdown(words));
  if (run.output)
    out += fmt::format("\nWrote {} ({} bytes).\n", escape_markdown_code(run.output->path, false),
                       run.output->bytes);
  return out;
}

}  // namespace

std::string markdown(Runs runs) {
  std::string out = fmt::format("# modeldoctor report\n{}\n", kMarkdownMark);
  for (const Diagnosis& run : runs) out += "\n" + markdown_run(run);
  return out;
}

std::string html(Runs runs) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n"
      "<title>modeldoctor report</title>\n<style>{}</style>\n</head>\n<body>\n<h1>modeldoctor report</h1>\n",
      kHtmlMark, kStyle);
  for (const Diagnosis& run : runs) out += html_run(run);
  return out + "</body>\n</html>\n";
}

}  // namespace md::reporters

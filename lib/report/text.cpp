// For people at a terminal: one line a finding, root cause first, then what was done about it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lib/report/formats.h"
#include "lib/report/next_step.h"
#include "lib/report/wording.h"

namespace md::reporters {
namespace {

constexpr std::size_t kPlacesShown = 6;
constexpr std::size_t kSourceLinesShown = 8;

class Writer {
 public:
  explicit Writer(const TextStyle& style) : style_(style) {}

  std::string run(const Diagnosis& run) {
    header(run);
    for (const std::string& note : run.notes) line("note: " + note, "2");
    for (const Group& group : group_findings(run)) finding(run, group);
    unexplained(run);
    if (style_.verbose) accepted(run);
    footer(run);
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view text, std::string_view code) const {
    return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  void line(std::string_view text, std::string_view code = "") {
    out_ += code.empty() ? std::string(text) : paint(text, code);
    out_ += '\n';
  }

  void header(const Diagnosis& run) {
    std::vector<std::string> targets;
    for (const ReportedTarget& target : run.targets) targets.push_back(target_words(target));
    const std::string aim = targets.empty() ? "" : fmt::format(", for {}", fmt::join(targets, " and "));
    if (run.model && run.model->format.empty())
      line(run.model->path, "1");
    else if (run.model)
      line(fmt::format("{}: {}, {} operators{}", run.model->path, run.model->format, run.model->nodes, aim),
           "1");
    else if (!targets.empty())
      line("log" + aim, "1");
  }

  void finding(const Diagnosis& run, const Group& group) {
    const Finding& first = group.first();
    const std::string from = log_place(run, first);
    const std::string at = where(run, first);
    std::string text = paint(at, "1") + ": " + paint(first.rule, colour(first)) + " ";
    if (const std::string sign = mark(run, first); !sign.empty()) text += paint(sign, "32") + " ";
    text += fmt::format("{}: {}", consequence(first), first.message);
    if (!from.empty() && from != at) text += paint(fmt::format(" ({})", from), "2");
    line(text);
    if (group.findings.size() > 1)
      line(fmt::format("    and at {} more: {}", group.findings.size() - 1, others(group)));
    if (!first.caused_by.empty())
      line(
          fmt::format("    {} {}", first.open() ? "part of" : "goes with", fmt::join(first.caused_by, ", ")));
    if (first.round > 1) line(fmt::format("    seen in round {}, after the fixes before it", first.round));
    if (first.attribution == Attribution::op)
      line("    the log names the operator only: this may be another node of that kind");
    if (const std::string_view fault = fault_words(first); !fault.empty()) line(fmt::format("    {}", fault));
    if (first.open() && !first.reason.empty())
      line((run.model || !first.mendable_in.empty() ? "    why not fixed: " : "    what to do: ") +
           first.reason);
    fixes(run, first);
    if (first.open() || style_.verbose) source(first);
  }

  std::string others(const Group& group) const {
    std::vector<std::string> places;
    for (const Finding* finding : group.findings) {
      if (finding == &group.first() || finding->locations.empty()) continue;
      if (places.size() == kPlacesShown && !style_.verbose) {
        places.push_back("...");
        break;
      }
      places.push_back(place(finding->locations.front()));
    }
    return fmt::format("{}", fmt::join(places, ", "));
  }

  void fixes(const Diagnosis& run, const Finding& finding) {
    const ReportedFix* leading = leading_fix(finding);
    for (const ReportedFix& fix : finding.fixes) {
      if (&fix != leading && !style_.verbose) continue;
      if (!fix.applied && fix.applicability == Applicability::manual) {
        line(fmt::format("    not applied: {} ({})", fix.title,
                         fix.reason.empty() ? proof_words(fix) : fix.reason));
        continue;
      }
      std::string text = fmt::format("    {} {} ({}; {})", fix_verb(run, fix), fix.title, proof_words(fix),
                                     cost_words(fix.cost));
      if (!fix.applied && fix.applicability == Applicability::unsafe) text += " [unsafe]";
      line(text);
      if (!fix.reason.empty() && !fix.applied) line("      " + fix.reason);
    }
  }

  void source(const Finding& finding) {
    for (const ReportedLocation& at : finding.locations) {
      if (at.source.empty()) continue;
      const ReportedSource& s = at.source.front();
      line(fmt::format("    in your code: {}:{}{}{}", s.file, s.line,
                       s.function.empty() ? "" : " in " + s.function,
                       at.layer.empty() ? "" : ", " + at.layer));
      break;
    }
    const std::vector<std::string> lines = lines_of(finding.at_source);
    if (lines.empty()) return;
    line("    at the source:");
    const std::size_t shown =
        style_.verbose || lines.size() <= kSourceLinesShown + 1 ? lines.size() : kSourceLinesShown;
    for (std::size_t i = 0; i < shown; ++i) line("      " + lines[i]);
    if (shown < lines.size()) line(fmt::format("      ... (modeldoctor explain {})", finding.rule));
  }

  void unexplained(const Diagnosis& run) {
    if (!run.unexplained.empty()) line("not explained by any rule:", "31");
    for (const int index : run.unexplained) {
      const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
      line(fmt::format("    {}:{}: {}", record.path, record.line, shown_line(record)));
      for (const std::string& words : failure_words(record)) line("        " + words);
    }
    if (!run.unexplained_predictions.empty()) line("would also be refused, and no rule knows a fix:", "31");
    for (const std::string& text : run.unexplained_predictions) line("    " + text);
  }

  void accepted(const Diagnosis& run) {
    const auto add = [&](const std::string& what, const Suppression& suppression) {
      std::string text = "    " + what;
      if (!suppression.reason.empty()) text += ": " + suppression.reason;
      if (!suppression.owner.empty()) text += fmt::format(" [{}]", suppression.owner);
      if (!suppression.until.empty()) text += fmt::format(" until {}", suppression.until);
      line(text, "2");
    };
    if (const std::string words = accepted_words(run); !words.empty()) line(words + ":", "2");
    for (const AcceptedFinding& one : run.accepted)
      add(fmt::format("{} {}", where(run, one.finding), one.finding.rule), one.suppression);
    for (const AcceptedLine& one : run.accepted_lines)
      add(one.text.substr(0, one.text.find('\n')), one.suppression);
  }

  void footer(const Diagnosis& run) {
    line(summary_words(run), run.exit_code == 0 ? "32" : "31");
    if (const std::string ending = ending_words(run); !ending.empty()) line(ending);
    if (const std::string whole = whole_words(run); !whole.empty())
      line("whole model, before and after: " + whole);
    if (run.verification) {
      for (const std::string& difference : run.verification->interface)
        line("    the interface changed: " + difference);
      if (!run.verification->note.empty()) line("    " + run.verification->note);
    }
    if (run.output) line(fmt::format("wrote {} ({} bytes)", run.output->path, run.output->bytes));
    if (const std::vector<std::string> recipe = recipe_lines(run); !recipe.empty()) {
      line("next, in your script:");
      for (const std::string& step : recipe) line("    " + step);
    }
    if (const std::string next = next_step(run); !next.empty()) line("next: " + next);
  }

  static std::string_view colour(const Finding& finding) {
    return finding.severity >= Severity::silent ? "31" : finding.severity == Severity::perf ? "33" : "36";
  }

  const TextStyle& style_;
  std::string out_;
};

}  // namespace

std::string text(Runs runs, const TextStyle& style) {
  std::string out;
  for (const Diagnosis& run : runs) {
    if (style.errors_elsewhere && is_error_alone(run)) continue;
    if (!out.empty()) out += '\n';
    out += Writer(style).run(run);
  }
  if (runs.size() > 1) out += (out.empty() ? "" : "\n") + totals_words(runs) + "\n";
  return out;
}

std::string concise(Runs runs, const TextStyle& style) {
  std::string out;
  for (const Diagnosis& run : runs) {
    if (style.errors_elsewhere && is_error_alone(run)) continue;
    const std::size_t before = out.size();
    for (const Finding& finding : run.findings) {
      const std::string sign = mark(run, finding), from = log_place(run, finding), at = where(run, finding);
      out += fmt::format("{}: {} {}{}{}\n", at, finding.rule, sign.empty() ? "" : sign + " ", finding.message,
                         from.empty() || from == at ? "" : fmt::format(" ({})", from));
    }
    for (const int index : run.unexplained) {
      const ReportedRecord& record = run.log[static_cast<std::size_t>(index)];
      const std::vector<std::string> lines = lines_of(record.text);
      out += fmt::format("{}:{}: unexplained {}\n", record.path, record.line,
                         lines.empty() ? "" : lines.front());
    }
    for (const std::string& text : run.unexplained_predictions)
      out += fmt::format("{}: unexplained {}\n", model_path(run), text);
    if (!run.error_code.empty())
      out += run.error_message.starts_with(model_path(run))
                 ? run.error_message + "\n"
                 : fmt::format("{}: {}\n", model_path(run), run.error_message);
    if (out.size() == before)
      out += fmt::format("{}: {}\n", run.model ? model_path(run) : "log", word(run.status));
  }
  if (runs.size() > 1) out += totals_words(runs) + "\n";
  return out;
}

}  // namespace md::reporters

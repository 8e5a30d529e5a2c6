// explain, rules and schema: the catalogue for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/commands.h"
#include "app/inputs.h"
#include "app/terminal.h"
#include "lib/base/escape.h"
#include "lib/base/stream.h"
#include "lib/baseline/baseline.h"
#include "lib/diagnose/evidence.h"
#include "lib/log/status_numbers.h"
#include "lib/report/report.h"
#include "lib/rule/page/examples.h"
#include "lib/rule/page/index.h"
#include "lib/rule/page/page.h"
#include "lib/rule/page/page_data.h"

namespace md::app {
namespace {

/// One word that could be an id, a name or an alias; an error text has blanks or punctuation.
bool looks_like_a_name(const std::string& subject) {
  return std::all_of(subject.begin(), subject.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

std::string runtimes_of(const Rule& rule) {
  std::string text;
  for (const RuntimeRange& range : rule.runtimes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", range.target, range.fails.text());
  return text;
}

std::string page_of(const Options& options, const Rule& rule) {
  PageStyle style;
  style.width = 100;
  style.color = use_color(options.color, stdout);
  return render_page(rule, style);
}

int explain_text(const Options& options, const RuleBook& rules, const std::string& text) {
  const std::vector<const Rule*> hits = rules_of_text(text, RuleIndex(rules));
  if (hits.empty()) {
    print_error(
        fmt::format("no rule knows this text; `modeldoctor log FILE` reads a whole log, `modeldoctor rules` "
                    "lists what is known: {}",
                    text));
    return 1;
  }
  std::string out = page_of(options, *hits.front());
  for (std::size_t i = 1; i < hits.size(); ++i)
    out += escape_terminal(
               fmt::format("also possible: {} {}: {}", hits[i]->id, hits[i]->name, hits[i]->summary)) +
           "\n";
  return print_data(out) ? 0 : 4;
}

}  // namespace

int run_explain(const Options& options, const std::string& subject) {
  auto rules = load_rules(options);
  if (!rules) return report(rules.error());
  auto rule = find_rule(*rules, subject);
  if (!rule)
    if (const std::vector<std::string> statuses = statuses_named(subject); !statuses.empty())
      return print_data(fmt::format("{}\n", fmt::join(statuses, "\n"))) ? 0 : 4;
  if (rule) return print_data(page_of(options, **rule)) ? 0 : 4;
  return looks_like_a_name(subject) ? report(rule.error()) : explain_text(options, *rules, subject);
}

int run_rules_list(const Options& options, bool markdown) {
  auto rules = load_rules(options);
  if (!rules) return report(rules.error());
  if (markdown) return print_data(rule_index(rules->rules())) ? 0 : 4;
  std::size_t widest = 0;
  for (const Rule& rule : rules->rules()) widest = std::max(widest, rule.id.size() + 1 + rule.name.size());
  std::string out;
  for (const Rule& rule : rules->rules()) {
    const std::string title = rule.id + " " + rule.name;
    out += fmt::format("{:<{}}  {:<6}  {:<6}  {}\n", title, widest, word(rule.severity),
                       word(rule.applicability), runtimes_of(rule));
    if (options.verbose) out += fmt::format("    {}\n", rule.summary);
  }
  out += fmt::format("{} rules; `modeldoctor explain ID` shows a page\n", rules->rules().size());
  return print_data(escape_terminal_lines(out)) ? 0 : 4;
}

int run_rules_test(const Options& options, const std::vector<std::string>& files) {
  std::vector<Rule> rules;
  int bad = 0;
  for (const std::string& path : files) {
    auto file = open_input(path);
    if (!file) return report(file.error());
    const Bytes bytes = (*file)->bytes();
    auto rule = parse_rule(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (rule)
      rules.push_back(std::move(*rule));
    else
      print_error(rule.error().message), ++bad;
  }
  if (files.empty()) {
    auto book = load_rules(options);
    if (!book) return report(book.error());
    rules = book->rules();
  }
  std::string out;
  for (const Rule& rule : rules) {
    const std::vector<ExampleFailure> failures = run_rule_examples(rule);
    for (const ExampleFailure& failure : failures) out += failure.text() + "\n";
    out += fmt::format("{} {}: {} examples, {} failed\n", rule.id, rule.name,
                       rule.log_examples.size() + rule.model_examples.size(), failures.size());
    bad += static_cast<int>(failures.size());
  }
  for (const std::string& overlap : overlapping_signatures(rules)) out += overlap + "\n", ++bad;
  if (!print_data(escape_terminal_lines(out))) return 4;
  return bad == 0 ? 0 : 1;
}

int run_schema(const std::string& what) {
  if (what == "diagnosis") return print_data(diagnosis_schema()) ? 0 : 4;
  if (what == "rule") return print_data(rule_schema()) ? 0 : 4;
  if (what == "baseline") return print_data(baseline_schema()) ? 0 : 4;
  return report(
      {Error::Kind::usage, fmt::format("schema {}: expected diagnosis, baseline, rule or config", what)});
}

}  // namespace md::app

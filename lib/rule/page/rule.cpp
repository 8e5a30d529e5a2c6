#include "lib/rule/page/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/op/dialect.h"
#include "lib/rule/language/rewrite.h"
#include "lib/rule/page/markdown.h"
#include "lib/rule/page/page_data.h"

namespace md {
namespace {

constexpr std::array<std::string_view, 5> required_sections = {
    "What it means", "Why it happens", "What the fix does", "When it is not safe", "At the source"};

/// First word, and the rest without blanks around it.
std::pair<std::string, std::string> split_word(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return {std::string(text), ""};
  const std::size_t rest = text.find_first_not_of(' ', end);
  return {std::string(text.substr(0, end)),
          rest == std::string_view::npos ? "" : std::string(text.substr(rest))};
}

std::string without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text);
}

std::string first_sentence(std::string_view prose) {
  std::string sentence;
  for (std::size_t i = 0; i < prose.size(); ++i) {
    if (prose[i] == '\n' && i + 1 < prose.size() && prose[i + 1] == '\n') break;
    sentence += prose[i] == '\n' ? ' ' : prose[i];
    if (prose[i] == '.' && (i + 1 == prose.size() || prose[i + 1] == ' ' || prose[i + 1] == '\n')) break;
  }
  return sentence;
}

class RuleParser {
 public:
  RuleParser(const std::string& path, std::string_view markdown) : path_(path), markdown_(markdown) {}

  Result<Rule> parse() {
    auto page = parse_page(path_, markdown_);
    if (!page) return tl::make_unexpected(page.error());
    rule_.path = path_;
    rule_.markdown = std::string(markdown_);
    if (auto done = read_data(*page); !done) return tl::make_unexpected(done.error());
    if (auto done = read_title(*page); !done) return tl::make_unexpected(done.error());
    if (auto done = read_sections(*page); !done) return tl::make_unexpected(done.error());
    for (const FencedBlock& block : page->blocks)
      if (auto done = read_block(block); !done) return tl::make_unexpected(done.error());
    if (auto done = check_complete(); !done) return tl::make_unexpected(done.error());
    return std::move(rule_);
  }

 private:
  Status read_data(const Page& page) {
    const FencedBlock* data = nullptr;
    for (const FencedBlock& block : page.blocks)
      if (block.info == "json rule") {
        if (data) return error(block.line, "a second ```json rule block; a page has one");
        data = &block;
      }
    if (!data) return error(page.title_line, "the page has no ```json rule block");
    data_line_ = data->line;
    return read_rule_data(path_, data->line, data->text, rule_);
  }

  Status read_title(const Page& page) {
    auto [id, rest] = split_word(page.title);
    if (id != rule_.id)
      return error(page.title_line,
                   fmt::format("the title says \"{}\" but the rule's id is \"{}\"", id, rule_.id));
    if (rest.empty() || rest.find(' ') != std::string::npos)
      return error(page.title_line,
                   "the title must be \"# ID name-of-the-bad-pattern\", the name in one word");
    rule_.name = rest;
    return {};
  }

  Status read_sections(const Page& page) {
    for (const Section& section : page.sections) {
      if (section.prose.empty())
        return error(section.line, fmt::format("the section \"{}\" is empty", section.heading));
      if (!rule_.sections.emplace(section.heading, section.prose).second)
        return error(section.line, fmt::format("the section \"{}\" is there twice", section.heading));
    }
    for (const std::string_view heading : required_sections)
      if (!rule_.sections.contains(heading))
        return error(page.title_line, fmt::format("the page has no section \"## {}\"", heading));
    if (rule_.summary.empty()) rule_.summary = first_sentence(rule_.sections.find("What it means")->second);
    return {};
  }

  Status read_block(const FencedBlock& block) {
    auto [kind, words] = split_word(block.info);
    if (kind == "log") return read_log(block, words);
    if (kind == "model") return read_model(block, words);
    if (kind == "rewrite") return read_rewrite(block, words);
    return {};
  }

  Status read_log(const FencedBlock& block, const std::string& words) {
    if (words != "fires" && words != "declines")
      return error(block.line - 1,
                   fmt::format("expected \"log fires\" or \"log declines\", not \"log {}\"", words));
    rule_.log_examples.push_back({words == "fires", without_line_end(block.text), block.line});
    return {};
  }

  Status read_model(const FencedBlock& block, const std::string& words) {
    auto [format_word, rest] = split_word(words);
    auto [expectation, options] = split_word(rest);
    const Dialect* format = find_dialect(format_word);
    if (!format || (expectation != "fires" && expectation != "declines"))
      return error(block.line - 1,
                   fmt::format("expected \"model FORMAT fires|declines [options]\", not \"{}\"", block.info));
    rule_.model_examples.push_back(
        {format, expectation == "fires", options, std::string(block.text), block.line});
    return {};
  }

  Status read_rewrite(const FencedBlock& block, const std::string& words) {
    const Dialect* format = find_dialect(words);
    if (!format)
      return error(block.line - 1, fmt::format("expected \"rewrite FORMAT\", not \"{}\"", block.info));
    auto tree = parse_rewrite(path_, block.line, block.text, *format, &rule_.rows);
    if (!tree) return tl::make_unexpected(tree.error());
    rule_.rewrites.push_back(std::make_shared<const Rewrite>(*std::move(tree), rule_.rows));
    if (std::find(rewrite_formats_.begin(), rewrite_formats_.end(), format) == rewrite_formats_.end())
      rewrite_formats_.push_back(format);
    return {};
  }

  /// Every expression in a sentence must be one; words that nothing gives are found when rows and captures
  /// are known: those of rewrite blocks here, those of detectors by the tests of the rule.
  Status check_sentences() {
    std::vector<const std::string*> texts = {&rule_.message, &rule_.reason, &rule_.at_source};
    for (const auto& [key, row] : rule_.rows.table)
      for (const auto& [word, text] : row) texts.push_back(&text);
    for (const std::string* text : texts)
      if (auto wrong = broken_expression(*text)) return error(data_line_, *wrong);
    const bool reasoned =
        !rule_.reason.empty() || std::any_of(rule_.rows.table.begin(), rule_.rows.table.end(),
                                             [](const auto& row) { return row.second.contains("reason"); });
    for (const auto& rewrite : rule_.rewrites)
      if (rewrite->tree().replacements.empty() && !reasoned)
        return error(
            rewrite->tree().line,
            "expected a replace \"title\" { ... } or a fix behind match { ... }; a page that only advises "
            "needs a \"reason\"");
    return {};
  }

  Status check_complete() {
    if (auto done = check_sentences(); !done) return done;
    for (const DetectorEntry& entry : detector_table())
      if (entry.id == rule_.id) rule_.detector = entry.detect;
    if (rule_.needs_detector && !rule_.detector)
      return error(data_line_, fmt::format("\"detector\": true, but the program has no detector {}; it lives "
                                           "in a file {}-{}.cpp beside the page",
                                           rule_.id, rule_.id, rule_.name));
    if (rule_.formats.empty()) rule_.formats = rewrite_formats_;
    if (rule_.needs_detector && rule_.roots.empty() && !rule_.scans)
      return error(data_line_,
                   "the detector needs \"roots\": the operators at which its sites begin (or \"scans\": true "
                   "when it looks at the whole graph by itself)");
    if (!rule_.roots.empty() && rule_.scans)
      return error(data_line_, "\"roots\" and \"scans\": a detector has one of them");
    if (!rule_.roots.empty() && !rule_.needs_detector)
      return error(data_line_, "\"roots\" is for a detector; a rewrite block has its own");
    if (rule_.log.empty() && !rule_.graph && rule_.symptom.empty())
      return error(
          data_line_,
          "nothing triggers this rule: give it \"log\" signatures, \"graph\": true or a \"symptom\"");
    const auto has = [](const auto& examples, bool fires) {
      return std::any_of(examples.begin(), examples.end(), [&](const auto& e) { return e.fires == fires; });
    };
    if (!rule_.log.empty() && !has(rule_.log_examples, true))
      return error(data_line_, "the rule has \"log\" signatures but no ```log fires block");
    if (rule_.no_model_example.empty() &&
        (!has(rule_.model_examples, true) || !has(rule_.model_examples, false)))
      return error(data_line_,
                   "the page needs a ```model FORMAT fires and a ```model FORMAT declines block (or "
                   "\"no_model_example\": \"why\")");
    return {};
  }

  tl::unexpected<Error> error(int line, std::string_view what) const {
    return input_error(fmt::format("{}:{}: {}", path_, line, what));
  }

  const std::string& path_;
  std::string_view markdown_;
  Rule rule_;
  int data_line_ = 1;
  std::vector<const Dialect*> rewrite_formats_;
};

}  // namespace

bool Rule::looks_at(const Dialect& dialect) const {
  return formats.empty() || std::find(formats.begin(), formats.end(), &dialect) != formats.end();
}

bool Rule::applies_to(std::string_view target, const Version& version) const {
  return runtimes.empty() || fails_on(target, version, {});
}

bool Rule::fails_on(std::string_view target, const Version& version, std::string_view part) const {
  const std::string_view base = target.substr(0, target.find('+'));
  return std::any_of(runtimes.begin(), runtimes.end(), [&](const RuntimeRange& range) {
    return (part.empty() || range.part == part) && (range.target == target || range.target == base) &&
           range.fails.contains(version);
  });
}

Result<Rule> parse_rule(const std::string& path, std::string_view markdown) {
  return RuleParser(path, markdown).parse();
}

}  // namespace md

#include "lib/rule/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/escape.h"

namespace md {
namespace {

/// Columns that a UTF-8 text takes (every code point one column).
int columns(std::string_view text) {
  int n = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0u) != 0x80u) ++n;
  return n;
}

/// Without ** and ` marks: the words stay.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "**")
      ++i;
    else if (text[i] != '`')
      out += text[i];
  }
  return out;
}

class ProseWriter {
 public:
  ProseWriter(int width, int indent) : width_(width), indent_(indent) {}

  void line(std::string_view text) {
    if (text.starts_with("```")) {
      flush();
      fenced_ = !fenced_;
      return;
    }
    const std::size_t blanks = text.find_first_not_of(' ');
    if (blanks == std::string_view::npos) {
      flush();
      if (!out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
    } else if (fenced_ || text[0] == '|' || (blanks >= 4 && paragraph_.empty())) {
      flush();
      out_ +=
          std::string(static_cast<std::size_t>(indent_ + (fenced_ ? 4 : 0)), ' ') + std::string(text) + '\n';
    } else {
      text.remove_prefix(blanks);
      const bool item = text.starts_with("- ") || text.starts_with("* ");
      if (item) {
        flush();
        text.remove_prefix(2);
        hanging_ = true;
      }
      paragraph_ += (paragraph_.empty() ? "" : " ") + plain(text);
    }
  }

  std::string finish() {
    flush();
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  void flush() {
    if (paragraph_.empty()) return;
    const std::string margin(static_cast<std::size_t>(indent_), ' ');
    const std::string first = hanging_ ? margin + "- " : margin, rest = hanging_ ? margin + "  " : margin;
    std::string current = first;
    bool empty = true;
    std::string_view words = paragraph_;
    while (!words.empty()) {
      const std::size_t end = words.find(' ');
      const std::string_view word = words.substr(0, end);
      words = end == std::string_view::npos ? std::string_view() : words.substr(end + 1);
      if (word.empty()) continue;
      if (!empty && columns(current) + 1 + columns(word) > width_) {
        out_ += current + '\n';
        current = rest;
        empty = true;
      }
      current += (empty ? "" : " ") + std::string(word);
      empty = false;
    }
    out_ += current + '\n';
    paragraph_.clear();
    hanging_ = false;
  }

  int width_, indent_;
  bool fenced_ = false, hanging_ = false;
  std::string out_, paragraph_;
};

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

class PageWriter {
 public:
  PageWriter(const Rule& rule, const PageStyle& style) : rule_(rule), style_(style) {}

  std::string write() {
    out_ = bold(fmt::format("{} {}", rule_.id, rule_.name)) + fmt::format("   [{}]\n", consequence());
    constexpr std::array<const char*, 5> order = {"What it means", "Why it happens", "What the fix does",
                                                  "When it is not safe", "At the source"};
    for (const char* heading : order) section(heading);
    for (const auto& [heading, prose] : rule_.sections) {
      bool known = false;
      for (const char* h : order) known = known || heading == h;
      if (!known) section(heading);
    }
    facts();
    return std::move(out_);
  }

 private:
  std::string bold(const std::string& text) const {
    const std::string words = escape_terminal(text);
    return style_.color ? "\033[1m" + words + "\033[0m" : words;
  }

  std::string_view consequence() const {
    switch (rule_.severity) {
      case Severity::fatal:
        return "fatal: does not compile";
      case Severity::silent:
        return "silent: runs, wrong result";
      case Severity::perf:
        return "perf: slow, or falls back to the CPU";
      case Severity::note:
        return "note";
    }
    return "";
  }

  void section(std::string_view heading) {
    const auto found = rule_.sections.find(heading);
    if (found == rule_.sections.end()) return;
    out_ += "\n" + bold(std::string(heading)) + "\n" +
            escape_terminal_lines(render_prose(found->second, style_.width, 2));
  }

  void list(std::string_view heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out_ += "\n" + bold(std::string(heading)) + "\n";
    for (const std::string& line : lines) out_ += escape_terminal("  " + line) + "\n";
  }

  void facts() {
    std::vector<std::string> runtimes, messages;
    for (const RuntimeRange& range : rule_.runtimes) {
      const std::string versions = range.fails.text().empty() || range.fails.text() == "*"
                                       ? "every measured version"
                                       : range.fails.text();
      runtimes.push_back(fmt::format("{}: {}", range.target, versions));
    }
    for (const LogExample& example : rule_.log_examples)
      if (example.fires) messages.push_back(example.text.substr(0, example.text.find('\n')));
    list("Where it happens", runtimes);
    if (rule_.fault != Blame::model)
      list(
          "Who is to blame",
          {rule_.fault == Blame::usage         ? "how the tool is called, not the model"
           : rule_.fault == Blame::environment ? "the machine, device or application around it, not the model"
           : rule_.fault == Blame::versions    ? "versions that do not fit together, not the model"
                                               : "a bug of the tool, not the model"});
    list("In the log", messages);
    std::vector<std::string> more;
    if (!rule_.fixed_by.empty()) more.push_back("fixed by: " + rule_.fixed_by);
    if (!rule_.setting.empty()) more.push_back("a setting that avoids it: " + rule_.setting);
    if (!rule_.aliases.empty()) more.push_back("also known as: " + joined(rule_.aliases));
    list("Also", more);
    std::vector<std::string> links = rule_.references;
    links.insert(links.end(), rule_.docs.begin(), rule_.docs.end());
    list("References", links);
  }

  const Rule& rule_;
  PageStyle style_;
  std::string out_;
};

}  // namespace

std::string render_prose(std::string_view markdown, int width, int indent) {
  ProseWriter writer(width, indent);
  while (!markdown.empty()) {
    const std::size_t end = markdown.find('\n');
    std::string_view line = markdown.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    writer.line(line);
    markdown = end == std::string_view::npos ? std::string_view() : markdown.substr(end + 1);
  }
  return writer.finish();
}

std::string dedented(std::string_view text) {
  const auto indentation = [](std::string_view line) { return line.find_first_not_of(' '); };
  std::size_t common = std::string_view::npos;
  const auto each_line = [&](auto&& f) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      f(text.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  each_line([&](std::string_view line) { common = std::min(common, indentation(line)); });
  std::string out;
  each_line([&](std::string_view line) {
    if (!out.empty()) out += '\n';
    out += line.substr(std::min(common, line.size()));
  });
  return out;
}

std::string render_page(const Rule& rule, const PageStyle& style) { return PageWriter(rule, style).write(); }

}  // namespace md

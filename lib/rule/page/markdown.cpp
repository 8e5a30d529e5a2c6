#include "lib/rule/page/markdown.h"

#include <fmt/format.h>

namespace md {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Without blank lines around it; the indentation of the first line stays, it may be code.
std::string without_blank_lines(std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !trimmed(text.substr(0, end)).empty()) break;
    text.remove_prefix(end + 1);
  }
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

/// Walks the lines of a text and knows where each one lies.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next() {
    if (end_ >= text_.size()) return false;
    begin_ = end_;
    const std::size_t stop = text_.find('\n', begin_);
    end_ = stop == std::string_view::npos ? text_.size() : stop + 1;
    ++number_;
    return true;
  }
  std::string_view line() const { return text_.substr(begin_, end_ - begin_); }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  int number() const { return number_; }

 private:
  std::string_view text_;
  std::size_t begin_ = 0, end_ = 0;
  int number_ = 0;
};

}  // namespace

bool is_rule_block(std::string_view info) {
  const std::string_view word = info.substr(0, info.find(' '));
  return info == "json rule" || word == "rewrite" || word == "model" || word == "log";
}

Result<Page> parse_page(const std::string& path, std::string_view markdown) {
  Page page;
  Lines lines(markdown);
  const auto prose = [&]() -> std::string& {
    return page.sections.empty() ? page.lead : page.sections.back().prose;
  };
  while (lines.next()) {
    const std::string_view line = lines.line();
    if (line.starts_with("```")) {
      const std::string info(trimmed(line.substr(3)));
      const int opened = lines.number();
      const std::size_t fence_begin = lines.begin(), text_begin = lines.end();
      bool closed = false;
      while (!closed && lines.next()) closed = trimmed(lines.line()) == "```";
      if (!closed)
        return input_error(
            fmt::format("{}:{}: this ``` block is never closed; end it with a line ```", path, opened));
      if (is_rule_block(info))
        page.blocks.push_back({info, markdown.substr(text_begin, lines.begin() - text_begin), opened + 1});
      else
        prose() += markdown.substr(fence_begin, lines.end() - fence_begin);
    } else if (line.starts_with("# ")) {
      if (page.title_line)
        return input_error(
            fmt::format("{}:{}: a second title; a page has one \"# ID name\"", path, lines.number()));
      page.title = trimmed(line.substr(2));
      page.title_line = lines.number();
    } else if (line.starts_with("## ")) {
      page.sections.push_back({std::string(trimmed(line.substr(3))), "", lines.number()});
    } else {
      prose() += line;
    }
  }
  if (!page.title_line)
    return input_error(fmt::format("{}:1: expected a title \"# ID name-of-the-bad-pattern\"", path));
  page.lead = trimmed(page.lead);
  for (Section& section : page.sections) section.prose = without_blank_lines(section.prose);
  return page;
}

}  // namespace md

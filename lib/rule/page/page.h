// A rule's page for a terminal: plain text, wrapped, prose first; no JSON, no blocks of the rule language.
#pragma once
#include <string>

#include "lib/rule/page/rule.h"

namespace md {

struct PageStyle {
  int width = 80;      ///< columns; code and tables are never wrapped
  bool color = false;  ///< bold headings as ANSI codes
};

std::string render_page(const Rule& rule, const PageStyle& style = {});
/// Markdown prose (paragraphs, lists, code, **bold**, `code`) as wrapped plain text, each line behind
/// `indent` blanks.
std::string render_prose(std::string_view markdown, int width, int indent);

/// Without the indentation that all lines share: what is code as a whole begins at the margin.
std::string dedented(std::string_view text);

}  // namespace md

// The part of Markdown that a rule page uses: one title, sections under "## " headings, fenced blocks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace md {

struct FencedBlock {
  std::string info;       ///< the words behind the fence: "rewrite tflite", "python"
  std::string_view text;  ///< the lines between the fences, with their line ends
  int line = 0;           ///< 1-based line of the first line of `text`
};

struct Section {
  std::string heading;
  std::string prose;  ///< without the blocks that are data of the rule; other fenced blocks stay
  int line = 0;       ///< of the heading
};

struct Page {
  std::string title;
  int title_line = 0;
  std::string lead;  ///< prose between the title and the first heading
  std::vector<Section> sections;
  std::vector<FencedBlock> blocks;  ///< the rule's own: json rule, rewrite, model, log
};

/// True for the info strings that hold data of the rule, by their first word.
bool is_rule_block(std::string_view info);

/// The text of the blocks points into `markdown`. Errors (path:line): no title, two titles, a fence that is
/// never closed.
Result<Page> parse_page(const std::string& path, std::string_view markdown);

}  // namespace md

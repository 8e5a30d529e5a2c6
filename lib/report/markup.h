// Text made safe inside XML, HTML and Markdown tables.
#pragma once
#include <string>
#include <string_view>

namespace md::reporters {

/// & < > " ' as entities; control characters that XML forbids become U+FFFD.
std::string escape_markup(std::string_view text);
/// Pipes and line ends do not break a Markdown table; angle brackets do not become tags.
std::string escape_table(std::string_view text);

}  // namespace md::reporters

// Other people's words (names of layers and files, log lines, rule pages, JSON read back) made harmless where
// they leave the program: one function for each kind of output. Text that can be read stays as it is, also
// where it is not ASCII; what cannot be seen, or moves what is seen, becomes an escape: \n, \x1b (bytes,
// also those that are not UTF-8), \u{202e} (code points). Sources: Unicode 15 general categories Cc, Cf, Zl,
// Zp and the default-ignorable code points; UTR 36 on bidirectional text; OWASP on formulas in CSV.
#pragma once
#include <string>
#include <string_view>

namespace md {

/// Control characters, marks of bidirectional text, characters without width, line separators.
bool is_unprintable(char32_t code_point);

/// Appends the code point as UTF-8.
void append_utf8(std::string& out, char32_t code_point);

/// `text` with everything that cannot be printed as an escape; a backslash stays one.
std::string escape_unprintable(std::string_view text);

/// One line of a terminal or of a CI log: tabs are blanks, and nothing in it is a workflow command
/// ("::error" at the begin, "##[" and "##vso[" anywhere).
std::string escape_terminal(std::string_view text);
/// The same for every line of a text; line ends stay.
std::string escape_terminal_lines(std::string_view text);

/// One cell of a CSV file, quoted where that is needed; never a formula (a leading = + - @ gets a ' in
/// front).
std::string escape_csv(std::string_view text);

/// The message of a GitHub workflow command, and the value of one of its properties.
std::string escape_workflow_message(std::string_view text);
std::string escape_workflow_property(std::string_view text);

/// Text and attribute values of XML and HTML; line ends and tabs stay.
std::string escape_markup(std::string_view text);

/// Words in a line or a table cell of Markdown: no marks, tags, links, mentions.
std::string escape_markdown(std::string_view text);
/// The same as a code span, with its backticks. `cell`: inside a table, where a | needs a backslash.
std::string escape_markdown_code(std::string_view text, bool cell);

/// JSON text whose strings hold no unprintable character and no "##[" raw: they become \uXXXX, which reads
/// back the same.
std::string escape_json(std::string dumped);

}  // namespace md

// What web pages and notebooks put around the lines of a log: quote marks, HTML, escapes written out.
#pragma once
#include <string>
#include <string_view>

namespace md {

/// The line without quote marks of a mail or an issue ("> "), code fences, HTML tags of notebooks and issues,
/// and with the five entities of HTML as characters. Returns a part of `raw` where nothing inside it has to
/// change, else a view of `storage`.
std::string_view strip_markup(std::string_view raw, std::string& storage);

/// Removes terminal codes whose first byte is an escape, or was written out or lost on the way ("\u001b[31m",
/// "^[[0m", "[0;31m"), and everything before the last lone carriage return (progress bars). Returns `raw`
/// itself when there is nothing to remove, else a view of `storage`.
std::string_view strip_terminal_codes(std::string_view raw, std::string& storage);

}  // namespace md

// The reporters, one a format; report.h is what the rest of the program uses. It gives those for people a
// diagnosis that is escaped already (shown.h), and escapes what those for programs give.
#pragma once
#include <span>
#include <string>

#include "lib/diagnose/diagnosis.h"
#include "lib/report/report.h"

namespace md::reporters {

using Runs = std::span<const Diagnosis>;

/// What says in a file that this program wrote it; recognize.cpp looks for these.
inline constexpr std::string_view kGenerator = "modeldoctor";
inline constexpr std::string_view kHtmlMark = "<meta name=\"generator\" content=\"modeldoctor\">";
inline constexpr std::string_view kJunitMark = "<testsuites name=\"modeldoctor\">";
inline constexpr std::string_view kMarkdownMark = "<!-- written by modeldoctor -->";

std::string text(Runs runs, const TextStyle& style);
std::string concise(Runs runs, const TextStyle& style);
std::string json(Runs runs);
std::string json_lines(Runs runs);
std::string sarif(Runs runs);
std::string github(Runs runs);
std::string junit(Runs runs);
std::string markdown(Runs runs);
std::string html(Runs runs);

}  // namespace md::reporters

// The reporters, one a format; report.h is what the rest of the program uses.
#pragma once
#include <span>
#include <string>

#include "lib/diagnose/diagnosis.h"
#include "lib/report/report.h"

namespace md::reporters {

using Runs = std::span<const Diagnosis>;

std::string text(Runs runs, const TextStyle& style);
std::string concise(Runs runs);
std::string json(Runs runs);
std::string json_lines(Runs runs);
std::string sarif(Runs runs);
std::string github(Runs runs);
std::string junit(Runs runs);
std::string markdown(Runs runs);
std::string html(Runs runs);

}  // namespace md::reporters

// The command that a report proposes next, ready to be pasted into a shell.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/diagnosis.h"

namespace md::reporters {

/// One word of a POSIX shell that reads back as `text`.
std::string shell_word(const std::string& text);
/// The same for a path: one that begins with a dash is not taken for an option.
std::string shell_path(const std::string& path);

/// What to do next, one line; "" when there is nothing to do, or nothing that a command could do. Same
/// target, logs and options as this run had.
std::string next_step(const Diagnosis& run);

/// Behind "wrote X.pt2": the lines of Python that take the mended program on; empty for other files.
std::vector<std::string> recipe_lines(const Diagnosis& run);

}  // namespace md::reporters

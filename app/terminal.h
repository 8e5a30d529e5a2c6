// Data goes to standard output; errors and everything else for people's eyes to standard error.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace md::app {

/// --color always|never|auto; auto: a terminal, and NO_COLOR is not set.
bool use_color(std::string_view choice, std::FILE* stream);

/// "modeldoctor: MESSAGE" on standard error, one line.
void print_error(std::string_view message);
void print_note(std::string_view message);  ///< nothing for an empty one
/// All of it on standard output; false, with the reason on standard error, when the reader went away, the
/// disk is full, or the caller closed it.
bool print_data(std::string_view text);

/// Prints the error and gives its exit code.
int report(const Error& error);

}  // namespace md::app

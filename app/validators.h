// What values an option takes, with errors that a person can read: "expected a whole number from 1 to 1024,
// not "two"". The same text is printed for the command line and for modeldoctor.toml.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace md::app {

/// One of these words, else "did you mean".
CLI::Validator one_of(std::vector<std::string> words);
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
CLI::Validator number_of_at_least(double least);
/// A runtime that is known, and a version (lib/target).
CLI::Validator known_target();

/// Why the option does not take the value; "" when it does.
std::string refusal(CLI::Option& option, const std::string& value);

}  // namespace md::app

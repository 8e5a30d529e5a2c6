// modeldoctor.toml: defaults for long options, without the dashes ("target = \"litert-gpu@2.3.0\"", "ignore =
// [\"F16003\"]").
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "lib/base/result.h"

namespace md::app {

/// The nearest modeldoctor.toml in this folder or above it; "" when there is none.
std::string find_config();

/// Gives the options of `command` that the command line does not set the values of the file; a section [fix]
/// is for that command alone. Errors name the file and the key ("did you mean"); keys of other commands are
/// no error.
Status apply_config(const std::string& path, CLI::App& program, CLI::App& command);

/// JSON Schema (2020-12) of the file, made from the options themselves.
std::string config_schema(const CLI::App& program);

/// Every long option of the program, without dashes, for messages.
std::vector<std::string> long_options(const CLI::App& app);

}  // namespace md::app

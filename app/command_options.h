// What can be typed: the commands, and the options of each.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/options.h"

namespace md::app {

/// Everything that some command reads.
struct Parsed {
  Options options;
  NumericOptions numeric;
  std::string subject, model, before, after, html, schema = "diagnosis", format = "text";
  bool markdown = false;
  std::vector<std::string> files;
};

/// Commands below a command that the dispatcher asks about.
struct InnerCommands {
  CLI::App *rules_test = nullptr, *config_show = nullptr;
};

/// Declares every command of `program`; parsing then fills `in`, which must outlive it.
InnerCommands add_commands(CLI::App& program, Parsed& in);

}  // namespace md::app

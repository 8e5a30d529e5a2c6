// `config show`: which value every option has, and who said it.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/config.h"

namespace md::app {

struct OptionOrigin {
  std::string command, option;
  std::vector<std::string> values;  ///< as the command line writes them; none: not given
  OptionType type;
  enum class From { standard, file, command_line } from = From::standard;
  std::string place;  ///< "modeldoctor.toml:3"
};

/// The options of one command after apply_config gave them `places`. Commands share variables: their defaults
/// are to be captured (capture_default_str) before the first of them is given a value.
std::vector<OptionOrigin> origins_of(CLI::App& command, const ConfigPlaces& places);

/// As lines "fix.samples = 24    default"; what all commands share has no command in front.
std::string config_text(const std::vector<ConfigLayer>& layers, const std::vector<OptionOrigin>& options);
std::string config_json(const std::vector<ConfigLayer>& layers, const std::vector<OptionOrigin>& options);

}  // namespace md::app

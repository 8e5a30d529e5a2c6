#include "app/validators.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/base/nearest.h"
#include "lib/target/target.h"

namespace md::app {
namespace {

template <class Number>
bool reads(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string expected = alternatives(words);
  const auto check = [words = std::move(words), expected](std::string& value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end()) return "";
    return fmt::format("expected {}, not \"{}\"{}", expected, value, did_you_mean(value, words));
  };
  return CLI::Validator(check, "");
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](std::string& value) -> std::string {
    std::int64_t number = 0;
    if (reads(value, number) && number >= least && number <= most) return "";
    return fmt::format("expected a whole number from {} to {}, not \"{}\"", least, most, value);
  };
  return CLI::Validator(check, "");
}

CLI::Validator number_of_at_least(double least) {
  const auto check = [least](std::string& value) -> std::string {
    double number = 0;
    if (reads(value, number) && std::isfinite(number) && number >= least) return "";
    return fmt::format("expected a number of at least {}, not \"{}\"", least, value);
  };
  return CLI::Validator(check, "");
}

CLI::Validator known_target() {
  const auto check = [](std::string& value) -> std::string {
    const auto target = open_target(value);
    return target ? "" : target.error().message;
  };
  return CLI::Validator(check, "");
}

std::string refusal(CLI::Option& option, const std::string& value) {
  for (int i = 0;; ++i) {
    const CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      return "";
    }
    std::string text = value;
    if (std::string why = (*validator)(text); !why.empty()) return why;
  }
}

}  // namespace md::app

#include "lib/log/envelope.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/log/vocabulary.h"

namespace md {
namespace {

constexpr std::size_t looked_at = 16384;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// Where the two sides of a comparison meet: position and length of the
/// operator; length 0: no comparison.
std::pair<std::size_t, std::size_t> comparison(std::string_view text) {
  for (const std::string_view op : {" != ", " == ", " >= ", " <= ", " > ", " < ", " vs. "})
    if (const std::size_t at = text.find(op); at != std::string_view::npos) return {at, op.size()};
  return {0, 0};
}

}  // namespace

std::string_view up_to(std::string_view text, std::string_view stops) {
  return text.substr(0, text.find_first_of(stops));
}

std::string_view behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

std::string_view line_at(std::string_view text, std::size_t at) {
  const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return trimmed(text.substr(begin, std::min(text.find('\n', at), text.size()) - begin));
}

std::string condition_words(std::string_view condition) {
  condition = trimmed(condition);
  if (condition.empty()) return {};
  // "a != b (1 != 2)": the tool says what must not be so, with the values
  // behind it.
  const std::size_t open = condition.rfind(" (");
  if (open != std::string_view::npos && condition.back() == ')') {
    const std::string_view names = condition.substr(0, open);
    const std::string_view values = condition.substr(open + 2, condition.size() - open - 3);
    const auto [name_at, name_length] = comparison(names);
    const auto [value_at, value_length] = comparison(values);
    if (name_length > 0 && value_length > 0) {
      const std::string_view left = names.substr(0, name_at), right = names.substr(name_at + name_length);
      const std::string_view was = values.substr(0, value_at),
                             wanted = values.substr(value_at + value_length);
      const std::string_view op = trimmed(values.substr(value_at, value_length));
      if (op == "!=")
        return wanted == right ? fmt::format("{} is {}, expected {}", left, was, wanted)
                               : fmt::format("{} is {}, expected {}, which is {}", left, was, right, wanted);
      return fmt::format("{} is {}, {} is {}", left, was, right, wanted);
    }
  }
  return fmt::format("`{}` does not hold", condition);
}

void read_envelopes(Record& record) {
  const std::string message = record.message.substr(0, looked_at);
  for (const auto read : {envelope::read_tflite, envelope::read_onnxruntime, envelope::read_tensorrt,
                          envelope::read_executorch, envelope::read_python, envelope::read_java})
    read(message, record);
  if (record.tell().stage == Stage::unknown && !record.tell().source.empty())
    record.tell().stage = stage_of_source(record.tell().source);
}

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::setup:
      return "setup";
    case Stage::program_export:
      return "export";
    case Stage::convert:
      return "convert";
    case Stage::lower:
      return "lower";
    case Stage::build:
      return "build";
    case Stage::load:
      return "load";
    case Stage::prepare:
      return "prepare";
    case Stage::run:
      return "run";
    case Stage::unknown:
      break;
  }
  return "";
}

}  // namespace md

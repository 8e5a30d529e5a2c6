// TensorFlow Lite: kernel checks, nodes that fail, the classic delegate.
#include <algorithm>

#include <fmt/format.h>

#include "lib/log/envelope.h"
#include "lib/log/vocabulary.h"

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Position {
  std::string_view place;  ///< "kernels/pad.cc:55"
  std::string_view text;   ///< behind it, on its line, up to "Node number"
  std::size_t at = 0;
};

/// The first "path/file.cc:55 text" of a message.
Position find_position(std::string_view message) {
  for (const std::string_view extension : {".cc:", ".cpp:", ".h:", ".c:"}) {
    for (std::size_t dot = message.find(extension); dot != std::string_view::npos;
         dot = message.find(extension, dot + 1)) {
      std::size_t end = dot + extension.size();
      const std::size_t digits = end;
      while (end < message.size() && is_digit(message[end])) ++end;
      if (end == digits || end >= message.size() || (message[end] != ' ' && message[end] != ':')) continue;
      std::size_t begin = dot;
      while (begin > 0 && std::string_view(" \t\n([").find(message[begin - 1]) == std::string_view::npos)
        --begin;
      std::string_view text = message.substr(end + 1);
      text = text.substr(0, text.find('\n'));
      text = text.substr(0, text.find("Node number "));
      return {message.substr(begin, end - begin), text, begin};
    }
  }
  return {};
}

/// The interpreter for microcontrollers says "Node CONV_2D (number 1f) failed to prepare", in hexadecimal.
void read_micro_node(std::string_view message, Record& record) {
  const std::size_t number = message.find(" (number ");
  if (number == std::string_view::npos || number == 0 || !has(message, ") failed to ")) return;
  const std::size_t blank = message.find_last_of(" \n", number - 1);
  if (blank == std::string_view::npos) return;
  if (record.tool.empty()) record.tool = "tflite";
  record.tell().op = message.substr(blank + 1, number - blank - 1);
  record.tell().node = fmt::format("0x{}", up_to(message.substr(number + 9), ")\n"));
  if (record.told().stage == Stage::unknown)
    record.tell().stage = has(message, "failed to invoke") ? Stage::run : Stage::prepare;
}

/// "Node number 5 (CONV_2D) failed to prepare": operator and number; a delegate
/// is no operator.
void read_node(std::string_view message, Record& record) {
  const std::size_t at = message.find("Node number ");
  if (at == std::string_view::npos) return read_micro_node(message, record);
  const std::string_view rest = message.substr(at + 12);
  const std::string_view number = up_to(rest, " \n(");
  const std::string_view name = up_to(behind(rest.substr(0, 120), "("), ")\n");
  const std::string_view line = line_at(message, at);
  if (record.tell().stage == Stage::unknown)
    record.tell().stage = has(line, "failed to invoke") ? Stage::run : Stage::prepare;
  if (has(name, "Delegate")) {
    if (record.tool.empty() || record.tool == "tflite")
      record.tool = has(name, "XNNPack") || has(name, "XNNPACK") ? "tflite-xnnpack"
                    : has(name, "Gpu")                           ? "tflite-gpu"
                    : has(name, "NnApi") || has(name, "NNAPI")   ? "tflite-nnapi"
                                                                 : "tflite";
    return;
  }
  if (record.tell().op.empty()) record.tell().op = name;
  if (record.tell().node.empty()) record.tell().node = number;
  if (record.tool.empty()) record.tool = "tflite";
}

/// "TfLiteGpuDelegate Init: MUL: text", "GpuDelegate Prepare: text".
void read_classic_delegate(std::string_view message, Record& record) {
  std::size_t from = 0;
  for (std::size_t at = message.find("GpuDelegate "); at != std::string_view::npos;
       at = message.find("GpuDelegate ", from)) {
    from = at + 12;
    const std::string_view step = up_to(message.substr(from), ": \n(");
    if (step != "Init" && step != "Prepare" && step != "Invoke") continue;
    record.tool = "tflite-gpu";
    if (record.tell().stage == Stage::unknown)
      record.tell().stage = step == "Invoke" ? Stage::run : Stage::prepare;
    std::string_view text = message.substr(std::min(from + step.size() + 2, message.size()));
    text = text.substr(0, text.find('\n'));
    if (text.substr(0, 15) == "delegate is not") continue;
    if (record.tell().decisive.empty()) record.tell().decisive = line_at(message, at);
    if (const std::size_t reason = operator_line(text);
        reason != std::string_view::npos && record.tell().op.empty())
      record.tell().op = text.substr(0, reason - 1);
    return;
  }
}

}  // namespace

void read_tflite(std::string_view message, Record& record) {
  read_classic_delegate(message, record);
  read_node(message, record);
  const Position found = find_position(message);
  if (!found.place.empty()) {
    if (record.tell().source.empty()) record.tell().source = found.place;
    const bool kernel = has(found.place, "kernels/") && has(found.place, ".cc:");
    if (kernel && !has(found.place, "executorch")) {
      if (record.tool.empty() || record.tool == "litert-gpu") record.tool = "tflite";
      if (record.tell().stage == Stage::unknown) record.tell().stage = Stage::prepare;
      record.tell().decisive = line_at(message, found.at);
      std::string_view text = found.text;
      if (const std::size_t end = text.find(" was not true"); end != std::string_view::npos)
        record.tell().condition = condition_words(text.substr(0, end));
      else if (has(text, " != ") && has(text, "("))
        record.tell().condition = condition_words(text);
    }
  }
  if (has(message, "XNNPACK") && (record.tool.empty() || record.tool == "tflite"))
    record.tool = "tflite-xnnpack";
  const std::string_view headline = record.headline();
  if (const std::size_t reason = operator_line(headline);
      names_operator(headline) && record.tell().op.empty() &&
      (record.tool.empty() || record.tool == "litert-gpu" || record.tool == "tflite-gpu")) {
    record.tell().op = headline.substr(0, reason - 1);
    if (record.tell().stage == Stage::unknown) record.tell().stage = Stage::prepare;
  }
  if (record.tell().stage == Stage::unknown && record.tool == "litert-gpu")
    record.tell().stage = Stage::prepare;
}

}  // namespace md::envelope

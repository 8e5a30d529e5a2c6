// ONNX Runtime: status and name in front of the text, the node that ran.
#include "lib/log/envelope.h"
#include "lib/log/status_numbers.h"

#include <charconv>

#include <fmt/format.h>

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void set(std::string& field, std::string_view text) {
  if (field.empty()) field = text;
}

/// What the library did, by the beginning of its sentence, else by its status.
Stage stage_of(std::string_view text, std::string_view status) {
  if (has(text, "while running") || has(text, "Got invalid dimensions") ||
      has(text, "Unexpected input data type") || has(text, "Invalid Feed Input Name") ||
      has(text, "Invalid rank for input") || has(text, "required inputs ("))
    return Stage::run;
  if (has(text, "oad model") || has(text, "model IR version") || status == "INVALID_GRAPH" ||
      status == "NOT_IMPLEMENTED" || status == "INVALID_PROTOBUF" || status == "NO_SUCHFILE" ||
      has(text, "Could not find an implementation") || has(text, "during initialization"))
    return Stage::load;
  return status == "RUNTIME_EXCEPTION" ? Stage::run : Stage::unknown;
}

/// "while running Reshape node. Name:'/a' Status Message: ...".
void read_running_node(std::string_view message, Record& record) {
  const std::string_view running = behind(message, "while running ");
  if (running.empty()) return;
  set(record.tell().op, up_to(running, " \n"));
  const std::string_view name = behind(running.substr(0, 400), "Name:'");
  set(record.tell().node, up_to(name, "'\n"));
  const std::string_view text = behind(running, "Status Message: ");
  if (text.empty()) return;
  const std::string_view line = text.substr(0, text.find('\n'));
  if (const std::size_t end = line.find(" was false."); end != std::string_view::npos) {
    // "path.h:45 Function CONDITION was false. SENTENCE": the condition's own
    // words begin behind the function.
    const std::size_t open = line.rfind("::", end);
    const std::size_t begin = open == std::string_view::npos ? line.find(' ') : line.find(' ', open);
    if (begin != std::string_view::npos && begin < end)
      set(record.tell().condition, condition_words(line.substr(begin, end - begin)));
  }
}

}  // namespace

void read_onnxruntime(std::string_view message, Record& record) {
  const std::string_view error = behind(message, "[ONNXRuntimeError] : ");
  if (!error.empty()) {
    record.tool = "onnxruntime";
    long number = 0;
    const auto [end, failure] = std::from_chars(error.data(), error.data() + error.size(), number);
    if (failure == std::errc()) {
      std::string words = status_words("onnxruntime", number);
      set(record.tell().status,
          words.empty() ? fmt::format("{}", number) : fmt::format("{} {}", number, words));
    }
    std::string_view rest = behind(error, " : ");
    const std::string_view status = up_to(rest, " \n");
    if (const Stage stage = stage_of(rest, status); stage != Stage::unknown) record.tell().stage = stage;
  }
  if (has(message, "Non-zero status code returned while running")) {
    record.tool = "onnxruntime", record.tell().stage = Stage::run;
    read_running_node(message, record);
  }
  if (record.tool != "onnxruntime") return;
  if (record.told().stage == Stage::unknown) record.tell().stage = stage_of(message, {});
  if (const std::string_view of = behind(message, " of operator ("); !of.empty()) {
    set(record.tell().op, up_to(of, ")\n"));
    set(record.tell().node, up_to(behind(of, "in node ("), ")\n"));
  }
  if (const std::string_view of = behind(message, "ould not find an implementation for "); !of.empty()) {
    const std::string_view named = of.substr(0, 13) == "the node Name" ? of : of;
    set(record.tell().op, up_to(named, " \n"));
    set(record.tell().node, up_to(behind(of.substr(0, 300), "node with name '"), "'\n"));
  }
  if (const std::string_view of = behind(message, "No Op registered for "); !of.empty())
    set(record.tell().op, up_to(of, " \n"));
  if (const std::size_t at = message.find(" is not a registered function/op"); at != std::string_view::npos) {
    const std::size_t blank = message.rfind(' ', at - 1);
    set(record.tell().op, message.substr(blank + 1, at - blank - 1));
  }
}

}  // namespace md::envelope

// TensorRT, its ONNX parser, and Torch-TensorRT.
#include "lib/log/envelope.h"

#include <fmt/format.h>

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
void set(std::string& field, std::string_view text) {
  if (field.empty()) field = text;
}

/// "In node 143 with name: /a and operator: Resize (importResize):
/// UNSUPPORTED_NODE: Assertion failed: COND && "TEXT"".
void read_node(std::string_view message, Record& record) {
  const std::string_view node = behind(message, "In node ");
  if (node.empty() || !has(node.substr(0, 300), "): ")) return;
  record.tool = "tensorrt", record.tell().stage = Stage::convert;
  set(record.tell().node, up_to(behind(node.substr(0, 200), "name: "), " \n").empty()
                              ? up_to(node, " ")
                              : up_to(behind(node.substr(0, 200), "name: "), " \n"));
  set(record.tell().op, up_to(behind(node.substr(0, 300), "operator: "), " \n"));
  const std::string_view function = up_to(behind(node.substr(0, 300), "("), ")\n");
  if (function.substr(0, 6) == "import" && !has(function, "Fallback") && function != "importInputs")
    set(record.tell().op, function.substr(6));
  set(record.tell().decisive, line_at(message, static_cast<std::size_t>(node.data() - message.data())));
}

/// "While parsing node number 7 [LayerNormalization -> "out"]", and the node
/// itself where it is printed.
void read_parsed_node(std::string_view message, Record& record) {
  const std::string_view parsing = behind(message, "While parsing node number ");
  if (!parsing.empty()) {
    record.tool = "tensorrt", record.tell().stage = Stage::convert;
    set(record.tell().op, up_to(behind(parsing.substr(0, 40), "["), " ]:\n("));
    set(record.tell().node, up_to(parsing, " [\n"));
  }
  set(record.tell().op, up_to(behind(message, "op_type: \""), "\"\n"));
  set(record.tell().op, up_to(behind(message, "getPluginCreator could not find plugin: "), " \n"));
  if (const std::string_view op = behind(message, "No importer registered for op: "); !op.empty()) {
    record.tool = "tensorrt", record.tell().stage = Stage::convert;
    set(record.tell().op, up_to(op, " .\n"));
  }
}

void read_assertion(std::string_view message, Record& record) {
  const std::string_view failed = behind(message, "Assertion failed: ");
  if (failed.empty()) return;
  const std::string_view line = failed.substr(0, failed.find('\n'));
  const std::size_t both = line.find(" && \""), colon = line.rfind(": ");
  const std::string_view condition = both != std::string_view::npos    ? line.substr(0, both)
                                     : colon != std::string_view::npos ? line.substr(0, colon)
                                                                       : line;
  set(record.tell().condition, condition_words(condition));
}

/// "Error Code 4: Internal Error (text)"; what a context says is said while the
/// engine runs.
void read_error_code(std::string_view message, Record& record) {
  const std::string_view code = behind(message, "Error Code ");
  if (code.empty()) return;
  if (record.tool.empty()) record.tool = "tensorrt";
  set(record.tell().status, fmt::format("Error Code {}", up_to(code, "(\n")));
  if (record.tell().stage == Stage::unknown || record.tool == "tensorrt")
    record.tell().stage =
        has(message, "IExecutionContext") || has(message, "setInputShape") || has(message, "enqueue")
            ? Stage::run
        : has(message, "erializ") ? Stage::load
                                  : Stage::build;
  const std::string_view named = behind(message, "any implementation for node ");
  set(record.tell().node, named.substr(0, named.find(".)")));
}

/// "[Error thrown at core/util/trt_util.cpp:283] Expected COND to be true but
/// got false\nTEXT".
void read_torch_tensorrt(std::string_view message, Record& record) {
  const std::string_view thrown = behind(message, "[Error thrown at ");
  if (thrown.empty()) return;
  record.tool = "torch-tensorrt";
  set(record.tell().source, up_to(thrown, "]\n"));
  const std::string_view expected = behind(thrown, "Expected ");
  if (const std::size_t end = expected.find(" to be true but got false"); end != std::string_view::npos) {
    set(record.tell().condition, condition_words(expected.substr(0, end)));
    std::string_view text = expected.substr(end + 25);
    if (!text.empty() && text[0] == '\n') set(record.tell().decisive, line_at(text, 1));
  }
}

}  // namespace

void read_tensorrt(std::string_view message, Record& record) {
  read_node(message, record);
  read_parsed_node(message, record);
  if (record.tool == "tensorrt") read_assertion(message, record);
  read_error_code(message, record);
  read_torch_tensorrt(message, record);
  if (record.tool == "tensorrt" && record.tell().stage == Stage::unknown && has(message, "Plugin"))
    record.tell().stage = Stage::convert;
}

}  // namespace md::envelope

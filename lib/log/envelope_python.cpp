// Python: exceptions by their class, the operator that an interpreter of graphs
// stood at, MLIR's diagnostics, and the tools that speak through exceptions
// only.
#include "lib/log/envelope.h"

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
void set(std::string& field, std::string_view text) {
  if (field.empty()) field = text;
}

struct Spoken {
  std::string_view words, tool;
  Stage stage;
};
// What a message says of its tool and of what it did. The earlier one that is
// found counts.
constexpr Spoken spoken[] = {
    {"GuardOnDataDependentSymNode", "torch-export", Stage::program_export},
    {"Constraints violated", "torch-export", Stage::program_export},
    {"torch._dynamo.exc", "torch-export", Stage::program_export},
    {"torch.onnx.errors", "torch-onnx", Stage::convert},
    {"to ONNX opset version", "torch-onnx", Stage::convert},
    {"torch.onnx", "torch-onnx", Stage::convert},
    {"No ONNX function found", "torch-onnx", Stage::convert},
    {"Unsupported FX nodes", "torch-onnx", Stage::convert},
    {"ONNX export failed", "torch-onnx", Stage::convert},
    {"SpecViolationError", "executorch", Stage::lower},
    {"executing %aten_", "executorch", Stage::lower},  // only its edge dialect names nodes so
    {"Lowering not found", "litert-torch", Stage::convert},
    {"NHWC node rewriter not found", "litert-torch", Stage::convert},
    {"neither a custom op nor a flex op", "tflite-converter", Stage::convert},
    {"failed to legalize operation", "", Stage::convert},
    {"PyTorch convert function for op", "coremltools", Stage::convert},
    {"coremltools", "coremltools", Stage::convert},
    {"No conversion rule found", "openvino", Stage::convert},
    {"Conversion is failed for", "openvino", Stage::convert},
    {"Attempted boolean conversion of traced array", "litert-torch", Stage::convert},
    {"ModuleNotFoundError", "", Stage::setup},
    {"ImportError", "", Stage::setup},
    {"undefined symbol", "", Stage::setup},
    {"No matching distribution found", "pip", Stage::setup},
    {"ResolutionImpossible", "pip", Stage::setup},
    {"conflicting dependencies", "pip", Stage::setup},
    {"not exists or registered", "ncnn", Stage::load},
    {"not supported yet!", "ncnn", Stage::convert},
    {"network graph not ready", "ncnn", Stage::load},
    {"static-sized tensors with a graph that has dynamic", "tflite", Stage::prepare},
    {"Didn't find op for builtin opcode", "", Stage::load},
    {"Encountered unresolved custom op", "tflite", Stage::load},
    {"Regular TensorFlow ops are not supported", "tflite", Stage::prepare},
    {"onnx.checker", "onnx", Stage::convert},
    {"Torch-TensorRT", "torch-tensorrt", Stage::convert},
    {"OpenCV(", "opencv", Stage::run},
};

/// "'tfl.pad' op text" behind "error:".
void read_mlir(std::string_view message, Record& record) {
  const std::size_t at = message.find("error: '");
  if (at == std::string_view::npos) return;
  const std::string_view op = up_to(message.substr(at + 8), "'\n");
  if (!has(op, ".")) return;
  set(record.tell().op, op);
  if (record.tell().stage == Stage::unknown) record.tell().stage = Stage::convert;
  set(record.tell().decisive, line_at(message, at));
}

/// "(-215:Assertion failed) COND in function 'F'".
void read_opencv(std::string_view message, Record& record) {
  if (!has(message, "OpenCV(")) return;
  record.tool = "opencv";
  if (const std::string_view failed = behind(message, "Assertion failed) "); !failed.empty())
    set(record.tell().condition, condition_words(failed.substr(0, failed.find(" in function"))));
  if (record.tell().stage == Stage::unknown)
    record.tell().stage = has(message, "onnx_importer") || has(message, "readNet") ? Stage::load : Stage::run;
}

/// The node that a walk over a graph stood at: "While executing %conv : ...
/// target=torch.ops.aten.conv2d.default".
void read_executed_node(std::string_view message, Record& record) {
  const std::string_view node = behind(message, "While executing %");
  if (node.empty()) return;
  set(record.tell().node, up_to(node, " \n"));
  const std::string_view line = node.substr(0, node.find('\n'));
  std::string_view target = behind(line, "[target=");
  if (const std::string_view op = behind(target, "torch.ops."); !op.empty()) target = op;
  set(record.tell().op, up_to(target, "](, \n"));
}

void read_named_operator(std::string_view message, Record& record) {
  struct Naming {
    std::string_view before, stops;
  };
  constexpr Naming namings[] = {{"Lowering not found: ", " \n"},
                                {"NHWC node rewriter not found: ", " \n"},
                                {"Exporting the operator '", "'\n"},
                                {"Exporting the operator ", " \n"},
                                {"convert function for op '", "'\n"},
                                {"OpOverload(op='", "'\n"},
                                {"failed to legalize operation '", "'\n"},
                                {"No conversion rule found for operations: ", "\n"},
                                {"builtin opcode '", "'\n"},
                                {"unresolved custom op: ", " .\n"},
                                {"Could not find ShaderInfo with name ", " \n"}};
  for (const Naming& naming : namings)
    if (const std::string_view op = behind(message, naming.before); !op.empty())
      return set(record.tell().op, up_to(op, naming.stops));
  // ncnn's converters name it in front: "Gather not supported yet!", "layer Shape not exists or registered".
  for (const std::string_view after : {" not supported yet!", " not exists or registered"})
    if (const std::size_t at = message.find(after); at != std::string_view::npos && at > 0) {
      const std::size_t before = message.find_last_of(" \n", at - 1);
      return set(record.tell().op, message.substr(before + 1, at - before - 1));
    }
}

}  // namespace

void read_python(std::string_view message, Record& record) {
  const std::string_view said = message.substr(0, message.find("\nTraceback (most recent call last)"));
  read_mlir(said, record);
  read_opencv(said, record);
  read_executed_node(said, record);
  read_named_operator(said, record);
  for (const Spoken& entry : spoken) {
    if (!has(said, entry.words)) continue;
    if (record.tool.empty()) record.tool = entry.tool;
    if (record.tell().stage == Stage::unknown) record.tell().stage = entry.stage;
  }
}

}  // namespace md::envelope

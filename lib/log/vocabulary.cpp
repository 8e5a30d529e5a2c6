#include "lib/log/vocabulary.h"

#include <algorithm>

namespace md {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

struct FileTool {
  std::string_view part, tool;
};
constexpr FileTool source_tools[] = {
    {"delegate_webgpu.cc", "litert-gpu"},
    {"delegate_opencl.cc", "litert-gpu"},
    {"delegate_metal.mm", "litert-gpu"},
    {"delegate_kernel", "litert-gpu"},
    {"model_builder.cc", "litert-gpu"},
    {"accelerator_registry.cc", "litert-gpu"},
    {"npu_registry.cc", "litert-gpu"},
    {"gpu_registry.cc", "litert-gpu"},
    {"cpu_registry.cc", "litert-gpu"},
    {"auto_registration.cc", "litert-gpu"},
    {"compiler_plugin.cc", "litert-gpu"},
    {"compiled_model.cc", "litert-gpu"},
    {"litert_", "litert-gpu"},
    {"gpu_environment.h", "litert-gpu"},
    {"environment.cc", "litert-gpu"},
    {"dispatch_delegate.cc", "litert-gpu"},
    {"model.cc", "litert-gpu"},
    {"method.cpp", "executorch"},
    {"operator_registry.cpp", "executorch"},
    {"program.cpp", "executorch"},
    {"Backend.cpp", "executorch"},
    {"XNNCompiler.cpp", "executorch"},
    {"XNNExecutor.cpp", "executorch"},
    {"onnx_importer", "opencv"},
    {"ModelImporter.cpp", "tensorrt"},
};
constexpr FileTool path_tools[] = {
    {"litert_torch", "litert-torch"},
    {"ai_edge_torch", "litert-torch"},
    {"litert_converter", "litert-torch"},
    {"torch_tensorrt", "torch-tensorrt"},
    {"executorch", "executorch"},
    {"coremltools", "coremltools"},
    {"onnxruntime", "onnxruntime"},
    {"onnxscript", "torch-onnx"},
    {"torch/onnx", "torch-onnx"},
    {"openvino", "openvino"},
    {"ai_edge_litert", "litert-gpu"},
    {"tensorrt", "tensorrt"},
    {"tensorflow", "tensorflow"},
    {"site-packages/onnx/", "onnx"},
    {"torch/", "torch"},
};

template <std::size_t N>
std::string_view find_tool(const FileTool (&table)[N], std::string_view text) {
  for (const FileTool& entry : table)
    if (has(text, entry.part)) return entry.tool;
  return {};
}

bool capital(char c) { return c >= 'A' && c <= 'Z'; }
bool letter(char c) { return capital(c) || (c >= 'a' && c <= 'z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

Weight judge_plain(std::string_view text, const Words& words) {
  // Partitioners say for each operator why they leave it; that is how a partial lowering succeeds.
  if (starts(text, "[Vulkan Partitioner]") || starts(text, "[QNN Partitioner") || has(text, "Warning:"))
    return Weight::none;
  if (words.trouble) return Weight::trouble;
  return words.hint ? Weight::hint : Weight::none;
}

}  // namespace

Weight judge(const LogLine& line, const Words& words) {
  const std::string_view text = line.text;
  if (words.benign || words.detail) return Weight::none;
  const bool quiet =
      line.level == LogLevel::verbose || line.level == LogLevel::info || line.level == LogLevel::warning;
  const bool grave = starts(text, "GPU COMPATIBILITY WARNING") ||
                     starts(text, "Attempting to use a delegate that only supports static-sized");
  if (quiet && !grave) return Weight::none;
  if (line.logcat && tool_of(line, words).empty() && line.tag != "AndroidRuntime" && line.tag != "libc")
    return Weight::none;
  if (has(text, "INVALID_ARGUMENT:")) return Weight::cause;
  if (words.echo) return Weight::echo;
  if (words.symptom) return Weight::symptom;
  if (words.cause) return Weight::cause;
  if (line.level == LogLevel::error || line.level == LogLevel::fatal) return Weight::cause;
  if (exception_line(text)) return Weight::cause;
  const std::size_t reason = operator_line(text);
  if (reason != std::string_view::npos) {
    const bool empty = text.find_first_not_of(' ', reason) == std::string_view::npos;
    if (empty) return Weight::none;
    if (words.refusal || starts(text, "CUSTOM ")) return Weight::cause;
  }
  return judge_plain(text, words);
}

bool is_noise(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return true;
  const std::string_view body = text.substr(first);
  if (body.size() < 400 && body.find_first_not_of("=-*_~^#+| ") == std::string_view::npos) return true;
  // litert-torch's progress: "(00:01) [ DONE] LiteRT-Torch Convert > ..."
  LineCursor c(body);
  if (c.take('(') && c.digits(2, 3) && c.take(':') && c.digits(2, 2) && c.take(") [")) return true;
  const std::string_view tail = body.substr(body.size() - std::min<std::size_t>(body.size(), 40));
  return has(tail, "it/s]") || has(tail, " ops/s]") || has(tail, " passes/s]") ||
         starts(body, "\xe2\x94\x8c") || starts(body, "\xe2\x94\x9c") || starts(body, "\xe2\x94\x82") ||
         starts(body, "section_start:") || starts(body, "section_end:");
}

std::string_view tool_of(const LogLine& line, const Words& words) {
  if (line.logcat) {
    if (line.tag == "tflite" || line.tag == "litert" || starts(line.tag, "TfLite") ||
        starts(line.tag, "ml_drift"))
      return "litert-gpu";
    if (line.tag == "ExecuTorch") return "executorch";
    if (line.tag == "onnxruntime") return line.tag;
  } else if (!line.tag.empty()) {
    const std::string_view tool = tool_of_path(line.tag);
    if (!tool.empty()) return tool;
    if (line.tag == "opencv") return line.tag;
  }
  if (!line.source.empty()) {
    const std::string_view by_file = find_tool(source_tools, line.source);
    if (!by_file.empty()) return by_file;
    const std::string_view by_path = tool_of_path(line.source);
    if (!by_path.empty()) return by_path;
  }
  // A line of the delegate's list that was copied without its header.
  if (words.refusal && words.tool.empty() && operator_line(line.text) != std::string_view::npos)
    return "litert-gpu";
  return words.tool;
}

std::string_view tool_of_path(std::string_view path) { return find_tool(path_tools, path); }

std::size_t operator_line(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (capital(text[at]) || digit(text[at]) || text[at] == '_')) ++at;
  if (at < 2 || at >= text.size() || !capital(text[0])) return std::string_view::npos;
  const std::string_view name = text.substr(0, at);
  static constexpr std::string_view words[] = {"ERROR",  "WARNING", "INFO", "VERBOSE", "FATAL", "DEBUG",
                                               "NOTE",   "RESULT",  "TODO", "PASS",    "FAIL",  "PASSED",
                                               "FAILED", "OK",      "HTTP", "URL"};
  if (std::find(std::begin(words), std::end(words), name) != std::end(words)) return std::string_view::npos;
  if (text[at] == ' ' && (name == "CUSTOM" || name == "DELEGATE" || name == "STABLEHLO_COMPOSITE")) {
    const std::size_t colon = text.find(':', at);
    if (colon == std::string_view::npos) return colon;
    at = colon;
  }
  return text[at] == ':' && (at + 1 == text.size() || text[at + 1] == ' ') ? at + 1 : std::string_view::npos;
}

bool exception_line(std::string_view text) {
  if (starts(text, "E   ")) text.remove_prefix(4);  // pytest's margin
  std::size_t at = 0;
  while (at < text.size() && (letter(text[at]) || digit(text[at]) || text[at] == '.')) ++at;
  const std::string_view name = text.substr(0, at);
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (at < text.size() && text[at] != ':') return false;
  if (last.empty() || (!capital(last[0]) && last != "error")) return false;
  static constexpr std::string_view endings[] = {"Error",
                                                 "Exception",
                                                 "Fail",
                                                 "NotImplemented",
                                                 "InvalidGraph",
                                                 "error",
                                                 "InvalidArgument",
                                                 "InvalidProtobuf",
                                                 "Unsupported",
                                                 "KeyboardInterrupt",
                                                 "NoSuchFile",
                                                 "RuntimeErrorWithDiagnostic",
                                                 "ErrorWithDiagnostic"};
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view ending) {
    return last.size() >= ending.size() && last.substr(last.size() - ending.size()) == ending &&
           (last.size() > ending.size() || dot != std::string_view::npos || capital(ending[0])) &&
           last != "Error";
  });
}

}  // namespace md

#include "lib/log/vocabulary.h"

#include <algorithm>

namespace md {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

struct FileTool {
  std::string_view part, tool;
  Stage stage = Stage::unknown;
};
constexpr FileTool source_tools[] = {
    {"delegate_webgpu.cc", "litert-gpu", Stage::prepare},
    {"delegate_opencl.cc", "litert-gpu", Stage::prepare},
    {"delegate_metal.mm", "litert-gpu", Stage::prepare},
    {"delegate_opengl.cc", "litert-gpu", Stage::prepare},
    {"delegate_kernel", "litert-gpu", Stage::prepare},
    {"ml_drift", "litert-gpu", Stage::prepare},
    {"model_builder.cc", "litert-gpu", Stage::prepare},
    {"tensorflow/lite/kernels/", "tflite", Stage::prepare},
    {"tflite/kernels/", "tflite", Stage::prepare},
    {"xnnpack_delegate.cc", "tflite-xnnpack", Stage::prepare},
    {"nnapi_delegate.cc", "tflite-nnapi", Stage::prepare},
    {"tensorflow/lite/delegates/gpu", "tflite-gpu", Stage::prepare},
    {"tensorflow/lite/", "tflite", Stage::prepare},
    {"accelerator_registry.cc", "litert-gpu", Stage::load},
    {"npu_registry.cc", "litert-gpu", Stage::load},
    {"gpu_registry.cc", "litert-gpu", Stage::load},
    {"cpu_registry.cc", "litert-gpu", Stage::load},
    {"auto_registration.cc", "litert-gpu", Stage::load},
    {"compiler_plugin.cc", "litert-gpu", Stage::build},
    {"compiled_model.cc", "litert-gpu", Stage::build},
    {"litert_", "litert-gpu"},
    {"gpu_environment.h", "litert-gpu", Stage::load},
    {"environment.cc", "litert-gpu", Stage::load},
    {"dispatch_delegate.cc", "litert-gpu", Stage::prepare},
    {"model.cc", "litert-gpu", Stage::prepare},
    {"inference_calculator", "mediapipe", Stage::prepare},
    {"calculator_graph.cc", "mediapipe", Stage::run},
    {"operator_registry.cpp", "executorch", Stage::load},
    {"method.cpp", "executorch", Stage::load},
    {"method_meta.cpp", "executorch", Stage::load},
    {"program.cpp", "executorch", Stage::load},
    {"backends/vulkan/runtime/", "executorch-vulkan", Stage::run},
    {"backends/vulkan/", "executorch-vulkan"},
    {"ShaderRegistry.cpp", "executorch-vulkan", Stage::load},
    {"QnnManager.cpp", "executorch-qnn", Stage::load},
    {"QnnExecuTorchBackend.cpp", "executorch-qnn", Stage::load},
    {"backends/qualcomm/", "executorch-qnn"},
    {"backends/apple/coreml/", "executorch-coreml"},
    {"backends/xnnpack/", "executorch-xnnpack"},
    {"XNNCompiler.cpp", "executorch-xnnpack", Stage::load},
    {"XNNExecutor.cpp", "executorch-xnnpack", Stage::run},
    {"XNNPACKBackend.cpp", "executorch-xnnpack", Stage::load},
    {"kernels/portable/", "executorch", Stage::run},
    {"kernels/optimized/", "executorch", Stage::run},
    {"kernels/quantized/", "executorch", Stage::run},
    {"kernel_ops_util.cpp", "executorch", Stage::run},
    {"tensor_impl.cpp", "executorch", Stage::run},
    {"tensor_parser", "executorch", Stage::load},
    {"memory_manager", "executorch", Stage::load},
    {"memory_allocator.h", "executorch", Stage::load},
    {"hierarchical_allocator.h", "executorch", Stage::load},
    {"file_data_loader.cpp", "executorch", Stage::load},
    {"mmap_data_loader.cpp", "executorch", Stage::load},
    {"executor_runner.cpp", "executorch"},
    {"extension/module/module.cpp", "executorch", Stage::load},
    {"jni_layer.cpp", "executorch", Stage::load},
    {"Backend.cpp", "executorch", Stage::load},
    {"onnx_importer", "opencv", Stage::load},
    {"modules/dnn/", "opencv"},
    {"ModelImporter.cpp", "tensorrt", Stage::convert},
    {"onnx2trt_utils", "tensorrt", Stage::convert},
    {"builtin_op_importers.cpp", "tensorrt", Stage::convert},
    {"onnxOpImporters.cpp", "tensorrt", Stage::convert},
    {"core/conversion/", "torch-tensorrt", Stage::convert},
    {"core/partitioning/", "torch-tensorrt", Stage::convert},
    {"core/lowering/", "torch-tensorrt", Stage::convert},
    {"core/util/trt_util", "torch-tensorrt", Stage::convert},
    {"core/runtime/", "torch-tensorrt", Stage::run},
    {"onnxruntime/core/graph/", "onnxruntime", Stage::load},
    {"core/session/", "onnxruntime", Stage::load},
    {"onnxruntime/core/providers/", "onnxruntime", Stage::run},
    {"onnxruntime", "onnxruntime"},
    {"sequential_executor.cc", "onnxruntime", Stage::run},
};
constexpr FileTool path_tools[] = {
    {"litert_torch", "litert-torch", Stage::convert},
    {"ai_edge_torch", "litert-torch", Stage::convert},
    {"odml_torch", "litert-torch", Stage::convert},
    {"litert_converter", "litert-torch", Stage::convert},
    {"torch_tensorrt/ts/", "torch-tensorrt", Stage::convert},
    {"torch_tensorrt/dynamo/runtime", "torch-tensorrt", Stage::run},
    {"torch_tensorrt/dynamo/conversion", "torch-tensorrt", Stage::convert},
    {"torch_tensorrt", "torch-tensorrt", Stage::build},
    {"executorch/backends/xnnpack/", "executorch-xnnpack", Stage::lower},
    {"executorch/backends/apple/coreml/", "executorch-coreml", Stage::lower},
    {"executorch/backends/apple/mps/", "executorch", Stage::lower},
    {"executorch/backends/vulkan/", "executorch-vulkan", Stage::lower},
    {"executorch/backends/mlx/", "executorch-mlx", Stage::lower},
    {"executorch/backends/qualcomm/", "executorch-qnn", Stage::lower},
    {"executorch/backends/nxp/", "executorch-neutron", Stage::lower},
    {"executorch/backends/cortex_m/", "executorch-cortex-m", Stage::lower},
    {"executorch/backends/cuda/", "executorch-cuda", Stage::lower},
    {"executorch/backends/openvino/", "executorch-openvino", Stage::lower},
    {"executorch/extension/llm/", "executorch", Stage::program_export},
    {"executorch/extension/pybindings", "executorch", Stage::load},
    {"executorch/runtime", "executorch", Stage::load},
    {"executorch/devtools", "executorch"},
    {"executorch", "executorch", Stage::lower},
    {"coremltools/models", "coremltools", Stage::load},
    {"coremltools", "coremltools", Stage::convert},
    {"onnxruntime/quantization", "onnxruntime", Stage::convert},
    {"onnxruntime/tools", "onnxruntime", Stage::convert},
    {"onnxruntime/transformers", "onnxruntime", Stage::convert},
    {"onnxruntime", "onnxruntime"},
    {"onnxscript", "torch-onnx", Stage::convert},
    {"torch/onnx", "torch-onnx", Stage::convert},
    {"torch\\onnx", "torch-onnx", Stage::convert},
    {"openvino/tools", "openvino", Stage::convert},
    {"openvino/frontend", "openvino", Stage::convert},
    {"openvino", "openvino"},
    {"ai_edge_litert/interpreter", "tflite", Stage::prepare},
    {"ai_edge_litert", "litert-gpu"},
    {"onnx2tf", "onnx2tf", Stage::convert},
    {"onnx_tf/", "onnx-tf", Stage::convert},
    {"onnxsim", "onnxsim", Stage::convert},
    {"onnxslim", "onnxslim", Stage::convert},
    {"ultralytics/", "ultralytics"},
    {"tf2onnx", "tf2onnx", Stage::convert},
    {"ncnn/", "ncnn"},
    {"pnnx", "ncnn", Stage::convert},
    {"tensorrt", "tensorrt", Stage::build},
    {"tensorflow/lite/python/interpreter", "tflite", Stage::prepare},
    {"tensorflow/lite/python", "tflite-converter", Stage::convert},
    {"tensorflow/lite", "tflite"},
    {"tensorflow", "tensorflow"},
    {"tf_keras", "tensorflow"},
    {"-packages/keras/", "tensorflow"},
    {"-packages/jax/", "jax"},
    {"torchao/", "torchao", Stage::lower},
    {"mediapipe/", "mediapipe"},
    {"/site-packages/onnx/", "onnx", Stage::convert},
    {"site-packages/onnx/", "onnx", Stage::convert},
    {"dist-packages/onnx/", "onnx", Stage::convert},
    {"importlib/", "", Stage::setup},
    {"torch/export/", "torch-export", Stage::program_export},
    {"torch/_export/", "torch-export", Stage::program_export},
    {"torch/_dynamo/", "torch-export", Stage::program_export},
    {"torch/fx/experimental/", "torch-export", Stage::program_export},
    {"torch/_subclasses/", "torch-export", Stage::program_export},
    {"torch/_functorch/", "torch-export", Stage::program_export},
    {"torch/jit/_trace", "torch", Stage::program_export},
    {"torch/_inductor/", "torch", Stage::build},
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

/// Tags under which Android prints what ended an application.
bool reports_crash(std::string_view tag) {
  static constexpr std::string_view tags[] = {"AndroidRuntime", "libc",  "System.err",
                                              "flutter",        "Unity", "ReactNativeJS"};
  return std::find(std::begin(tags), std::end(tags), tag) != std::end(tags);
}

Weight judge_plain(const LogLine& line, const Words& words) {
  const std::string_view text = line.text;
  // Partitioners say for each operator why they leave it; that is how a partial lowering succeeds.
  if (starts(text, "[Vulkan Partitioner]") || starts(text, "[QNN Partitioner") || has(text, "Warning:") ||
      has(text, "warning:") || has(text, " 0 failed") || has(text, "failed: 0") || has(text, "failed=0"))
    return Weight::none;
  // "[method.cpp:822] text" has no level: what reads like an error is one.
  if (words.trouble) return line.positioned ? Weight::cause : Weight::trouble;
  if (words.hint && line.positioned) return Weight::trouble;
  if (words.hint) return Weight::hint;
  return words.faint ? Weight::faint : Weight::none;
}

}  // namespace

Weight judge(const LogLine& line, const Words& words) {
  const std::string_view text = line.text;
  if (words.benign || words.missing || words.detail) return Weight::none;
  // Java prints the traces of exceptions as warnings.
  const bool trace = line.tag == "System.err";
  if (trace && (exception_line(text) || starts(text, "Caused by:"))) return Weight::cause;
  const bool quiet =
      line.level == LogLevel::verbose || line.level == LogLevel::info || line.level == LogLevel::warning;
  const bool grave = starts(text, "GPU COMPATIBILITY WARNING") ||
                     starts(text, "Attempting to use a delegate that only supports static-sized");
  if (quiet && !grave) return Weight::none;
  if (line.logcat && tool_of(line, words).empty() && !reports_crash(line.tag) && !words.cause)
    return Weight::none;
  if (has(text, "INVALID_ARGUMENT:")) return Weight::cause;
  if (words.echo) return Weight::echo;
  // "Failed to apply delegate: CAUSE" holds both.
  const bool consequence =
      has(text, "delegate is not initialized") || has(text, "assert failed (result.ok())");
  if (words.symptom && (!words.cause || consequence)) return Weight::symptom;
  if (words.cause) return Weight::cause;
  if (line.level == LogLevel::error || line.level == LogLevel::fatal) return Weight::cause;
  if (exception_line(text)) return Weight::cause;
  const std::size_t reason = operator_line(text);
  if (reason != std::string_view::npos) {
    const bool empty = text.find_first_not_of(' ', reason) == std::string_view::npos;
    if (empty) return Weight::none;
    if (words.refusal || starts(text, "CUSTOM ")) return Weight::cause;
    if (has(text, "_") || line.tag == "tflite") return Weight::trouble;
  }
  return judge_plain(line, words);
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
    if (line.tag == "ExecuTorch" || line.tag == "ETLogging") return "executorch";
    if (line.tag == "Interpreter" || line.tag == "TensorFlowLite") return "tflite";
    if (line.tag == "onnxruntime") return line.tag;
  } else if (!line.tag.empty()) {
    if (line.tag == "torch-tensorrt") return line.tag;
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

Stage stage_of_frame(std::string_view frame) {
  // onnxruntime tells by the function, the others by the file.
  if (has(frame, "onnxruntime")) {
    if (has(frame, "_create_inference_session")) return Stage::load;
    if (frame.ends_with(", in run")) return Stage::run;
  }
  if (has(frame, "interpreter.py") && frame.ends_with(", in invoke")) return Stage::run;
  for (const FileTool& entry : path_tools)
    if (has(frame, entry.part)) return entry.stage;
  return Stage::unknown;
}

Stage stage_of_source(std::string_view path) {
  for (const FileTool& entry : source_tools)
    if (has(path, entry.part)) return entry.stage;
  return Stage::unknown;
}

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

bool names_operator(std::string_view text) {
  static constexpr std::string_view statuses[] = {
      "INTERNAL",    "INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED", "FAILED_PRECONDITION",
      "UNAVAILABLE", "UNKNOWN",          "ABORTED",   "OUT_OF_RANGE",  "RESOURCE_EXHAUSTED",
      "CANCELLED",   "RET_CHECK",        "FAILURE",   "TFLITE",        "INVALID_GRAPH"};
  if (operator_line(text) == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, text.find_first_of(": "));
  return std::find(std::begin(statuses), std::end(statuses), name) == std::end(statuses);
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
                                                 "ErrorWithDiagnostic",
                                                 "DataDependentSymNode",
                                                 "NoModel",
                                                 "ModelLoaded"};
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view ending) {
    return last.size() >= ending.size() && last.substr(last.size() - ending.size()) == ending &&
           (last.size() > ending.size() || dot != std::string_view::npos || capital(ending[0])) &&
           last != "Error";
  });
}

bool is_prompt(std::string_view text) {
  if (starts(text, "$ ") || starts(text, "C:\\>") || starts(text, "PS C:\\")) return true;
  if (text.size() > 0 && text[0] == '(') {  // an environment's name
    const std::size_t close = text.find(") ");
    if (close == std::string_view::npos || close > 40) return false;
    text.remove_prefix(close + 2);
  }
  const std::string_view head = text.substr(0, 120);
  const std::size_t at = head.find('@');
  if (at == std::string_view::npos || at == 0 || head.substr(0, at).find(' ') != std::string_view::npos)
    return false;
  for (const std::string_view mark : {"$ ", "# ", "% "}) {
    const std::size_t end = head.find(mark, at);
    if (end == std::string_view::npos || end + 2 >= text.size()) continue;
    const char before = head[end - 1];
    return before == ' ' || before == '~' || before == ':' || letter(before) || digit(before);
  }
  return false;
}

}  // namespace md

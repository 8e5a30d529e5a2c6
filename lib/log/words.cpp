#include "lib/log/vocabulary.h"

#include <algorithm>
#include <vector>

#include "lib/log/literal_set.h"

namespace md {
namespace {

enum class Kind : std::uint8_t {
  benign,
  detail,
  symptom,
  cause,
  trouble,
  hint,
  echo,
  refusal,
  load,
  header,
  count,
  version,
  tool
};

struct Phrase {
  Kind kind;
  std::string_view text;
  std::string_view tool = {};
};

constexpr Phrase phrases[] = {
    // Printed by runs that succeed too (LiteRT 2.1.3 to 2.3.0 without NPU, OpenVINO or OpenCL; TensorFlow
    // without CUDA).
    {Kind::benign, "NPU accelerator could not be loaded"},
    {Kind::benign, "Failed to initialize Dispatch API"},
    {Kind::benign, "Failed to load plugin"},
    {Kind::benign, "Could not load shared library"},
    {Kind::benign, "No dispatch library found"},
    {Kind::benign, "Failed to load OpenCL library"},
    {Kind::benign, "Can not open OpenCL library"},
    {Kind::benign, "libOpenCL"},
    {Kind::benign, "libopenvino.so"},
    {Kind::benign, "libvndksupport.so"},
    {Kind::benign, "GPU accelerator could not be loaded"},
    {Kind::benign, "Logging before InitGoogle()"},
    {Kind::benign, "Could not find cuda drivers"},
    {Kind::benign, "Unable to register cuDNN factory"},
    {Kind::benign, "Unable to register cuBLAS factory"},
    {Kind::benign, "Unable to register cuFFT factory"},
    {Kind::benign, "failed call to cuInit"},
    {Kind::benign, "TF-TRT Warning"},
    {Kind::benign, "Unknown CPU vendor"},
    {Kind::benign, "Falling back to lenient merge"},
    {Kind::benign, "Failed to load _ML"},
    {Kind::benign, "Failed to open midr file"},
    // Details that the delegate prints while it looks at a node; the node's own line follows when it is
    // refused.
    {Kind::detail, "isn't scalar-convertible"},
    {Kind::detail, "isn't linear-convertible"},
    {Kind::detail, "-convertible."},
    // Reports of an earlier failure, and crash reports.
    {Kind::symptom, "litert_compiled_model.h:"},
    {Kind::symptom, "Some ops are not accelerated"},
    {Kind::symptom, "Failed to modify graph with delegate"},
    {Kind::symptom, "ModifyGraphWithDelegate"},
    {Kind::symptom, "Failed to initialize kernel."},
    {Kind::symptom, "Restored original execution plan"},
    {Kind::symptom, "Failed to compile model"},
    {Kind::symptom, "Failed to create compiled model"},
    {Kind::symptom, "Failed to create CompiledModel"},
    {Kind::symptom, "Failed to apply GPU delegate"},
    {Kind::symptom, "Failed to apply delegate"},
    {Kind::symptom, "Failed to allocate tensors"},
    {Kind::symptom, "Failed to invoke"},
    {Kind::symptom, "Node number 0 (TfLiteGpuDelegate"},
    {Kind::symptom, "(TfLiteGpuDelegateV2) failed to prepare"},
    {Kind::symptom, "Registration failed."},
    {Kind::symptom, "Fatal Python error"},
    {Kind::symptom, "Segmentation fault"},
    {Kind::symptom, "Illegal instruction"},
    {Kind::symptom, "Fatal signal"},
    {Kind::symptom, "libc++abi"},
    {Kind::symptom, "terminate called after"},
    {Kind::symptom, "network graph not ready"},
    {Kind::symptom, "load failed"},
    {Kind::symptom, "ERROR during processing node"},
    {Kind::symptom, "converting '"},
    {Kind::symptom, "In function parse"},
    {Kind::symptom, "is invalid due to a previous error"},
    {Kind::echo, "Process completed with exit code"},
    {Kind::echo, "exit status"},
    {Kind::echo, "Job failed:"},
    {Kind::echo, "make: ***"},
    {Kind::echo, "Command failed"},
    {Kind::echo, "build stopped: subcommand failed"},
    {Kind::echo, "(core dumped)"},
    {Kind::echo, "Error: Process completed"},
    // The failure itself.
    {Kind::cause, "INVALID_ARGUMENT:"},
    {Kind::cause, "Didn't find op for builtin opcode"},
    {Kind::cause, "Check failed:"},
    {Kind::cause, "assert failed ("},
    {Kind::cause, "Missing operator"},
    {Kind::cause, "[ONNXRuntimeError]"},
    {Kind::cause, "undefined symbol"},
    {Kind::cause, "No importer registered"},
    {Kind::cause, "Error Code "},
    {Kind::cause, "Internal Error ("},
    {Kind::cause, "Internal error("},
    {Kind::cause, "UNSUPPORTED_NODE"},
    {Kind::cause, "Assertion failed"},
    {Kind::cause, "only supports static-sized tensors"},
    {Kind::cause, "Regular TensorFlow ops are not supported"},
    {Kind::cause, "is neither a custom op nor a flex op"},
    {Kind::cause, "Lowering not found"},
    {Kind::cause, "NHWC node rewriter not found"},
    {Kind::cause, "was not decomposed or delegated"},
    {Kind::cause, "is not in Core ATen opset"},
    {Kind::cause, "missing fallback kernels"},
    {Kind::cause, "Could not find ShaderInfo"},
    {Kind::cause, "Could not find an implementation"},
    {Kind::cause, "No Op registered for"},
    {Kind::cause, "is not a registered function/op"},
    {Kind::cause, "not exists or registered"},
    {Kind::cause, "not supported yet!"},
    {Kind::cause, "No conversion rule found for operations"},
    {Kind::cause, "Conversion is failed for"},
    {Kind::cause, "GPU COMPATIBILITY WARNING"},
    {Kind::cause, "Attempted boolean conversion of traced array"},
    {Kind::cause, "failed to legalize operation"},
    {Kind::cause, "Unsupported ir element type"},
    {Kind::cause, "operands don't have broadcast-compatible shapes"},
    {Kind::cause, "op is neither a custom op nor a flex op"},
    {Kind::cause, "Encountered unresolved custom op"},
    // Plain text that reads like an error.
    {Kind::trouble, "not supported"},
    {Kind::trouble, "Not supported"},
    {Kind::trouble, "unsupported"},
    {Kind::trouble, "Unsupported"},
    {Kind::trouble, "not implemented"},
    {Kind::trouble, "is false!"},
    {Kind::trouble, "cannot "},
    {Kind::trouble, "Cannot "},
    {Kind::trouble, "Can't "},
    {Kind::trouble, "can't "},
    {Kind::trouble, "failed to"},
    {Kind::trouble, "Failed to"},
    {Kind::trouble, "does not support"},
    {Kind::trouble, "has no runners"},
    {Kind::trouble, "no name found"},
    {Kind::trouble, "must be "},
    {Kind::trouble, "but is not "},
    {Kind::trouble, "but got "},
    {Kind::trouble, "mismatch"},
    {Kind::trouble, "out of memory"},
    {Kind::trouble, "not found"},
    {Kind::trouble, "UNSUPPORTED"},
    {Kind::trouble, "Unable to "},
    {Kind::trouble, "unable to "},
    {Kind::trouble, "dereference"},
    {Kind::hint, "expected"},
    {Kind::hint, "Expected"},
    {Kind::hint, "invalid"},
    {Kind::hint, "Invalid"},
    {Kind::hint, "error"},
    {Kind::hint, "Error"},
    {Kind::hint, "abort"},
    {Kind::hint, "fails"},
    // The GPU delegate's reasons, for lines that were copied without their header.
    {Kind::refusal, "not supported"},
    {Kind::refusal, "Not supported"},
    {Kind::refusal, "No support of"},
    {Kind::refusal, "Max version supported"},
    {Kind::refusal, "Expected "},
    {Kind::refusal, "Can't parse"},
    {Kind::refusal, "must be "},
    {Kind::refusal, "is invalid"},
    {Kind::refusal, "Unknown "},
    {Kind::refusal, "nsupported"},
    {Kind::refusal, "upports "},
    {Kind::refusal, "has wrong size"},
    {Kind::refusal, "has no data"},
    {Kind::refusal, "ismatch"},
    {Kind::refusal, "bad input dims"},
    {Kind::refusal, "an only handle"},
    {Kind::refusal, "requires "},
    {Kind::refusal, "Only "},
    {Kind::refusal, "doesn't "},
    {Kind::refusal, "does not "},
    {Kind::refusal, "isn't "},
    {Kind::refusal, "no-op"},
    {Kind::refusal, "Couldn't "},
    {Kind::refusal, "Incorrect "},
    {Kind::refusal, "different"},
    {Kind::refusal, "don't match"},
    {Kind::refusal, "Encountered "},
    {Kind::load, "Creating LiteRT environment"},
    {Kind::load, "Flatbuffer model initialized"},
    {Kind::load, "Created TensorFlow Lite delegate for"},
    {Kind::load, "Initialized TensorFlow Lite runtime"},
    {Kind::load, "Start proc "},
    {Kind::header, "operations are not supported by GPU delegate"},
    {Kind::count, "operations will run on the "},
    {Kind::version, "torch"},
    {Kind::version, "executorch"},
    {Kind::version, "onnxruntime"},
    {Kind::version, "openvino"},
    {Kind::version, "opencv"},
    {Kind::version, "OpenCV("},
    {Kind::version, "ncnn"},
    {Kind::version, "coremltools"},
    {Kind::version, "litert"},
    {Kind::version, "tensorrt"},
    {Kind::version, "TensorRT"},
    {Kind::version, "onnx"},
    {Kind::version, "tensorflow"},
    // The earlier of two tools in a text wins.
    {Kind::tool, "GPU delegate", "litert-gpu"},
    {Kind::tool, "litert_compiled_model", "litert-gpu"},
    {Kind::tool, "kLiteRt", "litert-gpu"},
    {Kind::tool, "ml_drift", "litert-gpu"},
    {Kind::tool, "LiteRT-Torch", "litert-torch"},
    {Kind::tool, "onnxruntime", "onnxruntime"},
    {Kind::tool, "[ONNXRuntimeError]", "onnxruntime"},
    {Kind::tool, "onnx.checker", "onnx"},
    {Kind::tool, "Torch-TensorRT", "torch-tensorrt"},
    {Kind::tool, "aoti_torch_", "executorch"},
    {Kind::tool, "ExecuTorch", "executorch"},
    {Kind::tool, "executorch", "executorch"},
    {Kind::tool, "XNNPACK Delegate", "executorch"},
    {Kind::tool, "QNN Partitioner", "executorch"},
    {Kind::tool, "Vulkan Partitioner", "executorch"},
    {Kind::tool, "torch.onnx", "torch-onnx"},
    {Kind::tool, "coremltools", "coremltools"},
    {Kind::tool, "Core ML", "coremltools"},
    {Kind::tool, "TensorRT", "tensorrt"},
    {Kind::tool, "ONNXTRT", "tensorrt"},
    {Kind::tool, "IBuilder", "tensorrt"},
    {Kind::tool, "No importer registered", "tensorrt"},
    {Kind::tool, "OpenCV(", "opencv"},
    {Kind::tool, "tfl.", "litert-torch"},
    {Kind::tool, "mhlo.", "litert-torch"},
    {Kind::tool, "builtin opcode", "litert-gpu"},
};

const LiteralSet& phrase_set() {
  static const LiteralSet set = [] {
    std::vector<std::string_view> texts;
    for (const Phrase& phrase : phrases) texts.push_back(phrase.text);
    return LiteralSet(texts);
  }();
  return set;
}

}  // namespace

Words find_words(std::string_view text) {
  Words words;
  std::uint32_t tool = std::size(phrases);
  phrase_set().scan(text, [&](std::uint32_t id) {
    switch (phrases[id].kind) {
      case Kind::benign:
        words.benign = true;
        break;
      case Kind::detail:
        words.detail = true;
        break;
      case Kind::symptom:
        words.symptom = true;
        break;
      case Kind::cause:
        words.cause = true;
        break;
      case Kind::trouble:
        words.trouble = true;
        break;
      case Kind::hint:
        words.hint = true;
        break;
      case Kind::echo:
        words.echo = true;
        break;
      case Kind::refusal:
        words.refusal = true;
        break;
      case Kind::load:
        words.begins_load = true;
        break;
      case Kind::header:
        words.delegate_header = true;
        break;
      case Kind::count:
        words.delegate_count = true;
        break;
      case Kind::version:
        words.versions = true;
        break;
      case Kind::tool:
        tool = std::min(tool, id);
        break;
    }
  });
  if (tool < std::size(phrases)) words.tool = phrases[tool].tool;
  return words;
}

}  // namespace md

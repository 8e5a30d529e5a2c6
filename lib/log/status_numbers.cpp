#include "lib/log/status_numbers.h"

#include <charconv>

#include <fmt/format.h>

namespace md {
namespace {

struct Status {
  std::string_view runtime;
  long number;
  std::string_view name, meaning;
};
// From the headers of ExecuTorch (runtime/core/error.h), ONNX Runtime,
// TensorRT's ONNX parser, TensorFlow Lite, XNNPACK, LiteRT and NNAPI; the
// meanings are ours.
constexpr Status statuses[] = {
    {"executorch", 1, "Internal",
     "unspecific failure inside the runtime or a backend; the line above it "
     "says what"},
    {"executorch", 2, "InvalidState",
     "called out of order: e.g. execute before load, or a method whose load "
     "failed"},
    {"executorch", 3, "EndOfMethod", "no instruction is left to step through"},
    {"executorch", 4, "AlreadyLoaded", "that program, method or data file was loaded before"},
    {"executorch", 16, "NotSupported", "the runtime or backend has no support for this request"},
    {"executorch", 17, "NotImplemented", "a code path without an implementation"},
    {"executorch", 18, "InvalidArgument",
     "an argument (tensor shape, type, count, index) does not fit; also a "
     "failed check in a kernel"},
    {"executorch", 19, "InvalidType", "a value has the wrong type (EValue tag or dtype)"},
    {"executorch", 20, "OperatorMissing", "the program calls kernels that were not linked into this binary"},
    {"executorch", 21, "RegistrationExceedingMaxKernels", "more kernels than the registry has room for"},
    {"executorch", 22, "RegistrationAlreadyRegistered", "the same kernel is linked twice"},
    {"executorch", 32, "NotFound",
     "method, backend, key or file not there; often: the backend named in the "
     ".pte is not linked"},
    {"executorch", 33, "MemoryAllocationFailed", "an allocator ran out (method or planned memory too small)"},
    {"executorch", 34, "AccessFailed", "a file could not be opened or read"},
    {"executorch", 35, "InvalidProgram", "the .pte is damaged, truncated, or of another schema"},
    {"executorch", 36, "InvalidExternalData", "the .ptd data file does not fit"},
    {"executorch", 37, "OutOfResources", "some other resource is used up"},
    {"executorch", 48, "DelegateInvalidCompatibility",
     "the delegate blob was made for another version of the backend"},
    {"executorch", 49, "DelegateMemoryAllocationFailed", "backend ran out of memory at init"},
    {"executorch", 50, "DelegateInvalidHandle", "backend handle unusable at execute"},
    {"executorch-coreml", 1, "ETCoreMLErrorCorruptedData", "delegate blob cannot be parsed"},
    {"executorch-coreml", 2, "ETCoreMLErrorCorruptedMetadata", "metadata in the blob missing or wrong"},
    {"executorch-coreml", 3, "ETCoreMLErrorCorruptedModel", "Core ML model in the blob missing or wrong"},
    {"executorch-coreml", 4, "ETCoreMLErrorBrokenModel",
     "inputs and outputs of the model are not as specified"},
    {"executorch-coreml", 5, "ETCoreMLErrorCompilationFailed",
     "Core ML could not compile the model on the device"},
    {"executorch-coreml", 6, "ETCoreMLErrorModelCompilationNotSupported", "this OS cannot compile models"},
    {"executorch-coreml", 7, "ETCoreMLErrorModelProfilingNotSupported", "no profiling here"},
    {"executorch-coreml", 8, "ETCoreMLErrorModelSaveFailed", "model could not be written to disk"},
    {"executorch-coreml", 9, "ETCoreMLErrorModelCacheCreationFailed", "model cache could not be made"},
    {"executorch-coreml", 10, "ETCoreMLErrorInternalError", "internal"},
    {"litert", 1, "kLiteRtStatusErrorInvalidArgument", "argument does not fit"},
    {"litert", 2, "kLiteRtStatusErrorMemoryAllocationFailure", "allocation failed"},
    {"litert", 3, "kLiteRtStatusErrorRuntimeFailure", "the runtime or a delegate failed; cause above"},
    {"litert", 4, "kLiteRtStatusErrorMissingInputTensor", "an input tensor is missing"},
    {"litert", 5, "kLiteRtStatusErrorUnsupported", "feature or operator not supported here"},
    {"litert", 6, "kLiteRtStatusErrorNotFound", "looked-up object is not there"},
    {"litert", 7, "kLiteRtStatusErrorTimeoutExpired", "waited too long"},
    {"litert", 8, "kLiteRtStatusErrorWrongVersion", "versions do not fit"},
    {"litert", 9, "kLiteRtStatusErrorUnknown", "unclassified"},
    {"litert", 10, "kLiteRtStatusErrorAlreadyExists", "registered twice"},
    {"litert", 100, "kLiteRtStatusCancelled", "cancelled"},
    {"litert", 500, "kLiteRtStatusErrorFileIO", "file could not be read or written"},
    {"litert", 501, "kLiteRtStatusErrorInvalidFlatbuffer", "the .tflite is damaged or no flatbuffer"},
    {"litert", 502, "kLiteRtStatusErrorDynamicLoading",
     "a shared library (vendor plug-in, dispatch) could not be loaded"},
    {"litert", 503, "kLiteRtStatusErrorSerialization", "model could not be serialized"},
    {"litert", 504, "kLiteRtStatusErrorCompilation", "vendor compiler or delegate could not compile"},
    {"litert", 1000, "kLiteRtStatusErrorIndexOOB", "index out of range"},
    {"litert", 1001, "kLiteRtStatusErrorInvalidIrType", "element or tensor type not expected in the IR"},
    {"litert", 1002, "kLiteRtStatusErrorInvalidGraphInvariant",
     "graph breaks an invariant (e.g. several producers)"},
    {"litert", 1003, "kLiteRtStatusErrorGraphModification", "graph edit failed"},
    {"litert", 1500, "kLiteRtStatusErrorInvalidToolConfig", "tool flags wrong"},
    {"litert", 2000, "kLiteRtStatusLegalizeNoMatch", "no legalization for this operator"},
    {"litert", 2001, "kLiteRtStatusErrorInvalidLegalization", "legalization gave an invalid result"},
    {"litert", 3000, "kLiteRtStatusPatternNoMatch", "rewrite pattern does not fit (not an error by itself)"},
    {"litert", 3001, "kLiteRtStatusInvalidTransformation", "rewrite gave an invalid graph"},
    {"litert", 4000, "kLiteRtStatusErrorUnsupportedRuntimeVersion", "runtime too old or new for the plug-in"},
    {"litert", 4001, "kLiteRtStatusErrorUnsupportedCompilerVersion", "compiler plug-in version not accepted"},
    {"litert", 4002, "kLiteRtStatusErrorIncompatibleByteCodeVersion",
     "compiled byte code is of another version"},
    {"litert", 5000, "kLiteRtStatusErrorUnsupportedOpShapeInferer", "no shape inference for this operator"},
    {"litert", 5001, "kLiteRtStatusErrorShapeInferenceFailed", "shape inference failed"},
    {"onnxruntime", 1, "FAIL", "general failure; also load failures"},
    {"onnxruntime", 2, "INVALID_ARGUMENT", "input name, type, rank or size does not fit"},
    {"onnxruntime", 3, "NO_SUCHFILE", "model or external data file is missing"},
    {"onnxruntime", 4, "NO_MODEL", "no model loaded"},
    {"onnxruntime", 5, "ENGINE_ERROR", "an execution engine failed"},
    {"onnxruntime", 6, "RUNTIME_EXCEPTION", "an exception inside a kernel or at session creation"},
    {"onnxruntime", 7, "INVALID_PROTOBUF", "file is no ONNX model or is damaged"},
    {"onnxruntime", 8, "MODEL_LOADED", "session has a model already"},
    {"onnxruntime", 9, "NOT_IMPLEMENTED", "no kernel for this node, type and opset"},
    {"onnxruntime", 10, "INVALID_GRAPH", "graph fails type, shape or topology checks"},
    {"onnxruntime", 11, "EP_FAIL", "an execution provider failed"},
    {"tensorrt", 1, "kINTERNAL_ERROR", "TensorRT refused a layer that the parser added"},
    {"tensorrt", 2, "kMEM_ALLOC_FAILED", "allocation failed"},
    {"tensorrt", 3, "kMODEL_DESERIALIZE_FAILED", "file is no ONNX protobuf"},
    {"tensorrt", 4, "kINVALID_VALUE", "a value is out of its range"},
    {"tensorrt", 5, "kINVALID_GRAPH", "graph is wrong (cycle, missing tensor)"},
    {"tensorrt", 6, "kINVALID_NODE", "a node breaks the ONNX definition"},
    {"tensorrt", 7, "kUNSUPPORTED_GRAPH", "graph as a whole is not supported"},
    {"tensorrt", 8, "kUNSUPPORTED_NODE", "no importer, or a case of the operator without support"},
    {"tensorrt", 9, "kUNSUPPORTED_NODE_ATTR", "an attribute value has no support"},
    {"tensorrt", 10, "kUNSUPPORTED_NODE_INPUT", "an input (e.g. not a constant) has no support"},
    {"tensorrt", 11, "kUNSUPPORTED_NODE_DATATYPE", "a data type has no support"},
    {"tensorrt", 12, "kUNSUPPORTED_NODE_DYNAMIC", "works only with static shapes"},
    {"tensorrt", 13, "kUNSUPPORTED_NODE_SHAPE", "a shape or rank has no support"},
    {"tensorrt", 14, "kREFIT_FAILED", "refit failed"},
    {"tflite", 1, "kTfLiteError", "interpreter or kernel refused (shape, type, missing op)"},
    {"tflite", 2, "kTfLiteDelegateError", "a delegate failed in prepare or invoke"},
    {"tflite", 3, "kTfLiteApplicationError",
     "delegate may not be applied here: graph already immutable, dynamic "
     "tensors, wrong runtime"},
    {"tflite", 4, "kTfLiteDelegateDataNotFound",
     "no serialized delegate data in the cache (harmless on the first run)"},
    {"tflite", 5, "kTfLiteDelegateDataWriteError", "delegate cache could not be written"},
    {"tflite", 6, "kTfLiteDelegateDataReadError", "delegate cache could not be read"},
    {"tflite", 7, "kTfLiteUnresolvedOps", "an operator is not registered in the resolver"},
    {"tflite", 8, "kTfLiteCancelled", "invocation was cancelled"},
    {"tflite", 9, "kTfLiteOutputShapeNotKnown",
     "output shape is only known at run time (not an error by itself)"},
    {"tflite-nnapi", 1, "OUT_OF_MEMORY", "out of memory"},
    {"tflite-nnapi", 2, "INCOMPLETE", "object not finished"},
    {"tflite-nnapi", 3, "UNEXPECTED_NULL", "null argument"},
    {"tflite-nnapi", 4, "BAD_DATA", "argument or model invalid"},
    {"tflite-nnapi", 5, "OP_FAILED", "an operation failed in the driver"},
    {"tflite-nnapi", 6, "BAD_STATE", "called out of order"},
    {"tflite-nnapi", 7, "UNMAPPABLE", "memory could not be mapped"},
    {"tflite-nnapi", 8, "OUTPUT_INSUFFICIENT_SIZE", "output buffer too small"},
    {"tflite-nnapi", 9, "UNAVAILABLE_DEVICE", "driver or device not available"},
    {"tflite-nnapi", 10, "MISSED_DEADLINE_TRANSIENT", "deadline missed, may work later"},
    {"tflite-nnapi", 11, "MISSED_DEADLINE_PERSISTENT", "deadline missed"},
    {"tflite-nnapi", 12, "RESOURCE_EXHAUSTED_TRANSIENT", "device busy, may work later"},
    {"tflite-nnapi", 13, "RESOURCE_EXHAUSTED_PERSISTENT", "model too big for the device"},
    {"tflite-nnapi", 14, "DEAD_OBJECT", "driver service died"},
    {"xnnpack", 1, "xnn_status_uninitialized", "xnn_initialize was not called or failed"},
    {"xnnpack", 2, "xnn_status_invalid_parameter",
     "a parameter breaks the operator contract (shape, stride, id, scale)"},
    {"xnnpack", 3, "xnn_status_invalid_state", "called in the wrong order, e.g. setup before reshape"},
    {"xnnpack", 4, "xnn_status_unsupported_parameter", "valid but no kernel handles this combination"},
    {"xnnpack", 5, "xnn_status_unsupported_hardware", "CPU lacks the needed instructions"},
    {"xnnpack", 6, "xnn_status_out_of_memory", "allocation failed"},
    {"xnnpack", 7, "xnn_status_reallocation_required",
     "new shape needs a bigger buffer; ask for memory again"},
    {"xnnpack", 8, "xnn_status_deprecated", "function no longer does this"},
};

}  // namespace

std::string status_words(std::string_view tool, long number) {
  const std::string_view family =
      tool.substr(0, 10) == "executorch" && tool != "executorch-coreml" ? "executorch" : tool;
  for (const Status& status : statuses)
    if (status.runtime == family && status.number == number)
      return fmt::format("{}: {}", status.name, status.meaning);
  return {};
}

std::vector<std::string> statuses_named(std::string_view word) {
  std::string_view digits = word;
  const bool hexadecimal = digits.substr(0, 2) == "0x";
  if (hexadecimal) digits.remove_prefix(2);
  long number = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
  const bool counted = failure == std::errc() && end == digits.data() + digits.size();
  std::vector<std::string> lines;
  for (const Status& status : statuses)
    if (counted ? status.number == number : status.name == word)
      lines.push_back(fmt::format("{} {} (0x{:x}) {}: {}", status.runtime, status.number, status.number,
                                  status.name, status.meaning));
  return lines;
}

}  // namespace md

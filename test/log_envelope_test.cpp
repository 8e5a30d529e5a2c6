// Shapes of messages, one a tool: what they say of tool, stage, operator, condition, status.
#include "lib/log/envelope.h"

#include <algorithm>

#include "lib/log/status_numbers.h"
#include "test/catch.h"

using namespace md;

namespace {

Log parse(const std::string& text) {
  const auto log =
      parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log);
  return *log;
}

/// The record that leads the only failure of a text.
Record failure(const std::string& text) {
  std::vector<Record> leads;
  for (const Record& record : parse(text).records)
    if (record.failure && record.leads) leads.push_back(record);
  INFO(text);
  REQUIRE(leads.size() == 1);
  return leads.front();
}

}  // namespace

TEST_CASE("conditions say what was expected and what there was", "[log][envelope]") {
  CHECK(condition_words("NumInputs(node) != 2 (1 != 2)") == "NumInputs(node) is 1, expected 2");
  CHECK(condition_words("input->type != output->type (FLOAT32 != INT8)") ==
        "input->type is FLOAT32, expected output->type, which is INT8");
  CHECK(condition_words("scale > 0") == "`scale > 0` does not hold");
  CHECK(condition_words("  ").empty());
}

TEST_CASE("a kernel check of TFLite with the node that it stopped", "[log][envelope]") {
  const Record record = failure(
      "ERROR: tensorflow/lite/kernels/pad.cc:101 NumInputs(node) != 2 (1 != 2)\n"
      "ERROR: Node number 7 (PAD) failed to prepare.\n");
  CHECK(record.tool == "tflite");
  CHECK(record.told().stage == Stage::prepare);
  CHECK(record.told().condition == "NumInputs(node) is 1, expected 2");
  CHECK(record.told().source == "tensorflow/lite/kernels/pad.cc:101");
  CHECK(record.told().consequences == std::vector<int>{2});
  const Record glued = failure(
      "RuntimeError: tensorflow/lite/kernels/gather.cc:158 indices_has_only_positive_elements was not "
      "true.Node number 12 (GATHER) failed to invoke.\n");
  CHECK(glued.told().op == "GATHER");
  CHECK(glued.told().node == "12");
  CHECK(glued.told().stage == Stage::run);
  CHECK(glued.told().condition == "`indices_has_only_positive_elements` does not hold");
  const Record alone = failure("Node number 61 (TRANSPOSE_CONV) failed to prepare.\n");
  CHECK(alone.told().op == "TRANSPOSE_CONV");
  CHECK(alone.tool == "tflite");
}

TEST_CASE("the classic delegate says at which step it failed, and is not its successor", "[log][envelope]") {
  const Record record = failure(
      "java.lang.IllegalArgumentException: Internal error: Failed to apply delegate: \n"
      "TfLiteGpuDelegate Init: MUL: 1x1088x1x1  cannot be reduced to linear.\n"
      "TfLiteGpuDelegate Prepare: delegate is not initialized\n"
      " Node number 23608 (TfLiteGpuDelegateV2) failed to prepare.\n");
  CHECK(record.tool == "tflite-gpu");
  CHECK(record.told().stage == Stage::prepare);
  CHECK(record.told().op == "MUL");
  CHECK(record.shown().find("cannot be reduced to linear") != std::string_view::npos);
  const Record invoked = failure(
      "E/tflite  ( 9155): TfLiteGpuDelegate Invoke: GpuDelegate must run on the same thread where it was "
      "initialized.\n");
  CHECK(invoked.told().stage == Stage::run);
  CHECK(invoked.tool == "tflite-gpu");
}

TEST_CASE("ONNX Runtime tells status, node and stage", "[log][envelope]") {
  const Record graph = failure(
      "onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : "
      "Load "
      "model from a.onnx failed:This is an invalid model. Type Error: Type 'tensor(int64)' of input "
      "parameter (x) "
      "of operator (Max) in node (Max_7) is invalid.\n");
  CHECK(graph.tool == "onnxruntime");
  CHECK(graph.told().stage == Stage::load);
  CHECK(graph.told().op == "Max");
  CHECK(graph.told().node == "Max_7");
  CHECK(graph.told().status.substr(0, 17) == "10 INVALID_GRAPH:");
  const Record run = failure(
      "2024-03-28 10:26:00.4106034 [E:onnxruntime:, sequential_executor.cc:514 onnxruntime::ExecuteKernel] "
      "Non-zero status code returned while running Expand node. Name:'/a/Expand_4' Status Message: "
      "expand_helper.h:45 onnxruntime::ExpandHelper::Check size == 3 was false. sizes differ\n");
  CHECK(run.told().stage == Stage::run);
  CHECK(run.told().op == "Expand");
  CHECK(run.told().node == "/a/Expand_4");
  CHECK(run.told().condition == "`size == 3` does not hold");
  CHECK(failure("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Resize(13) "
                "node with "
                "name '/up'\n")
            .told()
            .op == "Resize(13)");
}

TEST_CASE("one TensorRT failure is one, with operator and node", "[log][envelope]") {
  const Record record = failure(
      "[E] ModelImporter.cpp:726: While parsing node number 7 [Round -> \"/b/Round_output_0\"]:\n"
      "[E] ModelImporter.cpp:727: --- Begin node ---\n"
      "[E] ModelImporter.cpp:728: input: \"/a\"\n"
      "    output: \"/b/Round_output_0\"\n"
      "    op_type: \"Round\"\n"
      "[E] ModelImporter.cpp:729: --- End node ---\n"
      "[E] ModelImporter.cpp:732: ERROR: builtin_op_importers.cpp:5428 In function "
      "importFallbackPluginImporter:\n"
      "[8] Assertion failed: creator && \"Plugin not found, are the plugin name, version, and namespace "
      "correct?\"\n"
      "[E] In node 7 (importFallbackPluginImporter): UNSUPPORTED_NODE: Assertion failed: creator && \"Plugin "
      "not "
      "found, are the plugin name, version, and namespace correct?\"\n"
      "[E] Failed to parse onnx file\n[E] Parsing model failed\n[E] Engine creation failed\n"
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f.write(e.serialize())\n"
      "AttributeError: 'NoneType' object has no attribute 'serialize'\n");
  CHECK(record.tool == "tensorrt");
  CHECK(record.told().stage == Stage::convert);
  CHECK(record.told().op == "Round");
  CHECK(record.told().condition == "`creator` does not hold");
  CHECK(record.told().frame == "a.py:3");
  const Record context = failure(
      "IExecutionContext::setInputShape: Error Code 3: API Usage Error (Parameter check failed, condition: "
      "engineDims.d[i] == dims.d[i].)\n");
  CHECK(context.told().stage == Stage::run);
  CHECK(failure("[TRT] [E] 10: [optimizer.cpp::f::1] Error Code 10: Internal Error (Could not find any "
                "implementation "
                "for node {ForeignNode[a...b]}.)\n")
            .told()
            .node == "{ForeignNode[a...b]}");
}

TEST_CASE("ExecuTorch's numbers have names, in both bases, and its lines need no level", "[log][envelope]") {
  CHECK(
      failure("RuntimeError: loading method forward failed with error 0x20\n").told().status.substr(0, 14) ==
      "0x20 NotFound:");
  CHECK(
      failure("06-03 18:20:11.418 12110 12188 E ETLogging: Load failed: 34\n").told().status.substr(0, 16) ==
      "34 AccessFailed:");
  CHECK(status_words("executorch-xnnpack", 20).substr(0, 16) == "OperatorMissing:");
  CHECK(status_words("executorch", 999).empty());
  const Record backend = failure("[method.cpp:66] Backend QnnBackend is not registered.\n");
  CHECK(backend.tool == "executorch");
  CHECK(backend.told().stage == Stage::load);
  const Record checked = failure(
      "[op_repeat.cpp:72] Check failed (resize_tensor(out, sizes) == Error::Ok): Failed to resize output "
      "tensor.\n");
  CHECK(checked.told().condition == "`resize_tensor(out, sizes) == Error::Ok` does not hold");
  const Record vulkan = failure(
      "RuntimeError: Exception raised from add_reduce2d_node at "
      "/u/executorch/backends/vulkan/runtime/graph/ops/impl/"
      "Reduce.cpp:186: (graph.packed_dim_of(in) != reduce_dim1) is false!\n");
  CHECK(vulkan.tool == "executorch-vulkan");
  CHECK(vulkan.told().condition == "`graph.packed_dim_of(in) != reduce_dim1` does not hold");
}

TEST_CASE("MLIR, OpenCV, ncnn, Torch-TensorRT", "[log][envelope]") {
  const Record mlir = failure(
      "loc(callsite(\"torch.fx.graph_module.GraphModule/pad_3;\" at callsite(\"main\"))): error: 'tfl.pad' "
      "op "
      "quantization parameters violate the same scale constraint: a vs. b\n"
      "Traceback (most recent call last):\n"
      "  File \"/u/venv/lib/python3.11/site-packages/ai_edge_torch/_convert/conversion.py\", line 150, in "
      "convert\n"
      "    x()\nRuntimeError: conversion failed\n");
  CHECK(mlir.told().op == "tfl.pad");
  CHECK(mlir.told().stage == Stage::convert);
  CHECK(mlir.line_main == 1);
  const Record opencv = failure(
      "cv2.error: OpenCV(4.8.0) /io/modules/dnn/src/layers/reshape_layer.cpp:113: error: (-215:Assertion "
      "failed) "
      "total(a) == total(b) in function 'computeShapeByReshapeMask'\n");
  CHECK(opencv.tool == "opencv");
  CHECK(opencv.told().condition == "`total(a) == total(b)` does not hold");
  CHECK(failure("layer Shape not exists or registered\nnetwork graph not ready\n").told().op == "Shape");
  const Record torch_tensorrt = failure(
      "RuntimeError: [Error thrown at core/util/trt_util.cpp:283] Expected type to be true but got false\n"
      "Unsupported ATen data type Byte\n");
  CHECK(torch_tensorrt.tool == "torch-tensorrt");
  CHECK(torch_tensorrt.shown() == "Unsupported ATen data type Byte");
}

TEST_CASE("the deepest cause of a Java exception and the reason of a Gradle build", "[log][envelope]") {
  const Record java = failure(
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: FATAL EXCEPTION: main\n"
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: Process: com.example, PID: 1234\n"
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: java.lang.ExceptionInInitializerError\n"
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: \tat com.example.Main.run(Main.java:3)\n"
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: Caused by: java.lang.UnsatisfiedLinkError: dlopen "
      "failed: "
      "library \"libexecutorch.so\" not found\n"
      "11-29 14:30:46.123  1234  1256 E AndroidRuntime: \tat "
      "java.lang.Runtime.loadLibrary0(Runtime.java:1)\n");
  CHECK(java.shown().find("libexecutorch.so") != std::string_view::npos);
  CHECK(java.told().stage == Stage::setup);
  const Record gradle = failure(
      "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task "
      "':app:mergeDebugNativeLibs'.\n> 2 files found with path 'lib/arm64-v8a/libc++_shared.so'\n\n* Try:\n> "
      "Run with "
      "--stacktrace\n");
  CHECK(gradle.tool == "gradle");
  CHECK(gradle.shown().find("libc++_shared.so") != std::string_view::npos);
}

#include "lib/log/log.h"
#include "test/catch.h"

using namespace md;

namespace {

Log parse(const std::string& text) {
  const auto log =
      parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log);
  return *log;
}

std::vector<Record> failures(const Log& log) {
  std::vector<Record> found;
  for (const Record& record : log.records)
    if (record.failure) found.push_back(record);
  return found;
}

const std::string frames =
    "Traceback (most recent call last):\n"
    "  File \"export.py\", line 3, in <module>\n"
    "    run()\n"
    "    ^^^^^\n"
    "  File \"site-packages/litert_torch/_convert/interface.py\", line 418, in convert\n"
    "    return Converter().convert(\n";

}  // namespace

TEST_CASE("the final exception is the failure, frames stay behind it", "[log]") {
  const Log log = parse("(00:00) [START] LiteRT-Torch Convert > Torch Export: serving_default > \n" + frames +
                        "RuntimeError: NHWC node rewriter not found: amax\n"
                        "RESULT r10 FAIL RuntimeError: NHWC node rewriter not found: amax\n");
  const auto found = failures(log);
  REQUIRE(found.size() == 1);
  CHECK(found[0].headline() == "RuntimeError: NHWC node rewriter not found: amax");
  CHECK(found[0].message.find("\nTraceback (most recent call last):\n  File \"export.py\"") !=
        std::string::npos);
  CHECK(found[0].message.find("^^^") == std::string::npos);
  CHECK(found[0].tool == "litert-torch");
  CHECK(found[0].line_begin == 2);
  CHECK(found[0].line_main == 8);
}

TEST_CASE("what torch adds behind an exception belongs to it", "[log]") {
  const Log log = parse(frames +
                        "RuntimeError: torch.complex64\n"
                        "\n"
                        "While executing %view_as_complex : [num_users=1] = "
                        "call_function[target=torch.ops.aten.view_as_complex.default]\n"
                        "Original traceback:\n"
                        "File \"/home/user/model.py\", line 26, in forward\n"
                        "    xc = x\n"
                        "Use tlparse to see full graph.\n");
  const auto found = failures(log);
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.find("While executing %view_as_complex") != std::string::npos);
  CHECK(found[0].line_end == 13);
}

TEST_CASE("a chain of causes is one failure", "[log]") {
  const Log log = parse(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nKeyError: "
      "'source_fn_stack'\n\n"
      "The above exception was the direct cause of the following exception:\n\n" +
      frames + "Exception: An error occurred when running the 'X' pass\n[exit status 1]\n");
  const auto found = failures(log);
  REQUIRE(found.size() == 1);
  CHECK(found[0].headline() == "Exception: An error occurred when running the 'X' pass");
  CHECK(found[0].message.find("KeyError: 'source_fn_stack'") != std::string::npos);
}

TEST_CASE("a traceback under an informative line explains only that line", "[log]") {
  const std::string inner =
      "[INFO 2026-11-29 14:30:50,761 partitioner.py:224]   Reason: handler failed\n"
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: Unsupported dtype: "
      "torch.float64\n\n";
  CHECK(failures(parse(inner + "[INFO 2026-11-29 14:30:50,761 partitioner.py:225] done\n")).empty());
  const auto last =
      failures(parse("W1129 14:30:34.089000 15371 venv/torch/_inductor/ir.py:9214] using proxy executor\n" +
                     frames + "RuntimeError: x\n[exit status 1]\n"));
  REQUIRE(last.size() == 1);
  CHECK(last[0].headline() == "RuntimeError: x");
}

TEST_CASE("an exception that passes on the runtime's error yields to the cause", "[log]") {
  const auto found = failures(parse(
      "ERROR: Following operations are not supported by GPU delegate:\nFILL: Operation is not supported.\n"
      "No operations will run on the GPU, and all 1 operations will run on the CPU.\n" +
      frames +
      "RuntimeError: ERROR: [./litert/cc/litert_compiled_model.h:1961]\n\xe2\x94\x94 Some ops are not "
      "accelerated.\n"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "FILL: Operation is not supported.");
}

TEST_CASE("other tools' lines", "[log]") {
  struct Example {
    std::string text, message, tool;
  };
  const Example examples[] = {
      {"[method.cpp:822] Missing operator: [0] aten::add.out\n", "Missing operator: [0] aten::add.out",
       "executorch"},
      {"E 00:00:00.003 executorch:method.cpp:822] Missing operator: [0] aten::add.out\n",
       "Missing operator: [0] aten::add.out", "executorch"},
      {"[ERROR] [Qnn ExecuTorch]: <E> Failed to validate op aten_bmm_default_7 with error 0xc26\n",
       "<E> Failed to validate op aten_bmm_default_7 with error 0xc26", "executorch"},
      {"[11/29/2026-15:03:45] [E] [TRT] Error Code 9: Internal Error (x)\n",
       "Error Code 9: Internal Error (x)", "tensorrt"},
      {"2026-11-29 15:03:45.886 [E:onnxruntime:, sequential_executor.cc:516 ExecuteKernel] Non-zero status "
       "code returned\n",
       "Non-zero status code returned", "onnxruntime"},
      {"onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Fatal error: x\n",
       "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Fatal error: x",
       "onnxruntime"},
      {"undefined symbol: aoti_torch_as_strided\n", "undefined symbol: aoti_torch_as_strided", "executorch"},
      {"2026-11-29 14:30:50,761 - exporter - ERROR - something broke\n", "something broke", ""},
      {"SlimTensor must be contiguous\n[exit status 1]\n", "SlimTensor must be contiguous", ""},
  };
  for (const Example& example : examples) {
    INFO(example.text);
    const auto found = failures(parse(example.text));
    REQUIRE(found.size() == 1);
    CHECK(found[0].message == example.message);
    CHECK(found[0].tool == example.tool);
  }
}

TEST_CASE("warnings and partitioner reports are no failures", "[log]") {
  CHECK(failures(parse("WARNING:coremltools:Torch version 2.13.0+cpu has not been tested with coremltools.\n"
                       "/usr/lib/python3.11/copyreg.py:105: FutureWarning: `isinstance(treespec, LeafSpec)` "
                       "is deprecated\n"
                       "  return cls.__new__(cls, *args)\n"
                       "[Vulkan Partitioner] Due to [no operator implementation], skipping %x : "
                       "aten.alias_copy.default\n"
                       "[QNN Partitioner Op Support]: aten.bmm.default | False\n"
                       "2026-11-29 15:03:44.888 [W:onnxruntime:, graph.cc:128 MergeShapeInfo] Error merging "
                       "shape info\n"
                       "done\n1\n2\n3\n"))
            .empty());
}

TEST_CASE("versions that the text states", "[log]") {
  const Log log = parse(
      "coremltools 9.0, torch 2.13.0\nonnxruntime 1.32.0\nlitert-torch==0.10.0\nOpenCV(5.0.0) x\nexecutorch  "
      "   1.5.1\n");
  CHECK(log.versions.at("torch") == "2.13.0");
  CHECK(log.versions.at("coremltools") == "9.0");
  CHECK(log.versions.at("onnxruntime") == "1.32.0");
  CHECK(log.versions.at("litert-torch") == "0.10.0");
  CHECK(log.versions.at("opencv") == "5.0.0");
  CHECK(log.versions.at("executorch") == "1.5.1");
}

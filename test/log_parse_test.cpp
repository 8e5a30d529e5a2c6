#include "lib/log/log.h"

#include <algorithm>

#include "test/catch.h"

using namespace md;

namespace {

Log parse(const std::string& text) {
  const auto log =
      parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log);
  return *log;
}

std::vector<std::string> failures(const Log& log) {
  std::vector<std::string> texts;
  for (const Record& record : log.records)
    if (record.failure) texts.push_back(record.message);
  return texts;
}

std::vector<std::string> failures(const std::string& text) { return failures(parse(text)); }

const std::string delegate_block =
    "ERROR: Following operations are not supported by GPU delegate:\n"
    "DEQUANTIZE: \n"
    "GATHER_ND: Operation is not supported.\n"
    "RESHAPE: Tensor dimensions must be less than 5. kv5\n"
    "1 operations will run on the GPU, and the remaining 2 operations will run on the CPU.\n"
    "ERROR: [./litert/cc/litert_compiled_model.h:1961]\n"
    "\xe2\x94\x94 Some ops are not accelerated. Add kLiteRtHwAcceleratorCpu to the compilation accelerator "
    "set to allow "
    "using the CPU to run those.\n";

const std::vector<std::string> block_failures = {"GATHER_ND: Operation is not supported.",
                                                 "RESHAPE: Tensor dimensions must be less than 5. kv5"};

std::string each_line(const std::string& text, const std::string& before, const std::string& after = "\n") {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += before + text.substr(at, end - at) + after;
    at = end + 1;
  }
  return out;
}

}  // namespace

TEST_CASE("each line of the delegate's list is a failure, header and counts are not", "[log]") {
  const Log log = parse(delegate_block);
  CHECK(failures(log) == block_failures);
  CHECK(log.versions.at("litert-gpu") == "2.3.0");
  const auto benign =
      std::find_if(log.records.begin(), log.records.end(), [](const Record& r) { return r.benign; });
  REQUIRE(benign != log.records.end());
  CHECK(benign->message == "DEQUANTIZE: ");
  CHECK(std::all_of(log.records.begin(), log.records.end(),
                    [](const Record& r) { return r.tool == "litert-gpu"; }));
}

TEST_CASE("only the compile error remains when the list is missing", "[log]") {
  const auto only = failures("ERROR: [./litert/cc/litert_compiled_model.h:1486]\n");
  REQUIRE(only.size() == 1);
  CHECK(parse("ERROR: [./litert/cc/litert_compiled_model.h:1486]\n").versions.at("litert-gpu") == "2.1.5");
}

TEST_CASE("timestamps, ANSI codes and line ends of CI systems are taken off", "[log]") {
  CHECK(failures(each_line(delegate_block, "2026-11-29T14:30:46.1234567Z ")) == block_failures);
  CHECK(failures(each_line(delegate_block, "build\tRun tests\t2026-11-29T14:30:46.1234567Z ")) ==
        block_failures);
  CHECK(failures(each_line(delegate_block, "2026-11-29T14:30:46.123456Z 01E ")) == block_failures);
  CHECK(failures(each_line(delegate_block, "[2026-11-29T14:30:46.123Z] ")) == block_failures);
  CHECK(failures(each_line(delegate_block, "\x1b[31m", "\x1b[0m\r\n")) == block_failures);
  CHECK(failures("##[error]Process completed with exit code 1.\n" + delegate_block) == block_failures);
}

TEST_CASE("logcat formats", "[log]") {
  for (const std::string head :
       {"11-29 14:30:46.123  1234  1256 E tflite  : ", "11-29 14:30:46.123 E/tflite  ( 1234): ",
        "E/tflite  ( 1234): ", "2026-11-29 14:30:46.123  1234-1256  tflite   com.example.app   E  ",
        "2026-11-29 14:30:46.123 1234-1256/com.example E/tflite: ",
        "11-29 14:30:46.123 u0_a99  1234  1256 E tflite  : "}) {
    INFO(head);
    const Log log = parse(each_line(delegate_block, head));
    CHECK(failures(log) == block_failures);
  }
}

TEST_CASE("errors of other processes in logcat are no failures", "[log]") {
  const std::string other = "11-29 14:30:46.123   700   701 E ActivityManager: Failed to start service\n";
  CHECK(failures(other + each_line(delegate_block, "11-29 14:30:46.123  1234  1256 E tflite  : ") + other) ==
        block_failures);
}

TEST_CASE("logcat lines of two processes may interleave", "[log]") {
  std::string text, one = each_line(delegate_block, "11-29 14:30:46.123  1234  1256 E tflite  : ");
  for (std::size_t at = 0; at < one.size();) {
    const std::size_t end = one.find('\n', at) + 1;
    text += one.substr(at, end - at) +
            "11-29 14:30:46.123  99  99 I tflite  : Initialized TensorFlow Lite runtime.\n";
    at = end;
  }
  CHECK(failures(text) == block_failures);
}

TEST_CASE("only the last failing load counts, and a note says which", "[log]") {
  const std::string load = "INFO: [environment.cc:36] Creating LiteRT environment with options\n";
  const Log log = parse(
      load + delegate_block + load +
      "ERROR: Following operations are not supported by GPU delegate:\nFILL: Operation is not supported.\n"
      "2 operations will run on the GPU, and the remaining 2 operations will run on the CPU.\n" +
      load + "INFO: all good\n");
  CHECK(failures(log) == std::vector<std::string>{"FILL: Operation is not supported."});
  REQUIRE(log.notes.size() == 2);
  CHECK(log.notes[0] ==
        "the last failing model load counts (lines 9-12); 2 failing line(s) of 1 other load(s) do not");
  CHECK(log.notes[1] == "another load failed as well, line 4: GATHER_ND: Operation is not supported.");
}

TEST_CASE("a successful run has no failure", "[log]") {
  CHECK(failures("WARNING: [npu_registry.cc:34] NPU accelerator could not be loaded and registered: "
                 "kLiteRtStatusErrorInvalidArgument.\n"
                 "WARNING: [compiler_plugin.cc:312] Failed to load plugin at: /x/libLiteRtCompilerPlugin.so "
                 "with error: ERROR: [litert/compiler/plugin/compiler_plugin.cc:259]\n"
                 "\xe2\x94\x94 Could not load shared library /x/lib.so: libopenvino.so.2630: cannot open "
                 "shared object file: No such file or directory.\n"
                 "ERROR: [dispatch_delegate.cc:116] Failed to initialize Dispatch API: ERROR: "
                 "[litert/runtime/dispatch/dispatch_delegate.cc:176]\n"
                 "ERROR: Failed to load OpenCL library with dlopen: libOpenCL.so\n"
                 "I0000 00:00:1795989222.703859   22175 environment.cc:525] Selected adapter: SwiftShader "
                 "Device (Subzero)\n"
                 "VERBOSE: Replacing 7 out of 7 node(s) with delegate (LITERT_CL) node, yielding 1 "
                 "partitions for subgraph 0.\n")
            .empty());
}

TEST_CASE("wrapped operator lines are joined", "[log]") {
  const std::string wide = "x:" + std::string(78, '.') + "\n";  // the terminal has 80 columns
  const std::string hard =
      "ERROR: Following operations are not supported by GPU delegate:\n" + wide +
      "SELECT_V2: Cond must be float or bool type, if, else tensors must be either be s\n"
      "ame the shape as output or constant, scalar.\n"
      "1 operations will run on the GPU, and the remaining 2 operations will run on the CPU.\n";
  const std::string whole =
      "SELECT_V2: Cond must be float or bool type, if, else tensors must be either be same the shape as "
      "output or "
      "constant, scalar.";
  const auto got = failures(wide + hard);
  REQUIRE(!got.empty());
  CHECK(got.back() == whole);
  const auto soft =
      failures(wide +
               "Following operations are not supported by GPU delegate:\n"
               "SELECT_V2: Cond must be float or bool type, if, else tensors must be either\n"
               "be same the shape as output or constant, scalar.\n"
               "No operations will run on the GPU, and all 1 operations will run on the CPU.\n");
  REQUIRE(!soft.empty());
  CHECK(soft.back() == whole);
}

TEST_CASE("a kernel failure is one record with its trace", "[log]") {
  const Log log = parse(
      "E0000 00:00:1795966808.234665   23076 delegate_webgpu.cc:478] Failed to create "
      "litert::ml_drift::DelegateKernelLiteRt: INVALID_ARGUMENT: Shape mismatch: {bhwc, {32, 1, 1, 32}} vs "
      "{bhwc, {1, 1, 32, 32}}\n"
      "=== Source Location Trace: ===\n"
      "third_party/ml_drift/common/gpu_model_util.cc:247\n"
      "ERROR: Failed to initialize kernel.\n"
      "ERROR: Restored original execution plan after delegate application failure.\n");
  REQUIRE(failures(log).size() == 1);
  CHECK(log.records[0].line_end == 3);
  CHECK(log.versions.at("litert-gpu") == "2.3.0");
}

TEST_CASE("details of several lines and repeats are collapsed", "[log]") {
  const std::string detail =
      "E0000 00:00:1.1 1 model_builder.cc:2666] {\n  type: INT64\n  data: {...}\n  dims: []\n} isn't "
      "scalar-convertible.\n";
  const Log log = parse(detail + detail + detail);
  CHECK(failures(log).empty());
  REQUIRE(log.records.size() == 1);
  CHECK(log.records[0].repeats == 3);
}

TEST_CASE("an abort is a failure", "[log]") {
  const Log log = parse(
      "F0000 00:00:1795989225.535150   22219 model.cc:218] Check failed: !IsInput(consumer, value) Node 1 is "
      "already a consumer of the value 2\nexit 1\n");
  REQUIRE(failures(log).size() == 1);
  CHECK(log.records[0].level == LogLevel::fatal);
}

TEST_CASE("an operator line without its header is a failure", "[log]") {
  CHECK(failures("TRANSPOSE_CONV: Max version supported: 3. Requested version 4.\n").size() == 1);
  CHECK(failures("CUSTOM TFLite_Detection_PostProcess: TFLite_Detection_PostProcess\n").size() == 1);
  CHECK(failures("ERROR: Didn't find op for builtin opcode 'STABLEHLO_SORT' version '1'. An older version of "
                 "this builtin might be supported.\nERROR: Registration failed.\n")
            .size() == 1);
}

TEST_CASE("lines without a header tell their tool, the classic delegate by its own texts", "[log]") {
  CHECK(parse("BROADCAST_TO: Operation is not supported.\n").records[0].tool == "litert-gpu");
  const Log classic = parse(
      "ARG_MAX: Operation is not supported.\nADD: OP is supported, but tensor type/shape isn't "
      "compatible.\n");
  REQUIRE(classic.records.size() == 2);
  for (const Record& record : classic.records) CHECK(record.tool == "tflite-gpu");
}

TEST_CASE("a refusal of dynamic sizes is a failure although it is printed as a warning", "[log]") {
  CHECK(failures("WARNING: Attempting to use a delegate that only supports static-sized tensors with a graph "
                 "that has dynamic-sized tensors (tensor#-1 is a dynamic-sized tensor).\n"
                 "ERROR: [./litert/cc/litert_compiled_model.h:1961]\n")
            .size() == 1);
}

TEST_CASE("hostile logs: binary, invalid UTF-8, long lines, UTF-16", "[log]") {
  const std::string binary("abc\0def", 7);
  const auto refused =
      parse_log("x.png", Bytes(reinterpret_cast<const std::uint8_t*>(binary.data()), binary.size()));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("x.png: zero byte at offset 3") == 0);

  const Log invalid = parse("ERROR: bad \xff\xfe byte\n");
  CHECK(invalid.records[0].message == "bad \xef\xbf\xbd\xef\xbf\xbd byte");

  std::string long_line(20'000'000, 'x');
  long_line.append("\n").append(delegate_block);
  CHECK(parse(long_line).records.size() > 3);
  CHECK(parse("").records.empty());

  for (const bool big : {false, true}) {
    std::string wide = big ? "\xfe\xff" : "\xff\xfe";
    for (const char c : std::string("ERROR: Following operations are not supported by GPU delegate:\r\nFILL: "
                                    "Operation is not supported.\r\n"))
      wide += big ? std::string({'\0', c}) : std::string({c, '\0'});
    const Log log = parse(wide);
    CHECK(failures(log) == std::vector<std::string>{"FILL: Operation is not supported."});
    REQUIRE(log.notes.size() == 1);
  }
}

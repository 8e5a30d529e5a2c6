// Logs as people paste them: quoted, indented, cut, out of notebooks; and what follows from a failure.
#include <algorithm>

#include "lib/log/log.h"
#include "lib/log/markup.h"
#include "test/catch.h"

using namespace md;

namespace {

Log parse(const std::string& text) {
  const auto log =
      parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log);
  return *log;
}

std::vector<std::string> leads(const std::string& text) {
  std::vector<std::string> shown;
  for (const Record& record : parse(text).records)
    if (record.failure && record.leads) shown.emplace_back(record.shown());
  return shown;
}

std::string utf16(const std::string& text, bool big_endian) {
  std::string out;
  for (const char c : text) {
    if (big_endian) out += '\0';
    out += c;
    if (!big_endian) out += '\0';
  }
  return out;
}

}  // namespace

TEST_CASE("operators on indented lines of an exception are failures of their own", "[log]") {
  const std::vector<std::string> operators = {"MEAN: Operation is not supported.",
                                              "GATHER_ND: Operation is not supported.",
                                              "SPLIT: Operation is not supported."};
  CHECK(
      leads("java.lang.IllegalArgumentException: Internal error: Failed to apply delegate: Following "
            "operations are "
            "not supported by GPU delegate:\n"
            "    DEQUANTIZE: \n    MEAN: Operation is not supported.\n    GATHER_ND: Operation is not "
            "supported.\n"
            "    SPLIT: Operation is not supported.\n"
            "    3 operations will run on the GPU, and the remaining 3 operations will run on the CPU.\n") ==
      operators);
  CHECK(
      leads("RuntimeError: x\n  MEAN: Operation is not supported.\n  GATHER_ND: Operation is not supported.\n"
            "  SPLIT: Operation is not supported.\n")
          .size() == 4);
}

TEST_CASE("heads that people's logcat has", "[log]") {
  const std::string text =
      "Attempted to resize a static tensor to a new shape at dimension 0 old_size: 3 new_size: 5";
  for (const std::string head :
       {"05-12 16:50:23.542: E/ExecuTorch(12402): ", "16:50:23.542  E  ExecuTorch: ",
        "05-12 16:50:23.542 E/ExecuTorch(12402): ", "2026-05-12 16:50:23.542: A/ExecuTorch(12402): ",
        "E/ExecuTorch: ", "[tensor_impl.cpp:94] ", "E 00:00:00.183248 executorch:tensor_impl.cpp:94] "}) {
    INFO(head);
    CHECK(leads(head + text + "\n") == std::vector<std::string>{text});
  }
}

TEST_CASE("a message without any head is a failure where nothing else is said", "[log]") {
  for (const std::string text :
       {"Batch size mismatch, expected 1 but got 100", "input 1 is none", "dims must be in bounds (got 3)",
        "Unknown QNN GraphInfo version 3.", "requires 0x2400000 bytes of TCM, but only 0x800000 are there",
        "GpuDelegate must run on the same thread where it was initialized.",
        "Memory allocation failed: 123"}) {
    INFO(text);
    CHECK(leads(text + "\n") == std::vector<std::string>{text});
  }
}

TEST_CASE("quotations, fences, notebooks and lost escapes", "[log]") {
  const std::string text = "RuntimeError: PyTorch convert function for op 'erf.x' not implemented.";
  for (const std::string& written : std::vector<std::string>{
           "> " + text, "> > " + text, "```\n" + text + "\n```", "<details><summary>log</summary>\n\n" + text,
           "<span class=\"ansi-red-fg\">RuntimeError</span>: PyTorch convert function for op &#39;erf.x&#39; "
           "not "
           "implemented.",
           std::string("[0;31mRuntimeError[0m: PyTorch convert function for op 'erf.x' not implemented."),
           std::string("\\u001b[0;31mRuntimeError\\u001b[0m: PyTorch convert function for op 'erf.x' not "
                       "implemented."),
           "    " + text}) {
    INFO(written);
    CHECK(leads(written + "\n") == std::vector<std::string>{text});
  }
  std::string storage;
  CHECK(strip_markup("vector<int> x = a<b>::c;", storage) == "vector<int> x = a<b>::c;");
  CHECK(strip_markup("in <module>", storage) == "in <module>");
  CHECK(strip_terminal_codes("Cast [3, 4] to [1m2]", storage) == "Cast [3, 4] to 2]");
}

TEST_CASE("UTF-16 without a mark", "[log]") {
  const std::string text = "RuntimeError: Lowering not found: aten.foo.default\n";
  CHECK(leads(utf16(text, false)).size() == 1);
  CHECK(leads(utf16(text, true)).size() == 1);
  const std::string binary("PK\0\0\x01\0\0\0ab\0\0", 12);
  CHECK_FALSE(parse_log("x", Bytes(reinterpret_cast<const std::uint8_t*>(binary.data()), binary.size())));
}

TEST_CASE("tracebacks: indented, without head, without end", "[log]") {
  const std::string frames =
      "  File \"/u/venv/lib/python3.11/site-packages/torch/export/_trace.py\", line 5, in export\n    f()\n";
  const auto indented =
      parse("    Traceback (most recent call last):\n  " + frames + "    ValueError: bad thing\n");
  REQUIRE(indented.records.size() == 1);
  CHECK(indented.records[0].headline() == "ValueError: bad thing");
  const auto headless = parse(frames + "ValueError: bad thing\n");
  REQUIRE(headless.records.size() == 1);
  CHECK(headless.records[0].headline() == "ValueError: bad thing");
  CHECK(headless.records[0].tool == "torch-export");
  CHECK(headless.records[0].told().stage == Stage::program_export);
  const auto cut = leads("Traceback (most recent call last):\n" + frames);
  REQUIRE(cut.size() == 1);
  CHECK(cut[0] == "a traceback that is cut off before its exception, in _trace.py:5 in export");
}

TEST_CASE("tool, stage and the user's line come from the frames", "[log]") {
  const Log log = parse(
      "Traceback (most recent call last):\n"
      "  File \"/home/u/convert.py\", line 24, in main\n    x()\n"
      "  File \"/u/lib/python3.11/site-packages/executorch/backends/mlx/ops.py\", line 214, in _handler\n    "
      "return a\n"
      "TypeError: 'Slot' object is not subscriptable\n");
  REQUIRE(log.records.size() == 1);
  CHECK(log.records[0].tool == "executorch-mlx");
  CHECK(log.records[0].told().stage == Stage::lower);
  CHECK(log.records[0].told().frame == "convert.py:24 in main");
}

TEST_CASE("what follows from a failure is not counted", "[log]") {
  const Log log = parse(
      "05-12 16:50:23.542: E/ExecuTorch(12402): Attempted to resize a static tensor to a new shape at "
      "dimension 0 "
      "old_size: 27 new_size: 14415\n"
      "05-12 16:50:23.542: E/ExecuTorch(12402): Error setting input 0: 0x10\n"
      "05-12 16:50:23.542: A/ExecuTorch(12402): In function execute_method(), assert failed (result.ok()): "
      "Execution "
      "of method forward failed with status 0x12\n"
      "05-12 16:50:23.542: A/libc(12402): Fatal signal 6 (SIGABRT), code -1 (SI_QUEUE) in tid 12434\n");
  std::vector<const Record*> leading;
  for (const Record& record : log.records)
    if (record.failure && record.leads) leading.push_back(&record);
  REQUIRE(leading.size() == 1);
  CHECK(leading[0]->line_main == 1);
  CHECK(leading[0]->told().consequences == std::vector<int>{2, 3, 4});
}

TEST_CASE("a missing OpenCL library is the cause only of a failure that says nothing else", "[log]") {
  const std::string missing = "E/tflite  ( 9): Can not open OpenCL library on this device - dlopen failed\n";
  const std::string failed = "E/tflite  ( 9): Node number 6 (TfLiteGpuDelegateV2) failed to prepare.\n";
  CHECK(leads(missing).empty());
  const auto alone = leads(missing + failed);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].find("OpenCL") != std::string::npos);
  const auto other =
      leads(missing + "E/tflite  ( 9): TfLiteGpuDelegate Init: ADD: no runtime input\n" + failed);
  REQUIRE(other.size() == 1);
  CHECK(other[0].find("Init: ADD") != std::string::npos);
}

TEST_CASE("of several runs the last failing one leads, the others are named", "[log]") {
  const Log log = parse(
      "u@host:~/x$ python a.py\nRuntimeError: Lowering not found: aten.foo.default\n"
      "u@host:~/x$ python b.py\nRuntimeError: Lowering not found: aten.bar.default\n");
  std::vector<std::string> failing;
  for (const Record& record : log.records)
    if (record.failure) failing.push_back(record.message);
  CHECK(failing == std::vector<std::string>{"RuntimeError: Lowering not found: aten.bar.default"});
  CHECK(std::any_of(log.notes.begin(), log.notes.end(), [](const std::string& note) {
    return note.find("line 2: RuntimeError: Lowering not found: aten.foo.default") != std::string::npos;
  }));
}

TEST_CASE("logs of runs that went well have no failure", "[log]") {
  for (const std::string text :
       {"Collecting torch\n  Downloading torch-2.9.0.whl (800 MB)\nRequirement already satisfied: numpy\n"
        "Installing collected packages: torch\nSuccessfully installed torch-2.9.0\n"
        "WARNING: Running pip as the 'root' user can result in broken permissions\n",
        "-- The C compiler identification is GNU 12.2.0\n-- Looking for pthread.h - found\n"
        "-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE)\n[ 50%] Building CXX object a.o\n"
        "/src/a.cc:3:5: warning: unused variable 'x' is not used [-Wunused]\n[100%] Built target a\n",
        "11-29 14:30:46.1  1  1 I tflite  : Initialized TensorFlow Lite runtime.\n"
        "11-29 14:30:46.1  1  1 I tflite  : Created TensorFlow Lite delegate for GPU.\n"
        "11-29 14:30:46.1  7  7 E WifiHAL : failed to get link stats\n"
        "11-29 14:30:46.1  1  1 D App     : inference took 12 ms\n",
        "[program.cpp:130] Program loaded\nI 00:00:00.001545 executorch:runner.cpp:181] Model file a.pte is "
        "loaded.\n"
        "Output 0: tensor(sizes=[1, 5], [0.1, 0.2])\n",
        "===== 5 passed, 0 failed in 1.2s =====\n", "stack:\n  File \"a.py\", line 3, in f\n    g()\nDone.\n",
        "Epoch 1/3 loss 0.3\nEpoch 2/3 loss 0.2\nModel saved to out.pt\n"}) {
    INFO(text);
    CHECK(leads(text).empty());
  }
}

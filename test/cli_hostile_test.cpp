// The program against bad files of every format, full disks and little memory: one clear line, exit 2,
// nothing written.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/pte_models.h"
#include "test/run_program.h"
#include "test/sanitizer.h"
#include "test/zip_models.h"

namespace md {
namespace {

using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;

/// A gigabyte is much for any of these files.
ProgramResult run_small(const std::vector<std::string>& arguments) {
  if (test::under_sanitizer) return run_program(arguments);
  return test::run_program_after("ulimit -v 1048576", arguments);
}

void check_refused(const ProgramResult& result, const std::vector<std::string>& parts) {
  INFO("exit " << result.exit_code << "\nstdout: " << result.out << "\nstderr: " << result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& part : parts) CHECK(result.err.find(part) != std::string::npos);
}

struct Sample {
  std::string fixture, name;
};
const Sample samples[] = {{"cli/hardtanh.tflite", "m.tflite"},
                          {"LTC001-amax-no-layout-rewriter/before.pt2", "m.pt2"},
                          {"ETX011-vulkan-constant-rank-over-4/before.pte", "m.pte"}};

/// A program that `fix` mends without a log.
const std::vector<std::string> mending = {"--target", "executorch-vulkan"};
const std::string mended = "ETX011-vulkan-constant-rank-over-4/before.pt2";

}  // namespace

TEST_CASE("bad files of every format: one line, exit 2, nothing written", "[cli][hostile]") {
  for (const Sample& sample : samples) {
    const ScratchFolder folder;
    const std::string good = test::read_text(test::fixture(sample.fixture));
    const std::string cut = folder.write("cut-" + sample.name, good.substr(0, good.size() / 2)),
                      empty = folder.write("empty-" + sample.name, "");
    std::string middle = good;
    std::fill(middle.begin() + static_cast<std::ptrdiff_t>(middle.size() / 4),
              middle.begin() + static_cast<std::ptrdiff_t>(3 * middle.size() / 4), '\xff');
    const std::string broken = folder.write("broken-" + sample.name, middle);
    const auto before = folder.files();
    for (const std::string command : {"check", "fix", "inspect"}) {
      INFO(command << " " << sample.name);
      check_refused(run_small({command, folder.path("none-" + sample.name)}), {"no such file"});
      check_refused(run_small({command, cut}), {cut});
      check_refused(run_small({command, empty}), {empty, "empty"});
      check_refused(run_small({command, broken}), {broken});
    }
    check_refused(run_small({"fix", folder.path("")}), {"directory"});
    CHECK(folder.files() == before);
  }
}

TEST_CASE("outputs of every format that cannot be written", "[cli][hostile]") {
  for (const Sample& sample : samples) {
    const ScratchFolder folder;
    const std::string model = folder.copy(sample.fixture, sample.name);
    check_refused(run_program({"fix", model, "-o", folder.path("nowhere/" + sample.name)}),
                  {"nowhere", "does not exist"});
    check_refused(run_program({"fix", model, "-o", folder.path("")}), {"is a directory"});
    check_refused(run_program({"fix", model, "-o", model}), {"is the input file"});
    CHECK(folder.files() == std::vector<std::string>{sample.name});
    CHECK(test::read_text(model) == test::read_text(test::fixture(sample.fixture)));
  }
}

TEST_CASE("a full disk leaves nothing behind", "[cli][hostile]") {
  const std::pair<std::string, std::vector<std::string>> jobs[] = {{"cli/hardtanh.tflite", {}},
                                                                   {mended, mending}};
  for (const auto& [fixture, options] : jobs) {
    const ScratchFolder folder;
    const std::string name = "m" + std::filesystem::path(fixture).extension().string(),
                      model = folder.copy(fixture, name);
    std::vector<std::string> arguments = {"fix", model};
    arguments.insert(arguments.end(), options.begin(), options.end());
    REQUIRE(run_program(arguments).exit_code == 0);
    std::filesystem::remove(folder.path("m.diagnosis.json"));
    std::filesystem::remove(folder.path("m.fixed" + name.substr(1)));
    arguments.push_back("-q");  // the limit holds for standard output too
    const ProgramResult result = test::run_program_after("ulimit -f 1", arguments);
    INFO(result.out << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("nothing was written") != std::string::npos);
    for (const std::string& file : folder.files()) CHECK(file.find("fixed") == std::string::npos);
    for (const std::string& file : folder.files()) CHECK(file.find(".part") == std::string::npos);
  }
}

TEST_CASE("programs that fill the memory are refused within a gigabyte", "[cli][hostile]") {
  const ScratchFolder folder;
  const std::string good = test::read_text(test::fixture("LTC001-amax-no-layout-rewriter/before.pt2"));
  const auto with_program = [&](const std::string& name, const std::string& json, int method) {
    test::ZipRecipe recipe;
    recipe.parts = test::parts_of(good);
    for (test::ZipPart& part : recipe.parts)
      if (part.name.ends_with("models/model.json")) part.content = json, part.method = method;
    return folder.write(name, test::make_zip(recipe));
  };
  const auto start = std::chrono::steady_clock::now();
  check_refused(run_small({"check", with_program("deep.pt2", std::string(100000, '['), 0)}),
                {"levels of nesting"});
  check_refused(run_small({"check", with_program("bomb.pt2", std::string(200u << 20, ' '), 8)}), {"bomb"});
  // stride 0: one number in the file, a tensor of 256 MB in memory, for each of many names
  std::string config = "{\"config\": {";
  for (int i = 0; i < 64; ++i)
    config += (i ? ", " : "") + std::string("\"w") + std::to_string(i) +
              "\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": "
              "{\"dtype\": 7, \"sizes\": [{\"as_int\": 60000000}], " +
              "\"strides\": [{\"as_int\": 0}], \"storage_offset\": {\"as_int\": 0}}}";
  std::string tensors, inputs, specs;
  for (int i = 0; i < 64; ++i) {
    const std::string w = "w" + std::to_string(i), comma = i ? ", " : "";
    tensors += comma + "\"" + w + "\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 60000000}]}";
    inputs += comma + "{\"as_tensor\": {\"name\": \"" + w + "\"}}";
    specs +=
        comma + "{\"parameter\": {\"arg\": {\"name\": \"" + w + "\"}, \"parameter_name\": \"" + w + "\"}}";
  }
  test::ZipRecipe recipe;
  recipe.parts = test::parts_of(good);
  for (test::ZipPart& part : recipe.parts) {
    if (part.name.ends_with("model_weights_config.json")) part.content = config + "}}";
    if (part.name.ends_with("models/model.json"))
      part.content = "{\"graph_module\": {\"graph\": {\"inputs\": [" + inputs +
                     "], \"outputs\": [], \"nodes\": [], \"tensor_values\": {" + tensors +
                     "}}, \"signature\": {\"input_specs\": [" + specs + "], \"output_specs\": []}}}";
  }
  check_refused(run_small({"check", folder.write("strides.pt2", test::make_zip(recipe))}),
                {"unpack to more than"});
  test::PteRecipe huge;
  huge.instructions = std::vector<test::PteInstruction>(
      20000, {.kind = 1, .first = 0, .args = std::vector<std::int32_t>(20000, 0)});
  huge.share_instructions = true;
  check_refused(run_small({"check", folder.write("huge.pte", test::make_pte(huge))}),
                {"more than a program of this size can hold"});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("logs of every strange kind are read", "[cli][hostile]") {
  const ScratchFolder folder;
  const std::string line = "RELU_0_TO_1: Not supported op RELU_0_TO_1";
  std::string wide;
  for (const char c : "\n" + line + "\n") wide += c, wide += '\0';
  const std::pair<std::string, std::string> logs[] = {
      {"one long line", std::string(10u << 20, 'x') + "\n" + line + "\n"},
      {"a long line around it", std::string(10u << 20, ':') + " " + line},
      {"no line end at all", std::string(10u << 20, ' ')},
      {"zero bytes", std::string(1u << 20, '\0') + "\n" + line + "\n"},
      {"bytes that are no text", "\xff\xfe\xfd\xc0\x80\xed\xa0\x80\n\xf8\x88\x80\x80\x80\n" + line + "\n"},
      {"UTF-16 of odd length", "\xff\xfe" + wide + "x"},
      {"brackets", std::string(1u << 20, '[') + std::string(1u << 20, '(') + "\n"},
      {"carriage returns", std::string(1u << 20, '\r') + line + "\r"},
      {"escape sequences", std::string(200000, '\x1b') + "[\x1b]\x1b[31" + "\n" + line + "\n"},
      {"tracebacks", [] {
         std::string text;
         for (int i = 0; i < 50000; ++i)
           text += "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n";
         return text;
       }()}};
  for (const auto& [name, text] : logs) {
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = run_small({"log", folder.write("log.txt", text)});
    INFO(name << ": exit " << result.exit_code << "\n"
              << result.err.substr(0, 500) << result.out.substr(0, 500));
    CHECK(result.exit_code <= 2);
    CHECK(result.out.size() < (1u << 20));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
}

}  // namespace md

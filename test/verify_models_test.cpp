// Whole models compared, NumPy files, taps, runners.
#include <unistd.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>

#include "lib/edit/changes.h"
#include "lib/format/torch/render.h"
#include "lib/graph/document.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/verify/runner.h"
#include "lib/verify/verify.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

namespace {

Model parse(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("tflite"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

Model two_layers(const std::string& weight) {
  return parse("input %x : f32[2, 4]\nconst %w : f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, " + weight +
               "]\nconst %c : f32[1] = [0.5]\n%h = FULLY_CONNECTED(%x, %w, _) : f32[2, 3]\n%s = MUL(%h, %c) "
               ": f32[2, 3]\n%y = SOFTMAX(%s) { beta = 1.0 } : f32[2, 3]\noutput %y\n");
}

/// A folder of the test's own.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("modeldoctor-test-" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("a model equals itself, to the bit", "[verify]") {
  const Model a = two_layers("12");
  CompareOptions options;
  options.exactness = Exactness::exact;
  const ModelComparison c = verify_models(a, a, options);
  INFO(c.note);
  REQUIRE(c.equal);
  REQUIRE(c.samples == 8);
  REQUIRE(c.argmax_agreement == 1.0);
  REQUIRE(c.fp16_error);
}

TEST_CASE("a changed weight is found, with the layer where values part", "[verify]") {
  const ModelComparison c = verify_models(two_layers("12"), two_layers("12.5"), {});
  REQUIRE_FALSE(c.equal);
  REQUIRE(c.max_abs > 0);
  REQUIRE(c.first_layer.find("\"h\" (node 0 FULLY_CONNECTED)") == 0);
  REQUIRE(comparison_text(c).find("DIFFERENT") == 0);
  REQUIRE(comparison_json(c).find("\"equal\": false") != std::string::npos);
}

TEST_CASE("ordinary inputs are told apart from extremes", "[verify]") {
  // Another order of the sum: some last bits, which are huge numbers where the inputs are.
  const auto sum = [](const std::string& order) {
    return parse(
        "input %x : f32[4, 16]\nconst %k : f32[1] = [0.1]\nconst %l : f32[1] = [0.7]\n%a = MUL(%x, %k) : "
        "f32[4, 16]\n" +
        std::string("%b = MUL(%x, %l) : f32[4, 16]\n") + order + "output %y\n");
  };
  const ModelComparison c =
      verify_models(sum("%c = ADD(%a, %b) : f32[4, 16]\n%y = ADD(%c, %x) : f32[4, 16]\n"),
                    sum("%c = ADD(%b, %x) : f32[4, 16]\n%y = ADD(%a, %c) : f32[4, 16]\n"), {});
  INFO(comparison_text(c));
  REQUIRE(c.equal);
  REQUIRE(c.ordinary.samples > 0);
  REQUIRE(c.extreme.samples > 0);
  REQUIRE(c.ordinary.samples + c.extreme.samples == c.samples);
  REQUIRE(c.max_abs > 1e15);
  REQUIRE(c.ordinary.max_abs > 0);
  REQUIRE(c.ordinary.max_abs < 1e-3);
  REQUIRE(c.extreme.max_rel < 1e-6);
  REQUIRE(comparison_text(c).find("e+") == std::string::npos);
  REQUIRE(c.outputs[0].ordinary.max_abs == c.ordinary.max_abs);
}

TEST_CASE("interfaces are compared first", "[verify]") {
  const Model a = parse("input %x : f32[2]\n%y = RELU(%x) : f32[2]\noutput %y\n"),
              b = parse("input %x : f32[1, 2]\n%z = RELU(%x) : f32[1, 2]\noutput %z\n");
  const auto texts = compare_interfaces(a.graphs[0], b.graphs[0]);
  REQUIRE(texts.size() == 3);
  REQUIRE(texts[0] == "input \"x\" is f32 2 in A, f32 1x2 in B");
  REQUIRE_FALSE(verify_models(a, b, {}).equal);
}

TEST_CASE("arrays survive .npy, in both orders", "[verify]") {
  const Tensor t = Tensor::of(DType::f32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, -0.5});
  const std::string bytes = npy_bytes(t);
  REQUIRE((bytes.size() - 24) % 64 == 0);
  const auto back = parse_npy("t", Bytes(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  REQUIRE(back);
  REQUIRE(back->shape == t.shape);
  REQUIRE(back->numbers() == t.numbers());
  std::string fortran = bytes;
  const auto at = fortran.find("'fortran_order': False");
  fortran.replace(at, 22, "'fortran_order': True ");
  const auto other =
      parse_npy("t", Bytes(reinterpret_cast<const std::uint8_t*>(fortran.data()), fortran.size()));
  REQUIRE(other);
  REQUIRE(other->numbers() == std::vector<double>{1, 3, 5, 2, 4, -0.5});
  const Tensor scalar = Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{7});
  const std::string one = npy_bytes(scalar);
  const auto read = parse_npy("s", Bytes(reinterpret_cast<const std::uint8_t*>(one.data()), one.size()));
  REQUIRE(read);
  REQUIRE(read->shape.empty());
  REQUIRE(read->integer(0) == 7);
}

TEST_CASE("damaged NumPy files are refused with the file's name", "[verify]") {
  const std::string bytes = npy_bytes(Tensor::of(DType::f32, {2, 3}, std::vector<double>(6)));
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{11}, std::size_t{40}, bytes.size() - 1}) {
    const auto r = parse_npy("cut.npy", Bytes(reinterpret_cast<const std::uint8_t*>(bytes.data()), length));
    REQUIRE_FALSE(r);
    REQUIRE(r.error().message.find("cut.npy: ") == 0);
  }
  std::string huge = bytes;
  huge.replace(huge.find("(2, 3)"), 6, "(2**9)");
  REQUIRE_FALSE(
      parse_npy("huge.npy", Bytes(reinterpret_cast<const std::uint8_t*>(huge.data()), huge.size())));
  const Folder folder;
  write(folder.file("png.npz"), "\x89PNG\r\n");
  const auto png = read_numpy(folder.file("png.npz"));
  REQUIRE_FALSE(png);
  REQUIRE(png.error().message.find("expected a .npy or .npz file") != std::string::npos);
}

TEST_CASE("inputs come by name, in order, or several samples in one array", "[verify]") {
  const Model model = two_layers("12");
  const Folder folder;
  write(folder.file("x.npy"),
        npy_bytes(Tensor::of(DType::f64, {2, 4}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8})));
  const auto one = load_inputs(model, {folder.file("x.npy")});
  REQUIRE(one);
  REQUIRE(one->size() == 1);
  REQUIRE((*one)[0][0].dtype == DType::f32);
  write(folder.file("many.npy"), npy_bytes(Tensor::of(DType::f32, {3, 2, 4}, std::vector<double>(24, 0.5))));
  const auto three = load_inputs(model, {folder.file("many.npy")});
  REQUIRE(three);
  REQUIRE(three->size() == 3);
  write(folder.file("bad.npy"), npy_bytes(Tensor::of(DType::f32, {5}, std::vector<double>(5))));
  const auto bad = load_inputs(model, {folder.file("bad.npy")});
  REQUIRE_FALSE(bad);
  REQUIRE(bad.error().message.find("has shape 5, expected 2x4") != std::string::npos);
}

TEST_CASE("a device's outputs are compared with the model's own", "[verify]") {
  const Model model = two_layers("12");
  const std::vector<Tensor> inputs = {
      Tensor::of(DType::f32, {2, 4}, std::vector<double>{.1, .2, .3, .4, .1, 0, .1, 0})};
  const auto right = evaluate(model, 0, inputs);
  REQUIRE(right);
  const auto good = verify_device(model, {inputs}, {{"out_y", (*right)[0]}}, {});
  REQUIRE(good);
  REQUIRE(good->equal);
  std::vector<double> numbers = (*right)[0].numbers();
  numbers[4] += 0.1;
  const auto bad = verify_device(model, {inputs}, {{"y", Tensor::of(DType::f32, {2, 3}, numbers)}}, {});
  REQUIRE(bad);
  REQUIRE_FALSE(bad->equal);
  REQUIRE(bad->outputs[0].where.find("[1,1]: ") == 0);
}

TEST_CASE("a tap is one more output", "[verify]") {
  Model model = two_layers("12");
  model.signatures = {{"serving_default", 0, {}, {{"out_y", model.graphs[0].outputs[0]}}}};
  const auto tapped = with_tap(model, "h");
  REQUIRE(tapped);
  REQUIRE(tapped->signatures[0].outputs.size() == 2);
  REQUIRE(tapped->signatures[0].outputs[1].second == tapped->graphs[0].outputs[1]);
  REQUIRE(tapped->graphs[0].outputs.size() == 2);
  REQUIRE(tapped->graphs[0].value(tapped->graphs[0].outputs[1]).name == "h");
  REQUIRE_FALSE(with_tap(model, "w"));
  REQUIRE_FALSE(with_tap(model, "y"));
  REQUIRE_FALSE(with_tap(model, "nothing"));
}

TEST_CASE("a runner that works, refuses, crashes, or hangs costs one result", "[verify]") {
  const Model model = parse("input %x : f32[2]\n%y = RELU(%x) : f32[2]\noutput %y\n");
  const std::vector<Tensor> inputs = {Tensor::of(DType::f32, {2}, std::vector<double>{1, 2})};
  RunnerOptions options;
  // The input is not negative, so that a copy of it is the right answer.
  options.command =
      "f() { cp \"$1/in_0.npy\" \"$1/out_0.npy\"; echo '{\"status\":\"ok\",\"runtime\":\"copy "
      "1\",\"outputs\":[\"out_0.npy\"]}' > \"$1/response.json\"; }; f";
  const RunnerResult good = run_on("model.tflite", model, inputs, options);
  INFO(good.error << good.log);
  REQUIRE(good.status == RunnerResult::Status::ok);
  REQUIRE(good.runtime == "copy 1");
  REQUIRE(good.outputs[0].numbers() == std::vector<double>{1, 2});
  CompareOptions compare;
  compare.inputs = {inputs};
  REQUIRE(verify_on(model, "model.tflite", model, options, compare).equal);
  compare.inputs = {{Tensor::of(DType::f32, {2}, std::vector<double>{-1, 2})}};
  REQUIRE_FALSE(verify_on(model, "model.tflite", model, options, compare).equal);

  options.command = "kill -ABRT $$; echo";
  const RunnerResult crash = run_on("model.tflite", model, inputs, options);
  REQUIRE(crash.status == RunnerResult::Status::crash);
  REQUIRE(crash.error == "killed by signal 6");
  options.command =
      "f() { echo '{\"status\":\"refused\",\"error\":\"GATHER_ND: no\"}' > \"$1/response.json\"; }; f";
  const RunnerResult refused = run_on("model.tflite", model, inputs, options);
  REQUIRE(refused.status == RunnerResult::Status::refused);
  REQUIRE(refused.error == "GATHER_ND: no");
  options.command = "sleep 60; echo";
  options.timeout_seconds = 1;
  REQUIRE(run_on("model.tflite", model, inputs, options).status == RunnerResult::Status::timeout);
  options.command.reset();
  options.runner = "no-such";
  REQUIRE(run_on("model.tflite", model, inputs, options).status == RunnerResult::Status::not_installed);
  setenv("MODELDOCTOR_RUNNERS", (test::source_dir() + "/scripts/runners").c_str(), 1);
  setenv("MODELDOCTOR_PYTHON", "/no/such/python", 1);
  options.runner = "litert-cpu";
  const RunnerResult absent = run_on("model.tflite", model, inputs, options);
  unsetenv("MODELDOCTOR_PYTHON");
  REQUIRE(absent.status == RunnerResult::Status::not_installed);
  REQUIRE(absent.error == "/no/such/python could not be started: No such file or directory");
}

TEST_CASE("the runners that come with the program are listed", "[verify]") {
  setenv("MODELDOCTOR_RUNNERS", (test::source_dir() + "/scripts/runners").c_str(), 1);
  const auto runners = list_runners(false);
  REQUIRE(runners.size() == 3);
  for (const RunnerInfo& r : runners) REQUIRE_FALSE(r.script.empty());
}

TEST_CASE("every inner value of a .pt2 can be tapped, and the file opens again", "[verify][pt2]") {
  for (const auto& entry : std::filesystem::directory_iterator(test::fixture(""))) {
    const std::string path = (entry.path() / "before.pt2").string();
    if (!std::filesystem::exists(path)) continue;
    const auto document = open_document(path);
    REQUIRE(document);
    const Graph& graph = (*document)->model().graphs[0];
    std::size_t done = 0;
    for (const Value& value : graph.values) {
      const auto tapped = with_tap((*document)->model(), value.name);
      if (!tapped || done > 4) continue;
      INFO(path << " " << value.name);
      MemorySink sink;
      const auto written = (*document)->write(*tapped, sink);
      INFO((written ? "" : written.error().message));
      REQUIRE(written);
      const auto again = open_document(MappedFile::from_bytes("tapped.pt2", sink.bytes));
      INFO((again ? "" : again.error().message));
      REQUIRE(again);
      CHECK(same_structure(*tapped, (*again)->model()) == std::nullopt);
      const Graph& there = (*again)->model().graphs[0];
      REQUIRE(there.outputs.size() == graph.outputs.size() + 1);
      CHECK(there.value(there.outputs.back()).name == value.name);
      ++done;
    }
  }
}

TEST_CASE("what a call gives gets longer by the values tapped", "[verify][pt2]") {
  const std::string leaf = R"({"type":null,"context":null,"children_spec":[]})";
  const auto tuple = [&](const std::string& children) {
    return R"([1,{"type":"builtins.tuple","context":"null","children_spec":[)" + children + "]}]";
  };
  CHECK(result_tree_with("[1, " + leaf + "]", 1) == tuple(leaf + "," + leaf));
  CHECK(result_tree_with(tuple(leaf), 2) == tuple(leaf + "," + leaf + "," + leaf));
  const std::string dict = R"({"type":"builtins.dict","context":"[\"a\"]","children_spec":[)" + leaf + "]}";
  CHECK(result_tree_with("[1, " + dict + "]", 1) == tuple(dict + "," + leaf));
  CHECK(result_tree_with("[1]", 1) == std::nullopt);
  CHECK(result_tree_with("{", 1) == std::nullopt);
  CHECK(result_tree_with(R"([1, {"type": "builtins.tuple", "children_spec": 3}])", 1) == std::nullopt);
}

TEST_CASE("a model without a graph computes nothing, and is told so", "[verify]") {
  const Model nothing;
  const auto tapped = with_tap(nothing, "x");
  REQUIRE_FALSE(tapped);
  CHECK(tapped.error().kind == Error::Kind::input);
  CHECK_FALSE(load_inputs(nothing, {"x.npy"}));
  CHECK_FALSE(verify_device(nothing, {{}}, {}, {}));
  RunnerOptions options;
  options.command = "true";
  CHECK(run_on("m.tflite", nothing, {}, options).error.find("no graph") != std::string::npos);
  CHECK_FALSE(verify_on(nothing, "m.tflite", nothing, options, {}).evaluated);
}

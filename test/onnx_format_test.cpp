// .onnx files: read, put right in the view, written back. The models are made field by field (onnx_models.h),
// and where Debian's libonnx-testdata is installed, every model of it is taken apart and put together again.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/edit/changes.h"
#include "lib/eval/evaluator.h"
#include "lib/format/onnx/dialect.h"
#include "lib/format/onnx/reader.h"
#include "lib/format/onnx/writer.h"
#include "lib/graph/document.h"
#include "test/catch.h"
#include "test/onnx_models.h"
#include "test/run_program.h"

using namespace md;
using namespace md::test;

namespace {

std::unique_ptr<Document> opened(const std::string& bytes) {
  auto document = open_document(MappedFile::from_bytes("m.onnx", bytes));
  REQUIRE(document);
  return std::move(*document);
}

std::string fault_of(const std::string& bytes) {
  auto document = open_document(MappedFile::from_bytes("m.onnx", bytes));
  return document ? "" : document.error().message;
}

std::string written(const Document& document, const Model& edited) {
  MemorySink sink;
  const auto done = document.write(edited, sink);
  INFO((done ? "" : done.error().message));
  REQUIRE(done);
  return sink.bytes;
}

std::vector<std::string> repairs_of(const Model& model) {
  std::vector<std::string> kinds;
  for (const Repair& repair : model.repairs) kinds.push_back(repair.kind);
  return kinds;
}

/// The file with all its repairs written, opened again: needs none.
Model repaired(const std::string& bytes) {
  const auto document = opened(bytes);
  Patch patch;
  patch.title = "as it is meant";
  patch.repairs = document->model().repairs;
  const auto edited = apply_patches(document->model(), std::span(&patch, 1));
  REQUIRE(edited);
  const std::string out = written(*document, *edited);
  CHECK(out != bytes);
  const auto again = opened(out);
  CHECK(repairs_of(again->model()).empty());
  const auto difference = same_structure(*edited, again->model());
  CHECK(difference.value_or("") == "");
  return again->model();
}

ValueId named(const Graph& graph, std::string_view name) {
  for (std::size_t v = 0; v < graph.values.size(); ++v)
    if (graph.values[v].name == name) return static_cast<ValueId>(v);
  return none_id;
}

}  // namespace

TEST_CASE("an .onnx file is read by what it holds", "[onnx]") {
  const auto document = opened(onnx_file(onnx_layer()));
  const Model& model = document->model();
  CHECK(model.format_version == 8);
  CHECK(model.producer == "test");
  REQUIRE(model.operator_sets.size() == 1);
  CHECK(model.operator_sets[0] == OperatorSet{"", 17});
  const Graph& graph = model.graphs.at(0);
  REQUIRE(graph.order.size() == 2);
  CHECK(graph.node(0).op == "MatMul");
  CHECK(graph.node(0).version == 13);
  CHECK(graph.node(1).version == 14);
  CHECK(graph.node(0).layer == "/fc");
  const ValueId w = named(graph, "w");
  REQUIRE(graph.value(w).is_constant());
  CHECK(graph.value(w).shape == Shape{2, 3});
  CHECK(graph.inputs == std::vector<ValueId>{named(graph, "x")});
  CHECK(repairs_of(model).empty());
  CHECK_FALSE(broken_invariant(graph));
}

TEST_CASE("an unchanged .onnx keeps its bytes, also taken apart", "[onnx]") {
  const std::string bytes = onnx_file(onnx_layer());
  const auto document = opened(bytes);
  CHECK(written(*document, document->model()) == bytes);
  auto parts = onnx::read_onnx(MappedFile::from_bytes("m.onnx", bytes));
  REQUIRE(parts);
  MemorySink sink;
  REQUIRE(onnx::write_onnx(*parts, parts->model, sink, true));
  CHECK(sink.bytes == bytes);
}

TEST_CASE("every model of ONNX's test data is put together again as it was", "[onnx]") {
  const std::filesystem::path data = "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(data)) return;  // scripts/setup.sh installs it
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    if (entry.path().extension() != ".onnx") continue;
    auto file = MappedFile::open(entry.path().string());
    REQUIRE(file);
    INFO(entry.path());
    auto parts = onnx::read_onnx(*file);
    REQUIRE(parts);
    MemorySink sink;
    REQUIRE(onnx::write_onnx(*parts, parts->model, sink, true));
    const Bytes bytes = (*file)->bytes();
    CHECK(sink.bytes == std::string(bytes.begin(), bytes.end()));
    ++count;
  }
  CHECK(count > 500);
}

TEST_CASE("a patch changes its node's bytes and no other's", "[onnx]") {
  const std::string bytes = onnx_file(onnx_layer());
  const auto document = opened(bytes);
  const Graph& graph = document->model().graphs[0];
  PatchBuilder patch(graph, 0, "max with a number");
  const double zero = 0;
  const ValueId c = patch.add_constant("zero", DType::f32, {}, std::span(&zero, 1));
  patch.add_node("Max", {named(graph, "h"), c}, {named(graph, "y")});
  patch.remove(1);
  const Patch made = patch.take();
  const auto edited = apply_patches(document->model(), std::span(&made, 1));
  REQUIRE(edited);
  CHECK(edited->graphs[0].nodes.back().version == 13);  // that of opset 17
  const std::string out = written(*document, *edited);
  const auto again = opened(out);
  CHECK(same_structure(*edited, again->model()).value_or("") == "");
  const std::string first = onnx_layer().nodes[0].encoded();
  CHECK(out.find(first) != std::string::npos);
  CHECK(out.find("a field of a later version") != std::string::npos);
  CHECK(out.find("Relu") == std::string::npos);
}

TEST_CASE("restamping changes the set, and nodes follow", "[onnx]") {
  const auto document = opened(onnx_file(onnx_layer()));
  Patch patch;
  patch.operator_sets = {{"", 13}};
  patch.format_version = 7;
  const auto edited = apply_patches(document->model(), std::span(&patch, 1));
  REQUIRE(edited);
  const auto again = opened(written(*document, *edited));
  CHECK(again->model().format_version == 7);
  CHECK(again->model().operator_sets[0].version == 13);
  CHECK(again->model().graphs[0].node(1).version == 13);
}

TEST_CASE("what a file says out of order is put right in the view, and written when asked", "[onnx]") {
  const auto kinds = [](const OnnxGraph& graph, int ir = 8, int opset = 17) {
    return repairs_of(opened(onnx_file(graph, ir, opset))->model());
  };
  using Kinds = std::vector<std::string>;

  OnnxGraph unsorted = onnx_layer();
  std::swap(unsorted.nodes[0], unsorted.nodes[1]);
  CHECK(kinds(unsorted) == Kinds{"node-order"});
  CHECK(repaired(onnx_file(unsorted)).graphs[0].node(0).op == "MatMul");

  OnnxGraph nameless = onnx_layer();
  nameless.name = "";
  CHECK(kinds(nameless) == Kinds{"graph-without-name"});
  CHECK(repaired(onnx_file(nameless)).graphs[0].name == "main_graph");

  OnnxGraph listed = onnx_layer();
  listed.inputs.push_back(onnx_info("w", 1, {2, 3}));
  CHECK(kinds(listed) == Kinds{"initializer-is-input"});
  CHECK(kinds(listed, 3).empty());
  CHECK(repaired(onnx_file(listed)).graphs[0].inputs.size() == 1);

  CHECK(kinds(onnx_layer(), 3) == Kinds{"initializer-not-input"});
  repaired(onnx_file(onnx_layer(), 3));

  OnnxGraph stale = onnx_layer();
  stale.infos = {onnx_info("h", 1, {4, 7})};
  CHECK(kinds(stale) == Kinds{"stale-shape"});
  const Model restated = repaired(onnx_file(stale));
  CHECK(restated.graphs[0].value(named(restated.graphs[0], "h")).shape == Shape{4, 3});

  OnnxGraph twice = onnx_layer();
  twice.initializers.insert(twice.initializers.begin(), onnx_floats("w", {2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK(kinds(twice) == Kinds{"duplicate-initializer"});
  repaired(onnx_file(twice));

  OnnxGraph same_name = onnx_layer();
  same_name.nodes[1].name = same_name.nodes[0].name;
  CHECK(kinds(same_name) == Kinds{"duplicate-node-name"});
  repaired(onnx_file(same_name));

  OnnxGraph dangling = onnx_layer();
  dangling.outputs = {onnx_info("z", 1, {4, 3})};
  CHECK(kinds(dangling) == Kinds{"dangling-output"});
  const Model joined = repaired(onnx_file(dangling));
  CHECK(joined.graphs[0].value(joined.graphs[0].outputs[0]).name == "z");

  CHECK(kinds(onnx_layer(), 8, 0) == Kinds{"missing-opset"});
  repaired(onnx_file(onnx_layer(), 8, 0));

  OnnxGraph foreign = onnx_layer();
  foreign.nodes[1].op = "Gelu", foreign.nodes[1].domain = "com.microsoft";
  CHECK(kinds(foreign) == Kinds{"missing-domain"});
  const Model imported = repaired(onnx_file(foreign));
  CHECK(imported.graphs[0].node(1).op == "com.microsoft.Gelu");
  CHECK(imported.operator_sets.at(1) == OperatorSet{"com.microsoft", 1});
}

TEST_CASE("a name that two nodes write means the later one behind it", "[onnx]") {
  OnnxGraph graph = onnx_layer();
  graph.nodes[1].outputs = {"h"};
  graph.nodes.push_back({.op = "Neg", .inputs = {"h"}, .outputs = {"y"}});
  const auto document = opened(onnx_file(graph));
  CHECK(repairs_of(document->model()) == std::vector<std::string>{"duplicate-value-name"});
  const Graph& view = document->model().graphs[0];
  CHECK(view.node(2).inputs == view.node(1).outputs);
  CHECK(written(*document, document->model()) == onnx_file(graph));
  repaired(onnx_file(graph));
}

TEST_CASE("bodies read values around them through operands", "[onnx]") {
  OnnxGraph then{.nodes = {{.op = "Add", .inputs = {"h", "w"}, .outputs = {"t"}}},
                 .outputs = {onnx_info("t", 1, {3, 3})},
                 .name = "then"};
  OnnxGraph otherwise{.nodes = {{.op = "Neg", .inputs = {"x"}, .outputs = {"e"}}},
                      .outputs = {onnx_info("e", 1, {3, 3})},
                      .name = "else"};
  OnnxGraph graph{.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"h"}},
                            {.op = "If",
                             .inputs = {"c"},
                             .outputs = {"y"},
                             .attributes = {onnx_graph_attribute("then_branch", then.encoded()),
                                            onnx_graph_attribute("else_branch", otherwise.encoded())}}},
                  .initializers = {onnx_floats("w", {3}, {1, 2, 3})},
                  .inputs = {onnx_info("c", 9, {}), onnx_info("x", 1, {3, 3})},
                  .outputs = {onnx_info("y", 1, {3, 3})}};
  const auto document = opened(onnx_file(graph));
  const Model& model = document->model();
  REQUIRE(model.graphs.size() == 3);
  const Node& node = model.graphs[0].node(1);
  CHECK(node.inputs.size() == 3);
  CHECK(node.attrs.integer("#captured") == 2);
  CHECK(model.graphs[1].inputs.size() == 2);
  CHECK(model.graphs[2].inputs.size() == 2);
  const Tensor x = Tensor::of(DType::f32, {3, 3}, std::vector<double>{-1, 1, 2, 3, 4, 5, 6, 7, 8});
  for (const bool yes : {true, false}) {
    const Tensor c = Tensor::of_integers(DType::boolean, {}, std::vector<std::int64_t>{yes});
    const auto result = evaluate(model, 0, std::vector<Tensor>{c, x});
    INFO((result ? "" : result.error().message));
    REQUIRE(result);
    CHECK((*result)[0].number(0) == 1);
    CHECK((*result)[0].number(1) == (yes ? 3 : -1));
  }
  // A change inside a body leaves the captures out again, and lengths around it fit.
  PatchBuilder patch(model.graphs[1], 1, "sub");
  patch.add_node("Sub", model.graphs[1].node(0).inputs, model.graphs[1].node(0).outputs);
  patch.remove(0);
  const Patch made = patch.take();
  const auto edited = apply_patches(model, std::span(&made, 1));
  REQUIRE(edited);
  const std::string out = written(*document, *edited);
  const auto again = opened(out);
  CHECK(same_structure(*edited, again->model()).value_or("") == "");
  CHECK(out.find(otherwise.encoded()) != std::string::npos);
}

TEST_CASE("damaged .onnx files end in one line that names the byte", "[onnx]") {
  const std::string bytes = onnx_file(onnx_layer());
  for (std::size_t length = 12; length < bytes.size(); ++length) {
    const std::string fault = fault_of(bytes.substr(0, length));
    if (!fault.empty()) CHECK(fault.starts_with("m.onnx: "));
    CHECK(fault.find('\n') == std::string::npos);
  }
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string mutant = bytes;
      mutant[at] = static_cast<char>(mutant[at] ^ flip);
      const auto document = open_document(MappedFile::from_bytes("m.onnx", mutant));
      if (!document) continue;
      for (const Graph& graph : (*document)->model().graphs) CHECK_FALSE(broken_invariant(graph));
      CHECK(written(**document, (*document)->model()) == mutant);
    }
  OnnxGraph cut = onnx_layer();
  cut.initializers.clear();
  CHECK(fault_of(onnx_file(cut)).find("its input \"w\" is no input of the graph") != std::string::npos);
  OnnxGraph cycle = onnx_layer();
  cycle.nodes[0].inputs[0] = "y";
  CHECK(fault_of(onnx_file(cycle)).find("cycle") != std::string::npos);
}

TEST_CASE("a body in a body in a body ends", "[onnx]") {
  OnnxGraph inner{.nodes = {}, .outputs = {}};
  for (int depth = 0; depth < 100; ++depth) {
    OnnxGraph outer{.nodes = {{.op = "If",
                               .inputs = {""},
                               .outputs = {"y"},
                               .attributes = {onnx_graph_attribute("then_branch", inner.encoded())}}}};
    inner = outer;
  }
  CHECK(fault_of(onnx_file(inner)).find("nest deeper") != std::string::npos);
}

TEST_CASE("a file past 2 GiB becomes a small one that points into it", "[onnx]") {
  const ScratchFolder folder;
  const std::string path = folder.path("big.onnx");
  constexpr std::int64_t count = 575'000'000, bytes = 4 * count;
  // The parts around the weights' elements, which are a hole in the file.
  std::string head, graph, model, tail, set;
  const auto open = [](std::string& out, std::uint32_t number, std::uint64_t size) {
    onnx::put_tag(out, number, onnx::Wire::bytes);
    onnx::put_varint(out, size);
  };
  onnx::put_integer(head, 1, count);
  onnx::put_integer(head, 2, 1);
  onnx::put_bytes(head, 8, "w");
  open(head, 9, bytes);
  onnx::put_bytes(graph, 1, OnnxNode{.op = "Add", .inputs = {"x", "w"}, .outputs = {"y"}}.encoded());
  onnx::put_bytes(graph, 2, "g");
  open(graph, 5, head.size() + bytes);
  graph += head;
  onnx::put_bytes(tail, 11, onnx_info("x", 1, {1}));
  onnx::put_bytes(tail, 12, onnx_info("y", 1, {count}));
  onnx::put_integer(model, 1, 8);
  open(model, 7, graph.size() + bytes + tail.size());
  model += graph;
  onnx::put_integer(set, 2, 17);
  onnx::put_bytes(tail, 8, set);
  {
    std::ofstream out(path, std::ios::binary);
    out << model;
    out.seekp(bytes, std::ios::cur);
    out << tail;
  }
  const auto document = open_document(path);
  REQUIRE(document);
  const Model& read = (*document)->model();
  REQUIRE(repairs_of(read) == std::vector<std::string>{"over-2-gib"});
  Patch patch;
  patch.repairs = read.repairs;
  const auto edited = apply_patches(read, std::span(&patch, 1));
  REQUIRE(edited);
  const std::string out = written(**document, *edited);
  CHECK(out.size() < 1000);
  folder.write("small.onnx", out);
  const auto again = open_document(folder.path("small.onnx"));
  REQUIRE(again);
  CHECK(same_structure(*edited, (*again)->model()).value_or("") == "");
  const Graph& view = (*again)->model().graphs[0];
  CHECK(view.value(named(view, "w")).constant->bytes.size() == static_cast<std::size_t>(bytes));
}

// Edits of .tflite files: what changes is what was asked for, everything else keeps its bytes.
#include <cstring>

#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/edit/changes.h"
#include "lib/format/tflite/writer.h"
#include "lib/graph/encode.h"
#include "test/catch.h"
#include "test/tflite_models.h"
#include "tflite_generated.h"

using namespace md;
using namespace md::test;

namespace {

Model apply(const Document& document, PatchBuilder& builder) {
  const std::vector<Patch> patches = {builder.take()};
  auto edited = apply_patches(document.model(), patches);
  INFO((edited ? std::string() : edited.error().message));
  REQUIRE(edited);
  return std::move(*edited);
}

/// RELU becomes MINIMUM(RELU(y), 1): a node, a value and a constant more.
Model clamp_relu(const Document& document) {
  PatchBuilder b(document.model().graphs[0], 0, "clamp");
  const ValueId t = b.add_value("y", DType::f32, {1, 4});
  const ValueId one = b.add_constant("one", DType::f32, {}, std::vector<double>{1.0});
  b.remove(1);
  b.add_node("RELU", {2}, {t});
  b.add_node("MINIMUM", {t, one}, {3});
  return apply(document, b);
}

const tflite::Model& root(const std::string& bytes) {
  return *flatbuffers::GetRoot<tflite::Model>(bytes.data());
}

std::string read_back(const Document& document) {
  const Bytes bytes = document.file().bytes();
  return std::string(bytes.begin(), bytes.end());
}

/// Little-endian number at a position.
std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t n = 0;
  std::memcpy(&n, bytes.data() + at, 4);
  return n;
}

}  // namespace

TEST_CASE("nodes, values and constants are added to every kind of file", "[tflite]") {
  for (const auto& [name, recipe] : all_recipes()) {
    if (recipe.newer_model_field || recipe.composite || recipe.large_custom_options) continue;
    INFO(name);
    const auto document = open_bytes(make_tflite(recipe));
    const std::string bytes = write_edited(*document, clamp_relu(*document));
    const auto again = open_bytes(bytes);
    const Graph& graph = again->model().graphs[0];
    REQUIRE(graph.nodes.back().op == "MINIMUM");
    REQUIRE(again->model().signatures.size() == document->model().signatures.size());
    REQUIRE(again->model().metadata == document->model().metadata);
    for (const Value& value : graph.values)
      if (value.constant && value.name == "one")
        REQUIRE((value.constant->bytes.data() - again->file().bytes().data()) % 16 == 0);
  }
}

TEST_CASE("new values get names that nobody has", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  const auto again = open_bytes(write_edited(*document, clamp_relu(*document)));
  std::vector<std::string> names;
  for (const Value& v : again->model().graphs[0].values) names.push_back(v.name);
  std::sort(names.begin(), names.end());
  REQUIRE(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("operator codes are reused by operator and version, and new ones have both fields", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  PatchBuilder b(document->model().graphs[0], 0, "more");
  const ValueId t = b.add_value("t", DType::f32, {1, 4}), u = b.add_value("u", DType::f32, {1, 4});
  b.add_node("RELU", {2}, {t}, {}, 1);
  b.add_node("GELU", {t}, {u}, {}, 2);
  const std::string bytes = write_edited(*document, apply(*document, b));
  REQUIRE(root(bytes).operator_codes()->size() == 4);
  const auto& code = *root(bytes).operator_codes()->Get(3);
  REQUIRE(code.builtin_code() == tflite::BuiltinOperator::GELU);
  REQUIRE(code.deprecated_builtin_code() == 127);
  REQUIRE(code.version() == 2);
  int with_options = 0;
  for (const auto* op : *root(bytes).subgraphs()->Get(0)->operators())
    if (op->opcode_index() == 3)
      with_options += op->builtin_options_type() == tflite::BuiltinOptions::GeluOptions;
  REQUIRE(with_options == 1);
}

TEST_CASE("an operator code that the edit leaves unused is gone from the list", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  PatchBuilder b(document->model().graphs[0], 0, "tanh instead");
  b.remove(1);
  b.add_node("TANH", {2}, {3}, {}, 1);
  const std::string bytes = write_edited(*document, apply(*document, b));
  // The file's third code, a RELU that no operator named, was there before and stays.
  REQUIRE(root(bytes).operator_codes()->Get(1)->builtin_code() != tflite::BuiltinOperator::RELU);
  REQUIRE(root(bytes).operator_codes()->Get(2)->builtin_code() == tflite::BuiltinOperator::RELU);
  REQUIRE(open_bytes(bytes)->model().graphs[0].nodes.back().op == "TANH");
}

TEST_CASE("options, versions and operands of a node that stays change", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  PatchBuilder b(document->model().graphs[0], 0, "change");
  NodeChange change;
  change.node = 0, change.version = 3;
  change.set_attrs.set("fused_activation_function", std::string("RELU6"));
  b.change(change);
  b.rewire(0, 1, 0);
  const Model edited = apply(*document, b);
  MemorySink sink;
  REQUIRE(document->write(edited, sink));
  const auto again = open_bytes(sink.bytes);
  const Node& node = again->model().graphs[0].nodes[0];
  REQUIRE(node.version == 3);
  REQUIRE(node.inputs == std::vector<ValueId>{0, 0});
  REQUIRE(node.attrs.text("fused_activation_function") == "RELU6");
  REQUIRE_FALSE(node.attrs.flag("pot_scale_int16", true));  // what was not named keeps its value
  REQUIRE(root(sink.bytes).operator_codes()->Get(0)->version() == 1);
}

TEST_CASE("an option that does not exist or does not fit is refused", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  const auto refused = [&](const char* option, AttrValue value) {
    PatchBuilder b(document->model().graphs[0], 0, "wrong");
    NodeChange change;
    change.node = 0;
    change.set_attrs.set(option, std::move(value));
    b.change(change);
    MemorySink sink;
    const auto done = document->write(apply(*document, b), sink);
    REQUIRE_FALSE(done);
    REQUIRE(done.error().kind == Error::Kind::unsupported);
    REQUIRE(done.error().message.find(option) != std::string::npos);
  };
  refused("axis", std::int64_t{1});
  refused("fused_activation_function", std::int64_t{1000});
  refused("fused_activation_function", std::string("NO_SUCH"));
}

TEST_CASE("constants are replaced in a buffer of their own, values are retyped and reshaped", "[tflite]") {
  Recipe recipe;
  recipe.dynamic_batch = true;
  const auto document = open_bytes(make_tflite(recipe));
  PatchBuilder b(document->model().graphs[0], 0, "fold");
  ValueChange constant;
  constant.value = 1, constant.dtype = DType::f16, constant.shape = Shape{2, 2};
  constant.constant = Constant::own(encode(DType::f16, {2, 2}, std::vector<double>{1, 2, 3, 4}));
  b.change(constant);
  ValueChange shape;
  shape.value = 0, shape.shape = Shape{3, 4};
  b.change(shape);
  ValueChange quantized;
  quantized.value = 2, quantized.shape = Shape{-1, -1};
  quantized.quantization = Quantization{{0.5f, 0.25f}, {3, 4}, 1, {}, {}};
  b.change(quantized);
  const auto again = open_bytes(write_edited(*document, apply(*document, b)));
  const Graph& graph = again->model().graphs[0];
  REQUIRE(decode(graph.value(1)) == std::vector<double>{1, 2, 3, 4});
  REQUIRE(graph.value(0).default_shape.empty());
  REQUIRE(graph.value(2).default_shape == Shape{1, 1});
  REQUIRE(graph.value(2).quantization->zero_point == std::vector<std::int64_t>{3, 4});
  REQUIRE(graph.value(3).shape == Shape{-1, 4});
  REQUIRE(graph.value(3).default_shape == Shape{1, 4});
}

TEST_CASE("a constant that is used again under another shape is not stored twice", "[tflite]") {
  const auto document = open_bytes(make_tflite({}));
  PatchBuilder b(document->model().graphs[0], 0, "reuse");
  const Value& c = document->model().graphs[0].value(1);
  const ValueId copy = b.add_constant("copy", DType::f32, {1, 1, 4}, std::vector<std::uint8_t>());
  b.patch().new_values[new_value_index(copy)].constant = c.constant;
  b.rewire(0, 1, copy);
  const std::string bytes = write_edited(*document, apply(*document, b));
  const auto& tensors = *root(bytes).subgraphs()->Get(0)->tensors();
  REQUIRE(tensors.Get(4)->buffer() == tensors.Get(1)->buffer());
  REQUIRE(root(bytes).buffers()->size() == root(read_back(*document)).buffers()->size());
}

TEST_CASE("one of several tensors on a shared buffer gets its own", "[tflite]") {
  Recipe recipe;
  recipe.shared_empty_buffer = true;
  const auto document = open_bytes(make_tflite(recipe));
  const std::string bytes = write_edited(*document, clamp_relu(*document));
  for (flatbuffers::uoffset_t i = 2; i < 10; ++i) REQUIRE(root(bytes).buffers()->Get(i)->data() == nullptr);
}

TEST_CASE("absolute positions move with the file", "[tflite]") {
  Recipe recipe;
  recipe.out_of_line = recipe.zip = true;
  const std::string before = make_tflite(recipe);
  const auto document = open_bytes(before);
  const std::string bytes = write_edited(*document, clamp_relu(*document));
  const std::size_t end = bytes.size() - 22, directory = number_at(bytes, end + 16);
  REQUIRE(bytes.substr(directory, 4) == std::string("PK\x01\x02", 4));
  REQUIRE(bytes.substr(number_at(bytes, directory + 42), 4) == std::string("PK\x03\x04", 4));
  const auto shift = bytes.size() - before.size();
  REQUIRE(root(bytes).buffers()->Get(1)->offset() == root(before).buffers()->Get(1)->offset() + shift);

  Recipe large;
  large.large_custom_options = true;
  const std::string old = make_tflite(large);
  const auto with_options = open_bytes(old);
  PatchBuilder b(with_options->model().graphs[0], 0, "rewire");
  b.rewire(1, 0, 0);
  const std::string moved = write_edited(*with_options, apply(*with_options, b));
  const auto option_offset = [](const std::string& file) {
    return root(file).subgraphs()->Get(0)->operators()->Get(1)->large_custom_options_offset();
  };
  REQUIRE(option_offset(moved) == option_offset(old) + moved.size() - old.size());
  REQUIRE(moved.compare(option_offset(moved), 16, old, option_offset(old), 16) == 0);
}

TEST_CASE("fields newer than the schema survive, or the write is refused", "[tflite]") {
  const auto newer_field = [](const std::string& bytes) {
    const auto* z = root(bytes).subgraphs()->Get(0)->tensors()->Get(3);
    return reinterpret_cast<const flatbuffers::Table*>(z)->GetField<std::int32_t>(
        tflite::Tensor::VT_EXTERNAL_BUFFER + 2, 0);
  };
  Recipe tensor;
  tensor.newer_tensor_field = true;
  const auto document = open_bytes(make_tflite(tensor));
  REQUIRE(newer_field(write_edited(*document, clamp_relu(*document))) == 77);

  const auto refused = [](const Document& d, const Model& edited) {
    MemorySink sink;
    const auto done = d.write(edited, sink);
    REQUIRE_FALSE(done);
    REQUIRE(done.error().kind == Error::Kind::unsupported);
    REQUIRE(done.error().message.find("newer than this program's schema") != std::string::npos);
    REQUIRE(sink.bytes.empty());
  };
  Model retyped = document->model();
  retyped.graphs[0].values[3].dtype = DType::f16;
  refused(*document, retyped);
  Recipe model;
  model.newer_model_field = true;
  const auto other = open_bytes(make_tflite(model));
  refused(*other, clamp_relu(*other));
  Recipe options;
  options.newer_options_field = true;
  const auto third = open_bytes(make_tflite(options));
  Model changed = third->model();
  changed.graphs[0].nodes[0].attrs.set("fused_activation_function", EnumValue{1, "RELU"});
  refused(*third, changed);
}

TEST_CASE("a changed interface and its signatures are written", "[tflite]") {
  Recipe recipe;
  recipe.two_signatures = true;
  const auto document = open_bytes(make_tflite(recipe));
  PatchBuilder b(document->model().graphs[0], 0, "second output");
  b.patch().graph_outputs = std::vector<ValueId>{3, 2};
  Model edited = apply(*document, b);
  edited.signatures[0].outputs = {{"output", 3}, {"sum", 2}};
  const auto again = open_bytes(write_edited(*document, edited));
  REQUIRE(again->model().graphs[0].outputs == std::vector<ValueId>{3, 2});
  REQUIRE(again->model().signatures[0].outputs.size() == 2);
  REQUIRE(again->model().signatures[1].key == "other");
}

TEST_CASE("custom operators and composites are written", "[tflite]") {
  Recipe recipe;
  recipe.composite = true;
  const auto document = open_bytes(make_tflite(recipe));
  PatchBuilder b(document->model().graphs[0], 0, "custom");
  const ValueId t = b.add_value("t", DType::f32, {1, 4});
  Node node;
  node.op = "CUSTOM", node.custom = "MyOp", node.inputs = {3}, node.outputs = {t}, node.version = 2;
  node.attrs.set("custom_options", Blob{{1, 2, 3}});
  b.add_node(node);
  NodeChange rename;
  rename.node = 1;
  rename.set_attrs.set("version", std::int64_t{7});
  b.change(rename);
  const auto again = open_bytes(write_edited(*document, apply(*document, b)));
  const Graph& graph = again->model().graphs[0];
  REQUIRE(graph.nodes[2].custom == "MyOp");
  REQUIRE(graph.nodes[2].version == 2);
  REQUIRE(std::get<Blob>(*graph.nodes[2].attrs.find("custom_options")).bytes.size() == 3);
  REQUIRE(graph.nodes[1].custom == "test.relu");
  REQUIRE(graph.nodes[1].attrs.integer("version") == 7);
  REQUIRE(graph.nodes[1].subgraphs == std::vector<std::int32_t>{1});
}

TEST_CASE("a sparse constant becomes dense", "[tflite]") {
  Recipe recipe;
  recipe.sparse = true;
  const auto document = open_bytes(make_tflite(recipe));
  Model edited = document->model();
  Value& c = edited.graphs[0].values[1];
  c.sparsity = nullptr;
  c.constant = Constant::own(encode(DType::f32, {4}, std::vector<double>{0, 0, 1, 0}));
  const auto again = open_bytes(write_edited(*document, edited));
  REQUIRE(decode(again->model().graphs[0].value(1)) == std::vector<double>{0, 0, 1, 0});
}

TEST_CASE("a file that holds a compiled NPU program is not moved", "[tflite]") {
  Recipe recipe;
  recipe.large_custom_options = true;
  std::string bytes = make_tflite(recipe);
  // "Big" becomes the dispatch operator: the writer only asks for its name.
  auto parts = tfl::read_tflite(MappedFile::from_bytes("made.tflite", bytes));
  REQUIRE(parts);
  REQUIRE(tfl::write_capability(*parts).can_write);
  parts->has_dispatch_operator = true;
  REQUIRE_FALSE(tfl::write_capability(*parts).can_write);
  MemorySink sink;
  REQUIRE_FALSE(tfl::rewrite(*parts, parts->model, {.everything = true}, sink));
}

TEST_CASE("the declared changes are those that were made", "[changes]") {
  const auto document = open_bytes(make_tflite({}));
  const Model& model = document->model();
  REQUIRE(list_changes(model, model).empty());
  const Changes changes = list_changes(model, clamp_relu(*document));
  REQUIRE(changes.graphs.size() == 1);
  REQUIRE(changes.graphs[0].removed == std::vector<NodeId>{1});
  REQUIRE(changes.graphs[0].added.size() == 2);
  REQUIRE(changes.graphs[0].added_values.size() == 2);
  REQUIRE(changes.graphs[0].changed.empty());
  REQUIRE_FALSE(changes.signatures);

  // Every single difference is seen after a write.
  const auto differs = [&](auto&& change) {
    Model other = model;
    change(other);
    return same_structure(model, other, true).has_value();
  };
  REQUIRE_FALSE(differs([](Model&) {}));
  REQUIRE(differs([](Model& m) { m.graphs[0].nodes[0].op = "SUB"; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].nodes[0].version = 2; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].nodes[0].inputs[1] = 0; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].nodes[0].attrs.set("pot_scale_int16", true); }));
  REQUIRE(differs([](Model& m) { m.graphs[0].order.pop_back(); }));
  REQUIRE(differs([](Model& m) { m.graphs[0].outputs = {2}; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].values[0].name = "q"; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].values[0].shape = {4, 1}; }));
  REQUIRE(differs([](Model& m) { m.graphs[0].values[2].quantization = Quantization{{1}, {0}, 0, {}, {}}; }));
  REQUIRE(differs(
      [](Model& m) { m.graphs[0].values[1].constant = Constant::own(std::vector<std::uint8_t>(16, 1)); }));
  REQUIRE(differs([](Model& m) { m.graphs[0].values[1].constant.reset(); }));
  REQUIRE(differs([](Model& m) { m.signatures.push_back({}); }));
}

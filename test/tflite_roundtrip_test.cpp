// A write without edits gives the same bytes; a file whose tables were all built anew is the same model.
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lib/edit/changes.h"
#include "lib/op/text.h"
#include "test/catch.h"
#include "test/paths.h"
#include "test/tflite_models.h"

using namespace md;
using namespace md::test;

namespace {

std::vector<std::pair<std::string, std::string>> every_file() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, recipe] : all_recipes()) files.emplace_back(name, make_tflite(recipe));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture(""))) {
    if (entry.path().extension() != ".tflite") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(entry.path().string(),
                       std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()));
  }
  return files;
}

std::string print_all(const Model& model) { return print(model, {.largest_constant = 64}); }

/// Position of a constant in its file.
std::ptrdiff_t position(const Document& document, const Value& value) {
  return value.constant->bytes.data() - document.file().bytes().data();
}

}  // namespace

TEST_CASE("a .tflite written without edits is the input byte for byte", "[tflite]") {
  std::size_t files = 0;
  for (const auto& [name, bytes] : every_file()) {
    INFO(name);
    const auto document = open_bytes(bytes);
    const Model copy = document->model();
    MemorySink sink;
    REQUIRE(document->write(copy, sink));
    REQUIRE(sink.bytes == bytes);
    ++files;
  }
  REQUIRE(files >= all_recipes().size() + 8);
}

TEST_CASE("a .tflite whose graph tables are all built anew is the same model", "[tflite]") {
  for (const auto& [name, bytes] : every_file()) {
    INFO(name);
    if (name.find("newer") != std::string::npos) continue;  // refused, see below
    const auto before = open_bytes(bytes);
    const std::string built = build_anew(bytes);
    const auto after = open_bytes(built);
    REQUIRE(print_all(before->model()) == print_all(after->model()));
    const auto difference = same_structure(before->model(), after->model(), true);
    INFO(difference.value_or(""));
    REQUIRE_FALSE(difference);
    REQUIRE(list_changes(before->model(), after->model()).empty());
    REQUIRE(before->model().metadata == after->model().metadata);
    REQUIRE(before->model().producer == after->model().producer);
    for (std::size_t g = 0; g < before->model().graphs.size(); ++g)
      for (std::size_t v = 0; v < before->model().graphs[g].values.size(); ++v) {
        const Value &a = before->model().graphs[g].values[v], &b = after->model().graphs[g].values[v];
        REQUIRE(a.default_shape == b.default_shape);
        if (!a.constant || a.constant->bytes.empty()) continue;
        const auto moved = position(*after, b) - position(*before, a);
        REQUIRE(moved > 0);
        REQUIRE(moved % 64 == 0);
      }
    // The old file follows whole, but for the positions in it that had to move.
    std::size_t differing = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      differing += bytes[i] != built[built.size() - bytes.size() + i];
    REQUIRE(differing <= 24);
  }
}

TEST_CASE("what the runtime ignores or marks is read as the runtime reads it", "[tflite]") {
  const auto with = [](bool Recipe::*flag) {
    Recipe recipe;
    recipe.*flag = true;
    return open_bytes(make_tflite(recipe));
  };
  const auto value = [](const Document& d, const char* name) {
    for (const Value& v : d.model().graphs[0].values)
      if (v.name == name) return v;
    FAIL(name);
    return Value();
  };
  SECTION("tensors on buffer 0 are no constants, whatever it holds") {
    const auto d = with(&Recipe::full_buffer_zero);
    REQUIRE_FALSE(value(*d, "y").is_constant());
    REQUIRE(value(*d, "c").is_constant());
  }
  SECTION("bytes out of line") {
    const auto d = with(&Recipe::out_of_line);
    float first = 0;
    REQUIRE(value(*d, "c").constant->bytes.size() == 16);
    std::memcpy(&first, value(*d, "c").constant->bytes.data(), 4);
    REQUIRE(first == 1.0f);
  }
  SECTION("a constant without elements") {
    REQUIRE(value(*with(&Recipe::zero_elements), "none").is_constant());
  }
  SECTION("a state") {
    REQUIRE(value(*with(&Recipe::variable), "state").is_variable);
    REQUIRE_FALSE(value(*with(&Recipe::variable), "state").is_constant());
  }
  SECTION("sparsity") {
    const auto d = with(&Recipe::sparse);
    const Value v = value(*d, "c");
    REQUIRE(v.sparsity->dimensions.size() == 1);
    REQUIRE(v.sparsity->dimensions[0].indices == std::vector<std::int32_t>{2});
  }
  SECTION("free dimensions and the sizes until they are known") {
    const auto d = with(&Recipe::dynamic_batch);
    REQUIRE(value(*d, "x").shape == Shape{-1, 4});
    REQUIRE(value(*d, "x").default_shape == Shape{1, 4});
    REQUIRE(value(*d, "c").default_shape.empty());
  }
  SECTION("a composite calls its decomposition") {
    const auto d = with(&Recipe::composite);
    const Node& node = d->model().graphs[0].nodes[1];
    REQUIRE(node.op == "STABLEHLO_COMPOSITE");
    REQUIRE(node.custom == "test.relu");
    REQUIRE(node.subgraphs == std::vector<std::int32_t>{1});
  }
  SECTION("options have every field, with its default") {
    const auto d = open_bytes(make_tflite({}));
    const Attributes& attrs = d->model().graphs[0].nodes[0].attrs;
    REQUIRE(attrs.text("fused_activation_function") == "NONE");
    REQUIRE(attrs.find("pot_scale_int16"));
    REQUIRE_FALSE(attrs.flag("pot_scale_int16", true));
  }
  SECTION("signatures and metadata") {
    const auto d = with(&Recipe::two_signatures);
    REQUIRE(d->model().signatures.size() == 2);
    REQUIRE(d->model().signatures[1].outputs[0].first == "{\"json\": [1]}");
    REQUIRE(with(&Recipe::metadata)->model().metadata ==
            std::vector<std::pair<std::string, std::string>>{{"min_runtime_version", "1.14.0"}});
  }
  SECTION("the byte alone names the operator in old files") {
    REQUIRE(with(&Recipe::legacy_codes)->model().graphs[0].nodes[1].op == "RELU");
  }
}

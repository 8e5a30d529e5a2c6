// What the engine asks a format and the rows of its operators: every kernel has a row, rows say what lists
// said.
#include "lib/op/dialect.h"

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/edit/dead.h"
#include "lib/eval/fold.h"
#include "lib/eval/kernel.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"

using namespace md;

namespace {

/// A graph of one node that nobody has checked.
struct Lone {
  Graph graph;
  Node node;
  Lone(const Dialect& dialect, std::string_view op) {
    graph.dialect = &dialect;
    node.op = op;
    node.outputs = {0};
  }
  const OpSpec* row() const { return row_of(graph, node); }
};

Model parse(const std::string& text, const Dialect& dialect) {
  auto model = parse_model("test", 1, text, dialect);
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

}  // namespace

TEST_CASE("formats are found by name, extension and first bytes", "[dialect]") {
  REQUIRE(dialects().size() >= 3);
  for (const Dialect* known : dialects()) {
    INFO(known->name);
    CHECK(find_dialect(known->name) == known);
    CHECK(is_model_extension(known->extension));
    CHECK(known->recognizes);
    CHECK(known->open);
    CHECK_FALSE(known->recognizes(Bytes()));
  }
  CHECK_FALSE(find_dialect("no such format"));
  CHECK_FALSE(is_model_extension(".txt"));
  const std::string bytes("\x1c\0\0\0TFL3....", 12);
  const Bytes view(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  for (const Dialect* known : dialects()) CHECK(known->recognizes(view) == (known->name == "tflite"));
}

TEST_CASE("every kernel's operator has a row, and a kernel that only moves has a row that says so",
          "[dialect]") {
  // STABLEHLO's bit operators stand on rows that no file names; a call of a local function has no row.
  const std::set<std::string> inner = {"BITWISE_AND", "BITWISE_OR", "BITWISE_SHIFT_LEFT", "(function)"};
  for (const Dialect* known : dialects()) {
    for (const KernelGroup group : known->kernels)
      for (const KernelEntry& entry : group()) {
        if (inner.contains(std::string(entry.op))) continue;
        INFO(known->name << " " << entry.op);
        Lone lone(*known, entry.op);
        // Of a version that the entry is for: the newest that has the operator, or its first.
        lone.node.version = std::max(1, entry.since);
        if (const int newest = usual_version(*known, entry.op);
            newest >= entry.since && newest < entry.before)
          lone.node.version = newest;
        lone.node.custom = entry.domain;
        REQUIRE(lone.row());
        CHECK(find_kernel(lone.graph, lone.node) == &entry);
        if (entry.moved_operands != 0) CHECK_FALSE(lone.row()->primitive == Primitive::contract);
        if (entry.moved_operands != 0) CHECK_FALSE(lone.row()->primitive == Primitive::reduce);
      }
  }
}

TEST_CASE("no kernel is found for another operator set's operator of the same name", "[dialect]") {
  Lone lone(dialect("pt2"), "aten.relu.default");
  CHECK(find_kernel(lone.graph, lone.node));
  lone.node.custom = "com.example";
  CHECK_FALSE(find_kernel(lone.graph, lone.node));
  Lone relu(dialect("tflite"), "RELU");
  CHECK(find_kernel(relu.graph, relu.node));
  relu.graph.dialect = &dialect("pt2");
  CHECK_FALSE(find_kernel(relu.graph, relu.node));
}

TEST_CASE("rows say what is elementwise, what has state and what stays", "[dialect]") {
  const Dialect &tflite = dialect("tflite"), &torch = dialect("pt2");
  for (const char* op : {"RELU", "ADD", "EQUAL", "SELECT_V2", "CAST", "STABLEHLO_ADD", "RIGHT_SHIFT"})
    CHECK(Lone(tflite, op).row()->is_elementwise());
  for (const char* op : {"aten.relu.default", "aten.add.Tensor", "aten.where.self", "aten.to.dtype"})
    CHECK(Lone(torch, op).row()->is_elementwise());
  for (const char* op : {"SOFTMAX", "TRANSPOSE", "CONV_2D"})
    CHECK_FALSE(Lone(tflite, op).row()->is_elementwise());
  for (const char* op : {"aten.sum.dim_IntList", "aten.permute.default", "aten.mm.default"})
    CHECK_FALSE(Lone(torch, op).row()->is_elementwise());
  for (const char* op : {"READ_VARIABLE", "VAR_HANDLE", "ASSIGN_VARIABLE", "CALL_ONCE", "RANDOM_UNIFORM",
                         "MULTINOMIAL", "HASHTABLE_FIND", "CUSTOM", "SVDF"})
    CHECK(has_state(Lone(tflite, op).graph, Lone(tflite, op).node));
  CHECK(has_state(Lone(torch, "aten.rand.default").graph, Lone(torch, "aten.rand.default").node));
  const auto stays = [](const Lone& lone) { return has_effects(lone.graph, lone.node); };
  CHECK(stays(Lone(tflite, "ASSIGN_VARIABLE")));
  CHECK(stays(Lone(tflite, "VAR_HANDLE")));
  CHECK_FALSE(stays(Lone(tflite, "READ_VARIABLE")));
  CHECK_FALSE(stays(Lone(tflite, "RANDOM_UNIFORM")));
  CHECK(stays(Lone(torch, "aten.add_.Tensor")));
  CHECK(stays(Lone(torch, "aten.xlogy_.Tensor")));  // no row of its own
  CHECK_FALSE(stays(Lone(torch, "aten.add.Tensor")));
  CHECK_FALSE(stays(Lone(torch, "aten.xlogy.Tensor")));
}

TEST_CASE("a table read at run time is not folded, nor is a random tensor of torch", "[dialect]") {
  const Model model = parse(
      "const %shape : i32[1] = [4]\n"
      "%y = RANDOM_UNIFORM(%shape) : f32[4]\noutput %y\n",
      dialect("tflite"));
  CHECK_FALSE(depends_on_constants_only(model.graphs[0], model.graphs[0].outputs[0]));
  const Model torch = parse("%y = aten.rand.default() { size = [4] } : f32[4]\noutput %y\n", dialect("pt2"));
  CHECK_FALSE(depends_on_constants_only(torch.graphs[0], torch.graphs[0].outputs[0]));
}

TEST_CASE("a unary site of an exported program is tried on every value of a small type", "[dialect]") {
  const Model before = parse(
      "input %x : f16[2, 3]\n%y = aten.relu.default(self = %x) : f16[2, 3]\noutput %y\n", dialect("pt2"));
  PatchBuilder builder(before.graphs[0], 0, "test");
  builder.remove(0);
  Node clamp;
  clamp.op = "aten.clamp.default";
  clamp.inputs = {before.graphs[0].inputs[0]};
  clamp.input_names = {"self"};
  clamp.outputs = {before.graphs[0].outputs[0]};
  clamp.attrs.set("min", 0.0);
  builder.add_node(std::move(clamp));
  const std::vector<Patch> patches = {builder.take()};
  const auto after = apply_patches(before, patches);
  REQUIRE(after);
  const Proof proof = prove(before, *after, 0, {});
  INFO(proof.note);
  CHECK(proof.method == ProofMethod::exhaustive);
  CHECK(proof.equal);
}

TEST_CASE("the engine compares no format by name", "[dialect]") {
  namespace fs = std::filesystem;
  std::size_t files = 0;
  for (const char* folder : {"base", "graph", "op", "edit", "eval", "proof", "fp16", "rule", "diagnose",
                             "report", "verify", "../rules", "../app"})
    for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/lib/" + folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++files;
      const std::string text = test::read_text(entry.path().string());
      INFO(entry.path().string());
      for (const Dialect* known : dialects()) {
        const std::string quoted = "\"" + std::string(known->name) + "\"";
        for (const std::string& use :
             {"== " + quoted, "!= " + quoted, "dialect(" + quoted, "dialect_" + quoted})
          CHECK(text.find(use) == std::string::npos);
      }
    }
  CHECK(files > 200);
}

TEST_CASE("the engine lists no operators by name", "[dialect]") {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  for (const Dialect* known : dialects())
    for (const std::string& op : op_names(*known)) names.insert('"' + op + '"');
  REQUIRE(names.size() > 150);
  std::size_t files = 0;
  for (const char* folder : {"base", "graph", "op", "edit", "eval", "proof", "fp16", "target", "rule",
                             "report", "verify", "config", "baseline"})
    for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/lib/" + folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++files;
      std::istringstream text(test::read_text(entry.path().string()));
      for (std::string line; std::getline(text, line);) {
        line = line.substr(0, line.find("//"));
        for (std::size_t at = line.find('"'); at != std::string::npos;) {
          const std::size_t end = line.find('"', at + 1);
          if (end == std::string::npos) break;
          const std::string word = line.substr(at, end - at + 1);
          INFO(entry.path().string() << ": " << line);
          CHECK_FALSE((names.count(word) != 0 || word.starts_with("\"aten.")));
          at = line.find('"', end + 1);
        }
      }
    }
  CHECK(files > 150);
}

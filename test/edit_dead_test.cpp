#include "lib/edit/dead.h"

#include <algorithm>

#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "test/catch.h"

using namespace md;

namespace {
Model model_of(std::string_view text) {
  auto model = parse_model("m.txt", 1, text, dialect("tflite"));
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}
}  // namespace

TEST_CASE("what only removed nodes read goes too, and nothing else", "[edit]") {
  const Model model = model_of(
      "input %x : f32[4]\n%a = RELU(%x)\n%b = NEG(%a)\n%c = EXP(%a)\n%d = ADD(%b, %c)\n%e = ABS(%d)\noutput "
      "%e\n");
  const Graph& g = model.graphs[0];
  Patch patch;
  patch.removed = {3};  // ADD
  remove_dead(g, patch);
  std::sort(patch.removed.begin(), patch.removed.end());
  CHECK(patch.removed == std::vector<NodeId>{0, 1, 2, 3});

  Patch kept;  // a new node reads %b
  kept.removed = {3};
  Node reader;
  reader.op = "ABS", reader.inputs = {2}, reader.outputs = {4};
  kept.new_nodes.push_back(reader);
  remove_dead(g, kept);
  std::sort(kept.removed.begin(), kept.removed.end());
  CHECK(kept.removed == std::vector<NodeId>{2, 3});

  Patch rewired;  // ABS reads %x instead of %d
  rewired.rewires.push_back({4, 0, 0});
  remove_dead(g, rewired);
  std::sort(rewired.removed.begin(), rewired.removed.end());
  CHECK(rewired.removed == std::vector<NodeId>{0, 1, 2, 3});
}

TEST_CASE("states and calls stay", "[edit]") {
  const Model model = model_of(
      "input %x : f32[4]\n%v = VAR_HANDLE() { shared_name = \"s\" } : resource[]\n%a = READ_VARIABLE(%v) : "
      "f32[4]\n%y = ADD(%a, %x)\n= ASSIGN_VARIABLE(%v, %y)\noutput %y\n");
  Patch patch;
  patch.removed = {2};
  remove_dead(model.graphs[0], patch);
  CHECK(patch.removed == std::vector<NodeId>{2, 1});
}

// LRT006 and LRT012 on chains that converters write, in other sizes than the rule pages': what comes out has
// no tensor of rank 5, and computes the same.
#include "test/detector_check.h"

namespace md {
const auto LRT006 = [](const DetectContext& context) { return detector_check::by_rule("LRT006", context); };
const auto LRT012 = [](const DetectContext& context) { return detector_check::by_rule("LRT012", context); };
}  // namespace md

using namespace detector_check;

namespace {

void check_same(std::string_view text, Detector detect) {
  const Model before = parse(text);
  const Model after = mended(before, detect);
  const Graph& graph = after.graphs[0];
  for (const NodeId id : graph.order) {
    CHECK(graph.node(id).op != "BROADCAST_TO");
    for (const ValueId v : graph.node(id).inputs)
      if (v >= 0) CHECK(graph.value(v).rank() <= 4);
    for (const ValueId v : graph.node(id).outputs) CHECK(graph.value(v).rank() <= 4);
  }
  const auto inputs = inputs_of(before.graphs[0]);
  CHECK(outputs_of(before, inputs) == outputs_of(after, inputs));
}

}  // namespace

TEST_CASE("chains of moves come down to rank 4", "[rank]") {
  SECTION("window partition and reverse with a batch, NCHW windows") {
    check_same(R"(input %x : f32[2, 9, 6, 5]
%r = RESHAPE(%x, [2, 3, 3, 2, 3, 5])
%t = TRANSPOSE(%r, [0, 1, 3, 2, 4, 5])
%w = RESHAPE(%t, [12, 9, 5])
%a = RELU(%w)
output %a)",
               LRT006);
    check_same(R"(input %x : f32[12, 9, 5]
%r = RESHAPE(%x, [2, 3, 2, 3, 3, 5])
%t = TRANSPOSE(%r, [0, 1, 3, 2, 4, 5])
%y = RESHAPE(%t, [2, 9, 6, 5])
output %y)",
               LRT006);
    check_same(R"(input %x : i8[2, 5, 9, 6] q(0.5, 3)
%r = RESHAPE(%x, [2, 5, 3, 3, 2, 3]) : i8[2, 5, 3, 3, 2, 3] q(0.5, 3)
%t = TRANSPOSE(%r, [0, 2, 4, 3, 5, 1]) : i8[2, 3, 2, 3, 3, 5] q(0.5, 3)
%y = RESHAPE(%t, [12, 9, 5]) : i8[12, 9, 5] q(0.5, 3)
output %y)",
               LRT006);
  }
  SECTION("packed query, key and value with a batch") {
    check_same(R"(input %x : f32[2, 7, 36]
%r = RESHAPE(%x, [2, 7, 3, 4, 3])
%t = TRANSPOSE(%r, [2, 0, 3, 1, 4])
%q = SLICE(%t, [0, 0, 0, 0, 0], [1, 2, 4, 7, 3])
%k = SLICE(%t, [1, 0, 0, 0, 0], [1, 2, 4, 7, 3])
%v = SLICE(%t, [2, 0, 0, 0, 0], [1, 2, 4, 7, 3])
%q4 = RESHAPE(%q, [2, 4, 7, 3])
%k4 = RESHAPE(%k, [2, 4, 7, 3])
%v4 = RESHAPE(%v, [2, 4, 7, 3])
%a = ADD(%q4, %k4)
%y = MUL(%a, %v4)
output %y)",
               LRT006);
  }
  SECTION("unbind and split along a middle axis") {
    check_same(R"(input %x : f32[1, 7, 24]
%r = RESHAPE(%x, [1, 7, 3, 4, 2])
%a, %b, %c = UNPACK(%r) { num = 3, axis = 2 } : f32[1, 7, 4, 2], f32[1, 7, 4, 2], f32[1, 7, 4, 2]
%s = ADD(%a, %c)
%y = MUL(%s, %b)
output %y)",
               LRT006);
  }
  SECTION("every second of an odd axis") {
    check_same(R"(input %x : f32[1, 6, 35]
%r = RESHAPE(%x, [1, 2, 3, 7, 5])
%s = STRIDED_SLICE(%r, [0, 0, 0, 1, 0], [1, 2, 3, 7, 5], [1, 1, 2, 3, 1]) : f32[1, 2, 2, 2, 5]
%y = RESHAPE(%s, [1, 8, 5])
output %y)",
               LRT006);
  }
}

TEST_CASE("operators that compute come down to rank 4", "[rank]") {
  SECTION("broadcast, sum and softmax in the middle") {
    check_same(R"(input %x : f32[1, 4, 4, 6]
%r = RESHAPE(%x, [1, 2, 2, 4, 6])
%m = MUL(%r, [2.0])
%s = SUM(%r, [2]) { keep_dims = true } : f32[1, 2, 1, 4, 6]
%a = ADD(%m, %s)
%p = SOFTMAX(%a)
%y = RESHAPE(%p, [1, 4, 4, 6])
output %y)",
               LRT006);
  }
  SECTION("more kinds of axes than fit: an operand is spread out") {
    check_same(R"(input %x : f32[2, 3, 60]
input %z : f32[2, 3, 2]
%r = RESHAPE(%x, [2, 3, 2, 5, 2, 3])
%m = RESHAPE(%z, [2, 1, 3, 1, 2, 1]) : f32[2, 1, 3, 1, 2, 1]
%n = RESHAPE(%r, [2, 2, 3, 5, 2, 3])
%a = ADD(%n, %m)
%y = RESHAPE(%a, [2, 180])
output %y)",
               LRT006);
  }
  SECTION("a constant mask of rank 5") {
    check_same(R"(input %x : f32[4, 2, 3, 3]
const %mask : f32[1, 4, 1, 3, 3] = random(3)
%r = RESHAPE(%x, [1, 4, 2, 3, 3])
%a = ADD(%r, %mask)
%y = RESHAPE(%a, [4, 2, 3, 3])
output %y)",
               LRT006);
  }
  SECTION("stack and flatten, sums over axes apart, maximum") {
    check_same(R"(input %x : f32[1, 4, 6, 4]
%n = NEG(%x)
%a = RESHAPE(%n, [1, 4, 6, 4, 1])
%b = RESHAPE(%x, [1, 4, 6, 4, 1])
%c = CONCATENATION(%a, %b) { axis = 4 } : f32[1, 4, 6, 4, 2]
%y = RESHAPE(%c, [1, 4, 6, 8])
output %y)",
               LRT006);
    check_same(R"(input %x : f32[1, 6, 20]
%r = RESHAPE(%x, [2, 3, 2, 5, 2])
%s = REDUCE_MAX(%r, [1, 3]) : f32[2, 2, 2]
output %s)",
               LRT006);
    check_same(R"(input %x : f32[1, 4, 6, 5]
%p = PACK(%x, %x) { axis = 2, values_count = 2 } : f32[1, 4, 2, 6, 5]
%y = RESHAPE(%p, [1, 8, 6, 5])
output %y)",
               LRT006);
  }
  SECTION("gather, padding, matrix product") {
    check_same(R"(input %x : f32[1, 6, 20]
%r = RESHAPE(%x, [1, 2, 3, 4, 5])
%g = GATHER(%r, [3, 0, 1]) { axis = 3 } : f32[1, 2, 3, 3, 5]
const %w : i32[5, 2] = [0, 0, 0, 0, 1, 0, 0, 2, 0, 0]
%p = PAD(%g, %w) : f32[1, 2, 4, 5, 5]
const %m : f32[5, 3] = random(4)
%b = BATCH_MATMUL(%p, %m) : f32[1, 2, 4, 5, 3]
%y = RESHAPE(%b, [1, 8, 15])
output %y)",
               LRT006);
  }
}

TEST_CASE("repeats of runtime values", "[rank]") {
  check_same(R"(input %x : f32[2, 3, 5, 8]
%k = RELU(%x)
%r = RESHAPE(%k, [2, 3, 1, 5, 8])
%b = BROADCAST_TO(%r, [2, 3, 4, 5, 8])
%y = RESHAPE(%b, [2, 12, 5, 8])
output %y)",
             LRT012);
  check_same(R"(input %x : f32[1, 2, 3, 5]
%r = RESHAPE(%x, [1, 1, 1, 2, 1, 3, 1, 5])
%b = BROADCAST_TO(%r, [2, 1, 3, 2, 1, 3, 2, 5])
%y = RESHAPE(%b, [2, 6, 3, 10])
output %y)",
             LRT012);
  check_same(R"(input %x : f32[1, 2, 1, 1]
%b = BROADCAST_TO(%x, [1, 2, 4, 1])
%y = RESHAPE(%b, [1, 8, 1, 1])
output %y)",
             LRT012);
  check_same(R"(input %x : f32[1, 1, 4, 3]
%g = GREATER(%x, [0.0])
%b = BROADCAST_TO(%g, [2, 3, 4, 3])
output %b)",
             LRT012);
  check_same(R"(input %x : f32[1, 1, 4, 3]
input %z : f32[1, 5, 4, 3]
%b = BROADCAST_TO(%x, [1, 5, 4, 3])
%y = MUL(%z, %b)
output %y)",
             LRT012);
}

TEST_CASE("an output of rank 5 pins the interface", "[rank]") {
  const Model model = parse(R"(input %x : f32[1, 18, 8, 8]
%r = RESHAPE(%x, [1, 3, 6, 8, 8])
%y = TRANSPOSE(%r, [0, 1, 3, 4, 2])
output %y)");
  const auto found = LRT006({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].fixes.size() == 1);
  CHECK(found[0].fixes[0].unsafe);
  const Model after = mended(model, LRT006);
  CHECK(after.graphs[0].value(after.graphs[0].outputs[0]).shape == Shape{1, 24, 8, 6});
  const auto inputs = inputs_of(model.graphs[0]);
  CHECK(outputs_of(model, inputs) == outputs_of(after, inputs));
}

TEST_CASE("an operator without a form at rank 4 is named", "[rank]") {
  const Model model = parse(R"(input %x : f32[1, 4, 6, 5]
%r = RESHAPE(%x, [1, 4, 6, 5, 1])
%y = CUSTOM "Strange"(%r) : f32[1, 4]
output %y)");
  const auto found = LRT006({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  CHECK(found[0].state == DetectResult::State::declined);
  CHECK(found[0].reason.find("CUSTOM") != std::string::npos);
}

// What the accelerator merges into a SPLIT, pair by pair as the real runtime (2.3.0) computed it.
#include <fmt/format.h>

#include "lib/runtime/litert/split_merge.h"
#include "test/detector_check.h"

using namespace detector_check;

namespace {

/// "linked", "joined", "refused" or "" for the SPLIT, SPLIT_V or UNPACK in a graph.
std::string merge(const std::string& text) {
  const Model model = parse(text);
  const Graph& graph = model.graphs[0];
  for (const NodeId id : graph.order)
    if (is_split(graph.node(id))) {
      const auto found = split_merge(graph, id);
      if (!found) return "";
      return found->kind == SplitMerge::Kind::linked   ? "linked"
             : found->kind == SplitMerge::Kind::joined ? "joined"
                                                       : "refused";
    }
  return "no split";
}

constexpr const char* shape = "f32[1, 4, 4, 3]";

/// Three parts %a, %b, %c, an input %x made before and %late made behind them; `lines` are statements whose
/// types are left out where they are `shape`.
std::string three(const std::string& lines) {
  return merge(fmt::format(
      "input %whole : f32[1, 4, 4, 9]\ninput %x : {0}\nconst %axis : i32[] = [3]\nconst %one : f32[] = "
      "[1.5]\nconst %to : i32[4] = [1, 4, 4, 3]\n%a, %b, %c = SPLIT(%axis, %whole) {{ num_splits = 3 }} : "
      "{0}, "
      "{0}, {0}\n{1}",
      shape, lines));
}

}  // namespace

TEST_CASE("elementwise readers of two parts of a SPLIT", "[silent]") {
  const std::pair<const char*, const char*> rows[] = {
      {"%y = SUB(%a, %b)\noutput %y", "linked"},
      {"%y = SUB(%b, %a)\noutput %y", ""},
      {"%y = SUB(%b, %c)\noutput %y", ""},
      {"%y = MUL(%a, %b)\noutput %y", ""},
      {"%y = MUL(%b, %a)\noutput %y", "linked"},
      {"%y = MUL(%c, %b)\noutput %y", ""},
      {"%y = SQUARED_DIFFERENCE(%a, %c)\noutput %y", "linked"},
      {"%y = MAXIMUM(%b, %a)\noutput %y", ""},
      {"%y = ADD(%b, %c)\noutput %y", "joined"},
      {"%y = ADD(%b, %c)\noutput %y\noutput %a", "joined"},
      {"%y = ADD(%b, %c)\n%z = ABS(%b)\noutput %y\noutput %z", ""},
      {"%y = ADD(%a, %b)\n%z = NEG(%c)\noutput %y\noutput %z", ""},
      {"%y = ADD(%b, %a)\n%z = NEG(%c)\noutput %y\noutput %z", "linked"},
      {"%n = NEG(%a)\n%y = MUL(%b, %n)\noutput %y", "linked"},
      {"%n = NEG(%a)\n%y = SUB(%b, %n)\noutput %y", ""},
      {"%n = NEG(%b)\n%y = MUL(%a, %n)\noutput %y", ""},
      {"%n = NEG(%a)\n%m = NEG(%b)\n%y = MUL(%n, %m)\noutput %y", ""},
      {"%n = NEG(%a)\n%y = MUL(%n, %b)\noutput %y\noutput %n", ""},
      {"%n = NEG(%a)\n%y = MUL(%n, %b)\noutput %y\noutput %a", ""},
      {"%n = NEG(%a)\n%y = MUL(%n, %b)\noutput %y\noutput %b", "linked"},
      {"%n = LOGISTIC(%a)\n%m = MUL(%a, %n)\n%y = MUL(%m, %b)\noutput %y", ""},
      {"%n = SUB(%one, %a)\n%y = MUL(%n, %b)\noutput %y", "linked"},
      {"%n = SUB(%x, %a)\n%y = MUL(%n, %b)\noutput %y", ""},
      {"%n = MUL(%x, %a)\n%y = ADD(%n, %b)\noutput %y", "linked"},
      {"%t = TANH(%x)\n%n = MUL(%t, %a)\n%y = ADD(%n, %b)\noutput %y", ""},
      {"%t = TANH(%x)\n%n = SUB(%a, %t)\n%y = MUL(%n, %b)\noutput %y", ""},
      {"%n = SOFTMAX(%a) { beta = 1.0 }\n%y = MUL(%n, %b)\noutput %y", ""},
      {"%r = RESHAPE(%a, %to)\n%y = SUB(%r, %b)\noutput %y", "linked"},
      {"%r = RESHAPE(%b, %to)\n%n = NEG(%a)\n%y = MUL(%n, %r)\noutput %y", "linked"},
      {"%r = RESHAPE(%a, %to)\n%y = ADD(%r, %b)\noutput %y", ""},
  };
  for (const auto& [lines, expected] : rows) {
    INFO(lines);
    CHECK(three(lines) == expected);
  }
}

TEST_CASE("a broadcast part, and quantized ones, are not merged", "[silent]") {
  CHECK(merge("input %c : f32[1, 1, 1, 10]\ninput %x : f32[1, 4, 4, 5]\nconst %axis : i32[] = [3]\n%a, %b = "
              "SPLIT(%axis, %c) { "
              "num_splits = 2 } : f32[1, 1, 1, 5], f32[1, 1, 1, 5]\n%m = MUL(%x, %a)\n%y = ADD(%m, "
              "%b)\noutput %y") == "");
  CHECK(merge("input %x : i8[1, 4, 4, 8] q(0.02, 3)\nconst %axis : i32[] = [3]\n%a, %b = SPLIT(%axis, %x) { "
              "num_splits = 2 } : "
              "i8[1, 4, 4, 4] q(0.02, 3), i8[1, 4, 4, 4] q(0.02, 3)\n%y = SUB(%a, %b) : i8[1, 4, 4, 4] "
              "q(0.04, 0)\noutput "
              "%y") == "");
}

TEST_CASE("parts of a SPLIT that are joined again", "[silent]") {
  const std::tuple<const char*, int, const char*> rows[] = {
      {"%a", 3, "joined"},
      {"%a", 1, "joined"},
      {"%c", 3, ""},
      {"%c", 1, ""},
      {"%b, %c", 3, ""},
      {"%b, %c", 1, "joined"},
      {"%c, %b", 3, "joined"},
      {"%a, %b", 3, "joined"},
      {"%a, %b, %c", 3, "refused"},
      {"%a, %b, %c", 1, "joined"},
      {"%b, %a, %c", 3, "refused"},
      {"%a, %b", 0, "refused"},
      {"%a, %a", 3, ""},
      {"%a, %x", 3, ""},
  };
  for (const auto& [parts, axis, expected] : rows) {
    INFO(parts << " along " << axis);
    CHECK(three(fmt::format("%y = CONCATENATION({}) {{ axis = {} }}\noutput %y", parts, axis)) == expected);
  }
  CHECK(three("%y = CONCATENATION(%a, %b) { axis = 1 }\n%z = NEG(%c)\noutput %y\noutput %z") == "");
}

TEST_CASE("UNPACK is a SPLIT where no layout changes", "[silent]") {
  const std::tuple<const char*, int, const char*, const char*> rows[] = {
      {"2, 1, 4", 0, "1, 4", "linked"},       {"2, 3, 4", 0, "3, 4", ""},
      {"3, 2, 4", 1, "3, 4", "linked"},       {"3, 4, 2", 2, "3, 4", ""},
      {"3, 2, 4, 5", 1, "3, 4, 5", "linked"}, {"3, 4, 2, 5", 2, "3, 4, 5", ""},
      {"1, 1, 2, 5", 2, "1, 1, 5", "linked"}, {"3, 4, 5, 2", 3, "3, 4, 5", ""},
  };
  for (const auto& [whole, axis, part, expected] : rows) {
    INFO(whole << " along " << axis);
    CHECK(merge(fmt::format(
              "input %x : f32[{0}]\n%a, %b = UNPACK(%x) {{ axis = {1}, num = 2 }} : f32[{2}], f32[{2}]\n%y = "
              "SUB(%a, %b) : f32[{2}]\noutput %y",
              whole, axis, part)) == expected);
  }
}

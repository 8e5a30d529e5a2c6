// What an exported program shows about integers: where it does, a fix that needs it is safe.
#include "lib/rewrite/aten/known_bounds.h"

#include "lib/edit/builder.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/rewrite/dropped_check.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"

using namespace md;

namespace {

Model program(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("pt2"));
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

/// "low..high" of %v, or "unknown".
std::string bounds(const std::string& statements) {
  const Model model = program(
      "input %i : i64[3]\ninput %s : i32[3]\ninput %f : f32[3]\ninput %b : bool[3]\ninput %e : bool[?]\n"
      "input %q : f32[2, 7]\nconst %c : i64[3] = [4, -1, 2]\n" +
      statements + "\noutput %v\n");
  const Graph& graph = model.graphs[0];
  const auto range = aten_range(graph, graph.outputs[0]);
  if (!range) return "unknown";
  const auto whole = [](double v) {
    return v >= 0x1.0p63 ? std::string("any") : std::to_string(static_cast<std::int64_t>(v));
  };
  return whole(range->low) + ".." + whole(range->high);
}

const Rule& rule(const char* id) {
  static const RuleBook book = *RuleBook::load();
  return *book.find(id);
}

std::vector<ProposedFix> fixes(const char* id, const std::string& text) {
  const Model model = program(text);
  std::vector<ProposedFix> all;
  for (const DetectResult& result :
       run_rule(rule(id), DetectContext{model, 0, model.graphs[0], nullptr, nullptr, nullptr, true}))
    all.insert(all.end(), result.fixes.begin(), result.fixes.end());
  return all;
}

}  // namespace

TEST_CASE("bounds of integers follow the program", "[bounds]") {
  CHECK(bounds("%v = aten.neg.default(self = %i) : i64[3]") == "unknown");
  CHECK(bounds("%v = aten.clamp.default(self = %i) { min = 0, max = 7 } : i64[3]") == "0..7");
  CHECK(bounds("%v = aten.clamp.default(self = %c) { min = 0 } : i64[3]") == "0..4");
  CHECK(bounds("%v = aten.remainder.Scalar(self = %i) { other = 8 } : i64[3]") == "0..7");
  CHECK(bounds("%v = aten.remainder.Scalar(self = %i) { other = -8 } : i64[3]") == "unknown");
  CHECK(bounds("%v = aten.argmax.default(self = %q) { dim = 1 } : i64[2]") == "0..6");
  CHECK(bounds("%v = aten.argmax.default(self = %q) : i64[]") == "0..13");
  CHECK(bounds("%v = aten.arange.default() { end = 10 } : i64[10]") == "0..9");
  CHECK(bounds("%v = aten.add.Tensor(self = %c) { other = 3 } : i64[3]") == "2..7");
  CHECK(bounds("%v = aten.mul.Tensor(self = %c) { other = -2 } : i64[3]") == "-8..2");
  CHECK(bounds("%a = aten.remainder.Scalar(self = %i) { other = 4 } : i64[3]\n"
               "%v = aten.cat.default(%a, %c) : i64[6]") == "-1..4");
  CHECK(bounds("%a = aten.ge.Scalar(self = %i) { other = 0 } : bool[3]\n"
               "%v = aten.where.self(condition = %a, self = %c, other = %c) : i64[3]") == "-1..4");
}

TEST_CASE("bounds stop where a number may wrap, be none, or be missing", "[bounds]") {
  // 2^31 - 1 + 1 is the lowest 32-bit integer.
  CHECK(bounds("%v = aten.add.Tensor(self = %s) { other = 1 } : i32[3]") == "-2147483648..2147483647");
  CHECK(bounds("%v = aten.mul.Tensor(self = %i) { other = 0 } : i64[3]") == "unknown");
  // A NaN is not at least 0 either.
  CHECK(bounds("%a = aten.sigmoid.default(self = %f) : f32[3]\n"
               "%v = aten.ge.Scalar(self = %a) { other = 0 } : bool[3]") == "0..1");
  CHECK(bounds("%a = aten.clamp.default(self = %f) { min = 1, max = 2 } : f32[3]\n"
               "%v = aten._to_copy.default(self = %a) { dtype = enum(5, \"i64\") } : i64[3]") == "unknown");
  // Any of nothing is false.
  CHECK(bounds("%a = aten.logical_not.default(self = %e) : bool[?]\n"
               "%o = aten.full.default() { fill_value = true, size = [0] } : bool[0]\n"
               "%v = aten.any.default(self = %o) : bool[]") == "0..1");
  CHECK(bounds("%o = aten.full.default() { fill_value = true, size = [2] } : bool[2]\n"
               "%v = aten.any.default(self = %o) : bool[]") == "1..1");
  // Its declared size says how many rows a check wants, not how many there are.
  CHECK(bounds("%r = aten.index.Tensor(%i, %b) : i64[3]\n"
               "%v = aten.sym_size.int(self = %r) { dim = 0 } : symint[]") == "0..any");
  CHECK(bounds("%r = aten.index.Tensor(%i, %b) : i64[3]\n"
               "%v = aten.argmax.default(self = %r) : i64[]") == "unknown");
  // A bound that is a tensor may be anything.
  CHECK(bounds("%v = aten.clamp.Tensor(self = %c, min = %i) : i64[3]") == "unknown");
}

TEST_CASE("a scatter whose indices are shown to be in range is safe, any other is not", "[bounds]") {
  for (const char* id : {"TRT009", "ETX001"}) {
    INFO(id);
    const auto with = [&](const std::string& index) {
      return fixes(id, "input %i : i64[5]\ninput %src : i64[5]\nconst %zeros : i64[8] = [0,0,0,0,0,0,0,0]\n" +
                           index +
                           "\n%y = aten.scatter_add.default(self = %zeros, index = %k, src = %src) { dim = 0 "
                           "} : i64[8]\noutput %y\n");
    };
    const auto anywhere = with("%k = aten.neg.default(self = %i) : i64[5]");
    REQUIRE(anywhere.size() == 1);
    CHECK(anywhere[0].unsafe);
    CHECK(anywhere[0].unsafe_reason == rule(id).assumes);
    for (const char* shown : {"%k = aten.clamp.default(self = %i) { min = 0, max = 7 } : i64[5]",
                              "%k = aten.remainder.Scalar(self = %i) { other = 8 } : i64[5]",
                              "const %k : i64[5] = [0, 7, 3, 3, 1]"}) {
      INFO(shown);
      const auto inside = with(shown);
      REQUIRE(inside.size() == 1);
      CHECK_FALSE(inside[0].unsafe);
    }
    for (const char* outside : {"%k = aten.clamp.default(self = %i) { min = 0, max = 8 } : i64[5]",
                                "%k = aten.clamp.default(self = %i) { min = -1, max = 7 } : i64[5]"}) {
      INFO(outside);
      const auto out = with(outside);
      REQUIRE(out.size() == 1);
      CHECK(out[0].unsafe);
    }
  }
}

TEST_CASE("a check that the program itself shows to hold may leave, any other may not unasked", "[bounds]") {
  const auto with = [&](const std::string& bounded, const std::string& limit) {
    return fixes("ETX015", "input %i : i64[4]\n" + bounded +
                               "\n%g = aten.lt.Scalar(self = %k) { other = " + limit +
                               " } : bool[4]\n%a = aten.all.default(self = %g) : bool[]\n"
                               "%t = aten.item.default(self = %a) : symbool[]\n"
                               "= aten._assert_scalar.default(self = %t) { assert_msg = \"x\" }\n"
                               "%y = aten.add.Tensor(self = %i) { other = 1 } : i64[4]\noutput %y\n");
  };
  const std::string clamped = "%k = aten.clamp.default(self = %i) { min = 0, max = 7 } : i64[4]";
  const auto holds = with(clamped, "8"), may_fail = with(clamped, "7"),
             unknown = with("%k = aten.neg.default(self = %i) : i64[4]", "8");
  REQUIRE((holds.size() == 1 && may_fail.size() == 1 && unknown.size() == 1));
  CHECK_FALSE(holds[0].unsafe);
  CHECK(may_fail[0].unsafe);
  CHECK(may_fail[0].unsafe_reason == rule("ETX015").drops_checks);
  CHECK(unknown[0].unsafe);
}

// LRT002, LRT003 and LRT004: resampling by constant weights, by a grid, and look-ups by runtime indices.
#include <cmath>

#include "lib/rewrite/linear_site.h"
#include "test/detector_check.h"

namespace md {
const auto LRT001 = [](const DetectContext& context) { return detector_check::by_rule("LRT001", context); };
const auto LRT002 = [](const DetectContext& context) { return detector_check::by_rule("LRT002", context); };
const auto LRT003 = [](const DetectContext& context) { return detector_check::by_rule("LRT003", context); };
const auto LRT004 = [](const DetectContext& context) { return detector_check::by_rule("LRT004", context); };
}  // namespace md

using namespace detector_check;

namespace {

double largest_difference(const std::vector<std::vector<double>>& a,
                          const std::vector<std::vector<double>>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    REQUIRE(a[t].size() == b[t].size());
    for (std::size_t i = 0; i < a[t].size(); ++i) worst = std::max(worst, std::abs(a[t][i] - b[t][i]));
  }
  return worst;
}

Model with_fix(const Model& model, const ProposedFix& fix) {
  auto after = apply_patches(model, std::span(&fix.patch, 1));
  INFO((after ? "" : after.error().message));
  REQUIRE(after);
  return std::move(*after);
}

void check_fixes(const Model& model, const DetectResult& found, std::vector<Tensor> inputs) {
  INFO(found.reason);
  REQUIRE_FALSE(found.fixes.empty());
  const auto wanted = outputs_of(model, inputs);
  for (const ProposedFix& fix : found.fixes) {
    const Model after = with_fix(model, fix);
    for (const NodeId id : after.graphs[0].order) CHECK(after.graphs[0].node(id).op != "GATHER_ND");
    const double difference = largest_difference(wanted, outputs_of(after, inputs));
    if (fix.exactness == Exactness::exact) CHECK(difference == 0);
    CHECK(difference < 1e-4);
  }
}

/// Two taps an axis along height and width of (H, W, 1, C), with weights that are a product, or not.
std::string two_axes(bool product) {
  const int h = 3, w = 4;
  std::string text = "input %x : f32[5, 6, 1, 2]\n";
  std::string sum;
  for (int tap = 0; tap < 4; ++tap) {
    std::string index, weight;
    for (int i = 0; i < h; ++i)
      for (int j = 0; j < w; ++j) {
        const int row = std::min(4, i + tap / 2 + (product ? 0 : j % 2)), column = std::min(5, j + tap % 2);
        index += (index.empty() ? "" : ", ") + std::to_string(row) + ", " + std::to_string(column);
        const double down = tap / 2 == 0 ? 0.25 + 0.125 * i : 0.75 - 0.125 * i;
        const double across = tap % 2 == 0 ? 0.5 + 0.0625 * j : 0.5 - 0.0625 * j;
        weight += (weight.empty() ? "" : ", ") + std::to_string(down * across);
      }
    const std::string t = std::to_string(tap);
    text += "const %i" + t + " : i32[3, 4, 2] = [" + index + "]\nconst %w" + t + " : f32[3, 4, 1, 1] = [" +
            weight + "]\n";
    text += "%g" + t + " = GATHER_ND(%x, %i" + t + ") : f32[3, 4, 1, 2]\n%m" + t + " = MUL(%g" + t + ", %w" +
            t + ")\n";
    if (tap > 0)
      text += "%s" + t + " = ADD(" + (tap == 1 ? "%m0" : "%s" + std::to_string(tap - 1)) + ", %m" + t + ")\n";
  }
  return text + "%y = TANH(%s3)\noutput %y";
}

}  // namespace

TEST_CASE("constant weights become one matrix an axis", "[resample]") {
  const Model model = parse(two_axes(true));
  const auto found = LRT003({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].fixes.size() == 2);
  CHECK(found[0].fixes[0].patch.title == "constant matrices: 3x5 and 4x6");
  check_fixes(model, found[0], inputs_of(model.graphs[0]));
  CHECK(LRT001({model, 0, model.graphs[0]}).empty());
}

TEST_CASE("weights that are no product of the axes become one matrix of both", "[resample]") {
  const Model model = parse(two_axes(false));
  const auto found = LRT003({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  CHECK(found[0].fixes[0].patch.title == "constant matrices: 12x30");
  check_fixes(model, found[0], inputs_of(model.graphs[0]));
}

TEST_CASE("a tap that something else reads, or runtime weights, are left to LRT001", "[resample]") {
  const Model model = parse(R"(input %x : f32[6, 1, 3]
input %w : f32[5, 1, 1]
const %i : i32[5, 1] = [0, 1, 2, 3, 4]
const %j : i32[5, 1] = [1, 2, 3, 5, 5]
%a = GATHER_ND(%x, %i) : f32[5, 1, 3]
%b = GATHER_ND(%x, %j) : f32[5, 1, 3]
%m = MUL(%b, %w)
%y = ADD(%a, %m)
output %y)");
  CHECK(LRT003({model, 0, model.graphs[0]}).empty());
  CHECK(LRT001({model, 0, model.graphs[0]}).size() == 2);
}

TEST_CASE("a runtime grid becomes tents and a matrix product", "[resample]") {
  // A batch of two, two channels, bilinear: four taps at FLOOR and FLOOR + 1, weight zero outside.
  const std::string shape = "f32[2, 2, 3, 2]", list = "i32[2, 2, 3, 2, 1]";
  std::string text = "input %x : f32[2, 2, 4, 5]\ninput %g : f32[2, 3, 2, 2]\n";
  std::string n, c;
  for (int i = 0; i < 24; ++i) {
    n += (i ? ", " : "") + std::to_string(i / 12);
    c += (i ? ", " : "") + std::to_string(i / 6 % 2);
  }
  text += "const %n : " + list + " = [" + n + "]\nconst %c : " + list + " = [" + c + "]\n";
  text += R"(const %one : f32[] = [1.0]
const %scale : f32[] = [0.05]
const %off : f32[] = [1.5]
const %zero : f32[] = [0.0]
const %izero : i32[] = [0]
const %right : f32[] = [5.0]
const %bottom : f32[] = [4.0]
%r = RESHAPE(%g, [2, 1, 3, 2, 2])
%b = BROADCAST_TO(%r, [2, 2, 3, 2, 2])
%s0 = SLICE(%b, [0, 0, 0, 0, 0], [2, 2, 3, 2, 1])
%s1 = SLICE(%b, [0, 0, 0, 0, 1], [2, 2, 3, 2, 1])
%p0 = RESHAPE(%s0, [2, 2, 3, 2])
%p1 = RESHAPE(%s1, [2, 2, 3, 2])
%q0 = MUL(%p0, %scale)
%q1 = MUL(%p1, %scale)
%tx = ADD(%q0, %off)
%ty = ADD(%q1, %off)
%x0 = FLOOR(%tx)
%y0 = FLOOR(%ty)
%x1 = ADD(%x0, %one)
%y1 = ADD(%y0, %one)
)";
  text += "%wx0 = SUB(%x1, %tx)\n%wx1 = SUB(%tx, %x0)\n%wy0 = SUB(%y1, %ty)\n%wy1 = SUB(%ty, %y0)\n";
  for (int tap = 0; tap < 4; ++tap) {
    const std::string t = std::to_string(tap), x = "%x" + std::to_string(tap % 2),
                      y = "%y" + std::to_string(tap / 2);
    text += "%a" + t + " = GREATER_EQUAL(" + x + ", %zero)\n%b" + t + " = LESS(" + x + ", %right)\n";
    text += "%c" + t + " = GREATER_EQUAL(" + y + ", %zero)\n%d" + t + " = LESS(" + y + ", %bottom)\n";
    text += "%e" + t + " = LOGICAL_AND(%a" + t + ", %b" + t + ")\n%f" + t + " = LOGICAL_AND(%c" + t + ", %d" +
            t + ")\n";
    text += "%h" + t + " = LOGICAL_AND(%e" + t + ", %f" + t + ")\n";
    text += "%ix" + t + " = CAST(" + x + ") : i32[2, 2, 3, 2]\n%iy" + t + " = CAST(" + y +
            ") : i32[2, 2, 3, 2]\n";
    text += "%jx" + t + " = SELECT_V2(%h" + t + ", %ix" + t + ", %izero) : i32[2, 2, 3, 2]\n";
    text += "%jy" + t + " = SELECT_V2(%h" + t + ", %iy" + t + ", %izero) : i32[2, 2, 3, 2]\n";
    text += "%k" + t + " = MUL(%wx" + std::to_string(tap % 2) + ", %wy" + std::to_string(tap / 2) + ")\n";
    text += "%l" + t + " = SELECT_V2(%h" + t + ", %k" + t + ", %zero) : f32[2, 2, 3, 2]\n";
    text += "%rx" + t + " = RESHAPE(%jx" + t + ", [2, 2, 3, 2, 1])\n%ry" + t + " = RESHAPE(%jy" + t +
            ", [2, 2, 3, 2, 1])\n";
    text +=
        "%i" + t + " = CONCATENATION(%n, %c, %ry" + t + ", %rx" + t + ") { axis = 4 } : i32[2, 2, 3, 2, 4]\n";
    text += "%t" + t + " = GATHER_ND(%x, %i" + t + ") : f32[2, 2, 3, 2]\n%m" + t + " = MUL(%t" + t + ", %l" +
            t + ")\n";
    if (tap > 0)
      text += "%u" + t + " = ADD(" + (tap == 1 ? "%m0" : "%u" + std::to_string(tap - 1)) + ", %m" + t + ")\n";
  }
  const Model model = parse(text + "%z = NEG(%u3)\noutput %z");
  const auto found = LRT002({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  check_fixes(model, found[0], inputs_of(model.graphs[0]));
  // Nothing of the old site is left but the grid's own arithmetic.
  CHECK(with_fix(model, found[0].fixes[0]).graphs[0].order.size() < 30);
  CHECK(LRT004({model, 0, model.graphs[0]}).empty());
}

TEST_CASE("rows picked by a runtime index", "[resample]") {
  const auto check = [](std::string_view text, std::vector<double> index) {
    const Model model = parse(text);
    const auto found = LRT004({model, 0, model.graphs[0]});
    REQUIRE(found.size() == 1);
    auto inputs = inputs_of(model.graphs[0]);
    const Value& v = model.graphs[0].value(model.graphs[0].inputs[1]);
    inputs[1] = Tensor::of(v.dtype, v.shape, index);
    CHECK_FALSE(found[0].fixes[0].unsafe);
    check_fixes(model, found[0], inputs);
  };
  check("input %x : f32[4, 2, 3]\ninput %i : i32[3, 1]\n%y = GATHER_ND(%x, %i) : f32[3, 2, 3]\noutput %y",
        {3, 0, 3});
  check("input %x : f32[4, 2, 3]\ninput %i : i32[2, 2, 2]\n%y = GATHER_ND(%x, %i) : f32[2, 2, 3]\noutput %y",
        {3, 1, 0, 0, 2, 1, 1, 0});
  check("input %x : f32[4, 5]\ninput %i : i32[3, 2]\n%y = GATHER_ND(%x, %i) : f32[3]\noutput %y",
        {3, 1, 0, 4, 2, 2});
}

TEST_CASE("an int64 index is only changed with the interface", "[resample]") {
  const Model model = parse(R"(input %x : f32[4, 1, 6]
input %i : i64[3]
const %zero : i64[] = [0]
const %rows : i64[] = [4]
%l = LESS(%i, %zero)
%a = ADD(%i, %rows)
%s = SELECT(%l, %a, %i) : i64[3]
%c = CAST(%s) : i32[3]
%j = RESHAPE(%c, [3, 1])
%y = GATHER_ND(%x, %j) : f32[3, 1, 6]
output %y)");
  const auto found = LRT004({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].fixes.size() == 1);
  CHECK(found[0].fixes[0].unsafe);
  const Model after = with_fix(model, found[0].fixes[0]);
  CHECK(after.graphs[0].value(after.graphs[0].inputs[1]).dtype == DType::i32);
  auto before_inputs = inputs_of(model.graphs[0]), after_inputs = before_inputs;
  before_inputs[1] = Tensor::of(DType::i64, {3}, std::vector<double>{-1, 2, 0});
  after_inputs[1] = Tensor::of(DType::i32, {3}, std::vector<double>{-1, 2, 0});
  CHECK(outputs_of(model, before_inputs) == outputs_of(after, after_inputs));
}

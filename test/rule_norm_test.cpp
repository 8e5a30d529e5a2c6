// The fp16 rules for normalizations, judged as they are meant: in simulated fp16, on rows that overflow.
#include <cmath>

#include "test/detector_check.h"

namespace md {
const auto F16001 = [](const DetectContext& context) { return detector_check::by_rule("F16001", context); };
const auto F16002 = [](const DetectContext& context) { return detector_check::by_rule("F16002", context); };
const auto F16004 = [](const DetectContext& context) { return detector_check::by_rule("F16004", context); };
}  // namespace md

using namespace detector_check;

namespace {

/// Rows that are large, positive, hold one outlier, have a large mean, are tiny, and are zero.
Tensor rows(const Shape& shape, bool with_mean, bool zero_row = true) {
  std::vector<double> numbers(static_cast<std::size_t>(*element_count(shape)));
  const auto width = static_cast<std::size_t>(shape.back());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double wave = std::sin(static_cast<double>(i) * 0.7) + 1.5;
    switch (i / width % 6) {
      case 0:
        numbers[i] = 2000 * std::cos(static_cast<double>(i));
        break;
      case 1:
        numbers[i] = 1000 * wave;
        break;
      case 2:
        numbers[i] = i % width == 3 ? 4000 : wave;
        break;
      case 3:
        numbers[i] = (with_mean ? 1000 : 0) + 300 * wave;
        break;
      case 4:
        numbers[i] = 1e-2 * wave;
        break;
      default:
        numbers[i] = zero_row ? 0 : wave;
    }
  }
  return Tensor::of(DType::f32, shape, numbers);
}

std::vector<double> run(const Model& model, const Tensor& x, Arithmetic arithmetic) {
  EvaluateOptions options;
  options.mode.arithmetic = arithmetic;
  const Tensor inputs[] = {x};
  const auto outputs = evaluate(model, 0, inputs, options);
  REQUIRE(outputs);
  return outputs->front().numbers();
}

/// Largest difference to `wanted`, relative to its largest magnitude; infinity when something is not finite.
double error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    worst = std::max(worst, std::abs(got[i] - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  return worst / largest;
}

void check_mended(std::string_view text, Detector detect, bool with_mean = false, bool zero_row = true) {
  const Model before = parse(text);
  const Model after = mended(before, detect);
  const Tensor x = rows(before.graphs[0].value(before.graphs[0].inputs[0]).shape, with_mean, zero_row);
  const auto wanted = run(before, x, Arithmetic::f64);
  CHECK(error(run(before, x, Arithmetic::f32), wanted) < 1e-4);
  CHECK(error(run(after, x, Arithmetic::f32), wanted) < 1e-4);
  CHECK(error(run(before, x, Arithmetic::f16_storage), wanted) > 0.5);
  CHECK(error(run(after, x, Arithmetic::f16_storage), wanted) < 1e-2);
  CHECK(detect({after, 0, after.graphs[0]}).empty());
}

const char* const rms_norm = R"(input %x : f32[1, 6, 32]
const %axes : i32[1] = [2]
const %k : i32[3] = [1, 6, 1]
const %eps : f32[] = [0.000001]
%a = MUL(%x, %x) : f32[1, 6, 32]
%b = MEAN(%a, %axes) : f32[1, 6]
%c = ADD(%b, %eps) : f32[1, 6]
%d = RESHAPE(%c, %k) : f32[1, 6, 1]
%e = RSQRT(%d) : f32[1, 6, 1]
%y = MUL(%x, %e) : f32[1, 6, 32]
output %y)";

}  // namespace

TEST_CASE("normalizations that overflow in fp16 come out right", "[fp16][rules]") {
  SECTION("RMSNorm, today's and older converters'") {
    check_mended(rms_norm, F16004);
    check_mended(R"(input %x : f32[1, 6, 32]
const %axes : i32[1] = [2]
const %k : i32[3] = [1, 6, 1]
const %eps : f32[] = [0.000001]
const %n : f32[] = [0.03125]
%a = MUL(%x, %x) : f32[1, 6, 32]
%s = SUM(%a, %axes) : f32[1, 6]
%b = MUL(%s, %n) : f32[1, 6]
%c = ADD(%b, %eps) : f32[1, 6]
%d = RESHAPE(%c, %k) : f32[1, 6, 1]
%e = RSQRT(%d) : f32[1, 6, 1]
%y = MUL(%x, %e) : f32[1, 6, 32]
output %y)",
                 F16004);
  }
  SECTION("x / sqrt(mean(x^2) + eps), with POW") {
    check_mended(R"(input %x : f32[2, 6, 16]
const %axes : i32[1] = [-1]
const %two : f32[] = [2.0]
const %eps : f32[] = [0.00001]
%a = POW(%x, %two) : f32[2, 6, 16]
%b = MEAN(%a, %axes) { keep_dims = true } : f32[2, 6, 1]
%c = ADD(%b, %eps) : f32[2, 6, 1]
%d = SQRT(%c) : f32[2, 6, 1]
%y = DIV(%x, %d) : f32[2, 6, 16]
output %y)",
                 F16004);
  }
  SECTION(
      "L2 normalization with a floor (1e-12 is 0 in fp16, so that a zero row is 0/0 there before and "
      "after)") {
    check_mended(R"(input %x : f32[1, 6, 32]
const %axes : i32[1] = [2]
const %k : i32[3] = [1, 6, 1]
const %eps : f32[] = [0.000000000001]
%a = ABS(%x) : f32[1, 6, 32]
%b = MUL(%a, %a) : f32[1, 6, 32]
%c = SUM(%b, %axes) : f32[1, 6]
%d = SQRT(%c) : f32[1, 6]
%e = MAXIMUM(%d, %eps) : f32[1, 6]
%f = RESHAPE(%e, %k) : f32[1, 6, 1]
%y = DIV(%x, %f) : f32[1, 6, 32]
output %y)",
                 F16002, false, false);
  }
  SECTION("InstanceNorm on the centred value") {
    check_mended(R"(input %x : f32[1, 6, 8, 4]
const %axes : i32[2] = [2, 3]
const %k : i32[4] = [1, 6, 1, 1]
const %eps : f32[] = [0.00001]
%m = MEAN(%x, %axes) { keep_dims = true } : f32[1, 6, 1, 1]
%d = SUB(%x, %m) : f32[1, 6, 8, 4]
%q = MUL(%d, %d) : f32[1, 6, 8, 4]
%v = MEAN(%q, %axes) : f32[1, 6]
%e = ADD(%v, %eps) : f32[1, 6]
%r = RESHAPE(%e, %k) : f32[1, 6, 1, 1]
%s = RSQRT(%r) : f32[1, 6, 1, 1]
%y = MUL(%d, %s) : f32[1, 6, 8, 4]
output %y)",
                 F16002, true);
  }
}

TEST_CASE("a largest value in place of the largest magnitude overflows again", "[fp16][rules]") {
  const Model before = parse(rms_norm);
  Patch patch = F16004({before, 0, before.graphs[0]}).at(0).fixes.at(0).patch;
  for (Node& node : patch.new_nodes)
    if (node.op == "ABS") node.op = "NEG";  // the largest magnitude of a positive row becomes 1
  const auto after = apply_patches(before, std::span(&patch, 1));
  REQUIRE(after);
  const Tensor x = rows(before.graphs[0].value(before.graphs[0].inputs[0]).shape, false);
  const auto wanted = run(before, x, Arithmetic::f64);
  CHECK(error(run(*after, x, Arithmetic::f32), wanted) < 1e-4);
  CHECK(error(run(*after, x, Arithmetic::f16_storage), wanted) > 0.5);
}

TEST_CASE("a sum times 1/N is the mean", "[fp16][rules]") {
  const Model before = parse(R"(input %x : f32[1, 4, 8, 8]
const %axes : i32[2] = [2, 3]
const %f : f32[] = [0.015873015873]
const %to : i32[4] = [1, 4, 1, 1]
%s = SUM(%x, %axes) : f32[1, 4]
%m = MUL(%s, %f) : f32[1, 4]
%y = RESHAPE(%m, %to) : f32[1, 4, 1, 1]
output %y)");
  const auto found = F16001({before, 0, before.graphs[0]});
  REQUIRE(found.size() == 1);
  CHECK(found[0].likelihood == Likelihood::possible);
  const Model after = mended(before, F16001);
  const auto inputs = inputs_of(before.graphs[0]);
  const auto a = outputs_of(before, inputs)[0], b = outputs_of(after, inputs)[0];
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::fabs(b[i] - a[i]) <= 1e-5);
}

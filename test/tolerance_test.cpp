// How far results may be apart, and how much may be spent on finding out: one place each.
#include "lib/proof/tolerance.h"

#include <cmath>
#include <limits>

#include "lib/diagnose/diagnose.h"
#include "lib/eval/budget.h"
#include "lib/op/dialect.h"
#include "test/catch.h"
#include "test/text_document.h"

using namespace md;
using md::test::TextDocument;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUlp = 0x1.0p-23;

Yardstick floats(double largest, double terms = 0) {
  Yardstick y;
  y.largest = largest, y.terms = terms;
  return y;
}

}  // namespace

TEST_CASE("an exact promise takes no other number, unless the original overflowed on the way",
          "[tolerance]") {
  const Tolerance t = Tolerance::of_site(Exactness::exact, 1, 1000, true);
  const Yardstick y = floats(10, 10);
  CHECK(t.compare(1, 1, std::nullopt, y) == Apart::same);
  CHECK(t.compare(kNaN, kNaN, std::nullopt, y) == Apart::same);
  CHECK(t.compare(0.0, -0.0, std::nullopt, y) == Apart::same);
  CHECK(t.compare(1, 1 + kUlp, std::nullopt, y) == Apart::beyond);
  CHECK(t.compare(1, 1 + kUlp, 1 + kUlp, y) == Apart::beyond);
  CHECK(t.compare(kInf, 2, 2.0, y) == Apart::nearer);
  CHECK(t.compare(kInf, 2, 3.0, y) == Apart::beyond);
  CHECK(t.compare(kInf, -kInf, kInf, y) == Apart::beyond);
  CHECK(t.compare(1, kNaN, 1.0, y) == Apart::beyond);
}

TEST_CASE("rounding follows the element, or the terms where something is added up", "[tolerance]") {
  const Tolerance each = Tolerance::of_site(Exactness::rounding, 1, 3, false);
  CHECK(each.compare(1, 1 + 12 * kUlp, std::nullopt, floats(1)) == Apart::within);
  CHECK(each.compare(1, 1 + 13 * kUlp, std::nullopt, floats(1)) == Apart::beyond);
  // A large neighbour excuses nothing where every element stands for itself ...
  CHECK(each.compare(1, 1.001, std::nullopt, floats(1e6, 1e6)) == Apart::beyond);
  // ... and does where both come out of sums with it.
  const Tolerance sums = Tolerance::of_site(Exactness::rounding, 1, 3, true);
  CHECK(sums.compare(1, 1.001, std::nullopt, floats(1, 1e4)) == Apart::within);
  CHECK(sums.compare(1, 1.1, std::nullopt, floats(1, 1e4)) == Apart::beyond);
  // What the original itself is off is counted, up to four times.
  Yardstick lost = floats(1);
  lost.own_ulps = 100;
  CHECK(each.compare(1, 1 + 400 * kUlp, std::nullopt, lost) == Apart::within);
  CHECK(each.compare(1, 1 + 500 * kUlp, std::nullopt, lost) == Apart::beyond);
}

TEST_CASE("the type decides how large a rounding is", "[tolerance]") {
  const Tolerance t = Tolerance::of_site(Exactness::rounding, 1, 1, false);
  const auto room = [&](DType type) {
    Yardstick y = floats(1);
    y.dtype = type;
    return t.allowance(1, y);
  };
  CHECK(room(DType::f32) == 4 * kUlp);
  CHECK(room(DType::f16) == 4 * 0x1.0p-10);
  CHECK(room(DType::bf16) == 4 * 0x1.0p-7);
  CHECK(room(DType::f64) == 4 * 0x1.0p-52);
  Tensor quantized = Tensor::of_integers(DType::i8, {2}, std::vector<std::int64_t>{10, 20});
  Quantization q;
  q.scale = {0.5f}, q.zero_point = {0};
  quantized.quantization = std::make_shared<const Quantization>(q);
  const Yardstick steps = measure(quantized, nullptr, 0);
  CHECK(steps.largest == 10);
  CHECK(t.compare(5, 5.5, std::nullopt, steps) == Apart::within);  // one step
  CHECK(t.compare(5, 6, std::nullopt, steps) == Apart::beyond);
  const Yardstick integers =
      measure(Tensor::of_integers(DType::i32, {1}, std::vector<std::int64_t>{7}), nullptr, 0);
  CHECK(t.compare(7, 8, std::nullopt, integers) == Apart::beyond);
}

TEST_CASE("a stated error is a share of the largest output", "[tolerance]") {
  const Tolerance t = Tolerance::of_site(Exactness::bounded, 1e-3, 1000, true);
  CHECK(t.compare(0, 0.09, std::nullopt, floats(100, 1e9)) == Apart::within);
  CHECK(t.compare(0, 0.11, std::nullopt, floats(100, 1e9)) == Apart::beyond);
  CHECK(promised_error(1e-3, false) == 1e-3);
  CHECK(promised_error(1e-3, true) == bfloat16_error);
  CHECK(promised_error(0.5, true) == 0.5);
}

TEST_CASE("leaving the range of floats: with the original, or where huge numbers are added", "[tolerance]") {
  const Tolerance t = Tolerance::of_site(Exactness::rounding, 1, 4, true);
  CHECK(t.compare(kInf, kNaN, std::nullopt, floats(1, 1)) == Apart::leaves);
  CHECK(t.compare(kNaN, 3, kInf, floats(1, 1)) == Apart::leaves);
  CHECK(t.compare(kNaN, 3, 5.0, floats(1, 1)) == Apart::beyond);  // a number, and the wrong one
  CHECK(t.compare(1, kInf, 1.0, floats(1, 1)) == Apart::beyond);
  CHECK(t.compare(1, kInf, std::nullopt, floats(1, 1e37)) == Apart::overflow);
  CHECK(t.compare(0, kInf, 5.0, floats(5, 1)) == Apart::leaves);  // lost on the way: 0 for 5
  // An element that only cancels to nearly nothing is no licence for infinity.
  CHECK(t.compare(1e-9, kInf, 2e-9, floats(5, 5)) == Apart::beyond);
}

TEST_CASE("whole models: another order of sums, the original's own error, and what the user states",
          "[tolerance]") {
  Yardstick y = floats(10);
  const Tolerance rounding = Tolerance::of_model(Exactness::rounding, 1e-3, false);
  CHECK(rounding.compare(1, 1 + 9e-5, std::nullopt, y) == Apart::within);
  CHECK(rounding.compare(1, 1 + 2e-4, std::nullopt, y) == Apart::beyond);
  y.own_error = 1e-3;
  CHECK(rounding.compare(1, 1 + 5e-3, std::nullopt, y) == Apart::within);
  y.own_error = 0;
  CHECK(Tolerance::of_model(Exactness::bounded, 1e-2, false).compare(1, 1.09, std::nullopt, y) ==
        Apart::within);
  CHECK(Tolerance::of_model(Exactness::exact, 1e-2, false).compare(kInf, 1, std::nullopt, y) ==
        Apart::beyond);
  CHECK(Tolerance::of_model(Exactness::exact, 1e-2, true).compare(kInf, 1, std::nullopt, y) == Apart::leaves);
  const Tolerance none = Tolerance::stated(0, 0);
  // Being nearer to exact arithmetic is no excuse where the user asks for the same numbers.
  CHECK(none.compare(1, 1 + kUlp, 1 + kUlp, y) == Apart::beyond);
  CHECK(Tolerance::stated(1e-2, 0).compare(10, 10.05, std::nullopt, y) == Apart::within);
  CHECK(Tolerance::stated(0, 0.1).compare(10, 10.2, std::nullopt, y) == Apart::beyond);
}

TEST_CASE("what cancels to 0 may overflow only where sums overflow anyway", "[tolerance]") {
  const Tolerance rounding = Tolerance::of_model(Exactness::rounding, 1e-3, false);
  Yardstick y;
  y.largest = 1e38;
  CHECK(rounding.compare(0, kInf, 0.0, y) == Apart::beyond);
  y.overflows = true;
  CHECK(rounding.compare(0, kInf, 0.0, y) == Apart::overflow);
  CHECK(rounding.compare(1, 1e38, 1.0, y) == Apart::beyond);
  CHECK(Tolerance::of_model(Exactness::exact, 1e-3, false).compare(0, kInf, 0.0, y) == Apart::beyond);
}

TEST_CASE("an output is measured with what exact arithmetic says about it", "[tolerance]") {
  const Tensor original = Tensor::of(DType::f32, {3}, std::vector<double>{0, 1, -2});
  const Tensor exact = Tensor::of(DType::f64, {3}, std::vector<double>{4, 1 + 3 * kUlp, -2});
  const Yardstick y = measure(original, &exact, 7);
  CHECK(y.largest == 4);
  CHECK(y.own_error == 4);
  CHECK(y.terms == 7);
  CHECK(measure(original, nullptr, 0).largest == 2);
  CHECK(measure(original, nullptr, 0).own_ulps == 0);
}

TEST_CASE("a budget pays for so many runs", "[budget]") {
  constexpr Budget budget{.work = 1000};
  CHECK(budget.runs(100, 24) == 10);
  CHECK(budget.runs(10, 24) == 24);
  CHECK(budget.runs(1001, 24) == 0);
  CHECK(budget.runs(0, 24) == 24);  // nothing costs less than something
  CHECK(budget.runs(1e300, 24) == 0);
}

TEST_CASE("a bound that is not the one that was asked for is stated in the proof", "[tolerance]") {
  static const RuleBook rules = *RuleBook::load();
  const TextDocument document(
      "input %x : f32[2, 4]\n%a = aten.to.dtype(self = %x) { dtype = enum(13, \"bf16\") } : bf16[2, 4]\n"
      "%b = aten.mul.Tensor(self = %a) { other = 2.5 } : bf16[2, 4]\n"
      "%y = aten.to.dtype(self = %b) { dtype = enum(7, \"f32\") } : f32[2, 4]\noutput %y\n",
      dialect("pt2"));
  REQUIRE(document.error == "");
  const auto notes = [&](double max_error) {
    DiagnoseRequest request;
    request.document = &document;
    request.rules = &rules;
    request.targets = {"executorch-coreml@1.5.1"};
    request.options.apply = true;
    request.options.max_error = max_error;
    const auto outcome = diagnose(request);
    REQUIRE(outcome.has_value());
    std::string text;
    for (const Finding& finding : outcome->diagnosis.findings)
      for (const ReportedFix& fix : finding.fixes)
        for (const ReportedProof& proof : fix.proofs) text += proof.note + "\n";
    return text;
  };
  CHECK(notes(1e-3).find("held to 0.02 of the largest output, which is what bfloat16 itself loses, and not "
                         "to --max-error 0.001") != std::string::npos);
  CHECK(notes(0.05).find("bfloat16") == std::string::npos);
}

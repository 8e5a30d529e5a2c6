// Simulated fp16: what overflows, where first, how it looks, and whether a rewrite repairs it.
#include <cmath>

#include "lib/fp16/fp16_report.h"
#include "lib/fp16/headroom.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parse(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("tflite"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

const std::string rms_norm = R"(
input %x : f32[4, 64]
const %axis : i32[1] = [1]
const %eps : f32[1] = [1e-5]
%sq = MUL(%x, %x) : f32[4, 64]
%m = MEAN(%sq, %axis) { keep_dims = true } : f32[4, 1]
%me = ADD(%m, %eps) : f32[4, 1]
%r = RSQRT(%me) : f32[4, 1]
%y = MUL(%x, %r) : f32[4, 64]
output %y
)";

// y = x / m with m = max(amax |x|, 1), then y * rsqrt(mean(y^2) + (eps / m) / m).
const std::string scaled_rms_norm = R"(
input %x : f32[4, 64]
const %axis : i32[1] = [1]
const %eps : f32[1] = [1e-5]
const %one : f32[1] = [1]
%a = ABS(%x) : f32[4, 64]
%top = REDUCE_MAX(%a, %axis) { keep_dims = true } : f32[4, 1]
%s = MAXIMUM(%top, %one) : f32[4, 1]
%n = DIV(%x, %s) : f32[4, 64]
%sq = MUL(%n, %n) : f32[4, 64]
%m = MEAN(%sq, %axis) { keep_dims = true } : f32[4, 1]
%e1 = DIV(%eps, %s) : f32[4, 1]
%e2 = DIV(%e1, %s) : f32[4, 1]
%me = ADD(%m, %e2) : f32[4, 1]
%r = RSQRT(%me) : f32[4, 1]
%y = MUL(%n, %r) : f32[4, 64]
output %y
)";

Fp16Options at_magnitude(double magnitude) {
  Fp16Options options;
  options.inputs.ranges["x"] = {-magnitude, magnitude};
  return options;
}

}  // namespace

TEST_CASE("RMSNorm of large numbers is predicted zero, and shown fixed", "[fp16]") {
  const Model model = parse(rms_norm), fixed = parse(scaled_rms_norm);
  const Fp16Report broken = fp16_report(model, 0, at_magnitude(2000));
  REQUIRE(broken.verdict == Fp16Verdict::overflow);
  REQUIRE(broken.symptom == "zeros");
  REQUIRE(broken.first);
  REQUIRE(broken.layers[*broken.first].name == "sq");
  REQUIRE(broken.layers[*broken.first].headroom_bits < 0);
  REQUIRE(broken.source.kind == InputSource::Kind::ranges);
  const Fp16Report mended = fp16_report(fixed, 0, at_magnitude(2000));
  INFO(mended.summary);
  REQUIRE(mended.verdict == Fp16Verdict::fine);
  REQUIRE(mended.output_error < 5e-3);
  REQUIRE(fp16_report(model, 0, at_magnitude(50)).verdict == Fp16Verdict::fine);
}

TEST_CASE("a rewrite that repairs fp16 is nearer on what overflows; one that does not is not", "[fp16]") {
  const Model model = parse(rms_norm), fixed = parse(scaled_rms_norm);
  const Fp16Judgement good = judge_fp16(model, fixed, 0);
  REQUIRE(good.evaluated);
  REQUIRE(good.overflowing > 0);
  REQUIRE(good.better);
  REQUIRE(good.error_after < 0.02);
  std::string other = rms_norm;
  other.replace(other.find("MUL(%x, %x)"), 11, "SQUARE(%x)");
  const Fp16Judgement useless = judge_fp16(model, parse(other), 0);
  REQUIRE(useless.overflowing > 0);
  REQUIRE_FALSE(useless.better);
}

TEST_CASE("the original eps after the division is refuted by rows with one outlier", "[fp16][proof]") {
  std::string wrong = scaled_rms_norm;
  wrong.replace(wrong.find("ADD(%m, %e2)"), 12, "ADD(%m, %eps)");
  ProofOptions options;
  options.exactness = Exactness::bounded;
  options.repairs_fp16 = true;
  const Model model = parse(rms_norm);
  const Proof right = prove(model, parse(scaled_rms_norm), 0, options);
  INFO(right.counterexample << " | " << right.note);
  REQUIRE(right.equal);
  REQUIRE(right.note.find("overflowing samples the error falls") != std::string::npos);
  const Proof p = prove(model, parse(wrong), 0, options);
  REQUIRE_FALSE(p.equal);
}

TEST_CASE("a long sum overflows where a mean does not", "[fp16]") {
  const auto text = [](const char* op) {
    return "input %x : f32[1, 96, 96, 2]\nconst %a : i32[2] = [1, 2]\nconst %n : f32[1] = "
           "[0.00010850694444444444]\n%s = " +
           std::string(op) +
           "(%x, %a) { keep_dims = true } : f32[1, 1, 1, 2]\n%y = MUL(%s, %n) : f32[1, 1, 1, 2]\noutput %y\n";
  };
  Fp16Options options;
  options.inputs.ranges["x"] = {20, 50};
  REQUIRE(fp16_report(parse(text("SUM")), 0, options).verdict == Fp16Verdict::overflow);
  REQUIRE(fp16_report(parse(text("MEAN")), 0, options).verdict == Fp16Verdict::fine);
  options.wide_mean = false;
  options.arithmetic = Arithmetic::f16_accumulate;
  REQUIRE(fp16_report(parse(text("MEAN")), 0, options).verdict == Fp16Verdict::overflow);
}

TEST_CASE("error that grows with depth is precision, not overflow", "[fp16]") {
  std::string text =
      "input %x : f32[1, 64]\nconst %c : f32[1] = [1.0009765]\nconst %d : f32[1] = [300]\n%v0 = ADD(%x, %d) "
      ": f32[1, 64]\n";
  int last = 0;
  for (int i = 1; i <= 120; ++i, ++last)
    text += "%v" + std::to_string(i) + " = MUL(%v" + std::to_string(i - 1) + ", %c) : f32[1, 64]\n";
  text += "%y = SUB(%v" + std::to_string(last) + ", %d) : f32[1, 64]\noutput %y\n";
  const Fp16Report report = fp16_report(parse(text), 0, {});
  INFO(report.summary);
  REQUIRE(report.verdict == Fp16Verdict::precision);
  REQUIRE(report.symptom == "wrong");
  REQUIRE(report.error_by_depth.back() > 10 * report.error_by_depth.front());
}

TEST_CASE("an input that fp16 does not hold is named before any layer", "[fp16]") {
  const Fp16Report report = fp16_report(parse(rms_norm), 0, at_magnitude(90000));
  INFO(report.summary);
  REQUIRE(report.summary.find("overflow: the input \"x\" reaches 9e+04") == 0);
  REQUIRE(fp16_json(report).find("\"input_overflow\": \"x\"") != std::string::npos);
}

TEST_CASE("a NaN that exact arithmetic gives too is not a fault of fp16", "[fp16]") {
  const Fp16Report report =
      fp16_report(parse("input %x : f32[8]\n%y = LOG(%x) : f32[8]\noutput %y\n"), 0, {});
  INFO(report.summary);
  REQUIRE(report.verdict == Fp16Verdict::fine);
}

TEST_CASE("headroom of a site is evidence for a rule", "[fp16]") {
  const Model model = parse(rms_norm);
  const SiteOverflow big = site_overflow(model, 0, model.graphs[0].order);
  REQUIRE(big.evaluated);
  REQUIRE(big.overflows);
  REQUIRE_FALSE(big.likely);  // random inputs of deviation 1 do not get there
  REQUIRE(big.magnitude == 300);
  REQUIRE(model.graphs[0].value(big.value).name == "sq");
  HeadroomOptions known;
  known.ranges["x"] = {-1000, 1000};
  REQUIRE(site_overflow(model, 0, model.graphs[0].order, known).likely);
  const Model small = parse("input %x : f32[4]\n%y = TANH(%x) : f32[4]\noutput %y\n");
  REQUIRE_FALSE(site_overflow(small, 0, small.graphs[0].order).overflows);
}

TEST_CASE("the fp16 report as text, CSV and JSON", "[fp16]") {
  const Fp16Report report = fp16_report(parse(rms_norm), 0, at_magnitude(2000));
  const std::string text = fp16_text(report);
  REQUIRE(text.find("overflow: \"sq\" (MUL) reaches") == 0);
  REQUIRE(text.find("OVERFLOW") != std::string::npos);
  REQUIRE(text.find("random numbers in the ranges known for 1 of 1 float inputs") != std::string::npos);
  const std::string csv = fp16_csv(report);
  REQUIRE(std::count(csv.begin(), csv.end(), '\n') == 6);
  REQUIRE(fp16_json(report).find("\"verdict\": \"overflow\"") != std::string::npos);
}

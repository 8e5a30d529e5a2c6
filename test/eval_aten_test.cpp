// The evaluator's aten kernels compute in the arithmetic of the numeric mode. Their numbers are held to
// torch's by judge_aten.py.
#include <cmath>

#include "lib/eval/evaluator.h"
#include "lib/fp16/fp16_report.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parse(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("pt2"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

/// The first result of a graph whose inputs are filled with `number`.
double first_result(const std::string& text, double number, Arithmetic arithmetic) {
  const Model model = parse(text);
  std::vector<Tensor> inputs;
  for (const ValueId v : model.graphs[0].inputs) {
    const Value& value = model.graphs[0].value(v);
    const std::vector<double> numbers(static_cast<std::size_t>(element_count(value.shape).value()), number);
    inputs.push_back(Tensor::of(value.dtype, value.shape, numbers));
  }
  EvaluateOptions options;
  options.mode.arithmetic = arithmetic;
  const auto outputs = evaluate(model, 0, inputs, options);
  INFO((outputs ? "" : outputs.error().message));
  REQUIRE(outputs);
  return outputs->at(0).number(0);
}

Proof proven(const std::string& before, const std::string& after, Exactness exactness) {
  ProofOptions options;
  options.exactness = exactness;
  return prove(parse(before), parse(after), 0, options);
}

const std::string summed = R"(
input %x : f32[64, 64]
%y = aten.sum.dim_IntList(self = %x) { dim = [0, 1] } : f32[]
output %y
)";
const std::string summed_by_rows = R"(
input %x : f32[64, 64]
%rows = aten.sum.dim_IntList(self = %x) { dim = [1] } : f32[64]
%y = aten.sum.dim_IntList(self = %rows) { dim = [0] } : f32[]
output %y
)";

}  // namespace

// In fp16, 2048 + 1 is 2048: a sum of ones that is kept there stays behind.
TEST_CASE("sums of exported programs are kept in fp16 where the mode says so", "[eval][fp16]") {
  const std::vector<std::string> programs = {
      "input %x : f32[4096]\n%y = aten.sum.dim_IntList(self = %x) { dim = [0] } : f32[]\noutput %y\n",
      "input %x : f32[1, 4096]\ninput %w : f32[4096, 1]\n%y = aten.mm.default(self = %x, mat2 = %w) : f32[1, "
      "1]\noutput %y\n",
      "input %x : f32[2, 4096]\ninput %w : f32[3, 4096]\n%y = aten.linear.default(input = %x, weight = %w) : "
      "f32[2, 3]\noutput %y\n",
      "input %x : f32[1, 64, 8, 8]\ninput %w : f32[2, 64, 8, 8]\n%y = aten.conv2d.default(input = %x, weight "
      "= "
      "%w) : f32[1, 2, 1, 1]\noutput %y\n",
      "input %x : f32[1, 4096, 1]\ninput %w : f32[4096, 1, 1]\n%y = aten.conv_transpose1d.default(input = "
      "%x, "
      "weight = %w) : f32[1, 1, 1]\noutput %y\n",
      "input %x : f32[64, 64]\ninput %w : f32[64, 64]\n%y = aten.einsum.default(%x, %w) { "
      "equation = "
      "\"ij,ij->\" } : f32[]\noutput %y\n"};
  for (const std::string& text : programs) {
    INFO(text);
    CHECK(first_result(text, 1, Arithmetic::f32) == 4096);
    CHECK(first_result(text, 1, Arithmetic::f16_storage) == 4096);
    CHECK(first_result(text, 1, Arithmetic::f16_accumulate) == 2048);
    CHECK(first_result(text, 1, Arithmetic::f16_tree) == 4096);
  }
}

TEST_CASE("a mean of an exported program keeps its wide sum", "[eval][fp16]") {
  const std::string text =
      "input %x : f32[4096]\n%y = aten.mean.dim(self = %x) { dim = [0] } : f32[]\noutput %y\n";
  CHECK(first_result(text, 100, Arithmetic::f16_accumulate) == 100);
}

TEST_CASE("the largest partial sums of an exported program are watched", "[eval][fp16]") {
  Fp16Options options;
  options.inputs.ranges["x"] = {20, 50};
  const Fp16Report report = fp16_report(
      parse("input %x : f32[1, 9216]\ninput %w : f32[4, 9216]\n%s = aten.linear.default(input = %x, weight = "
            "%x) : "
            "f32[1, 1]\n%y = aten.mul.Tensor(self = %s) { other = 1e-5 } : f32[1, 1]\noutput %y\n"),
      0, options);
  INFO(report.summary);
  REQUIRE(report.verdict == Fp16Verdict::overflow);
  CHECK(report.layers.at(0).largest_sum > 65504);
}

TEST_CASE("numbers of an exported program are rounded to fp16 where values are", "[eval][fp16]") {
  const std::string text =
      "input %x : f32[4]\n%e = aten.add.Tensor(self = %x) { other = 1e-12 } : f32[4]\n%y = "
      "aten.rsqrt.default(self = %e) : f32[4]\noutput %y\n";
  CHECK(std::isfinite(first_result(text, 0, Arithmetic::f32)));
  CHECK(std::isinf(first_result(text, 0, Arithmetic::f16_storage)));
}

TEST_CASE("every operator of an exported program rounds by itself", "[eval]") {
  const std::string text =
      "input %x : f32[1]\n%a = aten.add.Tensor(self = %x) { other = 1e8 } : f32[1]\n%y = "
      "aten.sub.Tensor(self = "
      "%a) { other = 1e8 } : f32[1]\noutput %y\n";
  CHECK(first_result(text, 1, Arithmetic::f32) == 0);
  CHECK(first_result(text, 1, Arithmetic::f64) == 1);
}

TEST_CASE("a reordered float sum of an exported program is no exact rewrite", "[proof]") {
  const Proof exact = proven(summed, summed_by_rows, Exactness::exact);
  CHECK_FALSE(exact.equal);
  CHECK(exact.counterexample != "");
  const Proof rounding = proven(summed, summed_by_rows, Exactness::rounding);
  INFO(rounding.counterexample);
  CHECK(rounding.equal);
}

TEST_CASE("a product of an exported program that is summed in another order is no exact rewrite", "[proof]") {
  const std::string whole =
      "input %x : f32[4, 512]\ninput %w : f32[512, 3]\n%y = aten.mm.default(self = %x, mat2 = %w) : f32[4, "
      "3]\noutput %y\n";
  const std::string halves =
      "input %x : f32[4, 512]\ninput %w : f32[512, 3]\n%a = aten.slice.Tensor(self = %x) { dim = 1, end = "
      "100 } : "
      "f32[4, 100]\n%b = aten.slice.Tensor(self = %x) { dim = 1, start = 100 } : f32[4, 412]\n%c = "
      "aten.slice.Tensor(self = %w) { dim = 0, end = 100 } : f32[100, 3]\n%d = aten.slice.Tensor(self = %w) "
      "{ dim "
      "= 0, start = 100 } : f32[412, 3]\n%e = aten.mm.default(self = %a, mat2 = %c) : f32[4, 3]\n%f = "
      "aten.mm.default(self = %b, mat2 = %d) : f32[4, 3]\n%y = aten.add.Tensor(self = %e, other = %f) : "
      "f32[4, "
      "3]\noutput %y\n";
  CHECK_FALSE(proven(whole, halves, Exactness::exact).equal);
  const Proof rounding = proven(whole, halves, Exactness::rounding);
  INFO(rounding.counterexample);
  CHECK(rounding.equal);
}

TEST_CASE("results that no memory holds are refused before they are made", "[eval][hostile]") {
  for (const char* text :
       {"input %x : f32[1]\n%y = aten.expand.default(self = %x) { size = [100000, 100000] } : f32[100000, "
        "100000]\noutput %y\n",
        "input %x : f32[1]\n%y = aten.repeat.default(self = %x) { repeats = [100000, 100000] } : f32[100000, "
        "100000]\noutput %y\n",
        "input %x : f32[1]\n%y = aten.constant_pad_nd.default(self = %x) { pad = [0, 100000000000] } : "
        "f32[100000000001]\noutput %y\n",
        "input %x : f32[1, 1, 1, 1]\n%y = aten.upsample_nearest2d.vec(input = %x) { output_size = [1000000, "
        "1000000] } : f32[1, 1, 1000000, 1000000]\noutput %y\n",
        "input %x : f32[100000, 1]\ninput %w : f32[1, 100000]\n%y = aten.mm.default(self = %x, mat2 = %w) : "
        "f32[100000, 100000]\noutput %y\n"}) {
    INFO(text);
    const Model model = parse(text);
    std::vector<Tensor> inputs;
    for (const ValueId v : model.graphs[0].inputs) {
      const Shape& shape = model.graphs[0].value(v).shape;
      inputs.push_back(
          Tensor::of(DType::f32, shape,
                     std::vector<double>(static_cast<std::size_t>(element_count(shape).value()), 1.0)));
    }
    CHECK_FALSE(evaluate(model, 0, inputs));
  }
}

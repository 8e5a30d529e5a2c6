// Kernels on graphs of one node, against results worked out by hand.
#include <cmath>

#include "lib/eval/evaluator.h"
#include "lib/eval/fold.h"
#include "lib/eval/kernel.h"
#include "lib/op/dialect.h"
#include "test/catch.h"

using namespace md;

namespace {

struct Operand {
  Tensor tensor;
  bool constant = false;
};

/// A graph of one node; constants become constants of the graph, everything else its inputs.
struct OneNode {
  Model model;
  std::vector<Tensor> inputs;

  OneNode(std::string op, std::vector<Operand> operands, DType result, Attributes attrs = {},
          std::size_t outputs = 1) {
    Graph graph;
    graph.dialect = model.dialect = &dialect("tflite");
    Node node;
    node.op = std::move(op);
    node.attrs = std::move(attrs);
    for (Operand& operand : operands) {
      const auto id = static_cast<ValueId>(graph.values.size());
      Value value = constant_value("v" + std::to_string(id), operand.tensor);
      if (!operand.constant) {
        value.constant.reset();
        graph.inputs.push_back(id);
        inputs.push_back(operand.tensor);
      }
      node.inputs.push_back(id);
      graph.values.push_back(std::move(value));
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      Value value;
      value.name = "y" + std::to_string(i);
      value.dtype = result;
      node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
      graph.outputs.push_back(node.outputs.back());
      graph.values.push_back(std::move(value));
    }
    graph.nodes.push_back(std::move(node));
    graph.order = {0};
    graph.index();
    model.graphs.push_back(std::move(graph));
  }

  Tensor run(EvaluateOptions options = {}, std::size_t output = 0) const {
    auto outputs = evaluate(model, 0, inputs, options);
    INFO((outputs ? "" : outputs.error().message));
    REQUIRE(outputs);
    return (*outputs)[output];
  }
};

Tensor floats(Shape shape, std::vector<double> values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}
Tensor ints(Shape shape, std::vector<std::int64_t> values) {
  return Tensor::of_integers(DType::i32, std::move(shape), values);
}
using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("operands broadcast on the right", "[eval]") {
  const OneNode add("ADD", {{floats({2, 1}, {10, 20})}, {floats({3}, {1, 2, 3})}}, DType::f32);
  const Tensor y = add.run();
  REQUIRE(y.shape == Shape{2, 3});
  REQUIRE(y.numbers() == Numbers{11, 12, 13, 21, 22, 23});
}

TEST_CASE("float arithmetic rounds as float does, and as double when asked", "[eval]") {
  const OneNode add("ADD", {{floats({1}, {16777216})}, {floats({1}, {1})}}, DType::f32);
  REQUIRE(add.run().number(0) == 16777216);
  EvaluateOptions judge;
  judge.mode.arithmetic = Arithmetic::f64;
  REQUIRE(add.run(judge).number(0) == 16777217);
}

TEST_CASE("fp16 storage overflows to infinity or saturates", "[eval][fp16]") {
  const OneNode square("MUL", {{floats({2}, {300, 2})}, {floats({2}, {300, 3})}}, DType::f32);
  EvaluateOptions half;
  half.mode.arithmetic = Arithmetic::f16_storage;
  REQUIRE(std::isinf(square.run(half).number(0)));
  REQUIRE(square.run(half).number(1) == 6);
  half.mode.saturate = true;
  REQUIRE(square.run(half).number(0) == 65504);
}

TEST_CASE("a sum in fp16 stops growing, a mean with a wide sum does not", "[eval][fp16]") {
  const Tensor x = floats({4096}, std::vector<double>(4096, 100.0));
  Attributes keep;
  const OneNode sum("SUM", {{x}, {ints({1}, {0}), true}}, DType::f32, keep),
      mean("MEAN", {{x}, {ints({1}, {0}), true}}, DType::f32, keep);
  EvaluateOptions half;
  half.mode.arithmetic = Arithmetic::f16_accumulate;
  half.watch_sums = true;
  REQUIRE(std::isinf(sum.run(half).number(0)));
  REQUIRE(mean.run(half).number(0) == 100);
  half.mode.wide_mean = false;
  REQUIRE(std::isinf(mean.run(half).number(0)));
}

TEST_CASE("data movement", "[eval]") {
  const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  REQUIRE(OneNode("TRANSPOSE", {{x}, {ints({2}, {1, 0}), true}}, DType::f32).run().numbers() ==
          Numbers{0, 3, 1, 4, 2, 5});
  REQUIRE(OneNode("TILE", {{x}, {ints({2}, {1, 2}), true}}, DType::f32).run().numbers() ==
          Numbers{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  REQUIRE(OneNode("GATHER", {{x}, {ints({2}, {2, 0}), true}}, DType::f32,
                  [] {
                    Attributes a;
                    a.set("axis", std::int64_t{1});
                    return a;
                  }())
              .run()
              .numbers() == Numbers{2, 0, 5, 3});
  REQUIRE(OneNode("GATHER_ND", {{x}, {ints({1, 2}, {1, 1}), true}}, DType::f32).run().numbers() ==
          Numbers{4});
  REQUIRE(OneNode("REVERSE_V2", {{x}, {ints({1}, {1}), true}}, DType::f32).run().numbers() ==
          Numbers{2, 1, 0, 5, 4, 3});
  REQUIRE(OneNode("PAD", {{x}, {ints({2, 2}, {0, 0, 1, 0}), true}}, DType::f32).run().numbers() ==
          Numbers{0, 0, 1, 2, 0, 3, 4, 5});
  Attributes reflect;
  reflect.set("mode", EnumValue{0, "REFLECT"});
  REQUIRE(
      OneNode("MIRROR_PAD", {{x}, {ints({2, 2}, {0, 0, 2, 1}), true}}, DType::f32, reflect).run().numbers() ==
      Numbers{2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
  Attributes shrink;
  shrink.set("shrink_axis_mask", std::int64_t{1});
  const Tensor row =
      OneNode("STRIDED_SLICE",
              {{x}, {ints({2}, {-1, 2}), true}, {ints({2}, {0, -9}), true}, {ints({2}, {1, -2}), true}},
              DType::f32, shrink)
          .run();
  REQUIRE(row.shape == Shape{2});
  REQUIRE(row.numbers() == Numbers{5, 3});
}

TEST_CASE("space and batch round trip", "[eval]") {
  std::vector<double> n(2 * 4 * 6 * 3);
  for (std::size_t i = 0; i < n.size(); ++i) n[i] = static_cast<double>(i);
  const Tensor x = floats({2, 4, 6, 3}, n);
  const Tensor block = ints({2}, {2, 3}), none = ints({2, 2}, {0, 0, 0, 0});
  const Tensor batched = OneNode("SPACE_TO_BATCH_ND", {{x}, {block, true}, {none, true}}, DType::f32).run();
  REQUIRE(batched.shape == Shape{12, 2, 2, 3});
  REQUIRE(batched.number(3) == 9);  // the next pixel of block column 0 is three to the right
  REQUIRE(
      OneNode("BATCH_TO_SPACE_ND", {{batched}, {block, true}, {none, true}}, DType::f32).run().numbers() ==
      n);
}

TEST_CASE("convolution with SAME padding and a group of channels", "[eval]") {
  Attributes a;
  a.set("padding", EnumValue{0, "SAME"});
  a.set("stride_h", std::int64_t{1});
  a.set("stride_w", std::int64_t{1});
  const Tensor x = floats({1, 1, 3, 2}, {1, 10, 2, 20, 3, 30});
  // Two groups of one channel; filter 0 sums the window of channel 0, filter 1 that of channel 1.
  const Tensor y =
      OneNode("CONV_2D",
              {{x}, {floats({2, 1, 3, 1}, {1, 1, 1, 1, 1, 1}), true}, {floats({2}, {0, 0.5}), true}},
              DType::f32, a)
          .run();
  REQUIRE(y.numbers() == Numbers{3, 30.5, 6, 60.5, 5, 50.5});
}

TEST_CASE("quantized addition rescales as the runtime does", "[eval]") {
  Tensor a = Tensor::of_integers(DType::i8, {3}, std::vector<std::int64_t>{-128, 0, 127}), b = a;
  a.quantization = b.quantization =
      std::make_shared<const Quantization>(Quantization{{0.5f}, {0}, 0, {}, {}});
  OneNode add("ADD", {{a}, {b}}, DType::i8);
  add.model.graphs[0].values[2].quantization = Quantization{{1.0f}, {3}, 0, {}, {}};
  REQUIRE(add.run().numbers() == Numbers{-125, 3, 127});
}

TEST_CASE("an operator without a kernel is named, an absurd size is refused", "[eval]") {
  const OneNode odd("FROBNICATE", {{floats({1}, {1})}}, DType::f32);
  const auto r = evaluate(odd.model, 0, odd.inputs);
  REQUIRE_FALSE(r);
  REQUIRE(r.error().message == "no kernel for FROBNICATE");
  REQUIRE(missing_kernels(odd.model) == std::vector<std::string>{"FROBNICATE"});
  const OneNode big("FILL", {{ints({3}, {1 << 20, 1 << 20, 1 << 10})}, {floats({}, {1})}}, DType::f32);
  REQUIRE_FALSE(evaluate(big.model, 0, big.inputs));
}

TEST_CASE("constants fold as the float kernels compute", "[eval]") {
  OneNode div("DIV", {{floats({1}, {1}), true}, {floats({1}, {3}), true}}, DType::f32);
  const auto folded = fold_value(div.model, 0, 2);
  REQUIRE(folded);
  REQUIRE(folded->data<float>()[0] == 1.0f / 3.0f);
  OneNode runtime("DIV", {{floats({1}, {1})}, {floats({1}, {3}), true}}, DType::f32);
  REQUIRE_FALSE(fold_value(runtime.model, 0, 2));
  REQUIRE_FALSE(depends_on_constants_only(runtime.model.graphs[0], 2));
}

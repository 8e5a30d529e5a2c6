// Elementwise operators of two operands: broadcasting, constant operands, conditions.
#include <algorithm>

#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

std::string list(const Shape& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : ",") + fmt::format("{}", dim);
  return text;
}

/// numpy's rule, from the last axis on.
bool broadcastable(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

/// The classic delegate's three cases.
bool broadcastable_classic(const Shape& longer, const Shape& shorter) {
  if (longer.size() != 4) return false;
  if (shorter.size() == 3) return longer[0] == 1;
  if (shorter.size() != 2) return false;
  return (longer[0] == 1 && shorter[0] == 1 && shorter[1] == 1) ||
         (longer[0] == shorter[0] && longer[3] == shorter[1]);
}

/// ADD and MUL of different ranks, both above 1.
Result_ broadcast(const CheckContext& c, const CheckSpec& spec) {
  const Value *a = c.input(0), *b = c.input(1);
  if (!a || !b || a->rank() <= 1 || b->rank() <= 1 || a->rank() == b->rank()) return {};
  const bool first_longer = a->rank() > b->rank();
  const Shape &longer = first_longer ? a->shape : b->shape, &shorter = first_longer ? b->shape : a->shape;
  if (spec.parameters.flag("classic") ? broadcastable_classic(longer, shorter)
                                      : broadcastable(longer, shorter))
    return {};
  return Fault{fmt::format("Doesn't support broadcasting - input0: [{}], input1: [{}]", list(a->shape),
                           list(b->shape)),
               none_id};
}

/// Two runtime operands of different ranks: they must broadcast, and neither may be a scalar or above rank 4.
Result_ runtime_broadcast(const CheckContext& c, const CheckSpec& spec) {
  if (c.runtime_inputs() != 2 || c.input_count() != 2 || c.input_id(0) == c.input_id(1)) return {};
  const Value *a = c.input(0), *b = c.input(1);
  if (a->rank() == b->rank()) return {};
  if (!broadcastable(a->shape, b->shape)) return Fault{spec.text("text"), none_id};
  std::vector<std::pair<const Value*, ValueId>> values = {{a, c.input_id(0)}, {b, c.input_id(1)}};
  if (c.output(0)) values.emplace_back(c.output(0), c.node.outputs[0]);
  for (const auto& [value, id] : values)
    if (value->rank() < 1 || value->rank() > 4)
      return Fault{fmt::format("Tensor \"{}\" has bad input dims size: {}.", c.view.name(id), value->rank()),
                   id};
  return {};
}

bool reads_as_float(const Value& value) {
  const bool quantized = value.quantization && !value.quantization->scale.empty();
  const bool byte = value.dtype == DType::i8 || value.dtype == DType::u8 || value.dtype == DType::i4;
  return value.dtype == DType::f32 || value.dtype == DType::f16 || (quantized && byte);
}

/// One constant operand: a single element of a float or INT32 type, a row of channels, or rank 4 at most.
/// Constants of other integer types pass when they hold more than one element.
Result_ constant_operand(const CheckContext& c, const CheckSpec& spec) {
  if (c.input_count() != 2 || c.runtime_inputs() != 1) return {};
  const Value *a = c.input(0), *b = c.input(1);
  if (!a || !b) return {};
  const Value& constant = a->is_constant() ? *a : *b;
  const Fault fault{spec.text("text", "Can't parse inputs with const tensors."), none_id};
  if (!constant.is_constant()) return {};
  if (constant.sparsity) return fault;
  if (elements(constant.shape) == 1)
    return reads_as_float(constant) || constant.dtype == DType::i32 ? Result_() : fault;
  if (!reads_as_float(constant)) return {};
  const bool linear =
      std::all_of(constant.shape.begin(), constant.shape.end() - 1, [](std::int64_t d) { return d == 1; });
  if (linear || constant.rank() < 5) return {};
  return fault;
}

/// SELECT and SELECT_V2: types of the condition, shapes of the branches.
Result_ select(const CheckContext& c, const CheckSpec& spec) {
  const Fault fault{spec.text("text"), none_id};
  const Value *condition = c.input(0), *then = c.input(1), *otherwise = c.input(2), *out = c.output(0);
  if (!condition || !then || !otherwise || !out) return {};
  if (condition->dtype != DType::boolean && condition->dtype != DType::f16 && condition->dtype != DType::f32)
    return fault;
  if (spec.parameters.flag("condition_broadcasts")) {
    if (condition->rank() > out->rank()) return fault;
    const std::size_t offset = out->shape.size() - condition->shape.size();
    for (std::size_t i = 0; i < condition->shape.size(); ++i)
      if (condition->shape[i] != out->shape[offset + i] && condition->shape[i] != 1) return fault;
  }
  for (const Value* branch : {then, otherwise}) {
    const bool scalar = branch->shape.empty() || (branch->rank() == 1 && branch->shape[0] <= 1);
    if (branch->shape != out->shape && !scalar) return fault;
    const bool constant = branch->is_constant();
    if (branch->rank() != 2) continue;
    if (spec.parameters.flag("runtime_rank_2") && !constant)
      return Fault{branch == then ? "2-D if tensor only supported if constant."
                                  : "2-D else tensor only supported if constant.",
                   none_id};
    if (spec.parameters.flag("constant_rank_2") && constant)
      return Fault{branch == then ? "2-D if tensor only supported if constant."
                                  : "2-D else tensor only supported if constant.",
                   none_id};
  }
  return {};
}

/// A comparison's result is read by one operator, which selects or casts to a float.
Result_ read_by_one_float_operator(const CheckContext& c, const CheckSpec&) {
  const Graph& graph = c.view.graph();
  if (!c.output(0)) return {};
  const std::span<const Use> uses = graph.uses(c.node.outputs[0]);
  if (uses.size() != 1) return Fault{"Not supported logical op case", none_id};
  const Node& next = graph.node(uses[0].node);
  const DType result = next.outputs.empty() ? DType::unknown : graph.value(next.outputs[0]).dtype;
  const bool selects = next.op == "CAST" || next.op == "SELECT" || next.op == "SELECT_V2";
  if (selects && (result == DType::f16 || result == DType::f32)) return {};
  return Fault{"Not supported logical op case.", none_id};
}

/// A CAST from bool to float: the condition has one producer and one reader, and so has the result.
Result_ one_bool_consumer(const CheckContext& c, const CheckSpec&) {
  const Graph& graph = c.view.graph();
  const Value *in = c.input(0), *out = c.output(0);
  if (!in || !out || in->dtype != DType::boolean || (out->dtype != DType::f16 && out->dtype != DType::f32))
    return {};
  if (graph.producer(c.node.inputs[0]) < 0 || graph.uses(c.node.inputs[0]).size() != 1)
    return Fault{"Not supported cast case", none_id};
  if (graph.uses(c.node.outputs[0]).size() != 1)
    return Fault{"Cast from bool not supported for outputs", none_id};
  return {};
}

}  // namespace

const std::vector<CheckEntry>& elementwise_checks() {
  static const std::vector<CheckEntry> checks = {
      {"broadcast", broadcast},
      {"runtime broadcast", runtime_broadcast},
      {"constant operand", constant_operand},
      {"select", select},
      {"read by one float operator", read_by_one_float_operator},
      {"one bool consumer", one_bool_consumer},
  };
  return checks;
}

}  // namespace md

// Checks of ranks, axes and shapes.
#include <algorithm>

#include <fmt/format.h>

#include "lib/graph/encode.h"
#include "lib/runtime/litert/bhwc.h"
#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

Fault bad_rank(const CheckContext& c, ValueId id) {
  return {fmt::format("Tensor \"{}\" has bad input dims size: {}.", c.view.name(id),
                      c.view.graph().value(id).rank()),
          id};
}

std::string dimension_list(const Shape& shape, std::string_view separator) {
  std::string text;
  for (const std::int64_t dim : shape) text += fmt::format("{}{}", text.empty() ? "" : separator, dim);
  return text;
}

/// int8 and uint8 tensors are read through one scale.
bool has_channel_scales(const Value& value) {
  const bool byte = value.dtype == DType::i8 || value.dtype == DType::u8;
  return byte && value.quantization && value.quantization->scale.size() > 1;
}

Result_ readable_value(const CheckContext& c, ValueId id, std::int64_t max_rank) {
  if (id < 0) return Fault{"Invalid Tensor index: -1", none_id};
  const Value& value = c.view.graph().value(id);
  if (value.rank() > max_rank) return bad_rank(c, id);
  if (has_channel_scales(value)) return Fault{"Unsupported quantization scale size", id};
  return {};
}

/// Operands ("inputs": positions or "all") and results ("outputs": true) that the delegate reads as tensors
/// of its own.
Result_ readable(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t max_rank = spec.parameters.integer("max_rank", 5);
  const std::int64_t runtime = spec.parameters.integer("only_with_runtime", -1);
  if (runtime >= 0 && c.runtime_inputs() != runtime) return {};
  std::vector<std::int64_t> operands = spec.operands("inputs");
  if (spec.parameters.text("inputs") == "all")
    for (std::size_t i = 0; i < c.input_count(); ++i) operands.push_back(static_cast<std::int64_t>(i));
  for (const std::int64_t operand : operands) {
    const auto index = static_cast<std::size_t>(operand);
    if (spec.parameters.flag("runtime_only") && (!c.input(index) || c.is_constant(index))) continue;
    if (index >= c.input_count())
      return Fault{fmt::format("Invalid input tensor index: {}", operand), none_id};
    if (auto fault = readable_value(c, c.input_id(index), max_rank)) return fault;
  }
  if (spec.parameters.flag("outputs"))
    for (const ValueId id : c.node.outputs)
      if (auto fault = readable_value(c, id, max_rank)) return fault;
  return {};
}

const Value* subject(const CheckContext& c, const CheckSpec& spec, ValueId& id) {
  const std::int64_t output = spec.parameters.integer("output", -1);
  if (output >= 0) {
    const Value* value = c.output(static_cast<std::size_t>(output));
    id = value ? c.node.outputs[static_cast<std::size_t>(output)] : none_id;
    return value;
  }
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand"));
  id = c.input_id(operand);
  return c.input(operand);
}

/// The shape alone (no quantization): `Tensor "x" has bad input dims size: 6.`
Result_ shape_rank(const CheckContext& c, const CheckSpec& spec) {
  ValueId id = none_id;
  const Value* value = subject(c, spec, id);
  const std::int64_t low = spec.parameters.integer("low", 0), high = spec.parameters.integer("high", 5);
  if (!value || (value->rank() >= low && value->rank() <= high)) return {};
  const std::string text = spec.text("text");
  if (text.empty()) return bad_rank(c, id);
  return Fault{filled(text, {{"rank", fmt::format("{}", value->rank())},
                             {"name", c.view.name(id)},
                             {"shape", dimension_list(value->shape, ", ")}}),
               id};
}

Result_ one_axis(const Value& value, std::int64_t axis) {
  const std::int64_t rank = value.rank();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return Fault{"Index for axis out of range", none_id};
  if (rank > 4) return Fault{"Unknown layout.", none_id};
  return {};
}

/// Axes from a constant operand ("from": position) or an attribute ("attribute": name) of the value that the
/// parameters "operand" or "output" name.
Result_ axes(const CheckContext& c, const CheckSpec& spec) {
  ValueId id = none_id;
  const Value* value = subject(c, spec, id);
  if (!value) return {};
  if (const std::string attribute = spec.text("attribute"); !attribute.empty())
    return one_axis(*value, c.node.attrs.integer(attribute));
  const Value* list = c.input(static_cast<std::size_t>(spec.parameters.integer("from")));
  if (!list) return {};
  const auto numbers = decode_integers(*list);
  if (!numbers) return {};
  for (const std::int64_t axis : *numbers)
    if (auto fault = one_axis(*value, axis)) return fault;
  return {};
}

/// Paddings are a matrix of 3x2 or 4x2.
Result_ paddings(const CheckContext& c, const CheckSpec& spec) {
  const Value* pads = c.input(static_cast<std::size_t>(spec.parameters.integer("operand", 1)));
  if (!pads)
    return Fault{fmt::format("Requested index goes beyond array size: 1 vs {}", c.input_count()), none_id};
  if (pads->rank() != 2)
    return Fault{fmt::format("Invalid paddings tensor dimension: expected 2 dim, got {} dim", pads->rank()),
                 none_id};
  if ((pads->shape[0] == 3 || pads->shape[0] == 4) && pads->shape[1] == 2) return {};
  return Fault{fmt::format("Invalid paddings tensor shape: expected 4x2 or 3x2, got {}x{}", pads->shape[0],
                           pads->shape[1]),
               none_id};
}

/// Inputs of a concatenation may differ along one of the delegate's axes only. The runtime looks for that
/// axis by excluding others pair by pair; this is its decision, not a general one.
Result_ concatenation_axis(const CheckContext& c, const CheckSpec&) {
  std::vector<Bhwc> shapes;
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (const Value* value = c.input(i)) shapes.push_back(bhwc(value->shape));
  if (shapes.empty()) return {};
  const Bhwc& first = shapes[0];
  const auto any = [&](auto&& differs) { return std::any_of(shapes.begin() + 1, shapes.end(), differs); };
  if (!any([&](const Bhwc& s) { return s.h != first.h && s.w != first.w && s.c != first.c; })) return {};
  if (!any([&](const Bhwc& s) { return s.b != first.b && s.w != first.w && s.c != first.c; })) return {};
  if (!any([&](const Bhwc& s) { return s.b != first.b && s.h != first.h && s.c != first.c; })) return {};
  if (!any([&](const Bhwc& s) { return s.b != first.b && s.w != first.w && s.h != first.h; })) return {};
  return Fault{"Couldn't find an axis to concatenate by.", none_id};
}

/// Alpha of PRELU: one value a channel, or the input's height, width and channels.
Result_ prelu_alpha(const CheckContext& c, const CheckSpec&) {
  const Value *input = c.input(0), *alpha = c.input(1);
  if (!input || !alpha) return {};
  const Bhwc shape = bhwc(input->shape);
  const bool linear = alpha->rank() > 0 && std::all_of(alpha->shape.begin(), alpha->shape.end() - 1,
                                                       [](auto d) { return d == 1; });
  if (linear) {
    if (alpha->shape.back() == shape.c) return {};
    return Fault{"Linear alpha shape does not match the number of input channels.", none_id};
  }
  if (alpha->rank() == 4 && alpha->shape[0] != 1) return Fault{"Batch size is not equal to 1.", none_id};
  if (alpha->rank() != 3 && alpha->rank() != 4)
    return Fault{
        fmt::format("Expected a 3D tensor of shape HxWxC or a 4D tensor of shape 1xHxWxC but got [{}]",
                    dimension_list(alpha->shape, ",")),
        none_id};
  const std::size_t at = alpha->shape.size() - 3;
  if (alpha->shape[at] == shape.h && alpha->shape[at + 1] == shape.w && alpha->shape[at + 2] == shape.c)
    return {};
  return Fault{"Alpha shape does not match input shape.", none_id};
}

/// Length of a constant list ("operand") between "low" and "high".
Result_ list_length(const CheckContext& c, const CheckSpec& spec) {
  const Value* list = c.input(static_cast<std::size_t>(spec.parameters.integer("operand", 1)));
  if (!list) return {};
  const std::int64_t count = elements(list->shape);
  if (count >= spec.parameters.integer("low") && count <= spec.parameters.integer("high")) return {};
  return Fault{filled(spec.text("text"), {{"got", fmt::format("{}", count)}}), none_id};
}

/// Two operands' (or an operand's and a result's) ranks agree.
Result_ same_rank(const CheckContext& c, const CheckSpec& spec) {
  const Value *a = c.input(0), *b = c.output(0);
  if (!a || !b || a->rank() == b->rank()) return {};
  if (const std::string flag = spec.text("when"); !flag.empty() && !c.node.attrs.flag(flag)) return {};
  return Fault{spec.text("text"), none_id};
}

}  // namespace

const std::vector<CheckEntry>& shape_checks() {
  static const std::vector<CheckEntry> checks = {
      {"readable", readable},
      {"rank", shape_rank},
      {"axes", axes},
      {"paddings", paddings},
      {"concatenation axis", concatenation_axis},
      {"prelu alpha", prelu_alpha},
      {"list length", list_length},
      {"input and output rank agree", same_rank},
  };
  return checks;
}

}  // namespace md

// One operator written in the form of another operator set.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/format/onnx/operators.h"
#include "lib/graph/queries.h"
#include "lib/op/constants.h"
#include "lib/rewrite/onnx/expand.h"
#include "lib/rewrite/onnx/forms.h"

namespace md::onnx {
namespace {

using Numbers = OnnxBuilder::Numbers;

bool is_metadata(std::string_view attribute) {
  return attribute.starts_with('#') || attribute.starts_with('@');
}

Attributes without(const Attributes& attrs, std::initializer_list<std::string_view> names) {
  Attributes rest = attrs;
  for (const std::string_view name : names) rest.erase(name);
  return rest;
}

bool is_reduction(std::string_view op) { return op.starts_with("Reduce"); }

struct Writer {
  OnnxBuilder& b;
  const Graph& graph;
  const Node& node;
  int meaning;
  std::string& reason;
  ValueId x() const { return node.inputs[0]; }
  ValueId out() const { return node.outputs[0]; }

  bool no(std::string why) {
    reason = std::move(why);
    return false;
  }

  bool axes(bool reduces) {
    const auto given = integers_of(graph, node, "axes", 1);
    if (!given && operand(node, 1) >= 0) return no("its axes are computed");
    if (!reduces) {
      if (node.op == "Squeeze") b.squeeze(x(), given.value_or(Numbers{}), out());
      if (node.op == "Unsqueeze" && given) b.unsqueeze(x(), *given, out());
      return node.op != "Unsqueeze" || given || no("its axes are not given");
    }
    if ((!given || given->empty()) && node.attrs.integer("noop_with_empty_axes", 0) != 0) {
      b.identity(x(), out());
      return true;
    }
    b.reduce(node.op, x(), given.value_or(Numbers{}), node.attrs.integer("keepdims", 1) != 0, out());
    return true;
  }

  bool clip() {
    // bounds are operands from 11 on
    if (b.set() >= 11) {
      ValueId low = operand(node, 1), high = operand(node, 2);
      if (node.attrs.find("min")) low = b.number(b.dtype(x()), node.attrs.number("min"));
      if (node.attrs.find("max")) high = b.number(b.dtype(x()), node.attrs.number("max"));
      b.add("Clip", {x(), low, high}, {}, out());
      return true;
    }
    const auto low = number_of(graph, node, "min", 1), high = number_of(graph, node, "max", 2);
    if ((!low && operand(node, 1) >= 0) || (!high && operand(node, 2) >= 0))
      return no("its bounds are computed");
    b.clip(x(), low, high, out());
    return true;
  }

  bool pad() {
    auto pads = integers_of(graph, node, node.attrs.find("paddings") ? "paddings" : "pads", 1);
    const std::string mode(node.attrs.text("mode", "constant"));
    if (!pads) return no("its pads are computed");
    if (const ValueId listed = operand(node, 3); listed >= 0) {
      const auto chosen = constant_integers(graph, listed);
      const int rank = graph.value(x()).rank();
      if (!chosen || pads->size() != 2 * chosen->size()) return no("its axes are computed");
      Numbers all(static_cast<std::size_t>(2 * rank), 0);
      for (std::size_t i = 0; i < chosen->size(); ++i) {
        const std::int64_t axis = (*chosen)[i] < 0 ? (*chosen)[i] + rank : (*chosen)[i];
        if (axis < 0 || axis >= rank) return no("its axes do not exist");
        all[static_cast<std::size_t>(axis)] = (*pads)[i];
        all[static_cast<std::size_t>(axis + rank)] = (*pads)[i + chosen->size()];
      }
      pads = all;
    }
    if (operand(node, 2) >= 0 && b.set() >= 11) {
      b.add("Pad", {x(), b.int64s(*pads), operand(node, 2)},
            without(node.attrs, {"pads", "paddings", "value"}), out());
      return true;
    }
    const auto value = number_of(graph, node, "value", 2);
    if (!value && operand(node, 2) >= 0) return no("its value is computed");
    b.pad(x(), *pads, value.value_or(0), mode, out());
    return true;
  }

  bool slice() {
    const auto starts = integers_of(graph, node, "starts", 1), ends = integers_of(graph, node, "ends", 2),
               steps = integers_of(graph, node, "steps", 4);
    auto axes_given = integers_of(graph, node, "axes", 3);
    if (!starts || !ends || (operand(node, 3) >= 0 && !axes_given) || (operand(node, 4) >= 0 && !steps))
      return no("its bounds are computed");
    if (!axes_given) {
      axes_given.emplace();
      for (std::size_t i = 0; i < starts->size(); ++i) axes_given->push_back(static_cast<std::int64_t>(i));
    }
    const bool stepped =
        steps && std::any_of(steps->begin(), steps->end(), [](std::int64_t s) { return s != 1; });
    if (stepped && b.set() < 10) return no("steps came with opset 10");
    b.slice(x(), *starts, *ends, *axes_given, stepped ? *steps : Numbers{}, out());
    return true;
  }

  bool split() {
    auto sizes = integers_of(graph, node, "split", 1);
    if (!sizes && operand(node, 1) >= 0) return no("its sizes are computed");
    Attributes attrs;
    const std::int64_t axis = node.attrs.integer("axis", 0);
    attrs.set("axis", axis);
    Node copy;
    copy.op = "Split";
    copy.inputs = {x()};
    copy.outputs = node.outputs;
    if (!sizes && b.set() < 18) {
      const Value& value = graph.value(x());
      const std::int64_t at = axis < 0 ? axis + value.rank() : axis;
      const std::int64_t length =
          at >= 0 && at < value.rank() ? value.shape[static_cast<std::size_t>(at)] : -1;
      const auto parts = static_cast<std::int64_t>(node.outputs.size());
      if (length >= 0 && length % parts != 0) {
        const std::int64_t piece = (length + parts - 1) / parts;
        sizes.emplace();
        for (std::int64_t left = length; left > 0; left -= piece) sizes->push_back(std::min(piece, left));
      }
    }
    if (sizes && b.set() >= 13)
      copy.inputs.push_back(b.int64s(*sizes));
    else if (sizes)
      attrs.set("split", *sizes);
    else if (b.set() >= 18)
      attrs.set("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
    copy.attrs = std::move(attrs);
    copy.version = 0;
    if (const OpSpec* row = onnx_row("Split", b.set())) copy.version = row->since;
    b.patch().add_node(std::move(copy));
    return true;
  }

  /// Before 13 all axes from `axis` on are one.
  bool softmax() {
    const Value& value = graph.value(x());
    if (value.unranked) return no("its rank is not known");
    const int rank = value.rank();
    const bool flattens = meaning < 13;
    std::int64_t axis = node.attrs.integer("axis", flattens ? 1 : -1);
    if (axis < 0) axis += rank;
    if (!flattens || axis == rank - 1) {
      b.softmax(x(), axis, out(), node.op);
      return true;
    }
    if (!is_static(value)) return no("it flattens dimensions that are not known");
    Attributes attrs;
    attrs.set("axis", axis);
    const ValueId flat = b.add("Flatten", {x()}, attrs);
    b.reshape(b.softmax(flat, -1, none_id, node.op), value.shape, out());
    return true;
  }

  bool dropout() {
    // without training it passes its operand on
    if (node.outputs.size() > 1 && node.outputs[1] >= 0 &&
        (!graph.uses(node.outputs[1]).empty() || graph.is_output(node.outputs[1])))
      return no("its mask is read");
    b.identity(x(), out());
    return true;
  }

  bool top_k() {
    const auto k = integers_of(graph, node, "k", 1);
    if (b.set() < 10 && (!k || k->size() != 1)) return no("K is computed");
    Node copy;
    copy.op = "TopK";
    copy.outputs = node.outputs;
    copy.attrs = without(node.attrs, {"k"});
    if (b.set() < 11 && node.attrs.integer("largest", 1) == 0) return no("the smallest came with opset 11");
    if (b.set() < 11) copy.attrs = without(copy.attrs, {"largest", "sorted"});
    copy.inputs = {x()};
    if (b.set() < 10)
      copy.attrs.set("k", (*k)[0]);
    else if (node.attrs.find("k"))
      copy.inputs.push_back(b.int64s({node.attrs.integer("k")}));
    else
      copy.inputs.push_back(operand(node, 1));
    const OpSpec* row = onnx_row("TopK", b.set());
    copy.version = row ? row->since : 0;
    b.patch().add_node(std::move(copy));
    return true;
  }

  bool batch_norm() {
    for (std::size_t r = 1; r < node.outputs.size(); ++r)
      if (node.outputs[r] >= 0 && (!graph.uses(node.outputs[r]).empty() || graph.is_output(node.outputs[r])))
        return no("its statistics are read");
    if (node.attrs.integer("training_mode", 0) != 0) return no("it is in training mode");
    Attributes attrs;
    if (node.attrs.find("epsilon")) attrs.set("epsilon", node.attrs.number("epsilon"));
    if (b.set() < 7) attrs.set("is_test", std::int64_t{1});
    b.add(node.op, node.inputs, std::move(attrs), out());
    return true;
  }

  bool resize() {
    if (node.op == "Upsample" || meaning < 11 || b.set() < 11) {
      if (const Formula formula = formula_of("Upsample"); formula && (node.op == "Upsample" || meaning < 11))
        return formula(b, graph, node, reason);
      return no("its coordinates have no form before opset 11");
    }
    std::vector<ValueId> operands = node.inputs;
    if (operands.size() > 1 && operands[1] < 0 && b.set() < 13)
      operands[1] = b.constant("roi", DType::f32, {0}, {});
    if (operands.size() > 2 && operands[2] < 0 && b.set() < 13)
      operands[2] = b.constant("scales", DType::f32, {0}, {});
    Attributes attrs = node.attrs;
    if (b.set() < 18) {
      if (attrs.integer("antialias", 0) != 0 || attrs.find("axes"))
        return no("antialias and axes came with opset 18");
      attrs = without(attrs, {"antialias", "keep_aspect_ratio_policy"});
    }
    b.add("Resize", std::move(operands), std::move(attrs), out());
    return true;
  }

  bool grid_sample() {
    Attributes attrs = node.attrs;
    const std::string mode(node.attrs.text("mode", b.set() >= 20 ? "bilinear" : "linear"));
    if (mode == "nearest")
      attrs.set("mode", mode);
    else if (mode.find("cubic") != std::string::npos)
      attrs.set("mode", std::string(b.set() >= 20 ? "cubic" : "bicubic"));
    else
      attrs.set("mode", std::string(b.set() >= 20 ? "linear" : "bilinear"));
    b.add("GridSample", node.inputs, std::move(attrs), out());
    return true;
  }

  bool cast() {
    Attributes attrs = node.attrs;
    const DType to = graph.value(out()).dtype;
    if (b.set() >= 6 && b.set() < 19) attrs.erase("saturate");
    if (node.attrs.text("to").empty() && b.set() >= 6) {
      b.add("Cast", {x()}, std::move(attrs), out());
      return true;
    }
    b.cast(x(), to, out());
    return true;
  }

  /// The same node without attributes that the new form does not have and that say nothing.
  bool plain(const OpSpec& row) {
    Node copy = node;
    copy.origin = none_id;
    copy.origins = {};
    const OpSpec* old = onnx_row(node.op, meaning);
    for (const auto& [name, value] : node.attrs) {
      if (is_metadata(name) || row.find(name)) continue;
      const AttributeSpec* spec = old ? old->find(name) : nullptr;
      if (!spec || !(spec->usual == value)) return no(fmt::format("it has no attribute {}", name));
      copy.attrs.erase(name);
    }
    if (old)
      for (const AttributeSpec& spec : old->attributes) {
        const AttributeSpec* other = row.find(spec.name);
        if (other && !node.attrs.find(spec.name) && spec.usual != other->usual) {
          if (std::holds_alternative<std::monostate>(spec.usual))
            return no(fmt::format("its attribute {} has another usual value", spec.name));
          copy.attrs.set(spec.name, spec.usual);
        }
      }
    copy.version = row.since;
    if (const auto why = misfit_in(graph, copy, row)) return no(*why);
    b.patch().add_node(std::move(copy));
    return true;
  }

  /// The operand along `axis` of a value of this rank; per tensor it stands as it is.
  ValueId along(ValueId v, std::int64_t axis, int rank) {
    const Shape shape = b.shape(v);
    if (shape.size() != 1 || rank < 2) return v;
    Shape spread(static_cast<std::size_t>(rank), 1);
    spread[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = shape[0];
    return b.reshape(v, spread);
  }

  /// QuantizeLinear and DequantizeLinear of a type that the set does not quantize to: the same numbers in
  /// floats, x / scale rounded, clamped to the type's range, and back.
  bool fake_quantization() {
    const NodeId maker = node.inputs.empty() ? none_id : graph.producer(x());
    const Node* quantized = maker == none_id ? nullptr : &graph.node(maker);
    if (!quantized || quantized->op != "QuantizeLinear" || quantized->inputs.size() < 2 ||
        node.inputs.size() < 2 || quantized->attrs.find("block_size") ||
        graph.value(quantized->inputs[0]).unranked)
      return no("what it restores is stored in a type that this opset does not quantize to");
    const Value& source = graph.value(quantized->inputs[0]);
    const DType type = graph.value(x()).dtype;
    const int bits = bit_width(type);
    if (bits < 2 || bits > 16 || !is_integer(type) || source.dtype != DType::f32)
      return no("its types are not known here");
    const std::int64_t axis = quantized->attrs.integer("axis", 1);
    const double low = is_signed(type) ? -std::ldexp(1.0, bits - 1) : 0;
    const double high = is_signed(type) ? std::ldexp(1.0, bits - 1) - 1 : std::ldexp(1.0, bits) - 1;
    ValueId steps = b.unary(
        "Round", b.binary("Div", quantized->inputs[0], along(quantized->inputs[1], axis, source.rank())));
    const auto zero = [&](const Node& of) {
      return operand(of, 2) < 0 ? none_id : along(as_type(b, of.inputs[2], DType::f32), axis, source.rank());
    };
    if (const ValueId shift = zero(*quantized); shift != none_id) steps = b.binary("Add", steps, shift);
    steps = b.clip(steps, low, high);
    if (const ValueId shift = zero(node); shift != none_id) steps = b.binary("Sub", steps, shift);
    b.binary("Mul", steps, along(node.inputs[1], axis, source.rank()), out());
    return true;
  }

  bool write(const OpSpec& row) {
    const auto takes = [&](ValueId v, const OperandSpec& spec) {
      return spec.types.empty() ||
             std::find(spec.types.begin(), spec.types.end(), graph.value(v).dtype) != spec.types.end();
    };
    if (node.op == "DequantizeLinear" && !row.operand_specs.empty() && !takes(x(), row.operand_specs[0]))
      return fake_quantization();
    if (node.op == "QuantizeLinear" && !row.result_specs.empty() && !takes(out(), row.result_specs[0])) {
      const auto uses = graph.uses(out());
      const bool restored =
          !graph.is_output(out()) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
            return graph.node(use.node).op == "DequantizeLinear" && use.operand == 0;
          });
      return restored || no("its result is read as integers");  // goes with what restores it
    }
    if (node.op == "Squeeze" || node.op == "Unsqueeze") return axes(false);
    if (is_reduction(node.op)) return axes(true);
    if (node.op == "Clip") return clip();
    if (node.op == "Pad") return pad();
    if (node.op == "Slice") return slice();
    if (node.op == "Split") return split();
    if (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax") return softmax();
    if (node.op == "Dropout" && node.attrs.integer("training_mode", 0) == 0 && operand(node, 2) < 0)
      return dropout();
    if (node.op == "TopK") return top_k();
    if (node.op == "BatchNormalization") return batch_norm();
    if (node.op == "Resize" || node.op == "Upsample") return resize();
    if (node.op == "GridSample") return grid_sample();
    if (node.op == "Cast") return cast();
    const auto shape = node.op == "Reshape" ? integers_of(graph, node, "shape", 1) : std::nullopt;
    if (shape && node.attrs.integer("allowzero", 0) == 0) {
      b.reshape(x(), *shape, out());
      return true;
    }
    if (changes_meaning(node.op, meaning, b.set())) return no("it means something else there");
    return plain(row);
  }
};

}  // namespace

bool write_form(OnnxBuilder& b, const Graph& graph, NodeId id, int meaning, std::string& reason) {
  const Node& node = graph.node(id);
  const OpSpec* row = onnx_row(node.op, b.set());
  const bool leaves = !row && (node.op == "Upsample" || node.op == "Scatter");
  if (!row && !leaves) {
    const Formula formula = formula_of(node.op);
    if (!formula) {
      reason = fmt::format("opset {} has no {}", b.set(), node.op);
      return false;
    }
    if (!formula(b, graph, node, reason)) return false;
  } else if (leaves) {
    if (!formula_of(node.op)(b, graph, node, reason)) return false;
  } else {
    Writer writer{b, graph, node, meaning, reason};
    if (node.inputs.empty() || node.outputs.empty() ? !writer.plain(*row) : !writer.write(*row)) return false;
  }
  b.patch().remove(id);
  return true;
}

}  // namespace md::onnx

#include "lib/edit/well_typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/format/torch/schema.h"
#include "lib/format/torch/types.h"
#include "lib/op/infer.h"
#include "lib/op/ops.h"

namespace md {
namespace {

bool agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t x, std::int64_t y) { return x == y || x < 0 || y < 0; });
}

/// Operands that must be of one type, by position.
std::pair<std::size_t, std::size_t> alike(const OpSpec& spec, const Node& node) {
  if (spec.binary || spec.compare) return {0, 2};
  if (node.op == "SELECT" || node.op == "SELECT_V2") return {1, 3};
  if (node.op == "CONCATENATION" || node.op == "PACK") return {0, node.inputs.size()};
  return {0, 0};
}

std::optional<std::string> tflite_fault(const Graph& graph, const Node& node) {
  const OpSpec* spec = find_op(Format::tflite, node.op);
  if (!spec) return std::nullopt;
  std::vector<const Value*> operands;
  for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &graph.value(v));
  const auto [first, last] = alike(*spec, node);
  for (std::size_t i = first; i < last && i < operands.size(); ++i)
    if (operands[first] && operands[i] && operands[first]->dtype != operands[i]->dtype)
      return fmt::format("its operands are {} and {}", name(operands[first]->dtype),
                         name(operands[i]->dtype));
  const auto types = infer_types_or_why(Format::tflite, node, operands, node.outputs.size());
  if (!types) return types.error().contradiction ? std::optional(types.error().why) : std::nullopt;
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (node.outputs[i] < 0) continue;
    const Value& declared = graph.value(node.outputs[i]);
    const ValueType& type = (*types)[i];
    if (type.dtype != declared.dtype || !agree(type.shape, declared.shape))
      return fmt::format("its result is declared {} of shape {}, it is {} of shape {}", name(declared.dtype),
                         shape_text(declared.shape), name(type.dtype), shape_text(type.shape));
  }
  return std::nullopt;
}

std::optional<std::string> fault(Format format, const Graph& graph, const Node& node) {
  if (format == Format::tflite) return tflite_fault(graph, node);
  if (format != Format::pt2) return std::nullopt;
  if (auto wanted = schema_misfit(graph, node)) return "expected " + *wanted;
  if (auto wanted = aten_type_misfit(graph, node)) return "expected " + *wanted;
  return std::nullopt;
}

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.constant.has_value() == b.constant.has_value() &&
         (!a.constant || a.constant->bytes.data() == b.constant->bytes.data());
}

}  // namespace

std::optional<std::string> ill_typed(const Model& before, const Model& after) {
  for (std::size_t g = 0; g < after.graphs.size(); ++g) {
    const Graph& now = after.graphs[g];
    const Graph* was = g < before.graphs.size() ? &before.graphs[g] : nullptr;
    const auto changed_value = [&](ValueId v) {
      if (v < 0) return false;
      return !was || static_cast<std::size_t>(v) >= was->values.size() ||
             !same_type(was->value(v), now.value(v));
    };
    for (const NodeId id : now.order) {
      const Node& node = now.node(id);
      const Node* old = was && static_cast<std::size_t>(id) < was->nodes.size() ? &was->node(id) : nullptr;
      const bool same = old && old->op == node.op && old->inputs == node.inputs &&
                        old->outputs == node.outputs && old->attrs == node.attrs &&
                        std::none_of(node.inputs.begin(), node.inputs.end(), changed_value) &&
                        std::none_of(node.outputs.begin(), node.outputs.end(), changed_value);
      if (same) continue;
      const auto found = fault(after.format, now, node);
      if (!found || (old && fault(before.format, *was, *old))) continue;
      return fmt::format("{} (node {}): {}", node.op, id, *found);
    }
  }
  return std::nullopt;
}

}  // namespace md

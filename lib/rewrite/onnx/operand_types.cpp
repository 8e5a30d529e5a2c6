// Operands of types that a schema forbids, and operands that must be of one type and are not.
#include <fmt/format.h>

#include <algorithm>

#include "lib/op/ops.h"
#include "lib/rewrite/onnx/types.h"

namespace md::onnx {
namespace {

const OperandSpec* operand_spec(const OpSpec& row, std::size_t i) {
  if (row.operand_specs.empty() || (i >= row.operand_specs.size() && !row.variadic)) return nullptr;
  return &row.operand_specs[std::min(i, row.operand_specs.size() - 1)];
}

bool takes(const OperandSpec& spec, DType dtype) {
  return dtype == DType::unknown || dtype == DType::variant || spec.types.empty() ||
         std::find(spec.types.begin(), spec.types.end(), dtype) != spec.types.end();
}

/// The first operand of a type that the operator does not take; nullopt: all are taken.
std::optional<std::size_t> forbidden(const Graph& graph, const Node& node, const OpSpec& row) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const OperandSpec* spec = operand_spec(row, i);
    if (node.inputs[i] >= 0 && spec && !takes(*spec, graph.value(node.inputs[i]).dtype)) return i;
  }
  return std::nullopt;
}

/// Arithmetic on booleans is logic.
std::string_view logic_of(std::string_view op) {
  if (op == "Mul" || op == "Min") return "And";
  if (op == "Add" || op == "Max" || op == "Sum") return "Or";
  if (op == "Sub") return "Xor";
  return "";
}

bool rounds(std::string_view op) { return op == "Floor" || op == "Ceil" || op == "Round"; }

/// The type that this operand is to have instead; unknown: the node is computed in another type as a whole.
DType instead(const Graph& graph, const Node& node, const OpSpec& row, std::size_t i) {
  const OperandSpec& spec = *operand_spec(row, i);
  const DType own = graph.value(node.inputs[i]).dtype;
  bool shared = false;
  for (std::size_t j = 0; j < node.inputs.size(); ++j) {
    const OperandSpec* other = operand_spec(row, j);
    if (j == i || node.inputs[j] < 0 || !other || spec.type_variable.empty() ||
        other->type_variable != spec.type_variable)
      continue;
    shared = true;
    if (takes(spec, graph.value(node.inputs[j]).dtype)) return graph.value(node.inputs[j]).dtype;
  }
  for (const OperandSpec& result : row.result_specs)
    shared = shared || (!spec.type_variable.empty() && result.type_variable == spec.type_variable);
  if (shared) return DType::unknown;
  if (spec.types.size() == 1) return spec.types[0];
  const std::vector<DType> wider = stand_ins(own);
  for (const DType type : {DType::i64, DType::i32, DType::boolean, DType::f32})
    if (takes(spec, type) && (is_integer(own) == is_integer(type) || type == DType::boolean ||
                              std::find(wider.begin(), wider.end(), type) != wider.end()))
      return type;
  return DType::unknown;
}

std::optional<Patch> mended(const DetectContext& context, NodeId id, const OpSpec& row, std::size_t i) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  const DType own = graph.value(node.inputs[i]).dtype;
  PatchBuilder patch(graph, context.graph_index, "");
  OnnxBuilder b(patch, working_set(context.model));
  if (own == DType::boolean && !logic_of(node.op).empty() && node.inputs.size() == 2 &&
      graph.value(node.inputs[0]).dtype == own && graph.value(node.inputs[1]).dtype == own) {
    patch.patch().title = fmt::format("{} of booleans as {}", node.op, logic_of(node.op));
    if (graph.value(node.outputs[0]).dtype == own || graph.value(node.outputs[0]).dtype == DType::unknown)
      b.binary(std::string(logic_of(node.op)), node.inputs[0], node.inputs[1], node.outputs[0]);
    else
      b.cast(b.binary(std::string(logic_of(node.op)), node.inputs[0], node.inputs[1]),
             graph.value(node.outputs[0]).dtype, node.outputs[0]);
    patch.remove(id);
    return patch.take();
  }
  if (is_integer(own) && rounds(node.op)) {
    patch.patch().title = fmt::format("{} of integers left out", node.op);
    b.identity(node.inputs[0], node.outputs[0]);
    patch.remove(id);
    return patch.take();
  }
  if (node.op == "Relu" && is_integer(own) && b.set() >= 12) {
    patch.patch().title = "Relu of integers as Max with 0";
    b.binary("Max", node.inputs[0], b.number(own, 0), node.outputs[0]);
    patch.remove(id);
    return patch.take();
  }
  if (const DType type = instead(graph, node, row, i); type != DType::unknown) {
    patch.patch().title =
        fmt::format("\"{}\" as {} instead of {}", graph.value(node.inputs[i]).name, name(type), name(own));
    patch.rewire(id, static_cast<int>(i), as_type(b, node.inputs[i], type));
    return patch.take();
  }
  const OperandSpec& spec = *operand_spec(row, i);
  for (const DType type : stand_ins(own)) {
    PatchBuilder around(graph, context.graph_index,
                        fmt::format("{} computed in {} instead of {}", node.op, name(type), name(own)));
    OnnxBuilder wide(around, working_set(context.model));
    if (takes(spec, type) && compute_as(wide, graph, id, spec.type_variable, type, nullptr))
      return around.take();
  }
  return std::nullopt;
}

int order_of(DType type) {
  constexpr DType order[] = {DType::boolean, DType::u8,  DType::i8,  DType::u16, DType::i16,
                             DType::u32,     DType::i32, DType::u64, DType::i64, DType::f16,
                             DType::bf16,    DType::f32, DType::f64};
  for (int i = 0; i < static_cast<int>(std::size(order)); ++i)
    if (order[i] == type) return i;
  return -1;
}

/// Operands of one type variable, the type that they are to have, and whether all constants fit it.
DType common_type(const Graph& graph, const Node& node, const std::vector<std::size_t>& group,
                  bool result_shares) {
  DType runtime = DType::unknown, widest = DType::unknown;
  bool several = false;
  for (const std::size_t i : group) {
    const Value& value = graph.value(node.inputs[i]);
    if (order_of(value.dtype) > order_of(widest) || widest == DType::unknown) widest = value.dtype;
    if (value.is_constant()) continue;
    if (runtime != DType::unknown && runtime != value.dtype) several = true;
    if (runtime == DType::unknown) runtime = value.dtype;
  }
  if (runtime != DType::unknown && !several)
    if (std::all_of(group.begin(), group.end(), [&](std::size_t i) {
          const Value& value = graph.value(node.inputs[i]);
          return !value.is_constant() || value.dtype == runtime || fits(value, runtime);
        }))
      return runtime;
  const DType declared = node.outputs.empty() ? DType::unknown : graph.value(node.outputs[0]).dtype;
  for (const std::size_t i : group)
    if (result_shares && graph.value(node.inputs[i]).dtype == declared) return declared;
  return widest;
}

}  // namespace

std::vector<DetectResult> forbidden_types(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const OpSpec* row = row_of(graph, node);
    const auto at = row && node.subgraphs.empty() ? forbidden(graph, node, *row) : std::nullopt;
    if (!at) continue;
    const Value& value = graph.value(node.inputs[*at]);
    DetectResult result = site_of(id, node.inputs[*at],
                                  fmt::format("\"{}\" ({}) does not take {} as \"{}\"", node.name, node.op,
                                              name(value.dtype), value.name));
    result.words = {{"op", node.op}, {"input", value.name}, {"type", std::string(name(value.dtype))}};
    if (auto patch = mended(context, id, *row, *at))
      result.fixes.emplace_back(std::move(*patch)).by_law = true;
    else
      result = declined(id, std::move(result.message), "no type that it takes holds these numbers");
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<DetectResult> unlike_types(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const OpSpec* row = row_of(graph, node);
    if (!row || !node.subgraphs.empty()) continue;
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const OperandSpec* spec = operand_spec(*row, i);
      const bool typed = node.inputs[i] >= 0 && order_of(graph.value(node.inputs[i]).dtype) >= 0;
      if (typed && spec && !spec->type_variable.empty()) groups[spec->type_variable].push_back(i);
    }
    for (const auto& [variable, group] : groups) {
      const DType first = graph.value(node.inputs[group.front()]).dtype;
      if (std::all_of(group.begin(), group.end(),
                      [&](std::size_t i) { return graph.value(node.inputs[i]).dtype == first; }))
        continue;
      const bool shares =
          std::any_of(row->result_specs.begin(), row->result_specs.end(),
                      [&](const OperandSpec& spec) { return spec.type_variable == variable; });
      const DType type = common_type(graph, node, group, shares);
      PatchBuilder patch(graph, context.graph_index,
                         fmt::format("all operands of {} as {}", node.op, name(type)));
      OnnxBuilder b(patch, working_set(context.model));
      std::string types;
      bool exact = true;
      for (const std::size_t i : group) {
        const Value& value = graph.value(node.inputs[i]);
        types += fmt::format("{}{} \"{}\"", types.empty() ? "" : ", ", name(value.dtype), value.name);
        exact = exact && (!is_float(value.dtype) || order_of(value.dtype) <= order_of(type));
        if (value.dtype != type) patch.rewire(id, static_cast<int>(i), as_type(b, node.inputs[i], type));
      }
      DetectResult result =
          site_of(id, node.inputs[group.front()],
                  fmt::format("\"{}\" ({}) has operands of several types: {}", node.name, node.op, types));
      result.words = {{"op", node.op}};
      result.fixes.emplace_back(patch.take(), exact ? Exactness::exact : Exactness::rounding).by_law = true;
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace md::onnx

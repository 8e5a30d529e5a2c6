#include "lib/rewrite/onnx/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/edit/apply.h"
#include "lib/format/onnx/operators.h"
#include "lib/op/ops.h"
#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

const OperandSpec* operand_spec(const OpSpec& row, std::size_t i) {
  if (row.operand_specs.empty() || (i >= row.operand_specs.size() && !row.variadic)) return nullptr;
  return &row.operand_specs[std::min(i, row.operand_specs.size() - 1)];
}
const OperandSpec* result_spec(const OpSpec& row, std::size_t i) {
  return row.result_specs.empty() ? nullptr : &row.result_specs[std::min(i, row.result_specs.size() - 1)];
}
bool takes(const OperandSpec& spec, DType dtype) {
  return spec.types.empty() || std::find(spec.types.begin(), spec.types.end(), dtype) != spec.types.end();
}

/// The type variables of a node and what each of them is here.
std::vector<std::pair<std::string, DType>> variables_of(const Graph& graph, const Node& node,
                                                        const OpSpec& row) {
  std::vector<std::pair<std::string, DType>> all;
  const auto add = [&](const OperandSpec* spec, ValueId v) {
    if (!spec || v < 0 || spec->type_variable.empty()) return;
    const std::pair<std::string, DType> entry(spec->type_variable, graph.value(v).dtype);
    if (std::find(all.begin(), all.end(), entry) == all.end()) all.push_back(entry);
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(operand_spec(row, i), node.inputs[i]);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) add(result_spec(row, i), node.outputs[i]);
  return all;
}

constexpr std::string_view kernel_texts[] = {"Could not find an implementation", "Failed to find kernel"};

/// What the target says of the patch's own nodes: nothing about kernels.
bool taken(const DetectContext& context, const Patch& patch) {
  if (!context.target || !context.target->has_table()) return true;
  const auto changed = apply_patches(context.model, {&patch, 1});
  if (!changed) return false;
  const Graph& graph = changed->graphs[static_cast<std::size_t>(context.graph_index)];
  for (const NodeId id : graph.order) {
    if (graph.node(id).origin != none_id) continue;
    for (const PredictedRecord& record : context.target->predict_node(*changed, context.graph_index, id))
      for (const std::string_view text : kernel_texts)
        if (record.text.find(text) != std::string::npos) return false;
  }
  return true;
}

}  // namespace

std::vector<DType> stand_ins(DType from) {
  switch (from) {
    case DType::boolean:
      return {DType::u8, DType::i32, DType::f32};
    case DType::u8:
      return {DType::i32, DType::i64, DType::f32};
    case DType::i8:
      return {DType::i32, DType::i64, DType::f32};
    case DType::u16:
      return {DType::i32, DType::i64, DType::f32};
    case DType::i16:
      return {DType::i32, DType::i64, DType::f32};
    case DType::u32:
      return {DType::i64, DType::f64};
    case DType::i32:
      return {DType::i64, DType::f64, DType::f32};
    case DType::u64:
      return {DType::i64, DType::f64};
    case DType::i64:
      return {DType::f64, DType::i32, DType::f32};
    case DType::f64:
      return {DType::f32};
    case DType::bf16:
      return {DType::f32};
    case DType::f16:
      return {DType::f32};
    default:
      return {};
  }
}

bool is_exact(DType from, DType to) {
  if (from == DType::f64 || from == DType::u64) return false;
  if (from == DType::i64) return false;
  return !(from == DType::i32 && to == DType::f32);
}

void drop_unread_casts(const Graph& graph, PatchBuilder& patch, const std::vector<NodeId>& nodes) {
  std::set<ValueId> read;
  for (const Node& node : patch.patch().new_nodes) read.insert(node.inputs.begin(), node.inputs.end());
  std::erase_if(patch.patch().new_nodes, [&](const Node& node) {
    if (node.op != "Cast" || is_new_value(node.outputs[0]) || graph.is_output(node.outputs[0])) return false;
    const auto uses = graph.uses(node.outputs[0]);
    return !read.count(node.outputs[0]) && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return std::find(nodes.begin(), nodes.end(), use.node) != nodes.end();
    });
  });
}

bool compute_as(OnnxBuilder& b, const Graph& graph, NodeId id, const std::string& variable, DType to,
                std::map<ValueId, ValueId>* wide) {
  const Node& node = graph.node(id);
  const OpSpec* row = row_of(graph, node);
  if (!row || !node.subgraphs.empty()) return false;
  const auto other = [&](ValueId v) {
    if (wide) {
      const auto known = wide->find(v);
      if (known != wide->end()) return known->second;
    }
    const ValueId made = as_type(b, v, to);
    if (wide) wide->emplace(v, made);
    return made;
  };
  std::vector<ValueId> operands = node.inputs;
  bool changed = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandSpec* spec = operand_spec(*row, i);
    if (operands[i] < 0 || !spec || spec->type_variable != variable) continue;
    if (!takes(*spec, to)) return false;
    operands[i] = other(operands[i]);
    changed = true;
  }
  Node copy = node;
  copy.origin = none_id;
  copy.name.clear();
  copy.inputs = std::move(operands);
  std::vector<std::pair<ValueId, ValueId>> back;
  for (std::size_t i = 0; i < copy.outputs.size(); ++i) {
    const OperandSpec* spec = result_spec(*row, i);
    const ValueId out = node.outputs[i];
    if (out < 0 || !spec || spec->type_variable != variable) continue;
    if (!takes(*spec, to)) return false;
    const Value& value = graph.value(out);
    copy.outputs[i] = b.patch().add_value(value.name, to, value.shape);
    back.emplace_back(out, copy.outputs[i]);
    if (wide) (*wide)[out] = copy.outputs[i];
    if (node.attrs.find("dtype")) copy.attrs.set("dtype", onnx_data_type(to).value_or(1));
    changed = true;
  }
  if (!changed) return false;
  b.patch().add_node(std::move(copy));
  for (const auto& [out, made] : back) b.cast(made, graph.value(out).dtype, out);
  b.patch().remove(id);
  return true;
}

namespace {

/// Where booleans are chosen between: Or(And(c, a), And(Not(c), b)).
bool boolean_where(OnnxBuilder& b, const Graph& graph, const Node& node) {
  if (node.op != "Where" || graph.value(node.outputs[0]).dtype != DType::boolean) return false;
  const ValueId taken_part = b.binary("And", node.inputs[0], node.inputs[1]);
  const ValueId other_part = b.binary("And", b.unary("Not", node.inputs[0]), node.inputs[2]);
  b.binary("Or", taken_part, other_part, node.outputs[0]);
  return true;
}

bool integer_relu(OnnxBuilder& b, const Graph& graph, const Node& node) {
  if (node.op != "Relu" || !is_integer(graph.value(node.inputs[0]).dtype) || b.set() < 12) return false;
  b.binary("Max", node.inputs[0], b.number(graph.value(node.inputs[0]).dtype, 0), node.outputs[0]);
  return true;
}

bool integer_gemm(OnnxBuilder& b, const Graph& graph, const Node& node) {
  if (node.op != "Gemm" || !is_integer(graph.value(node.inputs[0]).dtype) || b.set() < 9 ||
      node.attrs.number("alpha", 1) != 1 || node.attrs.number("beta", 1) != 1)
    return false;
  const ValueId left = node.attrs.integer("transA", 0) ? b.transpose(node.inputs[0], {1, 0}) : node.inputs[0];
  const ValueId right =
      node.attrs.integer("transB", 0) ? b.transpose(node.inputs[1], {1, 0}) : node.inputs[1];
  if (operand(node, 2) < 0)
    b.matmul(left, right, node.outputs[0]);
  else
    b.binary("Add", b.matmul(left, right), node.inputs[2], node.outputs[0]);
  return true;
}

/// OneHot has kernels where all three types are int64.
bool wide_one_hot(OnnxBuilder& b, const Graph& graph, const Node& node) {
  if (node.op != "OneHot" || node.inputs.size() != 3 || !is_integer(graph.value(node.inputs[2]).dtype))
    return false;
  const auto wide = [&](ValueId v) { return as_type(b, v, DType::i64); };
  const ValueId made =
      b.add("OneHot", {wide(node.inputs[0]), wide(node.inputs[1]), wide(node.inputs[2])}, node.attrs);
  b.cast(made, graph.value(node.outputs[0]).dtype, node.outputs[0]);
  return true;
}

std::string unknown_title(const Node& node) {
  return fmt::format("{} written with other operators", node.op);
}

/// Another operator that gives the same for every type.
std::optional<Patch> other_operator(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  const auto attempt = [&](auto write) -> std::optional<Patch> {
    PatchBuilder patch(context.graph, context.graph_index, unknown_title(node));
    OnnxBuilder b(patch, working_set(context.model));
    if (!write(b)) return std::nullopt;
    patch.remove(id);
    Patch done = patch.take();
    return taken(context, done) ? std::optional(std::move(done)) : std::nullopt;
  };
  for (const auto form : {boolean_where, integer_relu, integer_gemm, wide_one_hot})
    if (auto patch = attempt([&](OnnxBuilder& b) { return form(b, context.graph, node); })) return patch;
  if (node.op == "DepthToSpace" || node.op == "SpaceToDepth" || node.op == "EyeLike")
    return attempt([&](OnnxBuilder& b) {
      std::string reason;
      return formula_of(node.op)(b, context.graph, node, reason);
    });
  return std::nullopt;
}

using Key = std::tuple<std::string, int, std::string, DType>;

struct Kernels {
  const DetectContext& context;
  std::map<Key, std::optional<DType>> chosen;  ///< what the target took for nodes of this kind before

  std::optional<Patch> attempt(NodeId id, const std::string& variable, DType from, DType to) {
    PatchBuilder patch(
        context.graph, context.graph_index,
        fmt::format("{} computed in {} instead of {}", context.graph.node(id).op, name(to), name(from)));
    OnnxBuilder b(patch, working_set(context.model));
    if (!compute_as(b, context.graph, id, variable, to, nullptr)) return std::nullopt;
    return patch.take();
  }

  std::optional<std::pair<Patch, bool>> cast_around(NodeId id, std::string& reason) {
    const Node& node = context.graph.node(id);
    const OpSpec* row = row_of(context.graph, node);
    if (!row) return std::nullopt;
    const bool table = context.target && context.target->has_table();
    for (const auto& [variable, from] : variables_of(context.graph, node, *row)) {
      if (!table && from == DType::i32) continue;  // the type that others are brought to
      const Key key(node.op, node.version, variable, from);
      const auto known = chosen.find(key);
      const std::vector<DType> candidates =
          known == chosen.end() ? stand_ins(from)
                                : (known->second ? std::vector<DType>{*known->second} : std::vector<DType>{});
      for (const DType to : candidates) {
        auto patch = attempt(id, variable, from, to);
        if (!patch || (known == chosen.end() && !taken(context, *patch))) continue;
        chosen[key] = to;
        return std::pair(std::move(*patch), is_exact(from, to));
      }
      if (known == chosen.end()) chosen[key] = std::nullopt;
    }
    reason = fmt::format("no other element type of {} has a kernel there", node.op);
    return std::nullopt;
  }
};

/// All nodes that compute in double or bfloat16 where the runtime does not, in float32: one Cast where such a
/// value enters, and one where it is read elsewhere.
std::optional<DetectResult> in_float32(const DetectContext& context, const std::vector<NodeId>& nodes,
                                       DType from) {
  PatchBuilder patch(context.graph, context.graph_index,
                     fmt::format("computed in f32 instead of {}", name(from)));
  OnnxBuilder b(patch, working_set(context.model));
  std::map<ValueId, ValueId> wide;
  DetectResult result;
  for (const NodeId id : nodes) {
    const OpSpec* row = row_of(context.graph, context.graph.node(id));
    if (!row) continue;
    for (const auto& [variable, dtype] : variables_of(context.graph, context.graph.node(id), *row))
      if (dtype == from && compute_as(b, context.graph, id, variable, DType::f32, &wide)) {
        result.nodes.push_back(id);
        break;
      }
  }
  if (result.nodes.empty()) return std::nullopt;
  drop_unread_casts(context.graph, patch, result.nodes);
  Patch done = patch.take();
  if (!taken(context, done)) return std::nullopt;
  const Node& first = context.graph.node(result.nodes.front());
  result.value = first.outputs.empty() ? none_id : first.outputs[0];
  result.message = fmt::format(
      "\"{}\" ({}) computes in {}, and the runtime has no kernel for that{}", first.name, first.op,
      name(from), result.nodes.size() > 1 ? fmt::format(" ({} such nodes)", result.nodes.size()) : "");
  result.words = {{"op", first.op}};
  result.fixes.emplace_back(std::move(done), from == DType::f64 ? Exactness::rounding : Exactness::exact);
  if (from == DType::bf16) result.fixes.back().exactness = Exactness::rounding;
  return result;
}

}  // namespace

std::vector<DetectResult> without_kernel(const DetectContext& context, const std::vector<NodeId>& nodes) {
  std::vector<DetectResult> results;
  std::set<NodeId> done;
  for (const DType from : {DType::bf16, DType::f64}) {
    std::vector<NodeId> here;
    for (const NodeId id : nodes) {
      const Node& node = context.graph.node(id);
      const auto of_type = [&](ValueId v) { return v >= 0 && context.graph.value(v).dtype == from; };
      if (std::any_of(node.inputs.begin(), node.inputs.end(), of_type) ||
          std::any_of(node.outputs.begin(), node.outputs.end(), of_type))
        here.push_back(id);
    }
    if (here.empty()) continue;
    if (auto result = in_float32(context, here, from)) {
      done.insert(result->nodes.begin(), result->nodes.end());
      results.push_back(std::move(*result));
    }
  }
  Kernels kernels{context, {}};
  for (const NodeId id : nodes) {
    if (done.count(id)) continue;
    const Node& node = context.graph.node(id);
    const DType dtype =
        node.inputs.empty() || node.inputs[0] < 0
            ? (node.outputs.empty() ? DType::unknown : context.graph.value(node.outputs[0]).dtype)
            : context.graph.value(node.inputs[0]).dtype;
    DetectResult result = site_of(
        id, node.outputs.empty() ? none_id : node.outputs[0],
        fmt::format("\"{}\" ({}) has no kernel in the runtime for {}", node.name, node.op, name(dtype)));
    result.words = {{"op", node.op}};
    if (auto patch = other_operator(context, id))
      result.fixes.emplace_back(std::move(*patch), Exactness::exact);
    else if (auto around = kernels.cast_around(id, result.reason))
      result.fixes.emplace_back(std::move(around->first),
                                around->second ? Exactness::exact : Exactness::rounding);
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md::onnx

#include "lib/rewrite/aten/retype.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/graph/encode.h"
#include "lib/rewrite/aten/regions.h"

namespace md {
namespace {

/// Reads the bits of a tensor as another type: no retyping can keep its meaning.
bool reinterprets(const Node& node) {
  return node.op == "aten.view.dtype" || node.op.starts_with("higher_order.");
}

bool holds(const Graph& graph, DType type) {
  return std::any_of(graph.values.begin(), graph.values.end(),
                     [&](const Value& v) { return v.dtype == type; });
}

/// The body of a region is retyped with the graph that calls it.
bool is_region_body(const Model& model, const Graph* graph) {
  for (const Graph& outer : model.graphs)
    for (const NodeId id : outer.order)
      if (region_body(model, outer.node(id)) == graph) return true;
  return false;
}

bool is_cast(const Node& node) {
  const std::string base = aten_base(node.op);
  return base == "aten.to" || base == "aten._to_copy" || base == "aten.type_as" || base == "aten.float" ||
         base == "aten.bfloat16";
}

class Retyping {
 public:
  Retyping(const DetectContext& context, DType from, DType to)
      : model_(context.model),
        graph_(context.graph),
        from_(from),
        to_(to),
        builder_(context.graph, context.graph_index, fmt::format("{} in {}", name(from), name(to))) {}

  bool has_from(ValueId id) const { return id >= 0 && graph_.value(id).dtype == from_; }

  DetectResult run(std::size_t& count) {
    DetectResult result;
    for (const NodeId id : graph_.order) visit(id, result);
    for (std::size_t v = 0; v < graph_.values.size(); ++v)
      if (has_from(static_cast<ValueId>(v)) && !retype(static_cast<ValueId>(v)))
        result.reason = fmt::format("the constant {} cannot be read", graph_.values[v].name);
    count = count_;
    if (!result.reason.empty()) {
      result.state = DetectResult::State::declined;
      return result;
    }
    result.fixes.emplace_back(builder_.take()).retypes_interface = true;
    return result;
  }

 private:
  void visit(NodeId id, DetectResult& result) {
    const Node& node = graph_.node(id);
    const bool reads =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return has_from(v); });
    const bool writes =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return has_from(v); });
    const AttrValue* dtype = node.attrs.find("dtype");
    const auto* asked = dtype ? std::get_if<EnumValue>(dtype) : nullptr;
    const bool asks = asked && asked->number == aten_scalar_type(from_).number;
    const Graph* body = region_body(model_, node);
    if (body && holds(*body, from_)) {
      result.nodes.push_back(id);
      if (!can_inline(node, *body))
        result.reason = "a region holds further regions";
      else
        inline_region(builder_, id, *body, {from_, to_});
      count_ += static_cast<std::size_t>(std::count_if(body->values.begin(), body->values.end(),
                                                       [&](const Value& v) { return v.dtype == from_; }));
      return;
    }
    if (!reads && !writes && !asks) return;
    if (aten_is_check(node.op)) return builder_.remove(id);
    if (writes) result.nodes.push_back(id);
    if (reinterprets(node))
      result.reason = fmt::format("{} reads the bits of {} values, or holds them in a region of its own",
                                  node.op, name(from_));
    if (is_cast(node) && !node.inputs.empty() && node.outputs.size() == 1 &&
        after(node.inputs[0]) == after(node.outputs[0]) && plain_cast(node))
      return builder_.bypass(id, node.outputs[0], source_of(node.inputs[0]));
    if (!asks) return;
    NodeChange change;
    change.node = id;
    change.set_attrs.set("dtype", aten_scalar_type(to_));
    builder_.change(std::move(change));
  }

  DType after(ValueId id) const { return has_from(id) ? to_ : graph_.value(id).dtype; }
  static bool plain_cast(const Node& node) {
    return !node.attrs.find("memory_format") && !node.attrs.flag("copy");
  }

  /// A cast whose operand comes from another cast that goes reads what that one read.
  ValueId source_of(ValueId id) const {
    for (;;) {
      const NodeId maker = graph_.producer(id);
      const auto& gone = const_cast<AtenBuilder&>(builder_).patch().removed;
      if (maker == none_id || std::find(gone.begin(), gone.end(), maker) == gone.end() ||
          !is_cast(graph_.node(maker)))
        return id;
      id = graph_.node(maker).inputs[0];
    }
  }

  bool retype(ValueId id) {
    const Value& value = graph_.value(id);
    ++count_;
    ValueChange change;
    change.value = id;
    change.dtype = to_;
    if (value.is_constant()) {
      const auto numbers = decode(value);
      if (!numbers) return false;
      change.constant = Constant::own(encode(to_, value.shape, *numbers));
    }
    builder_.change(std::move(change));
    return true;
  }

  const Model& model_;
  const Graph& graph_;
  DType from_, to_;
  AtenBuilder builder_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<DetectResult> retype_region(const DetectContext& context, DType from, DType to) {
  const Graph& graph = context.graph;
  if (is_region_body(context.model, &graph)) return {};
  const bool in_body = std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const Graph* body = region_body(context.model, graph.node(id));
    return body && holds(*body, from);
  });
  if (!in_body && !holds(graph, from)) return {};
  std::size_t count = 0;
  DetectResult result = Retyping(context, from, to).run(count);
  if (result.nodes.empty() && graph.order.empty()) return {};
  if (result.nodes.empty()) result.nodes.push_back(graph.order.front());
  result.words = {{"count", std::to_string(count)}, {"interface", ""}};
  const auto at_interface = [&](const std::vector<ValueId>& list) {
    return std::any_of(list.begin(), list.end(), [&](ValueId v) { return graph.value(v).dtype == from; });
  };
  const bool interface = at_interface(graph.inputs) || at_interface(graph.outputs);
  if (interface && context.graph_index > 0) {  // a branch: what calls it would have to change with it
    result.fixes.clear();
    result.state = DetectResult::State::declined;
    if (result.reason.empty()) result.reason = "a branch takes or gives such values";
  } else if (interface)
    result.words["interface"] = fmt::format("; inputs or outputs become {}", name(to));
  return {std::move(result)};
}

}  // namespace md

// Operators written with plainer ones: activations, normalizations, attention, what ONNX Runtime's optimizer
// fuses, exporters' fallbacks and local functions. For runtimes that lack them, and for operator sets that
// do.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "lib/rewrite/onnx/site.h"

namespace md::onnx {

/// Writes into the node's results what the node computes, and removes it. False: it has no formula here, or
/// not for this form (`reason`); what was added to the patch is then to be thrown away.
using Formula = bool (*)(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason);

struct NamedFormula {
  std::string_view name;  ///< without its domain
  Formula write;
};
/// Null: the operator has no formula here. Private domains are looked up by the operator's own name.
Formula formula_of(std::string_view op);
std::span<const NamedFormula> activation_formulas();
std::span<const NamedFormula> norm_formulas();
std::span<const NamedFormula> fused_formulas();
std::span<const NamedFormula> layout_formulas();

/// A patch that writes the node with other operators of `set`: by its formula, by the body of the local
/// function that it calls, by the operator that an ATen node names. nullopt: `reason`.
std::optional<Patch> expanded(const Model& model, int graph_index, NodeId node, int set, std::string& reason);

/// The same as findings, one a node.
std::vector<DetectResult> expansions(const DetectContext& context, std::span<const NodeId> nodes,
                                     std::string_view message);

/// Nodes of domains whose operators nobody registers: unknown ones, calls of local functions, ATen, those of
/// the default domain that no operator set has.
std::vector<NodeId> unregistered(const DetectContext& context);

}  // namespace md::onnx

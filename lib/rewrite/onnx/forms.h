// One operator in the form of another operator set: what changed between versions, and what it takes to say
// the same in the other version.
#pragma once
#include <optional>
#include <string>

#include "lib/op/ops.h"
#include "lib/rewrite/onnx/site.h"

namespace md::onnx {

/// An attribute that the row does not have, or a number of operands or results, as a clause; nullopt: none.
std::optional<std::string> misshapen(const Node& node, const OpSpec& row);
/// What an attribute, operand or type of the node makes impossible in this row, as a clause; nullopt: it is
/// well-formed there.
std::optional<std::string> misfit_in(const Graph& graph, const Node& node, const OpSpec& row);

/// The node means the same in both versions as it stands: what changed between them is types or text, or
/// attributes that it does not use. Knows the versions that changed what a node means without changing its
/// form (Softmax 13, Resize 11, GroupNormalization 21, ...).
bool same_in(const Graph& graph, const Node& node, const OpSpec& from, const OpSpec& to);

/// Between these two sets the operator began to compute something else.
bool changes_meaning(std::string_view op, int since, int set);

/// Writes the node into its results in the form of the builder's set, and removes it. `meaning` is the set
/// that the node was written for: attributes and operands are read in whichever form they are. False: this
/// form has no counterpart there (`reason`).
bool write_form(OnnxBuilder& b, const Graph& graph, NodeId id, int meaning, std::string& reason);

/// The patch that writes the whole file against another version of the default operator set; operators that
/// the set lacks are expanded. nullopt: `reason` names the first node that has no such form.
std::optional<Patch> restamped(const Model& model, int set, std::string& reason);

/// The nearest set, above the file's or below it, in whose form all nodes of the model are as they stand; 0:
/// there is none.
int fitting_set(const Model& model);

}  // namespace md::onnx

// Operators on element types that a runtime or a schema does not take: the same numbers in another type.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/rewrite/onnx/site.h"

namespace md::onnx {

/// Types that may stand for `from`, those that hold all its numbers first. Two further ones round: float32
/// for double, double for int64 (exact below 2^53).
std::vector<DType> stand_ins(DType from);
bool is_exact(DType from, DType to);

/// A finding for each of the nodes that the runtime has no kernel for (`nodes`): another operator with the
/// same result where there is one, else Cast around it. What the target would say of the new nodes decides
/// which type is taken; without a table the first one.
std::vector<DetectResult> without_kernel(const DetectContext& context, const std::vector<NodeId>& nodes);

/// Nodes with operands of a type that their schema does not allow, and with operands that must be of one type
/// and are not.
std::vector<DetectResult> forbidden_types(const DetectContext& context);
std::vector<DetectResult> unlike_types(const DetectContext& context);

/// Computes `node` with every operand and result of a type variable in another type, Cast around it. `wide`:
/// values that exist in that type already (and gets the results'); null: none do.
bool compute_as(OnnxBuilder& b, const Graph& graph, NodeId node, const std::string& variable, DType to,
                std::map<ValueId, ValueId>* wide);

/// Takes the casts back out of the patch that only `nodes`, which it replaces, would read.
void drop_unread_casts(const Graph& graph, PatchBuilder& patch, const std::vector<NodeId>& nodes);

}  // namespace md::onnx

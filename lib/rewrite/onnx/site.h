// What detectors for .onnx files share: which nodes the log or the target's prediction speaks of, numbers in
// their texts, and the operator set that new nodes are written against.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/onnx/builder.h"
#include "lib/rule/page/detector.h"

namespace md::onnx {

/// The version of the default domain that the file imports; where it has none (a model written as text), the
/// newest version that one of its operators has.
int working_set(const Model& model);

/// Texts of the log and of the target's prediction that hold `part`.
std::vector<std::string> texts_with(const DetectContext& context, std::string_view part);
/// The number that follows `phrase` in one of them.
std::optional<std::int64_t> number_after(const DetectContext& context, std::string_view phrase);

/// Nodes of this graph that a predicted record with one of the texts is about, in execution order; where
/// nothing is predicted, those that a failing message with one of them names, by name or operator.
std::vector<NodeId> blamed(const DetectContext& context, std::initializer_list<std::string_view> parts);

/// "Gelu" of "com.microsoft.Gelu".
std::string_view base_name(std::string_view op);
bool default_domain(const Node& node);

/// The integers of an attribute or, where the operator has it as an operand, of the constant there.
std::optional<std::vector<std::int64_t>> integers_of(const Graph& graph, const Node& node,
                                                     std::string_view attribute, std::size_t operand);
/// A number, in the same two forms.
std::optional<double> number_of(const Graph& graph, const Node& node, std::string_view attribute,
                                std::size_t operand);
ValueId operand(const Node& node, std::size_t position);  ///< none_id: absent

/// The value as another type: a constant's numbers stored anew (when they fit), else a Cast.
ValueId as_type(OnnxBuilder& b, ValueId value, DType dtype);
/// All numbers of a constant are numbers of the type.
bool fits(const Value& constant, DType dtype);

/// A patch that computes with other operators rounds otherwise; one that changes versions alone is exact.
ProposedFix graded(Patch patch);

DetectResult site_of(NodeId node, ValueId value, std::string message);
DetectResult declined(NodeId node, std::string message, std::string reason);

/// Entries of Model::repairs of these kinds, one finding each kind, with the patch that writes them. Only for
/// graph 0 (a patch may write repairs of every graph).
std::vector<DetectResult> repairs_of(const DetectContext& context, std::span<const std::string_view> kinds,
                                     std::string_view title);

}  // namespace md::onnx

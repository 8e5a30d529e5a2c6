// Output types of operators from their operands and attributes: for replacements, and for text models
// that leave a type out.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

struct ValueType {
  DType dtype = DType::unknown;
  Shape shape;
  std::optional<Quantization> quantization;
  bool operator==(const ValueType&) const = default;
};

inline ValueType type_of(const Value& value) { return {value.dtype, value.shape, value.quantization}; }

/// Types of the outputs of `node` (its op, attributes; `outputs` of them). `operands` are its inputs in
/// order, null where an optional one is absent; the shapes, axes and permutations among them must be
/// constants. A dynamic dimension stays dynamic. Quantization passes through operators that keep it
/// (movement, RELU, pools) and is absent otherwise. The error says what is wrong with the operands, or that
/// the operator's type must be written down.
tl::expected<std::vector<ValueType>, std::string> infer_types(const Dialect& dialect, const Node& node,
                                                              std::span<const Value* const> operands,
                                                              std::size_t outputs);

/// Why a type could not be inferred.
struct NoType {
  std::string why;
  bool contradiction = true;  ///< the operands do not go together; false: nothing is known, or values decide
};
/// The same, telling operands that contradict each other from those whose result cannot be known from here.
tl::expected<std::vector<ValueType>, NoType> infer_types_or_why(const Dialect& dialect, const Node& node,
                                                                std::span<const Value* const> operands,
                                                                std::size_t outputs);

/// numpy's rule: aligned at the right, 1 stretches. nullopt: not broadcastable.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

}  // namespace md

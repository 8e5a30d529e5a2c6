// Where the elements of a scatter go (STABLEHLO_SCATTER, whose attributes describe windows and batches).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct KernelCall;

/// For every element of `updates`, in row-major order, the position in the operand that it is written to; -1:
/// outside, it is left out. nullopt: attributes, shapes and indices do not fit each other.
std::optional<std::vector<std::int64_t>> scatter_targets(const Attributes& attrs, const Shape& operand,
                                                         const Shape& indices, const Shape& updates,
                                                         const std::vector<std::int64_t>& index_values);

/// The scatter writes the update in place of the old element: its computation returns its second argument.
bool scatter_overwrites(const Model& model, const Node& node);

/// STABLEHLO_SCATTER with a body that computes with the old elements (scatter_add).
Status scatter_computed(KernelCall& call);

}  // namespace md

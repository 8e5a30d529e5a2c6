// In-place operators write memory that other tensors share. After one has run, everything that
// shares it is brought up to date, through maps of element positions; nothing here knows how a rewrite makes
// such writes functional.
#pragma once
#include <functional>
#include <unordered_map>

#include "lib/eval/evaluator.h"

namespace md {

/// True when one of the nodes writes in place.
bool writes_in_place(const Graph& graph, std::span<const NodeId> nodes);

/// Runs one node on one operand (a view on a tensor of positions); the result with this number.
using ViewRunner = std::function<Result<Tensor>(NodeId node, std::size_t output, const Tensor& operand)>;

/// `written`: what the in-place node `id` computed. Changes `tensors`: the result, the tensor that was
/// written, what that is a view of, and all other views of it that are there. `load` gives a constant that is
/// not in `tensors` yet.
Status share_write(const Graph& graph, NodeId id, const Tensor& written, TensorMap& tensors,
                   const ViewRunner& run_view, const std::function<Result<Tensor>(ValueId)>& load);

}  // namespace md

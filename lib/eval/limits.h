// What an evaluation may take when its caller does not say: it follows the weights that the file holds, so
// that a small file cannot ask for much and a large model gets what it needs.
#pragma once
#include <cstdint>

#include "lib/base/result.h"
#include "lib/eval/budget.h"
#include "lib/graph/graph.h"

namespace md {

struct KernelCall;

/// Of one run: bytes of all live tensors, constants not counted (at most 4 GiB and half of the machine); work
/// in units of work_of_result.
Budget default_limits(const Model& model);

/// Bytes of all constants of the model.
std::uint64_t constant_bytes(const Model& model);

/// Error (unsupported) when samples of the graph's inputs alone would take more than a share of `bytes`
/// (0: the default). Dynamic dimensions count as 1. `graph_index` must be valid.
Status inputs_fit(const Model& model, int graph_index, std::int64_t bytes = 0);

/// Work of computing `count` elements of a node's result: about one unit for each multiply-add of a plain
/// product in f32, more for modes that look at every partial sum. An estimate from the operands' sizes, never
/// from declared ones.
double work_of_result(const KernelCall& call, std::int64_t count);

/// Adds multiply-adds to the work of the call's run; error past its limit.
Status charge(const KernelCall& call, double multiply_adds);

}  // namespace md

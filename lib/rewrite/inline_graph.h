// Copies the operators of another graph of the model (a branch, a composite's decomposition) into a patch.
#pragma once
#include <optional>
#include <vector>

#include "lib/edit/builder.h"

namespace md {

/// `arguments` stand for the body's inputs; the result lists the values that stand for its outputs (an
/// argument where the body passes one through). Constants share their bytes. nullopt: the numbers of
/// arguments differ.
std::optional<std::vector<ValueId>> inline_graph(PatchBuilder& patch, const Graph& body,
                                                 const std::vector<ValueId>& arguments);

/// No operator of the body (or of a graph that it calls) has an effect besides its results: variables, random
/// numbers.
bool is_pure(const Model& model, int graph_index, int depth = 4);

}  // namespace md

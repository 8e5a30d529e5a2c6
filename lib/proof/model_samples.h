// Inputs on which two models are compared: given ones, plausible ones, then extremes and other scales.
#pragma once
#include <string>
#include <vector>

#include "lib/proof/compare_models.h"

namespace md {

/// One set of inputs, in the order of the graph's.
struct ModelSample {
  std::vector<Tensor> inputs;
  std::string text;
  bool given = false;  ///< by the user, or in ranges that are known: ordinary however large
};

/// Of the graph `options.graph_a` of `model`; as many as the budget pays for at `work` multiply-adds each.
/// `source`: what they are, for people.
std::vector<ModelSample> make_samples(const Model& model, const CompareOptions& options, double work,
                                      std::string& source);

/// Inputs as a model meets them. Integers are indices, or cover the range that they are stored in.
bool is_ordinary(const ModelSample& sample);

}  // namespace md

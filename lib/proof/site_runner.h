// Runs both versions of a site on the same inputs.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/eval/samples.h"
#include "lib/proof/shrink.h"
#include "lib/proof/site.h"

namespace md {

/// A rewrite may declare an input or output of the model with another shape for the same elements: the tensor
/// as `to` declares it.
Tensor under_declared_shape(const Tensor& tensor, const Value& from, const Value& to);

class SiteRunner {
 public:
  SiteRunner(const Model& before, const Model& after, const Site& site)
      : before_(before), after_(after), site_(site) {}

  /// Folds what depends on constants only. Error: no kernel for it.
  Status prepare();
  /// The site's outputs in order. Inputs whose type differs between the versions are converted for the
  /// second.
  Result<std::vector<Tensor>> run_before(const TensorMap& inputs, const EvaluateOptions& options) const;
  Result<std::vector<Tensor>> run_after(const TensorMap& inputs, const EvaluateOptions& options) const;

  /// Shape of an input with every dynamic dimension set to `size`.
  Shape input_shape(ValueId input, std::int64_t size) const;
  bool has_dynamic_input() const;
  /// Range of an integer input that is used as an index, 0 when it is not.
  std::int64_t index_limit(ValueId input) const;
  /// Keeps |floats| of samples at or below this: what only reorders sums may overflow where the original just
  /// does not.
  void limit_magnitude(double largest) { largest_ = largest; }
  /// Inputs get these shapes instead of their own: the site at another size than the model's.
  void set_shapes(InputShapes shapes) { shapes_ = std::move(shapes); }
  /// Shapes of all inputs.
  InputShapes shapes(std::int64_t dynamic_size) const;
  /// All inputs by one recipe.
  TensorMap sample_inputs(const Recipe& recipe, std::int64_t dynamic_size) const;
  /// Rough work of one run of both versions, in multiply-adds.
  double work(std::int64_t dynamic_size) const;
  /// Longest reduction of either version plus its number of arithmetic nodes: how often results are rounded.
  double roundings() const;
  /// Whether either version sums, so that the order of operations matters by the size of the terms.
  bool reduces() const { return longest_sum() > 1; }

  const Graph& old_graph() const { return before_.graphs[static_cast<std::size_t>(site_.graph)]; }
  const Graph& new_graph() const { return after_.graphs[static_cast<std::size_t>(site_.graph)]; }
  const Site& site() const { return site_; }
  /// The input's declaration (from the version that has it).
  const Value& input_value(ValueId id) const;
  const TensorMap& folded() const { return folded_; }

 private:
  double longest_sum() const;

  std::optional<std::int64_t> marks_wanted(ValueId input, std::int64_t dynamic_size) const;
  static Tensor mask_with(const Shape& shape, std::int64_t marks, std::uint64_t seed);
  const Model& before_;
  const Model& after_;
  const Site& site_;
  TensorMap folded_;
  double largest_ = 0;
  InputShapes shapes_;
};

}  // namespace md

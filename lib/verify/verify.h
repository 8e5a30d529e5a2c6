// `verify`, `tap`: two model files compared, a model against what a device gave, a copy with one more output.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/graph/document.h"
#include "lib/proof/compare_models.h"
#include "lib/verify/npy.h"

namespace md {

/// Samples in the order of the main graph's inputs from .npz/.npy files. Arrays are found by the input's
/// signature name or value name, also with "in_" in front; a single array goes to a single input; else
/// "arr_0", "arr_1", ... in order. Several files are several samples; an array with one more leading
/// dimension than the input holds a sample each. Real numbers for a quantized input are quantized. Errors
/// name the file, the input, and what shape was expected.
Result<std::vector<std::vector<Tensor>>> load_inputs(const Model& model,
                                                     const std::vector<std::string>& files);

/// Names of the main graph's inputs, as signatures call them and as the file does.
std::vector<std::string> input_names(const Model& model);
/// The input of the main graph with such a name.
std::optional<ValueId> input_by_name(const Model& model, const std::string& name);

/// What is known of one input's values: --range image=0:255.
struct NamedRange {
  std::string name;  ///< as a signature or the file calls the input
  double low = 0, high = 0;
};
/// By the file's own name of each input. Errors (usage): no such input ("did you mean").
Result<std::map<std::string, std::pair<double, double>>> ranges_of_inputs(
    const Model& model, const std::vector<NamedRange>& ranges);

/// Compares two models; `options.inputs` from load_inputs or empty.
/// (compare_models does the work; this fills in the names that signatures give.)
ModelComparison verify_models(const Model& a, const Model& b, const CompareOptions& options);

/// Compares the model's own CPU results on `inputs` with what a device gave (`outputs`: arrays by output
/// name, also with "out_" in front, or in order). The tolerance is options.rtol/atol, else 1e-3 of the
/// largest |output| (3e-2 when options.mode_b is in fp16: the device computed so); the report's yardstick
/// says how far fp16 alone takes the model.
Result<ModelComparison> verify_device(const Model& model, const std::vector<std::vector<Tensor>>& inputs,
                                      const NamedTensors& outputs, const CompareOptions& options);

/// A copy of the model whose main graph has `value` (a name, or a number) as one more output. One tap a file:
/// a second one could change what the accelerator computes. Errors: no such value, a constant, already an
/// output.
Result<Model> with_tap(const Model& model, const std::string& value);

/// The comparison as text and as JSON.
std::string comparison_text(const ModelComparison& comparison);
std::string comparison_json(const ModelComparison& comparison);

}  // namespace md

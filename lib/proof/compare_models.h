// Two models compared as a whole: interfaces, then numbers on the same inputs, extremes among them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/proof/interfaces.h"
#include "lib/proof/tolerance.h"

namespace md {

struct CompareOptions {
  int graph_a = 0, graph_b = 0;  ///< which graphs (tflite: 0 is the main one)
  int samples = 8;
  std::uint64_t seed = 1;
  /// Samples that the user gives, each in the order of A's inputs; empty: generated.
  std::vector<std::vector<Tensor>> inputs;
  bool also_generated = false;                              ///< generated samples behind given ones
  std::map<std::string, std::pair<double, double>> ranges;  ///< input name -> lo, hi for generated inputs
  /// How equal they must be: as a rewrite promises ...
  Exactness exactness = Exactness::rounding;
  double max_error = default_error;  ///< for `bounded`, relative to the largest |output|
  /// What B gives where A is not finite was stated by the rewrites (Proof::nonfinite): counted, no
  /// difference.
  bool nonfinite_stated = false;
  bool retyped_floats = false;  ///< inputs and outputs may differ in their float type (bf16 and f32)
  /// ... or |a - b| <= atol + rtol * |a|, when either is set.
  std::optional<double> rtol, atol;
  NumericMode mode_b;          ///< how B is computed: f16_storage shows it as an fp16 device would
  bool fp16_yardstick = true;  ///< also run A in fp16 storage, to say how much the device's rounding is
  bool find_layer = true;  ///< where outputs differ, look for the first value with the same name that does
  std::int64_t max_bytes = 0;  ///< of all live tensors; 0: by the model (limits.h)
};

/// The worst difference over some of the samples.
struct WorstDifference {
  int samples = 0;
  double max_abs = 0;
  double max_rel = 0;  ///< relative to the largest |a| of the sample's tensor
};

struct OutputComparison {
  std::string name;
  Shape shape;
  DType dtype = DType::unknown;
  double max_abs = 0, max_rel = 0,
         max_ulp = 0;          ///< max_rel: relative to the largest |a| of the sample's tensor
  std::int64_t nonfinite = 0;  ///< elements that are NaN or infinite in one model only
  std::string where;  ///< "[0,3,1]: 1.25 in A, 1.5 in B (normal, scale 1)", of the largest difference
  WorstDifference ordinary, extreme;
  bool equal = true;
};

struct ModelComparison {
  bool evaluated = false;
  std::string note;  ///< why not evaluated, or what else to know ("3 samples leave the range of floats")
  std::vector<std::string> interface_differences;  ///< empty: same names, shapes and types
  std::vector<OutputComparison> outputs;
  int samples = 0;
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  /// The same apart: inputs as a model meets them (given ones, known ranges, magnitudes up to 1000), and huge
  /// or non-finite ones, where an absolute difference says nothing.
  WorstDifference ordinary, extreme;
  std::optional<double>
      argmax_agreement;              ///< share of rows with the same largest element; nullopt: no scores
  std::optional<double> fp16_error;  ///< of A itself, relative to the largest |output|: the yardstick
  std::string first_layer;   ///< "\"block/add\" (node 12 ADD): 0.25 of 4 apart", first value that parts;
                             ///< empty: none or not looked for
  std::string input_source;  ///< "2 given samples", "random numbers ..."
  bool equal = false;        ///< interfaces and numbers
};

ModelComparison compare_models(const Model& a, const Model& b, const CompareOptions& options);

/// A evaluated on `inputs` against outputs that were computed elsewhere (a device, a runner), in the order of
/// A's outputs.
ModelComparison compare_outputs(const Model& a, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const CompareOptions& options);

/// The options with the tolerance of a device where nothing else was asked for: 1e-3 of the largest |output|
/// in fp32, 3e-2 in fp16.
CompareOptions with_device_tolerance(CompareOptions options, bool fp16);

}  // namespace md

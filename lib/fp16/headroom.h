// Whether something inside a graph passes what fp16 can hold: for the rules that repair fp16 overflow and for
// the fp16 report. A value "passes" when its magnitude in exact arithmetic is above 65504, or when a sum does
// on the way.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/eval/evaluator.h"

namespace md {

inline constexpr double largest_f16 = 65504.0;

/// Where the inputs of an analysis come from, best first.
struct InputSource {
  enum class Kind {
    given,   ///< the user's inputs
    ranges,  ///< --range, or calibration statistics in the file
    random   ///< nothing is known: plausible numbers
  } kind = Kind::random;
  std::string text;  ///< "calibration statistics of 2 inputs", "random normal numbers"
};

struct HeadroomOptions {
  std::vector<std::vector<Tensor>> inputs;  ///< samples in the order of Graph::inputs; empty: generated
  std::map<std::string, std::pair<double, double>> ranges;  ///< input name -> lo, hi
  int samples = 4;
  std::uint64_t seed = 1;
  std::int64_t max_bytes = 0;  ///< of all live tensors; 0: by the model (limits.h)
};

/// One output of one node.
struct ValueHeadroom {
  NodeId node = none_id;
  ValueId value = none_id;
  double largest = 0;  ///< |value| in exact arithmetic, over all samples
  double largest_sum =
      0;            ///< |partial sum| inside the node, 0 when it sums nothing or keeps its sum wide (MEAN)
  int sample = -1;  ///< of the largest
  /// log2(65504 / largest); negative: overflows.
  double bits() const;
  bool overflows() const { return largest > largest_f16 || largest_sum > largest_f16; }
};

struct Headroom {
  std::vector<ValueHeadroom> values;  ///< floats only, in execution order
  InputSource source;
  std::string note;  ///< why nothing was evaluated; empty: all was
  const ValueHeadroom* first_overflow() const;
};

/// Runs the whole graph on the samples (in double) and keeps the largest magnitude of everything.
Headroom analyze_headroom(const Model& model, int graph_index, const HeadroomOptions& options);

/// For one site of a rule: nodes in execution order and the values they read from outside. Fires on evidence:
/// `evidence` is set when a value of `nodes` passes 65504 on some input that fp16 can hold, and `text` says
/// on which
/// ("|x| about 2000: \"rms/sq\" reaches 4.0e+06"). Magnitudes tried: those of the whole model's run when it
/// can be run and its inputs are known (given or calibrated), else 1, 10, 100, 300, 1000, 2000, 30000.
struct SiteOverflow {
  bool evaluated = false;   ///< false: no kernel, or the site could not be run (`text` says why)
  bool overflows = false;   ///< on some tried input
  bool likely = false;      ///< already at magnitudes that the model's own inputs produce
  ValueId value = none_id;  ///< first value past 65504
  double magnitude = 0;     ///< smallest tried |input| at which it happens
  double reaches = 0;       ///< largest |value| then
  std::string text;
};
SiteOverflow site_overflow(const Model& model, int graph_index, const std::vector<NodeId>& nodes,
                           const HeadroomOptions& options = {});

/// Values that a graph takes, one sample: from ranges or calibration statistics where known, else random by
/// `sample`.
std::vector<Tensor> plausible_inputs(const Model& model, int graph_index, const HeadroomOptions& options,
                                     int sample, InputSource* source = nullptr);

}  // namespace md

// The fp16 doctor: what a model's values do on a device that stores and computes in fp16, layer by layer, and
// whether what goes wrong is an overflow in one place or precision that compounds with depth.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/eval/evaluator.h"
#include "lib/fp16/headroom.h"

namespace md {

struct Fp16Options {
  HeadroomOptions inputs;                           ///< where samples come from
  Arithmetic arithmetic = Arithmetic::f16_storage;  ///< how the device computes
  bool saturate = false;                            ///< overflow gives 65504 instead of infinity
  bool wide_mean = true;                            ///< MEAN keeps a wide sum, as the WebGPU accelerator does
};

/// One float result of one node, over all samples.
struct Fp16Layer {
  NodeId node = none_id;
  ValueId value = none_id;
  std::string op, name, layer;  ///< operator, value's name, module path when known
  int depth = 0;                ///< longest chain of nodes from an input
  double largest = 0;           ///< |value| in exact arithmetic
  double headroom_bits = 0;     ///< log2(65504 / largest); negative: passes; infinity for zeros
  double largest_sum = 0;       ///< largest |partial sum| of its reductions, 0: none
  double error = 0;        ///< of the fp16 value against float64, relative to `largest`; infinity: not finite
  bool overflows = false;  ///< its fp16 value is not finite (or was clamped) where the exact one is
  bool sum_passes = false;  ///< a partial sum passes 65504 while the result does not
  bool flushed = false;     ///< all zero in fp16, not so in exact arithmetic
};

enum class Fp16Verdict {
  fine,       ///< nothing overflows, outputs are as near as fp16 rounding lets them
  overflow,   ///< a value or a sum passes 65504
  precision,  ///< no overflow, but the error grows with depth past what one would accept
  unknown     ///< not evaluated
};

struct Fp16Report {
  Fp16Verdict verdict = Fp16Verdict::unknown;
  std::string summary;  ///< one sentence: what happens, where first
  std::string symptom;  ///< "zeros", "nan", "inf", "wrong" or "": what the outputs look like in fp16
  std::optional<std::size_t> first;    ///< index into layers of the first overflow
  std::string input;                   ///< an input of the model that is past 65504 itself; "": none
  double input_largest = 0;            ///< of that input
  std::vector<Fp16Layer> layers;       ///< in execution order
  std::vector<double> error_by_depth;  ///< median error of the layers at each depth: the error curve
  double output_error = 0;             ///< largest relative error of the outputs
  InputSource source;
  int samples = 0;
  std::string note;  ///< why not evaluated
};

Fp16Report fp16_report(const Model& model, int graph_index, const Fp16Options& options);

/// The reports as text (a small bar a layer), JSON and CSV.
std::string fp16_text(const Fp16Report& report, bool color = false);
std::string fp16_csv(const Fp16Report& report);
std::string fp16_json(const Fp16Report& report);

/// Whether a rewrite that is meant to repair fp16 does: on samples where the original goes wrong in fp16, the
/// new version must be nearer to the original's fp32 result.
struct Fp16Judgement {
  bool evaluated = false;
  int overflowing = 0;  ///< samples on which the original is not finite or more than 10 % off in fp16
  double error_before = 0,
         error_after =
             0;         ///< worst over those samples, relative to the largest |output|; infinity: not finite
  bool better = false;  ///< overflowing > 0 and nearer on each of them
  std::string text;     ///< "on 5 overflowing samples the error falls from inf to 0.0008"
};
Fp16Judgement judge_fp16(const Model& before, const Model& after, int graph_index,
                         const NumericMode& mode = {Arithmetic::f16_storage, false, true});

}  // namespace md

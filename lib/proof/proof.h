// Proof that two versions of a site compute the same.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

enum class Exactness {
  exact,
  rounding,
  bounded
};  ///< what a rule promises, see design: exact / rounding / bounded
enum class ProofMethod { none, sampled, exhaustive, movement };

struct Proof {
  ProofMethod method = ProofMethod::none;
  DType dtype = DType::unknown;
  std::int64_t samples = 0;
  double max_abs = 0, max_rel = 0, max_ulp = 0;
  bool equal = false;
  std::string nonfinite;       ///< what differs on NaN or infinite inputs; empty: nothing
  std::string counterexample;  ///< "input 65504 gives 1 before, 0 after"; minimized
  std::string note;  ///< why not evaluated ("no kernel for X"), or "proved on a shrunken shape 1x8x8x4"
};

struct ProofOptions {
  Exactness exactness = Exactness::exact;
  double max_error = 1e-3;  ///< for `bounded`, relative to the largest |output|
  int samples = 24;
  std::uint64_t seed = 1;
  bool thorough = false;  ///< every f32 value of a unary site
  /// The rewrite is meant to repair fp16: besides being equal in fp32 it must be nearer to the original's
  /// fp32 result when both are computed in fp16, on samples where the original goes wrong there.
  bool repairs_fp16 = false;
};

/// Compares the changed part of `graph_index` before and after: finds the site (nodes that differ), its
/// inputs and outputs, chooses the method and runs both. Never throws; a missing kernel gives method `none`
/// with a note.
Proof prove(const Model& before, const Model& after, int graph_index, const ProofOptions& options);

}  // namespace md

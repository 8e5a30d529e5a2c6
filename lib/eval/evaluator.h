// The reference evaluator: computes a graph, or a part of one, on given inputs. One table of kernels by operator name.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

/// How floating-point work is carried out.
enum class Arithmetic {
  f32,
  f64,             ///< the judge: every float is computed in double
  f16_storage,     ///< values rounded to fp16 after each operator, sums kept in fp32
  f16_accumulate,  ///< sums in fp16 too, one term after the other
  f16_tree         ///< sums in fp16, pairwise
};
struct NumericMode {
  Arithmetic arithmetic = Arithmetic::f32;
  bool saturate = false;  ///< fp16 overflow gives 65504 instead of infinity
};

/// Elements as stored: floats in `f`, everything else in `i` (quantized values are the stored integers).
/// Invariant: the vector in use has element_count(shape) elements.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Quantization> quantization;
  std::vector<double> f;
  std::vector<std::int64_t> i;
  bool is_float() const { return md::is_float(dtype); }
  std::size_t size() const { return is_float() ? f.size() : i.size(); }
};

}  // namespace md

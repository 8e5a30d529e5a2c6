// Convolutions of one to three axes, channels first, transposed ones too: windows unfolded into a matrix, and
// a product in the arithmetic of the numeric mode.
#pragma once
#include "lib/eval/kernel.h"
#include "lib/eval/primitives/channels_first.h"

namespace md {

struct Convolution {
  std::int64_t batch = 1, channels = 0, filters = 0, groups = 1;
  bool transposed = false;
  Windows windows;  ///< of a transposed one: from its result to its operand
  Shape out;
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
};

/// `out` = the convolution of `x` [batch, channels, ...] with `weights`, plus `bias` (one number a filter)
/// where it is not null. The caller has checked that all sizes fit.
template <class T>
void convolve(KernelCall& call, const Convolution& c, const T* x, const T* weights, const T* bias, T* out);

}  // namespace md

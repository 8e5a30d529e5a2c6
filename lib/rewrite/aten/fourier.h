// Discrete Fourier transforms as products with constant matrices, and short-time transforms as convolutions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/format/torch/builder.h"
#include "lib/rule/page/detector.h"

namespace md {

struct RealPair {
  ValueId re = none_id, im = none_id;  ///< im none_id: a real tensor
};

/// True for operators that `rewrite_fourier` knows: fft_rfft, _fft_r2c, stft, istft ...
bool is_fourier(std::string_view op);

/// The transform that `node` computes, of `input`. The result's parts; for a real result `re` alone. The
/// empty optional leaves the reason in `why`.
std::optional<RealPair> rewrite_fourier(AtenBuilder& b, const DetectContext& context, const Node& node,
                                        RealPair input, std::string& why);

/// fftshift (`forward`) or ifftshift of axes of fixed size: the halves of each exchanged.
ValueId exchange_halves(AtenBuilder& b, ValueId x, const std::vector<int>& dims, bool forward);

/// Reflect padding of the last axis as slices, flips and cat, written to `out`. False: not of that kind.
bool rewrite_reflect_pad(AtenBuilder& b, const Node& node);

}  // namespace md

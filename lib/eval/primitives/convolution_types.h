// Which arithmetic a convolution runs in, by the types of its input, filter and result.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "lib/eval/kernel.h"

namespace md {

/// Calls `on_float(zero of the arithmetic type)`, `on_hybrid()` (float data, stored narrower) or
/// `on_quantized(zero of the data's type, zero of the filter's type)`, and gives `out` to output 0 of `call`.
template <class OnFloat, class OnHybrid, class OnQuantized>
Status by_convolution_types(KernelCall& call, const Tensor& x, const Tensor& w, Tensor& out,
                            OnFloat&& on_float, OnHybrid&& on_hybrid, OnQuantized&& on_quantized) {
  const auto all = [&](Store data, Store filter) {
    return x.store() == data && w.store() == filter && out.store() == data;
  };
  Status done;
  if (all(Store::f32, Store::f32))
    done = on_float(float{});
  else if (all(Store::f64, Store::f64))
    done = on_float(double{});
  else if (x.is_float() && out.is_float())
    done = on_hybrid();
  else if (all(Store::i8, Store::i8))
    done = on_quantized(std::int8_t{}, std::int8_t{});
  else if (all(Store::u8, Store::u8))
    done = on_quantized(std::uint8_t{}, std::uint8_t{});
  else if (all(Store::i16, Store::i8))
    done = on_quantized(std::int16_t{}, std::int8_t{});
  else
    return call.unsupported(fmt::format("on {} and {}", name(x.dtype), name(w.dtype)));
  if (!done) return done;
  call.outputs[0] = std::move(out);
  return {};
}

}  // namespace md

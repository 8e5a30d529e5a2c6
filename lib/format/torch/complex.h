// Complex numbers of aten tensors, in the arithmetic of the numeric mode.
#pragma once
#include <complex>
#include <vector>

#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/view.h"

namespace md {

/// Calls f with a zero of the type that the parts of `dtype`'s numbers are computed in.
template <class F>
Status with_parts(const KernelCall& call, DType dtype, F&& f) {
  const DType real = dtype == DType::c128                    ? DType::f64
                     : is_complex(dtype) || !is_float(dtype) ? DType::f32
                                                             : dtype;
  return with_floats(call, real, f);
}

template <class T>
std::vector<std::complex<T>> complex_numbers(const Tensor& t) {
  const As<T> numbers(t);
  std::vector<std::complex<T>> out;
  const auto lanes = static_cast<std::size_t>(t.lanes());
  out.reserve(t.size());
  for (std::size_t i = 0; i < t.size(); ++i)
    out.emplace_back(numbers[i * lanes], lanes == 2 ? numbers[i * lanes + 1] : T(0));
  return out;
}

/// The real parts alone where the result is real.
template <class T>
Status give_complex(KernelCall& call, const Shape& shape, const std::vector<std::complex<T>>& values) {
  const std::size_t lanes = is_complex(call.out_value().dtype) ? 2 : 1;
  return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
    if (to.size() != values.size() * lanes) fault_size(values.size() * lanes, to.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i * lanes] = values[i].real();
      if (lanes == 2) to[i * lanes + 1] = values[i].imag();
    }
  });
}

/// Written out: std::complex's own product treats infinities by C's annex G.
template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace md

// Kernels of signal operators (Fourier transforms, windows) and losses.
#include <cmath>
#include <complex>
#include <numbers>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/axis_rows.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using Complex = std::complex<double>;

/// The transform of a row, by its definition: lengths here are short, and work is charged.
std::vector<Complex> transformed(const std::vector<Complex>& x, std::size_t results, bool inverse) {
  const std::size_t n = x.size();
  std::vector<Complex> roots(n), out(results);
  for (std::size_t k = 0; k < n; ++k)
    roots[k] = std::polar(
        1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (std::size_t k = 0; k < results; ++k) {
    Complex sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i] * roots[i * k % n];
    out[k] = inverse ? sum / static_cast<double>(n) : sum;
  }
  return out;
}

/// The other half of a one-sided spectrum of real numbers, `n` in all.
std::vector<Complex> completed(std::vector<Complex> half, std::size_t n) {
  half.resize(n / 2 + 1);
  std::vector<Complex> all(n);
  for (std::size_t k = 0; k < n; ++k) all[k] = k < half.size() ? half[k] : std::conj(half[n - k]);
  return all;
}

/// [..., length, ..., 1 or 2]: real or complex numbers in the last axis.
Status dft(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  std::int64_t number = call.node.version < 20 ? call.attrs().integer("axis", 1) : -2;
  if (call.node.version >= 20 && call.has(2))
    number = static_cast<std::int64_t>(onnx::number_of(call, 2).value_or(-2));
  const auto axis = normal_axis(number, x.shape.size());
  const bool inverse = call.attrs().flag("inverse"), one_sided = call.attrs().flag("onesided");
  if (!axis || x.rank() < 2 || *axis + 1 == x.shape.size() || x.shape.back() < 1 || x.shape.back() > 2)
    return call.bad("an axis outside the tensor, or no numbers in the last one");
  const std::size_t lanes = at(x.shape.back());
  const std::int64_t usual = inverse && one_sided ? 2 * (x.shape[*axis] - 1) : x.shape[*axis];
  const double given = call.has(1) ? onnx::number_of(call, 1).value_or(0) : static_cast<double>(usual);
  if (!(given >= 1 && given < 1e8)) return call.bad("a length that does not fit");
  const auto n = static_cast<std::size_t>(given);
  const std::size_t results = one_sided && !inverse ? n / 2 + 1 : n, out_lanes = inverse && one_sided ? 1 : 2;
  Shape inner(x.shape.begin(), x.shape.end() - 1), shape = x.shape;
  const AxisRows rows = rows_along(inner, *axis);
  shape[*axis] = static_cast<std::int64_t>(results), shape.back() = static_cast<std::int64_t>(out_lanes);
  if (auto fits = charge(call, 4 * static_cast<double>(rows.count()) * static_cast<double>(n) *
                                   static_cast<double>(results));
      !fits)
    return fits;
  std::vector<double> out(at(product(shape)));
  each_row_along(rows, [&](std::size_t row, std::size_t first) {
    std::vector<Complex> values(inverse && one_sided ? rows.length : n);
    for (std::size_t k = 0; k < std::min(values.size(), rows.length); ++k) {
      const std::size_t p = (first + k * rows.inner) * lanes;
      values[k] = {x.number(p), lanes == 2 ? x.number(p + 1) : 0};
    }
    if (inverse && one_sided) values = completed(std::move(values), n);
    const auto made = transformed(values, results, inverse);
    const std::size_t to = row / rows.inner * results * rows.inner + row % rows.inner;
    for (std::size_t k = 0; k < results; ++k) {
      const std::size_t p = (to + k * rows.inner) * out_lanes;
      out[p] = made[k].real();
      if (out_lanes == 2) out[p + 1] = made[k].imag();
    }
  });
  return onnx::give(call, 0, shape, out);
}

/// Frames of a signal [batch, length, 1 or 2], each times the window, transformed.
Status stft(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const double step = onnx::number_of(call, 1).value_or(0);
  if (x.rank() < 2 || x.rank() > 3 || !(step >= 1 && step < 1e9))
    return call.bad("a signal or step that does not fit");
  const std::size_t lanes = x.rank() == 3 ? at(x.shape[2]) : 1, batch = at(x.shape[0]),
                    length = at(x.shape[1]);
  std::size_t n = call.has(2) ? call.in(2).size() : 0;
  if (call.has(3)) {
    const double given = onnx::number_of(call, 3).value_or(0);
    if (!(given >= 1 && given < 1e8)) return call.bad("a length that does not fit");
    n = static_cast<std::size_t>(given);
  }
  if (n == 0 || n > length || lanes < 1 || lanes > 2 || (call.has(2) && call.in(2).size() > n))
    return call.bad("a frame that does not fit");
  const std::size_t hop = static_cast<std::size_t>(step), frames = (length - n) / hop + 1;
  const std::size_t results = call.attrs().flag("onesided", true) ? n / 2 + 1 : n;
  if (auto fits = charge(call, 4 * static_cast<double>(batch * frames) * static_cast<double>(n) *
                                   static_cast<double>(results));
      !fits)
    return fits;
  std::vector<double> out;
  // A window shorter than the frame lies in its middle.
  const std::size_t w = call.has(2) ? call.in(2).size() : n, margin = (n - w) / 2;
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t f = 0; f < frames; ++f) {
      std::vector<Complex> values(n);
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t p = (b * length + f * hop + k) * lanes;
        const double weight = !call.has(2)                    ? 1
                              : k < margin || k >= margin + w ? 0
                                                              : call.in(2).number(k - margin);
        values[k] = Complex(x.number(p), lanes == 2 ? x.number(p + 1) : 0) * weight;
      }
      for (const Complex& v : transformed(values, results, false))
        out.push_back(v.real()), out.push_back(v.imag());
    }
  return onnx::give(
      call, 0, {x.shape[0], static_cast<std::int64_t>(frames), static_cast<std::int64_t>(results), 2}, out);
}

Status window(KernelCall& call) {
  const auto size = onnx::number_of(call, 0);
  if (!size || !(*size >= 0 && *size < 1e8)) return call.bad("a size that does not fit");
  const std::string_view op = call.node.op;
  const double n = *size, period = call.attrs().flag("periodic", true) ? n : n - 1;
  std::vector<double> out;
  for (double i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * i / period;
    if (op == "HannWindow")
      out.push_back(0.5 - 0.5 * std::cos(angle));
    else if (op == "HammingWindow")
      out.push_back(25.0 / 46 - 21.0 / 46 * std::cos(angle));
    else
      out.push_back(0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle));
  }
  return onnx::give(call, 0, {static_cast<std::int64_t>(out.size())}, out);
}

Status mel_weights(KernelCall& call) {
  if (auto ok = call.need(5); !ok) return ok;
  double given[5];
  for (std::size_t i = 0; i < 5; ++i) {
    const auto n = onnx::number_of(call, i);
    if (!n || !(std::abs(*n) < 1e7)) return call.bad("a number that does not fit");
    given[i] = *n;
  }
  const double rate = given[2];
  if (given[0] < 1 || given[0] > 1e5 || given[1] < 1 || rate <= 0)
    return call.bad("a number that does not fit");
  const auto bins = static_cast<std::size_t>(given[0]), rows = static_cast<std::size_t>(given[1]) / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(given[3]), step = (mel(given[4]) - low) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + step * static_cast<double>(i)) / 2595) - 1);
    places.push_back(static_cast<std::int64_t>(std::floor((given[1] + 1) * hertz / rate)));
  }
  if (auto fits = charge(call, static_cast<double>(rows) * static_cast<double>(bins)); !fits) return fits;
  std::vector<double> out(rows * bins, 0);
  const auto set = [&](std::int64_t row, std::size_t bin, double v) {
    if (row >= 0 && at(row) < rows) out[at(row) * bins + bin] = v;
  };
  for (std::size_t i = 0; i < bins; ++i) {
    const std::int64_t left = places[i], center = places[i + 1], right = places[i + 2];
    if (center == left) set(center, i, 1);
    for (std::int64_t j = left; j <= center && center > left; ++j)
      set(j, i, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (std::int64_t j = center; j < right; ++j)
      set(j, i, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
  return onnx::give(call, 0, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(bins)}, out);
}

// --- losses: the classes in the second axis

Status loss(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const bool soft = call.node.op == "SoftmaxCrossEntropyLoss";
  const Tensor &x = call.in(0), &target = call.in(1);
  if (x.rank() < 2 || target.rank() != x.rank() - 1) return call.bad("scores and labels that do not fit");
  const AxisRows rows = rows_along(x.shape, 1);
  if (target.size() != rows.count() || (call.has(2) && call.in(2).size() != rows.length))
    return call.bad("labels or weights that do not fit");
  std::vector<double> logs = x.numbers();
  if (soft)
    each_row_along(rows, [&](std::size_t, std::size_t first) {
      double top = -HUGE_VAL, sum = 0;
      for (std::size_t k = 0; k < rows.length; ++k) top = std::max(top, logs[first + k * rows.inner]);
      for (std::size_t k = 0; k < rows.length; ++k) sum += std::exp(logs[first + k * rows.inner] - top);
      for (std::size_t k = 0; k < rows.length; ++k) logs[first + k * rows.inner] -= top + std::log(sum);
    });
  const AttrValue* ignored = call.attrs().find("ignore_index");
  const std::int64_t left_out = call.attrs().integer("ignore_index");
  std::vector<double> losses(rows.count(), 0);
  double sum = 0, weights = 0;
  bool fits = true;
  each_row_along(rows, [&](std::size_t row, std::size_t first) {
    const std::int64_t label = target.integer(row);
    if (ignored && label == left_out) return;
    if (label < 0 || at(label) >= rows.length) return void(fits = false);
    const double w = call.has(2) ? call.in(2).number(at(label)) : 1;
    losses[row] = -logs[first + at(label) * rows.inner] * w;
    sum += losses[row], weights += w;
  });
  if (!fits) return call.bad("a label outside the classes");
  const std::string_view reduction = call.attrs().text("reduction", "mean");
  const Status given = reduction == "none"
                           ? onnx::give(call, 0, target.shape, losses)
                           : onnx::give(call, 0, {}, {reduction == "sum" ? sum : sum / weights});
  if (!given || !onnx::wants(call, 1)) return given;
  return onnx::give(call, 1, x.shape, logs);
}

constexpr KernelEntry entries[] = {
    {"BlackmanWindow", window},
    {"DFT", dft},
    {"HammingWindow", window},
    {"HannWindow", window},
    {"MelWeightMatrix", mel_weights},
    {"NegativeLogLikelihoodLoss", loss},
    {"STFT", stft},
    {"SoftmaxCrossEntropyLoss", loss},
};

}  // namespace

std::span<const KernelEntry> onnx_signal_kernels() { return entries; }

}  // namespace md

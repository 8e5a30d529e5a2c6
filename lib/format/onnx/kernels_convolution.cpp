// Kernels of convolutions of one to three axes: floats, transposed, and integers with zero points.
#include <cmath>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/convolution.h"
#include "lib/eval/primitives/functions.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"
#include "lib/format/onnx/windows.h"

namespace md {
namespace {

using onnx::at;

constexpr std::int64_t most = std::int64_t{1} << 31;

Result<Convolution> described(KernelCall& call, const Shape& x, const Shape& w, bool transposed) {
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) return call.unsupported("of this rank");
  const Attributes& attrs = call.attrs();
  const std::size_t axes = x.size() - 2;
  Convolution c;
  c.transposed = transposed;
  c.groups = attrs.integer("group", 1);
  c.batch = x[0], c.channels = x[1];
  if (c.groups < 1 || c.groups > most || w[1] > most) return call.bad("groups that do not fit");
  c.filters = transposed ? w[1] * c.groups : w[0];
  if (c.channels < 1 || c.filters < 1 || c.channels % c.groups || c.filters % c.groups ||
      (transposed ? w[0] != c.channels : w[1] != c.group_channels()))
    return call.bad("channels that do not fit");
  c.windows.axes.fill({1, 1, 1, 1, 1, 0});
  c.out = {c.batch, c.filters};
  const auto* fixed = attrs.integers("output_shape");
  const std::string_view auto_pad = attrs.text("auto_pad", "NOTSET");
  for (std::size_t d = 0; d < axes; ++d) {
    const std::int64_t n = x[d + 2];
    const auto a = onnx::window_axis(attrs, d, axes, n, w[d + 2]);
    if (!a || a->kernel != w[d + 2] || n < 1) return call.bad("windows that do not fit");
    Window& axis = c.windows.axes[3 - axes + d];
    axis = {n, 0, a->kernel, a->stride, a->dilation, a->before};
    if (!transposed) {
      axis.out = onnx::window_count(*a, n, false);
    } else {
      const std::int64_t extra = onnx::list_item(attrs, "output_padding", d, 0);
      const std::int64_t full = (n - 1) * a->stride + extra + a->reach();
      std::int64_t before = a->before, size = full - a->before - a->behind;
      const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
      if (same || (fixed && !fixed->empty())) {
        size = fixed && !fixed->empty()
                   ? onnx::list_item(attrs, "output_shape", fixed->size() == axes ? d : d + 2, 0)
                   : n * a->stride;
        const std::int64_t total = std::max<std::int64_t>(full - size, 0);
        before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      }
      axis = {size, n, a->kernel, a->stride, a->dilation, before};
    }
    const std::int64_t result = transposed ? axis.in : axis.out;
    if (result < 1 || result > most) return call.bad("an empty result");
    c.out.push_back(result);
  }
  return c;
}

Status charge_for(KernelCall& call, const Convolution& c, const Shape& x, const Shape& w) {
  const double terms =
      static_cast<double>(product(w)) / static_cast<double>(c.transposed ? c.channels : c.filters);
  return charge(call, terms * (c.transposed ? static_cast<double>(product(x))
                                            : static_cast<double>(c.batch * c.filters) *
                                                  static_cast<double>(c.windows.pixels_out())));
}

/// com.microsoft.FusedConv: a function of each result.
template <class T>
bool activate_as(std::string_view name, const std::vector<double>* params, std::span<T> values) {
  const auto param = [&](std::size_t i, double otherwise) {
    return static_cast<T>(params && i < params->size() ? (*params)[i] : otherwise);
  };
  for (T& v : values) {
    if (name == "Relu")
      v = v < T(0) ? T(0) : v;
    else if (name == "Sigmoid")
      v = logistic(v);
    else if (name == "Tanh")
      v = std::tanh(v);
    else if (name == "LeakyRelu")
      v = v < T(0) ? v * param(0, 0.01) : v;
    else if (name == "Clip")
      v = clamped(v, param(0, -HUGE_VAL), param(1, HUGE_VAL));
    else if (name == "HardSigmoid")
      v = clamped(param(0, 0.2) * v + param(1, 0.5), T(0), T(1));
    else
      return false;
  }
  return true;
}

Status real_convolution(KernelCall& call, bool transposed) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &w = call.in(1);
  if (!x.is_float() || !w.is_float() || x.lanes() != 1) return call.unsupported("on these types");
  const auto c = described(call, x.shape, w.shape, transposed);
  if (!c) return tl::make_unexpected(c.error());
  if (call.has(2) && static_cast<std::int64_t>(call.in(2).size()) != c->filters)
    return call.bad("a bias that does not fit");
  if (auto fits = charge_for(call, *c, x.shape, w.shape); !fits) return fits;
  const std::string_view activation = call.attrs().text("activation", "");
  if (call.has(3) && (call.in(3).shape != c->out || !call.in(3).is_float()))
    return call.bad("a sum that does not fit");
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> image(x), weights(w);
    std::optional<As<T>> bias, added;
    if (call.has(2)) bias.emplace(call.in(2));
    if (call.has(3)) added.emplace(call.in(3));
    bool known = true;
    auto done = give_numbers<T>(call, 0, c->out, [&](std::span<T> to) {
      convolve<T>(call, *c, image.data(), weights.data(), bias ? bias->data() : nullptr, to.data());
      for (std::size_t i = 0; added && i < to.size(); ++i) to[i] += (*added)[i];
      if (!activation.empty()) known = activate_as(activation, onnx::reals(call, "activation_params"), to);
    });
    if (done && !known) return call.unsupported("with this activation");
    return done;
  });
}
Status conv(KernelCall& call) { return real_convolution(call, false); }
Status conv_transpose(KernelCall& call) { return real_convolution(call, true); }

// --- integers: sums of at most 2^53 are exact in double

/// x - zero; the zero point is one number or one for each `inner` elements in a row.
std::vector<double> without_zero(const Tensor& x, const Tensor* zero, std::size_t inner) {
  std::vector<double> numbers = x.numbers();
  if (zero && zero->size() > 0)
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] -= zero->number(
          zero->size() == 1 ? 0 : std::min(i / std::max<std::size_t>(inner, 1), zero->size() - 1));
  return numbers;
}

struct Sums {
  Convolution c;
  std::vector<double> numbers;
};

Result<Sums> integer_sums(KernelCall& call, std::size_t x, std::size_t x_zero, std::size_t w,
                          std::size_t w_zero, std::size_t bias) {
  const Tensor &image = call.in(x), &filter = call.in(w);
  auto c = described(call, image.shape, filter.shape, false);
  if (!c) return tl::make_unexpected(c.error());
  if (auto fits = charge_for(call, *c, image.shape, filter.shape); !fits)
    return tl::make_unexpected(fits.error());
  const auto a = without_zero(image, call.has(x_zero) ? &call.in(x_zero) : nullptr, image.size());
  const auto b =
      without_zero(filter, call.has(w_zero) ? &call.in(w_zero) : nullptr, filter.size() / at(c->filters));
  std::vector<double> added;
  if (call.has(bias)) {
    added = call.in(bias).numbers();
    if (added.size() != at(c->filters)) return call.bad("a bias that does not fit");
  }
  Sums sums{*c, std::vector<double>(at(product(c->out)))};
  convolve<double>(call, *c, a.data(), b.data(), added.empty() ? nullptr : added.data(), sums.numbers.data());
  return sums;
}

Status conv_integer(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto sums = integer_sums(call, 0, 2, 1, 3, 99);
  if (!sums) return tl::make_unexpected(sums.error());
  return onnx::give(call, 0, sums->c.out, sums->numbers);
}

Status qlinear_conv(KernelCall& call) {
  if (auto ok = call.need(8); !ok) return ok;
  auto sums = integer_sums(call, 0, 2, 3, 5, 8);
  if (!sums) return tl::make_unexpected(sums.error());
  const Tensor& ws = call.in(4);
  if (call.in(1).size() == 0 || ws.size() == 0 || call.in(6).size() == 0) return call.bad("no scale");
  const double xs = call.in(1).number(0), ys = call.in(6).number(0),
               zero = call.in(7).size() ? call.in(7).number(0) : 0;
  const bool has_sign = is_signed(call.out_value().dtype);
  const double low = has_sign ? -128 : 0, high = has_sign ? 127 : 255;
  const std::size_t pixels = at(sums->c.windows.pixels_out()), filters = at(sums->c.filters);
  for (std::size_t i = 0; i < sums->numbers.size(); ++i) {
    const std::size_t f = i / pixels % filters;
    const double scale = xs * ws.number(ws.size() == 1 ? 0 : std::min(f, ws.size() - 1)) / ys;
    sums->numbers[i] = std::clamp(std::nearbyint(sums->numbers[i] * scale) + zero, low, high);
  }
  return onnx::give(call, 0, sums->c.out, sums->numbers);
}

constexpr KernelEntry entries[] = {
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"QLinearConv", qlinear_conv},
    {"com.microsoft.FusedConv", conv, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_convolution_kernels() { return entries; }

}  // namespace md

// Kernels of Fourier transforms by their definition: sums of exponentials in the arithmetic of the numeric
// mode, no fast transform.
#include <numbers>

#include "lib/eval/primitives/reduction.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/complex.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

constexpr std::int64_t most_points = 1 << 24;  // of one transform: beyond lies damage

/// exp(sign 2 pi i k / n), with the symmetries of the circle exact: angles that cancel in theory cancel here.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n, int sign) {
  std::int64_t at = 4 * (k % n);  // in quarters of a turn, times n
  const std::int64_t quarter = at / n;
  at -= quarter * n;
  const bool past_half = 2 * at > n;
  const double angle =
      std::numbers::pi / 2 * static_cast<double>(past_half ? n - at : at) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (past_half) std::swap(c, s);
  if (at == 0) c = 1, s = 0;
  const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
  return {turned[quarter & 3][0], sign * turned[quarter & 3][1]};
}

/// One axis: out[k] = scale * sum over m of x[m] exp(sign 2 pi i k m / n).
struct Axis {
  std::int64_t n = 0, outputs = 0;
  int sign = -1;
  double scale = 1;
  bool half_input = false;  ///< the rest of the spectrum is the mirror image
};

template <class T>
std::vector<std::complex<T>> transform(KernelCall& call, const std::vector<std::complex<T>>& x, Shape& shape,
                                       std::size_t dim, const Axis& t) {
  std::vector<std::complex<T>> roots;
  for (std::int64_t i = 0; i < t.n; ++i) roots.emplace_back(root_of_unity(i, t.n, t.sign));
  const auto in_strides = strides_of(shape);
  const std::int64_t size = shape[dim], terms = t.half_input ? t.n : std::min(size, t.n);
  Shape out_shape = shape;
  out_shape[dim] = t.outputs;
  std::vector<std::complex<T>> out, row(static_cast<std::size_t>(terms));
  ModeSum sum(call, false);
  for_each_index(out_shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t base = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (d != dim) base += index[d] * in_strides[d];
    for (std::int64_t m = 0; m < terms; ++m) {
      const bool mirrored = t.half_input && m > t.n / 2;
      const std::int64_t from = mirrored ? t.n - m : m;
      std::complex<T>& term = row[static_cast<std::size_t>(m)];
      term = 0;
      if (from >= size) continue;
      std::complex<T> v = x[static_cast<std::size_t>(base + from * in_strides[dim])];
      if (mirrored) v = std::conj(v);
      if (t.half_input && (from == 0 || 2 * from == t.n)) v = v.real();
      term = times(v, roots[static_cast<std::size_t>(index[dim] * m % t.n)]);
    }
    const T re = sum.of<T>(row.size(), [&](std::size_t m) { return row[m].real(); }),
            im = sum.of<T>(row.size(), [&](std::size_t m) { return row[m].imag(); });
    out.emplace_back(re * static_cast<T>(t.scale), im * static_cast<T>(t.scale));
  });
  shape = out_shape;
  return out;
}

struct Step {
  std::size_t dim = 0;
  Axis axis;
};

/// The transforms of several axes, one after the other.
Status transform_axes(KernelCall& call, const std::vector<Step>& steps) {
  return with_parts(call, call.in(0).dtype, [&](auto zero) {
    Shape shape = call.in(0).shape;
    auto x = complex_numbers<decltype(zero)>(call.in(0));
    for (const Step& step : steps) x = transform(call, x, shape, step.dim, step.axis);
    return give_complex(call, shape, x);
  });
}

double scale_of(std::string_view norm, bool inverse, std::int64_t n) {
  const auto points = static_cast<double>(n);
  if (norm == "ortho") return 1 / std::sqrt(points);
  return (norm == "forward") != inverse ? 1 / points : 1;
}

Status fft_one(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::string base = aten_base(call.node.op);
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank(), -1) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  const bool back = base == "aten.fft_irfft", inverse = back || base == "aten.fft_ifft";
  const std::int64_t size = x.shape[static_cast<std::size_t>(dim)];
  Axis t;
  t.n = call.attrs().integer("n", back ? 2 * (size - 1) : size);
  if (t.n <= 0 || t.n > most_points) return c.bad("no points");
  t.outputs = base == "aten.fft_rfft" ? t.n / 2 + 1 : t.n;
  t.sign = inverse ? 1 : -1, t.half_input = back;
  t.scale = scale_of(call.attrs().text("norm", "backward"), inverse, t.n);
  return transform_axes(call, {{static_cast<std::size_t>(dim), t}});
}

Status fft_shift(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool forward = aten_base(call.node.op) == "aten.fft_fftshift";
  const auto strides = strides_of(x.shape);
  std::vector<std::int64_t> turn(x.shape.size(), 0);
  for (const int d : c.dims("dim", x.rank())) {
    const std::int64_t size = x.shape[static_cast<std::size_t>(d)];
    turn[static_cast<std::size_t>(d)] = forward ? (size + 1) / 2 : size / 2;
  }
  std::vector<std::int64_t> from;
  for_each_index(x.shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at += (index[d] + turn[d]) % x.shape[d] * strides[d];
    from.push_back(at);
  });
  return c.move(x, x.shape, from);
}

/// fft_rfft2, fft_fftn ...: several axes; the halved one is the last, first forward and last backward.
Status fft_named(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::string base = aten_base(call.node.op);
  const bool inverse = base.starts_with("aten.fft_i"), half = base.find("rfft") != std::string::npos;
  const Shape& shape = call.in(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto sizes = c.sizes("s"), given = c.sizes("dim");
  std::vector<std::int64_t> dims;
  if (given)
    dims = *given;
  else if (base.ends_with("2"))
    dims = {-2, -1};
  else
    for (std::int64_t d = sizes ? rank - static_cast<std::int64_t>(sizes->size()) : 0; d < rank; ++d)
      dims.push_back(d);
  if (dims.empty() || (sizes && sizes->size() != dims.size())) return c.bad("no axes");
  std::vector<Step> steps;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const std::size_t i = inverse ? k : dims.size() - 1 - k;
    const std::int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank) return c.bad("an axis outside the tensor");
    const bool halves = half && i + 1 == dims.size();
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    Axis t;
    t.n = sizes && (*sizes)[i] > 0 ? (*sizes)[i] : halves && inverse ? 2 * (size - 1) : size;
    if (t.n <= 0 || t.n > most_points) return c.bad("no points");
    t.outputs = halves && !inverse ? t.n / 2 + 1 : t.n;
    t.sign = inverse ? 1 : -1, t.half_input = halves && inverse;
    t.scale = scale_of(call.attrs().text("norm", "backward"), inverse, t.n);
    steps.push_back({static_cast<std::size_t>(dim), t});
  }
  return transform_axes(call, steps);
}

Status fft_several(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::string base = aten_base(call.node.op);
  const auto dims = c.sizes("dim");
  const Shape& shape = call.in(0).shape;
  if (!dims || dims->empty()) return c.bad("no axes");
  std::vector<Step> steps;
  std::vector<std::int64_t> order = *dims;
  const bool r2c = base == "aten._fft_r2c" && call.attrs().flag("onesided", true),
             c2r = base == "aten._fft_c2r";
  if (!c2r) std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t dim = order[i] < 0 ? order[i] + static_cast<std::int64_t>(shape.size()) : order[i];
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) return c.bad("an axis outside the tensor");
    const bool halves = c2r && i + 1 == order.size();
    Axis t;
    t.n = halves ? call.attrs().integer("last_dim_size") : shape[static_cast<std::size_t>(dim)];
    if (t.n <= 0 || t.n > most_points) return c.bad("no points");
    t.outputs = r2c && i == 0 ? t.n / 2 + 1 : t.n;
    t.sign = c2r || !call.attrs().flag("forward", true) ? 1 : -1, t.half_input = halves;
    const std::int64_t normalization = call.attrs().integer("normalization");
    t.scale = normalization == 0   ? 1
              : normalization == 1 ? 1 / std::sqrt(static_cast<double>(t.n))
                                   : 1 / static_cast<double>(t.n);
    steps.push_back({static_cast<std::size_t>(dim), t});
  }
  return transform_axes(call, steps);
}

/// The window in the middle of a frame of n samples.
template <class T>
std::vector<T> window_of(const AtenCall& c, std::int64_t n, std::int64_t length) {
  std::vector<T> window(static_cast<std::size_t>(n), T(0));
  const Tensor* given = c.operand("window");
  for (std::int64_t i = 0; i < length; ++i)
    window[static_cast<std::size_t>((n - length) / 2 + i)] =
        given ? static_cast<T>(given->number(static_cast<std::size_t>(i))) : T(1);
  return window;
}

/// Frames of a signal or spectrum, as stft and istft take them.
struct Frames {
  std::int64_t n = 0, hop = 0, length = 0;
  bool normalized = false;
  double scale(bool inverse) const {
    const auto points = static_cast<double>(n);
    return normalized ? 1 / std::sqrt(points) : inverse ? 1 / points : 1;
  }
};
std::optional<Frames> frames_of(const AtenCall& c) {
  Frames f;
  f.n = c.attrs().integer("n_fft");
  f.hop = c.attrs().integer("hop_length", f.n / 4), f.length = c.attrs().integer("win_length", f.n);
  f.normalized = c.attrs().flag("normalized");
  const Tensor* given = c.operand("window");
  if (f.n < 1 || f.n > most_points || f.hop < 1 || f.hop > most_points || f.length < 1 || f.length > f.n)
    return std::nullopt;
  if (given && (given->size() != static_cast<std::size_t>(f.length) || given->lanes() != 1))
    return std::nullopt;
  return f;
}

template <class T>
std::vector<std::complex<T>> spectrum_of(KernelCall& call, const Tensor& x, const Frames& f,
                                         std::int64_t batch, std::int64_t frames, std::int64_t bins) {
  const std::int64_t samples = x.shape.back();
  const As<T> numbers(x);
  const auto window = window_of<T>(AtenCall(call), f.n, f.length);
  std::vector<std::complex<T>> out(static_cast<std::size_t>(batch * bins * frames));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < frames; ++i) {
      std::vector<std::complex<T>> frame;
      for (std::int64_t m = 0; m < f.n; ++m)
        frame.emplace_back(numbers[static_cast<std::size_t>(b * samples + i * f.hop + m)] *
                           window[static_cast<std::size_t>(m)]);
      Shape shape{f.n};
      const auto spectrum = transform(call, frame, shape, 0, {f.n, bins, -1, f.scale(false), false});
      for (std::int64_t k = 0; k < bins; ++k)
        out[static_cast<std::size_t>((b * bins + k) * frames + i)] = spectrum[static_cast<std::size_t>(k)];
    }
  return out;
}

Status stft(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  const auto f = frames_of(c);
  if (!x || !f || x->rank() < 1 || x->rank() > 2 || x->lanes() != 1) return c.bad("operands that do not fit");
  const std::int64_t batch = x->rank() == 2 ? x->shape[0] : 1, samples = x->shape.back(),
                     frames = 1 + (samples - f->n) / f->hop;
  if (samples < f->n) return c.bad("a signal shorter than one frame");
  const std::int64_t bins = call.attrs().flag("onesided", true) ? f->n / 2 + 1 : f->n;
  Shape shape = x->rank() == 2 ? Shape{batch, bins, frames} : Shape{bins, frames};
  const bool pairs = !call.attrs().flag("return_complex", true);
  if (pairs) shape.push_back(2);
  return with_parts(call, x->dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto out = spectrum_of<T>(call, *x, *f, batch, frames, bins);
    if (!pairs) return give_complex(call, shape, out);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < out.size(); ++i) to[2 * i] = out[i].real(), to[2 * i + 1] = out[i].imag();
    });
  });
}

/// The samples [start, end) of one signal: frames added where they overlap, over the sum of squared windows.
template <class T>
void add_frames(KernelCall& call, const std::complex<T>* values, const Frames& f, std::int64_t bins,
                std::int64_t frames, std::int64_t start, std::int64_t end, T* out) {
  const auto window = window_of<T>(AtenCall(call), f.n, f.length);
  const auto total = static_cast<std::size_t>(f.n + f.hop * (frames - 1));
  std::vector<T> sum(total, T(0)), weight(total, T(0));
  for (std::int64_t i = 0; i < frames; ++i) {
    std::vector<std::complex<T>> spectrum;
    for (std::int64_t k = 0; k < bins; ++k) spectrum.push_back(values[k * frames + i]);
    Shape shape{bins};
    const auto frame = transform(call, spectrum, shape, 0, {f.n, f.n, 1, f.scale(true), true});
    for (std::int64_t m = 0; m < f.n; ++m) {
      const T w = window[static_cast<std::size_t>(m)];
      sum[static_cast<std::size_t>(i * f.hop + m)] += frame[static_cast<std::size_t>(m)].real() * w;
      weight[static_cast<std::size_t>(i * f.hop + m)] += w * w;
    }
  }
  for (std::int64_t i = start; i < end; ++i)
    *out++ = sum[static_cast<std::size_t>(i)] / weight[static_cast<std::size_t>(i)];
}

Status istft(KernelCall& call) {
  AtenCall c(call);
  const Tensor* z = c.operand("self");
  const auto f = frames_of(c);
  if (!z || !f || z->rank() < 2 || z->rank() > 3 || z->lanes() != 2) return c.bad("operands that do not fit");
  const std::int64_t batch = z->rank() == 3 ? z->shape[0] : 1, bins = z->shape[z->shape.size() - 2],
                     frames = z->shape.back(), total = f->n + f->hop * (frames - 1);
  if (bins != f->n / 2 + 1 || frames < 1) return c.bad("a spectrum that does not fit");
  const std::int64_t start = call.attrs().flag("center", true) ? f->n / 2 : 0;
  const std::int64_t end = c.given("length") ? start + call.attrs().integer("length") : total - start;
  if (end > total || end <= start) return c.bad("a length outside the frames");
  return with_parts(call, z->dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto values = complex_numbers<T>(*z);
    return give_numbers<T>(call, 0, z->rank() == 3 ? Shape{batch, end - start} : Shape{end - start},
                           [&](std::span<T> to) {
                             for (std::int64_t b = 0; b < batch; ++b)
                               add_frames<T>(call, values.data() + b * bins * frames, *f, bins, frames, start,
                                             end, to.data() + b * (end - start));
                           });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.fft_rfft.default", fft_one},
    {"aten.fft_irfft.default", fft_one},
    {"aten.fft_fft.default", fft_one},
    {"aten.fft_ifft.default", fft_one},
    {"aten._fft_r2c.default", fft_several},
    {"aten._fft_c2c.default", fft_several},
    {"aten._fft_c2r.default", fft_several},
    {"aten.fft_fftshift.default", fft_shift},
    {"aten.fft_ifftshift.default", fft_shift},
    {"aten.fft_fft2.default", fft_named},
    {"aten.fft_ifft2.default", fft_named},
    {"aten.fft_rfft2.default", fft_named},
    {"aten.fft_irfft2.default", fft_named},
    {"aten.fft_fftn.default", fft_named},
    {"aten.fft_ifftn.default", fft_named},
    {"aten.fft_rfftn.default", fft_named},
    {"aten.fft_irfftn.default", fft_named},
    {"aten.stft.default", stft},
    {"aten.istft.default", istft},
};

}  // namespace

std::span<const KernelEntry> aten_fourier_kernels() { return entries; }

}  // namespace md

// Kernels of complex aten operators and Fourier transforms, by their definitions: sums of exponentials, no
// fast transform.
#include <complex>
#include <numbers>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

using Z = std::complex<double>;

std::vector<Z> complex_numbers(const Tensor& t) {
  const auto numbers = t.numbers();
  std::vector<Z> out;
  const auto lanes = static_cast<std::size_t>(t.lanes());
  for (std::size_t i = 0; i < t.size(); ++i)
    out.emplace_back(numbers[i * lanes], lanes == 2 ? numbers[i * lanes + 1] : 0.0);
  return out;
}

Status give(const AtenCall& c, Shape shape, const std::vector<Z>& values) {
  const DType dtype = c.call.out_value().dtype;
  const bool complex = dtype == DType::c32 || dtype == DType::c64 || dtype == DType::c128;
  std::vector<double> out;
  for (const Z& z : values) {
    out.push_back(z.real());
    if (complex) out.push_back(z.imag());
  }
  return c.give(std::move(shape), out);
}

Status view_as_complex(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.shape.empty() || x.shape.back() != 2) return c.bad("a last axis of another size than 2");
  return c.give(Shape(x.shape.begin(), x.shape.end() - 1), x.numbers());
}

Status view_as_real(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  Shape shape = call.in(0).shape;
  shape.push_back(2);
  return c.give(shape, call.in(0).numbers());
}

template <class F>
Status pairwise(KernelCall& call, std::string_view first, std::string_view second, F&& f) {
  AtenCall c(call);
  const auto a = c.value(first), b = c.value(second);
  if (!a || !b) return c.bad("an operand is missing");
  const auto shape = aten_broadcast({a->shape, b->shape});
  if (!shape) return c.bad("operands that do not broadcast");
  const auto pa = broadcast_positions(a->shape, *shape), pb = broadcast_positions(b->shape, *shape);
  const auto x = complex_numbers(*a), y = complex_numbers(*b);
  std::vector<Z> out;
  for (std::size_t k = 0; k < pa.size(); ++k)
    out.push_back(f(x[static_cast<std::size_t>(pa[k])], y[static_cast<std::size_t>(pb[k])]));
  return give(c, *shape, out);
}

template <class F>
Status each(KernelCall& call, F&& f) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  std::vector<Z> values = complex_numbers(call.in(0));
  for (Z& z : values) z = f(z);
  return give(c, call.in(0).shape, values);
}

/// Written out: std::complex's own product treats infinities by C's annex G. In float arithmetic each product
/// is rounded, as torch's kernels do.
Z times_rounded(Z a, Z b) {
  const auto f = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  return {f(a.real() * b.real()) - f(a.imag() * b.imag()), f(a.real() * b.imag()) + f(a.imag() * b.real())};
}
Z times(Z a, Z b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Status complex(KernelCall& call) {
  return pairwise(call, "real", "imag", [](Z a, Z b) { return Z(a.real(), b.real()); });
}
Status polar(KernelCall& call) {
  return pairwise(call, "abs", "angle",
                  [](Z a, Z b) { return Z(a.real() * std::cos(b.real()), a.real() * std::sin(b.real())); });
}
Status real(KernelCall& call) {
  return each(call, [](Z z) { return Z(z.real(), 0); });
}
Status imag(KernelCall& call) {
  return each(call, [](Z z) { return Z(z.imag(), 0); });
}
Status conj(KernelCall& call) {
  return each(call, [](Z z) { return std::conj(z); });
}
Status angle(KernelCall& call) {
  return each(call, [](Z z) { return Z(std::atan2(z.imag(), z.real()), 0); });
}

/// exp(sign 2 pi i k / n), with the symmetries of the circle exact: angles that cancel in theory cancel here.
Z root_of_unity(std::int64_t k, std::int64_t n, int sign) {
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
  bool wide = false;        ///< factors in double
};

std::vector<Z> transform(const std::vector<Z>& x, Shape& shape, std::size_t dim, const Axis& t) {
  std::vector<Z> roots;
  for (std::int64_t i = 0; i < t.n; ++i) {
    Z root = root_of_unity(i, t.n, t.sign);
    // Float transforms hold their factors as floats.
    if (!t.wide)
      root = {static_cast<double>(static_cast<float>(root.real())),
              static_cast<double>(static_cast<float>(root.imag()))};
    roots.push_back(root);
  }
  const auto in_strides = strides_of(shape);
  const std::int64_t size = shape[dim];
  Shape out_shape = shape;
  out_shape[dim] = t.outputs;
  std::vector<Z> out;
  for_each_index(out_shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t base = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (d != dim) base += index[d] * in_strides[d];
    Z total = 0;
    const std::int64_t terms = t.half_input ? t.n : std::min(size, t.n);
    for (std::int64_t m = 0; m < terms; ++m) {
      const bool mirrored = t.half_input && m > t.n / 2;
      const std::int64_t from = mirrored ? t.n - m : m;
      if (from >= size) continue;
      Z v = x[static_cast<std::size_t>(base + from * in_strides[dim])];
      if (mirrored) v = std::conj(v);
      if (t.half_input && (from == 0 || 2 * from == t.n)) v = v.real();
      total += times(v, roots[static_cast<std::size_t>(index[dim] * m % t.n)]);
    }
    out.push_back(total * t.scale);
  });
  shape = out_shape;
  return out;
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
  t.wide = call.wide();
  t.n = call.attrs().integer("n", back ? 2 * (size - 1) : size);
  if (t.n <= 0) return c.bad("no points");
  t.outputs = base == "aten.fft_rfft" ? t.n / 2 + 1 : t.n;
  t.sign = inverse ? 1 : -1, t.half_input = back;
  t.scale = scale_of(call.attrs().text("norm", "backward"), inverse, t.n);
  Shape shape = x.shape;
  const auto out = transform(complex_numbers(x), shape, static_cast<std::size_t>(dim), t);
  return give(c, shape, out);
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
  Shape shape = call.in(0).shape;
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
  std::vector<Z> x = complex_numbers(call.in(0));
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const std::size_t i = inverse ? k : dims.size() - 1 - k;
    const std::int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank) return c.bad("an axis outside the tensor");
    const bool halves = half && i + 1 == dims.size();
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    Axis t;
    t.wide = call.wide();
    t.n = sizes && (*sizes)[i] > 0 ? (*sizes)[i] : halves && inverse ? 2 * (size - 1) : size;
    if (t.n <= 0) return c.bad("no points");
    t.outputs = halves && !inverse ? t.n / 2 + 1 : t.n;
    t.sign = inverse ? 1 : -1, t.half_input = halves && inverse;
    t.scale = scale_of(call.attrs().text("norm", "backward"), inverse, t.n);
    x = transform(std::move(x), shape, static_cast<std::size_t>(dim), t);
  }
  return give(c, shape, x);
}

Status fft_several(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::string base = aten_base(call.node.op);
  const auto dims = c.sizes("dim");
  Shape shape = call.in(0).shape;
  if (!dims || dims->empty()) return c.bad("no axes");
  std::vector<Z> x = complex_numbers(call.in(0));
  std::vector<std::int64_t> order = *dims;
  const bool r2c = base == "aten._fft_r2c" && call.attrs().flag("onesided", true),
             c2r = base == "aten._fft_c2r";
  if (!c2r) std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t dim = order[i] < 0 ? order[i] + static_cast<std::int64_t>(shape.size()) : order[i];
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) return c.bad("an axis outside the tensor");
    const bool halves = c2r && i + 1 == order.size();
    Axis t;
    t.wide = call.wide();
    t.n = halves ? call.attrs().integer("last_dim_size") : shape[static_cast<std::size_t>(dim)];
    if (t.n <= 0) return c.bad("no points");
    t.outputs = r2c && i == 0 ? t.n / 2 + 1 : t.n;
    t.sign = c2r || !call.attrs().flag("forward", true) ? 1 : -1, t.half_input = halves;
    const std::int64_t normalization = call.attrs().integer("normalization");
    t.scale = normalization == 0   ? 1
              : normalization == 1 ? 1 / std::sqrt(static_cast<double>(t.n))
                                   : 1 / static_cast<double>(t.n);
    x = transform(x, shape, static_cast<std::size_t>(dim), t);
  }
  return give(c, shape, x);
}

std::optional<std::vector<double>> window_of(const AtenCall& c, std::int64_t n) {
  const std::int64_t length = c.attrs().integer("win_length", n), left = (n - length) / 2;
  if (length <= 0 || length > n) return std::nullopt;
  std::vector<double> window(static_cast<std::size_t>(n), 0);
  const Tensor* given = c.operand("window");
  if (given && given->size() != static_cast<std::size_t>(length)) return std::nullopt;
  for (std::int64_t i = 0; i < length; ++i)
    window[static_cast<std::size_t>(left + i)] = given ? given->number(static_cast<std::size_t>(i)) : 1;
  return window;
}

Status stft(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  const std::int64_t n = call.attrs().integer("n_fft"), hop = call.attrs().integer("hop_length", n / 4);
  const auto window = window_of(c, n);
  if (!x || !window || hop <= 0 || x->rank() < 1 || x->rank() > 2 || x->lanes() != 1)
    return c.bad("operands that do not fit");
  const std::int64_t batch = x->rank() == 2 ? x->shape[0] : 1, samples = x->shape.back(),
                     frames = 1 + (samples - n) / hop;
  if (samples < n) return c.bad("a signal shorter than one frame");
  const std::int64_t bins = call.attrs().flag("onesided", true) ? n / 2 + 1 : n;
  const auto numbers = x->numbers();
  std::vector<Z> out(static_cast<std::size_t>(batch * bins * frames));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t f = 0; f < frames; ++f) {
      std::vector<Z> frame;
      for (std::int64_t m = 0; m < n; ++m)
        frame.emplace_back(numbers[static_cast<std::size_t>(b * samples + f * hop + m)] *
                               (*window)[static_cast<std::size_t>(m)],
                           0);
      Shape shape{n};
      Axis t{n,     bins,
             -1,    call.attrs().flag("normalized") ? 1 / std::sqrt(static_cast<double>(n)) : 1,
             false, call.wide()};
      const auto spectrum = transform(frame, shape, 0, t);
      for (std::int64_t k = 0; k < bins; ++k)
        out[static_cast<std::size_t>((b * bins + k) * frames + f)] = spectrum[static_cast<std::size_t>(k)];
    }
  Shape shape = x->rank() == 2 ? Shape{batch, bins, frames} : Shape{bins, frames};
  if (call.attrs().flag("return_complex", true)) return give(c, shape, out);
  shape.push_back(2);
  std::vector<double> flat;
  for (const Z& z : out) flat.push_back(z.real()), flat.push_back(z.imag());
  return c.give(shape, flat);
}

Status istft(KernelCall& call) {
  AtenCall c(call);
  const Tensor* z = c.operand("self");
  const std::int64_t n = call.attrs().integer("n_fft"), hop = call.attrs().integer("hop_length", n / 4);
  const auto window = window_of(c, n);
  if (!z || !window || hop <= 0 || z->rank() < 2 || z->rank() > 3 || z->lanes() != 2)
    return c.bad("operands that do not fit");
  const std::int64_t batch = z->rank() == 3 ? z->shape[0] : 1, bins = z->shape[z->shape.size() - 2],
                     frames = z->shape.back(), total = n + hop * (frames - 1);
  if (bins != n / 2 + 1 || frames < 1) return c.bad("a spectrum that does not fit");
  const auto values = complex_numbers(*z);
  const std::int64_t start = call.attrs().flag("center", true) ? n / 2 : 0;
  const bool has_length =
      call.attrs().find("length") && !std::holds_alternative<std::monostate>(*call.attrs().find("length"));
  const std::int64_t end = has_length ? start + call.attrs().integer("length") : total - start;
  if (end > total || end <= start) return c.bad("a length outside the frames");
  std::vector<double> out;
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<double> sum(static_cast<std::size_t>(total), 0), weight(static_cast<std::size_t>(total), 0);
    for (std::int64_t f = 0; f < frames; ++f) {
      std::vector<Z> spectrum;
      for (std::int64_t k = 0; k < bins; ++k)
        spectrum.push_back(values[static_cast<std::size_t>((b * bins + k) * frames + f)]);
      Shape shape{bins};
      Axis t{
          n,
          n,
          1,
          call.attrs().flag("normalized") ? 1 / std::sqrt(static_cast<double>(n)) : 1 / static_cast<double>(n),
          true,
          call.wide()};
      const auto frame = transform(spectrum, shape, 0, t);
      for (std::int64_t m = 0; m < n; ++m) {
        const double w = (*window)[static_cast<std::size_t>(m)];
        sum[static_cast<std::size_t>(f * hop + m)] += frame[static_cast<std::size_t>(m)].real() * w;
        weight[static_cast<std::size_t>(f * hop + m)] += w * w;
      }
    }
    for (std::int64_t i = start; i < end; ++i)
      out.push_back(sum[static_cast<std::size_t>(i)] / weight[static_cast<std::size_t>(i)]);
  }
  return c.give(z->rank() == 3 ? Shape{batch, end - start} : Shape{end - start}, out);
}

constexpr KernelEntry entries[] = {
    {"aten.view_as_complex.default", view_as_complex},
    {"aten.view_as_real.default", view_as_real},
    {"aten.complex.default", complex},
    {"aten.polar.default", polar},
    {"aten.real.default", real},
    {"aten.imag.default", imag},
    {"aten.angle.default", angle},
    {"aten.conj.default", conj},
    {"aten._conj.default", conj},
    {"aten.conj_physical.default", conj},
    {"aten._conj_physical.default", conj},
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

std::span<const KernelEntry> aten_complex_kernels() { return entries; }

Status aten_complex_binary(KernelCall& call, char op) {
  const bool rounds = !call.wide();
  return pairwise(call, "self", "other", [op, rounds](Z a, Z b) {
    if (op == '+') return a + b;
    if (op == '-') return a - b;
    if (op == '*') return rounds ? times_rounded(a, b) : times(a, b);
    const double square = b.real() * b.real() + b.imag() * b.imag();
    const Z top = times(a, std::conj(b));
    return Z(top.real() / square, top.imag() / square);
  });
}

Status aten_complex_unary(KernelCall& call, char op) {
  return each(call, [op](Z z) {
    return op == '-'   ? -z
           : op == '|' ? Z(std::sqrt(z.real() * z.real() + z.imag() * z.imag()), 0)
           : op == '1' ? Z(z.real() / (z.real() * z.real() + z.imag() * z.imag()),
                           -z.imag() / (z.real() * z.real() + z.imag() * z.imag()))
           : op == '2' ? times(z, z)
                       : Z(std::exp(z.real()) * std::cos(z.imag()), std::exp(z.real()) * std::sin(z.imag()));
  });
}

}  // namespace md

#include "lib/rewrite/aten/fourier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/eval/fold.h"
#include "lib/format/torch/view.h"
#include "lib/graph/encode.h"

namespace md {
namespace {

/// A direct transform of more points than this costs too much and rounds too much.
constexpr std::int64_t most_points = 8192;
constexpr std::int64_t largest_window = 1 << 22;

enum class Scaling { none, root, full };  ///< 1, 1/sqrt(n), 1/n

struct Transform {
  std::int64_t points = 0;   ///< n
  std::int64_t inputs = 0;   ///< samples that are there: rows of the matrix
  std::int64_t outputs = 0;  ///< columns
  bool inverse = false;
  bool from_half = false;  ///< the input is the half spectrum of a real signal, the output is real
  double scale = 1;
};

double scale_of(Scaling scaling, std::int64_t n) {
  const auto points = static_cast<double>(n);
  return scaling == Scaling::none ? 1 : scaling == Scaling::root ? 1 / std::sqrt(points) : 1 / points;
}

/// cos and sin of 2 pi k / n, with the symmetries of the circle exact: what cancels in theory cancels in the
/// matrix.
std::pair<double, double> circle(std::int64_t k, std::int64_t n) {
  const std::int64_t eighths = 8 * (k % n), octant = eighths / n, rest = eighths - octant * n;
  const bool odd = octant % 2 != 0;
  const double angle =
      std::numbers::pi / 4 * static_cast<double>(odd ? n - rest : rest) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (odd) std::swap(c, s);
  switch (octant / 2) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

/// cos or sin of 2 pi row column / n, scaled.
std::vector<double> table(const Transform& t, bool sine) {
  std::vector<double> out(static_cast<std::size_t>(t.inputs * t.outputs));
  for (std::int64_t row = 0; row < t.inputs; ++row)
    for (std::int64_t column = 0; column < t.outputs; ++column) {
      const auto [c, s] = circle(row * column, t.points);
      double weight = t.scale;
      if (t.from_half && row != 0 && 2 * row != t.points) weight *= 2;  // the other half is its mirror image
      out[static_cast<std::size_t>(row * t.outputs + column)] = weight * (sine ? s : c);
    }
  return out;
}

/// Transform along the last axis. Forward is exp(-i angle), inverse exp(+i angle).
RealPair apply(AtenBuilder& b, const Transform& t, RealPair x) {
  const DType type = b.dtype(x.re);
  const ValueId cosine = b.add_constant("dft_cos", type, {t.inputs, t.outputs}, table(t, false));
  std::vector<double> sines = table(t, true);
  // Forward the angle is negative. A zero stays +0.0: torch's angle() of a real bin tells it from -0.0.
  if (x.im == none_id && !t.inverse)
    for (double& s : sines) s = s == 0 ? 0 : -s;
  const ValueId sine = b.add_constant("dft_sin", type, {t.inputs, t.outputs}, sines);
  const ValueId re_cos = b.matmul(x.re, cosine);
  if (x.im == none_id) return {re_cos, b.matmul(x.re, sine)};
  const ValueId im_sin = b.matmul(x.im, sine);
  const ValueId re =
      t.inverse ? b.binary("aten.sub.Tensor", re_cos, im_sin) : b.binary("aten.add.Tensor", re_cos, im_sin);
  if (t.from_half) return {re, none_id};
  const ValueId im_cos = b.matmul(x.im, cosine), re_sin = b.matmul(x.re, sine);
  return {re, t.inverse ? b.binary("aten.add.Tensor", im_cos, re_sin)
                        : b.binary("aten.sub.Tensor", im_cos, re_sin)};
}

RealPair each(RealPair x, const auto& f) { return {f(x.re), x.im == none_id ? none_id : f(x.im)}; }

/// Along any axis: moved to the end and back.
RealPair along(AtenBuilder& b, Transform t, RealPair x, int dim) {
  const int last = b.rank(x.re) - 1;
  const std::int64_t size = b.shape(x.re)[static_cast<std::size_t>(dim)];
  if (size > t.inputs) x = each(x, [&](ValueId v) { return b.slice(v, dim, 0, t.inputs); });
  t.inputs = std::min(t.inputs, size);  // what is behind the end is zero
  if (dim != last) x = each(x, [&](ValueId v) { return b.transpose(v, dim, last); });
  const bool vector = last == 0;
  if (vector) x = each(x, [&](ValueId v) { return b.unsqueeze(v, 0); });
  x = apply(b, t, x);
  if (vector) x = each(x, [&](ValueId v) { return b.reshape(v, {t.outputs}); });
  if (dim != last) x = each(x, [&](ValueId v) { return b.transpose(v, dim, last); });
  return x;
}

std::optional<double> norm_scale(const Node& node, bool inverse, std::int64_t n) {
  const std::string_view norm = node.attrs.text("norm", "backward");
  if (norm == "ortho") return scale_of(Scaling::root, n);
  if (norm == "backward") return scale_of(inverse ? Scaling::full : Scaling::none, n);
  if (norm == "forward") return scale_of(inverse ? Scaling::none : Scaling::full, n);
  return std::nullopt;
}

bool fits(std::int64_t n, std::string& why) {
  if (n > 0 && n <= most_points) return true;
  why = fmt::format("a transform of {} points; up to {} are written as a product", n, most_points);
  return false;
}

/// fft_fft, fft_ifft, fft_rfft, fft_irfft: one axis.
std::optional<RealPair> one_axis(AtenBuilder& b, const Node& node, const std::string& base, RealPair x,
                                 std::string& why) {
  const int rank = b.rank(x.re);
  const auto dim = aten_dim(node, "dim", rank, -1);
  if (!dim) return why = "an axis outside the tensor", std::nullopt;
  const std::int64_t size = b.shape(x.re)[static_cast<std::size_t>(*dim)];
  if (size < 0) return why = "the transformed axis has no fixed size", std::nullopt;
  const bool real_out = base == "aten.fft_irfft", real_in = base == "aten.fft_rfft",
             inverse = real_out || base == "aten.fft_ifft";
  Transform t;
  t.points = node.attrs.integer("n", real_out ? 2 * (size - 1) : size);
  if (!fits(t.points, why)) return std::nullopt;
  const auto scale = norm_scale(node, inverse, t.points);
  if (!scale) return why = "an unknown norm", std::nullopt;
  t.inverse = inverse, t.from_half = real_out, t.scale = *scale;
  t.inputs = real_out ? t.points / 2 + 1 : t.points;
  t.outputs = real_in ? t.points / 2 + 1 : t.points;
  if (real_in) x.im = none_id;
  if (real_out && x.im == none_id) return why = "a real input to irfft", std::nullopt;
  return along(b, t, x, *dim);
}

/// fft_rfft2, fft_fft2, fft_rfftn ...: several axes, one after the other. The halved axis is the last one:
/// first forward, last backward.
std::optional<RealPair> named_axes(AtenBuilder& b, const Node& node, const std::string& base, RealPair x,
                                   std::string& why) {
  const bool inverse = base.starts_with("aten.fft_i"), half = base.find("rfft") != std::string::npos;
  const int rank = b.rank(x.re);
  const auto* sizes = node.attrs.integers("s");
  std::vector<std::int64_t> dims;
  if (const auto* given = node.attrs.integers("dim"))
    dims = *given;
  else if (base.ends_with("2"))
    dims = {-2, -1};
  else
    for (int d = sizes ? rank - static_cast<int>(sizes->size()) : 0; d < rank; ++d) dims.push_back(d);
  if (dims.empty() || (sizes && sizes->size() != dims.size()))
    return why = "axes that cannot be read", std::nullopt;
  std::vector<std::size_t> order;
  for (std::size_t i = dims.size(); i-- > 0;) order.push_back(i);
  if (inverse) std::reverse(order.begin(), order.end());
  if (half && !inverse) x.im = none_id;
  for (const std::size_t i : order) {
    const std::int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank) return why = "an axis outside the tensor", std::nullopt;
    const std::int64_t size = b.shape(x.re)[static_cast<std::size_t>(dim)];
    if (size < 0) return why = "the transformed axis has no fixed size", std::nullopt;
    const bool halved = half && i + 1 == dims.size();
    Transform t;
    t.points = sizes && (*sizes)[i] > 0 ? (*sizes)[i] : halved && inverse ? 2 * (size - 1) : size;
    if (!fits(t.points, why)) return std::nullopt;
    const auto scale = norm_scale(node, inverse, t.points);
    if (!scale) return why = "an unknown norm", std::nullopt;
    t.inverse = inverse, t.from_half = halved && inverse, t.scale = *scale;
    t.inputs = t.from_half ? t.points / 2 + 1 : t.points;
    t.outputs = halved && !inverse ? t.points / 2 + 1 : t.points;
    if (t.from_half && x.im == none_id) return why = "a real spectrum", std::nullopt;
    x = along(b, t, x, static_cast<int>(dim));
  }
  return x;
}

/// _fft_r2c, _fft_c2c, _fft_c2r: several axes, one after the other.
std::optional<RealPair> several_axes(AtenBuilder& b, const Node& node, const std::string& base, RealPair x,
                                     std::string& why) {
  const auto* dims = node.attrs.integers("dim");
  if (!dims || dims->empty()) return why = "axes that cannot be read", std::nullopt;
  const std::int64_t normalization = node.attrs.integer("normalization");
  const Scaling scaling = normalization == 0   ? Scaling::none
                          : normalization == 1 ? Scaling::root
                                               : Scaling::full;
  const bool half_out = base == "aten._fft_r2c" && node.attrs.flag("onesided", true),
             half_in = base == "aten._fft_c2r";
  std::vector<std::int64_t> order(
      *dims);  // the halved axis is the last one listed; it goes first forward and last backward
  if (!half_in) std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int rank = b.rank(x.re);
    const std::int64_t dim = order[i] < 0 ? order[i] + rank : order[i];
    if (dim < 0 || dim >= rank || b.shape(x.re)[static_cast<std::size_t>(dim)] < 0)
      return why = "the transformed axis has no fixed size", std::nullopt;
    const bool halved = half_out ? i == 0 : half_in && i + 1 == order.size();
    Transform t;
    t.points = halved && half_in ? node.attrs.integer("last_dim_size")
                                 : b.shape(x.re)[static_cast<std::size_t>(dim)];
    if (!fits(t.points, why)) return std::nullopt;
    t.inverse = half_in || !node.attrs.flag("forward", true), t.from_half = halved && half_in;
    t.scale = scale_of(scaling, t.points);
    t.inputs = halved && half_in ? t.points / 2 + 1 : t.points;
    t.outputs = halved && half_out ? t.points / 2 + 1 : t.points;
    x = along(b, t, x, static_cast<int>(dim));
  }
  return x;
}

/// The window, centred in n_fft samples; ones when there is none.
std::optional<std::vector<double>> window_of(const DetectContext& context, const Node& node,
                                             std::int64_t n_fft, std::string& why) {
  std::vector<double> window(static_cast<std::size_t>(n_fft), 0);
  const std::int64_t length = node.attrs.integer("win_length", n_fft), left = (n_fft - length) / 2;
  if (length <= 0 || length > n_fft) return why = "a window longer than the transform", std::nullopt;
  const ValueId given = aten_operand(node, "window");
  if (given == none_id) {
    for (std::int64_t i = 0; i < length; ++i) window[static_cast<std::size_t>(left + i)] = 1;
    return window;
  }
  if (!depends_on_constants_only(context.graph, given))
    return why = "the window is computed from an input", std::nullopt;
  const auto folded = fold_value(context.model, context.graph_index, given, largest_window);
  if (!folded) return why = "the window cannot be computed: " + folded.error().message, std::nullopt;
  const auto numbers = decode(constant_value("window", *folded));
  if (!numbers || static_cast<std::int64_t>(numbers->size()) != length)
    return why = "the window has another length than win_length", std::nullopt;
  for (std::int64_t i = 0; i < length; ++i)
    window[static_cast<std::size_t>(left + i)] = (*numbers)[static_cast<std::size_t>(i)];
  return window;
}

/// Kernels [2 F, 1, n]: rows 0..F-1 give the real part, F..2F-1 the imaginary part.
std::vector<double> kernels(std::int64_t n, std::int64_t bins, const std::vector<double>& window,
                            double scale, bool inverse) {
  std::vector<double> out(static_cast<std::size_t>(2 * bins * n));
  for (std::int64_t k = 0; k < bins; ++k)
    for (std::int64_t m = 0; m < n; ++m) {
      const auto [c, s] = circle(k * m, n);
      const double mirror = inverse && bins < n && k != 0 && 2 * k != n ? 2 : 1;
      const double weight = window[static_cast<std::size_t>(m)] * scale * mirror;
      out[static_cast<std::size_t>(k * n + m)] = weight * c;
      out[static_cast<std::size_t>((bins + k) * n + m)] = -weight * s;
    }
  return out;
}

Attributes stride_only(std::int64_t hop) {
  Attributes attrs;
  attrs.set("stride", std::vector<std::int64_t>{hop});
  return attrs;
}

std::optional<RealPair> stft(AtenBuilder& b, const DetectContext& context, const Node& node, ValueId x,
                             std::string& why) {
  const std::int64_t n = node.attrs.integer("n_fft"), hop = node.attrs.integer("hop_length", n / 4);
  if (!fits(n, why)) return std::nullopt;
  if (node.op != "aten.stft.default" && node.attrs.flag("center", true))
    return why = "it pads by itself; export with the padding as an operator of its own", std::nullopt;
  const bool single = b.rank(x) == 1;
  if ((b.rank(x) != 2 && !single) || hop <= 0)
    return why = "a signal of another rank than 1 or 2", std::nullopt;
  const std::int64_t samples = b.shape(x).back();
  if (samples < n)
    return why = samples < 0 ? "the signal has no fixed length" : "the signal is shorter than one frame",
           std::nullopt;
  const auto window = window_of(context, node, n, why);
  if (!window) return std::nullopt;
  const bool onesided = node.attrs.flag("onesided", true);
  const std::int64_t bins = onesided ? n / 2 + 1 : n, frames = 1 + (samples - n) / hop;
  const double scale = scale_of(node.attrs.flag("normalized") ? Scaling::root : Scaling::none, n);
  const ValueId weight =
      b.add_constant("stft_kernels", b.dtype(x), {2 * bins, 1, n}, kernels(n, bins, *window, scale, false));
  if (single) x = b.unsqueeze(x, 0);
  const std::int64_t batch = b.shape(x)[0];
  const ValueId signal = b.unsqueeze(x, 1);
  const ValueId both = b.make("aten.conv1d.default", {{"input", signal}, {"weight", weight}},
                              stride_only(hop), b.dtype(x), {batch, 2 * bins, frames});
  RealPair out{b.slice(both, 1, 0, bins), b.slice(both, 1, bins, 2 * bins)};
  if (single) out = each(out, [&](ValueId v) { return b.reshape(v, {bins, frames}); });
  return out;
}

std::optional<RealPair> istft(AtenBuilder& b, const DetectContext& context, const Node& node, RealPair z,
                              std::string& why) {
  const std::int64_t n = node.attrs.integer("n_fft"), hop = node.attrs.integer("hop_length", n / 4);
  if (!fits(n, why)) return std::nullopt;
  const bool single = b.rank(z.re) == 2;
  if ((b.rank(z.re) != 3 && !single) || hop <= 0 || z.im == none_id || node.attrs.flag("return_complex"))
    return why = "a spectrum of another rank than 2 or 3", std::nullopt;
  if (single) z = each(z, [&](ValueId v) { return b.unsqueeze(v, 0); });
  const Shape shape = b.shape(z.re);
  const std::int64_t bins = n / 2 + 1, frames = shape[2];
  if (shape[1] != bins || frames <= 0)
    return why = "not a half spectrum with a fixed number of frames", std::nullopt;
  const auto window = window_of(context, node, n, why);
  if (!window) return std::nullopt;
  const double scale =
      node.attrs.flag("normalized") ? scale_of(Scaling::root, n) : scale_of(Scaling::full, n);
  const std::int64_t total = n + hop * (frames - 1), start = node.attrs.flag("center", true) ? n / 2 : 0;
  const std::int64_t end = node.attrs.find("length") && node.attrs.integer("length") > 0
                               ? start + node.attrs.integer("length")
                               : total - start;
  if (end > total || end <= start) return why = "the asked length is longer than the frames", std::nullopt;
  std::vector<double> envelope(static_cast<std::size_t>(total), 0);
  for (std::int64_t f = 0; f < frames; ++f)
    for (std::int64_t m = 0; m < n; ++m)
      envelope[static_cast<std::size_t>(f * hop + m)] +=
          (*window)[static_cast<std::size_t>(m)] * (*window)[static_cast<std::size_t>(m)];
  const std::vector<double> kept(envelope.begin() + start, envelope.begin() + end);
  for (const double e : kept)
    if (e < 1e-11)
      return why = "the windows do not overlap enough to be inverted", std::nullopt;  // torch's own limit
  const ValueId weight = b.add_constant("istft_kernels", b.dtype(z.re), {2 * bins, 1, n},
                                        kernels(n, bins, *window, scale, true));
  const ValueId both = b.cat({z.re, z.im}, 1);
  const ValueId sum = b.make("aten.conv_transpose1d.default", {{"input", both}, {"weight", weight}},
                             stride_only(hop), b.dtype(z.re), {shape[0], 1, total});
  const ValueId flat = b.reshape(sum, {shape[0], total});
  const ValueId cut = b.slice(flat, 1, start, end);
  ValueId out =
      b.binary("aten.div.Tensor", cut, b.add_constant("istft_envelope", b.dtype(z.re), {end - start}, kept));
  if (single) out = b.reshape(out, {end - start});
  return RealPair{out, none_id};
}

}  // namespace

bool is_fourier(std::string_view op) {
  const std::string base = aten_base(op);
  return base == "aten.stft" || base == "aten.istft" || base.starts_with("aten.fft_") ||
         base.starts_with("aten._fft_");
}

std::optional<RealPair> rewrite_fourier(AtenBuilder& b, const DetectContext& context, const Node& node,
                                        RealPair input, std::string& why) {
  const std::string base = aten_base(node.op);
  if (base == "aten.stft")
    return input.im == none_id ? stft(b, context, node, input.re, why)
                               : (why = "a complex signal", std::nullopt);
  if (base == "aten.istft") return istft(b, context, node, input, why);
  if (base == "aten.fft_fft" || base == "aten.fft_ifft" || base == "aten.fft_rfft" ||
      base == "aten.fft_irfft")
    return one_axis(b, node, base, input, why);
  if (base == "aten._fft_r2c" || base == "aten._fft_c2c" || base == "aten._fft_c2r")
    return several_axes(b, node, base, input, why);
  for (const std::string_view name : {"fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"})
    if (base == "aten.fft_" + std::string(name)) return named_axes(b, node, base, input, why);
  why = "no rewrite for " + node.op;
  return std::nullopt;
}

ValueId exchange_halves(AtenBuilder& b, ValueId x, const std::vector<int>& dims, bool forward) {
  for (const int d : dims) {
    const std::int64_t size = b.shape(x)[static_cast<std::size_t>(d)],
                       first = forward ? (size + 1) / 2 : size / 2;
    if (size > 1) x = b.cat({b.slice(x, d, first, size), b.slice(x, d, 0, first)}, d);
  }
  return x;
}

bool rewrite_reflect_pad(AtenBuilder& b, const Node& node) {
  const bool general = node.op == "aten.pad.default" && node.attrs.text("mode") == "reflect";
  if (!general && node.op != "aten.reflection_pad1d.default") return false;
  const auto* pad = node.attrs.integers(general ? "pad" : "padding");
  const ValueId x = aten_operand(node, "self");
  if (!pad || pad->size() != 2 || x < 0 || (*pad)[0] < 0 || (*pad)[1] < 0) return false;
  const int last = b.rank(x) - 1;
  const std::int64_t size = b.shape(x).back();
  if (last < 0 || size <= std::max((*pad)[0], (*pad)[1])) return false;
  std::vector<ValueId> parts;
  if ((*pad)[0] > 0) parts.push_back(b.flip(b.slice(x, last, 1, 1 + (*pad)[0]), last));
  parts.push_back(x);
  if ((*pad)[1] > 0) parts.push_back(b.flip(b.slice(x, last, size - 1 - (*pad)[1], size - 1), last));
  if (parts.size() == 1) return false;
  b.result_into(node.outputs[0]);
  b.cat(parts, last);
  return true;
}

}  // namespace md

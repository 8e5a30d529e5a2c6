// Kernels of aten convolutions of one to three axes, transposed ones too: windows unfolded into a matrix, and
// a product.
#include "lib/eval/limits.h"
#include "lib/eval/primitives/channels_first.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/axes.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

constexpr std::int64_t patch_limit = 1 << 20;  // numbers of unfolded columns at a time: stays in the caches

struct Convolution {
  std::int64_t batch = 1, channels = 0, filters = 0, groups = 1;
  bool transposed = false;
  Windows windows;  ///< of a transposed one: from its result to its operand
  Shape out;
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
};

/// One axis; false when nothing sensible comes of it.
bool set_axis(Window& w, std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
              std::int64_t dilation, std::optional<std::int64_t> extra, bool same) {
  for (const std::int64_t n : {size, kernel, stride, dilation})
    if (n < 1 || n > most_window) return false;
  if (std::abs(padding) > most_window) return false;
  const std::int64_t reach = dilation * (kernel - 1) + 1;
  w = {size, 0, kernel, stride, dilation, padding};
  if (extra) {
    w.out = size;
    w.in = (size - 1) * stride - 2 * padding + reach + *extra;
    return w.in > 0;
  }
  if (same) {
    w.before = (reach - 1) / 2, w.out = size;
    return stride == 1;
  }
  if (size + 2 * padding < reach) return false;
  w.out = (size + 2 * padding - reach) / stride + 1;
  return true;
}

Result<Convolution> described(KernelCall& call, const Tensor& x, const Tensor& w) {
  const Attributes& attrs = call.attrs();
  const std::size_t axes = w.shape.size() - 2;
  const bool batched = x.shape.size() == axes + 2;
  Convolution c;
  c.transposed = aten_base(call.node.op).starts_with("aten.conv_transpose") || attrs.flag("transposed");
  c.groups = attrs.integer("groups", 1);
  c.batch = batched ? x.shape[0] : 1;
  c.channels = x.shape[batched ? 1 : 0];
  c.filters = c.transposed ? w.shape[1] * std::max<std::int64_t>(c.groups, 1) : w.shape[0];
  if (c.groups < 1 || c.channels < 1 || c.filters < 1 || c.channels % c.groups || c.filters % c.groups ||
      (c.transposed ? w.shape[0] != c.channels : w.shape[1] != c.group_channels()))
    return call.bad("channels that do not fit");
  const AttrValue* given = attrs.find("padding");
  const auto* word = given ? std::get_if<std::string>(given) : nullptr;
  const bool same = word && *word == "same";
  if (word && !same && *word != "valid") return call.unsupported("with this padding");
  const auto stride = per_axis(attrs, "stride", axes, 1), padding = per_axis(attrs, "padding", axes, 0),
             dilation = per_axis(attrs, "dilation", axes, 1),
             extra = per_axis(attrs, "output_padding", axes, 0);
  c.windows.axes.fill({1, 1, 1, 1, 1, 0});
  if (batched) c.out.push_back(c.batch);
  c.out.push_back(c.filters);
  for (std::size_t d = 0; d < axes; ++d) {
    Window& axis = c.windows.axes[3 - axes + d];
    if (!set_axis(axis, x.shape[x.shape.size() - axes + d], w.shape[d + 2], stride[d], padding[d],
                  dilation[d], c.transposed ? std::optional(extra[d]) : std::nullopt, same))
      return call.bad("an empty result");
    c.out.push_back(c.transposed ? axis.in : axis.out);
  }
  return c;
}

/// One channel and one filter a group: each tap is added to whole lines.
template <class T>
void by_taps(const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t each = c.group_filters();
  std::fill(out, out + c.filters * w.pixels_out(), T(0));
  for (std::int64_t f = 0; f < c.filters; ++f)
    for (std::int64_t t = 0; t < w.taps(); ++t)
      add_tap<T>(image + f / each * w.pixels_in(), w, t, weights[f * w.taps() + t], out + f * w.pixels_out());
}

/// Lines of results at a time whose columns fit the caches.
std::int64_t lines_at_once(const Windows& w, std::int64_t depth) {
  const std::int64_t line = std::max<std::int64_t>(depth * w.axes[2].out, 1);
  return std::clamp<std::int64_t>(patch_limit / line, 1, std::max<std::int64_t>(w.rows_out(), 1));
}

template <class T>
void convolve_group(KernelCall& call, const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t depth = c.group_channels() * w.taps(), pixels = w.pixels_out(), line = w.axes[2].out;
  const auto m = static_cast<std::size_t>(c.group_filters()), k = static_cast<std::size_t>(depth);
  const bool direct = w.taps() == 1 && w.pixels_in() == pixels && w.axes[0].stride == 1 &&
                      w.axes[1].stride == 1 && w.axes[2].stride == 1 && w.axes[0].before == 0 &&
                      w.axes[1].before == 0 && w.axes[2].before == 0;
  if (direct)
    return contract_plain<T>(call, weights, k, image, static_cast<std::size_t>(pixels), out,
                             static_cast<std::size_t>(pixels), m, static_cast<std::size_t>(pixels), k);
  const std::int64_t lines = lines_at_once(w, depth);
  std::vector<T> columns(static_cast<std::size_t>(depth * lines * line));
  for (std::int64_t first = 0; first < w.rows_out(); first += lines) {
    const std::int64_t last = std::min(w.rows_out(), first + lines);
    unfold_channels<T>(image, c.group_channels(), w, first, last, columns.data());
    const auto n = static_cast<std::size_t>((last - first) * line);
    contract_plain<T>(call, weights, k, columns.data(), n, out + first * line,
                      static_cast<std::size_t>(pixels), m, n, k);
  }
}

/// Products over the channels, folded into the result: where windows overlap they are added.
template <class T>
void spread_group(KernelCall& call, const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t rows = c.group_filters() * w.taps(), pixels = w.pixels_out(), line = w.axes[2].out;
  const auto m = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(c.group_channels());
  std::vector<T> turned(m * k);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < k; ++j) turned[i * k + j] = weights[j * m + i];
  const bool rounds = call.mode().sums_in_f16(), saturate = call.mode().saturate;
  const std::int64_t lines = lines_at_once(w, rows);
  std::vector<T> columns(m * static_cast<std::size_t>(lines * line));
  std::fill(out, out + c.group_filters() * w.pixels_in(), T(0));
  for (std::int64_t first = 0; first < w.rows_out(); first += lines) {
    const std::int64_t last = std::min(w.rows_out(), first + lines);
    const auto n = static_cast<std::size_t>((last - first) * line);
    contract_plain<T>(call, turned.data(), k, image + first * line, static_cast<std::size_t>(pixels),
                      columns.data(), n, m, n, k);
    fold_channels<T>(columns.data(), c.group_filters(), w, first, last, [&](std::size_t at, T v) {
      out[at] += v;
      if constexpr (std::is_same_v<T, float>)
        if (rounds) out[at] = round_to_f16(out[at], saturate);
      if (call.options.watch_sums) call.watch(static_cast<double>(out[at]));
    });
  }
}

template <class T>
void convolve(KernelCall& call, const Convolution& c, const T* x, const T* weights, const T* bias, T* out) {
  const Windows& w = c.windows;
  const std::int64_t in = c.transposed ? w.pixels_out() : w.pixels_in(),
                     result = c.transposed ? w.pixels_in() : w.pixels_out();
  const std::int64_t weights_each =
      (c.transposed ? c.group_channels() * c.group_filters() : c.group_filters() * c.group_channels()) *
      w.taps();
  const bool taps = !c.transposed && c.group_channels() == 1 && c.groups > 1 && !call.mode().sums_in_f16() &&
                    !call.options.watch_sums;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const T* image = x + b * c.channels * in;
    T* to = out + b * c.filters * result;
    if (taps) by_taps(c, image, weights, to);
    for (std::int64_t g = 0; g < c.groups && !taps; ++g) {
      const T* channels = image + g * c.group_channels() * in;
      T* group = to + g * c.group_filters() * result;
      if (c.transposed)
        spread_group<T>(call, c, channels, weights + g * weights_each, group);
      else
        convolve_group<T>(call, c, channels, weights + g * weights_each, group);
    }
    if (!bias) continue;
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t i = 0; i < result; ++i) to[f * result + i] += bias[f];
  }
}

Status convolution(KernelCall& call) {
  AtenCall a(call);
  const Tensor *x = a.operand("input"), *w = a.operand("weight"), *bias = a.operand("bias");
  if (!x || !w || w->rank() < 3 || w->rank() > 5 || (x->rank() != w->rank() && x->rank() != w->rank() - 1) ||
      x->lanes() != 1 || w->lanes() != 1 || !is_float(call.out_value().dtype))
    return call.unsupported("with these operands");
  const auto c = described(call, *x, *w);
  if (!c) return tl::make_unexpected(c.error());
  if (bias && static_cast<std::int64_t>(bias->size()) != c->filters) return a.bad("a bias that does not fit");
  const double terms =
      static_cast<double>(w->size()) / static_cast<double>(c->transposed ? c->channels : c->filters);
  if (auto fits = charge(call, terms * static_cast<double>(c->transposed ? x->size() : 0)); !fits)
    return fits;
  if (!c->transposed)
    if (auto fits = charge(call, terms * static_cast<double>(c->batch * c->filters) *
                                     static_cast<double>(c->windows.pixels_out()));
        !fits)
      return fits;
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> image(*x), weights(*w);
    std::optional<As<T>> added;
    if (bias) added.emplace(*bias);
    return give_numbers<T>(call, 0, c->out, [&](std::span<T> to) {
      convolve<T>(call, *c, image.data(), weights.data(), added ? added->data() : nullptr, to.data());
    });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.conv1d.default", convolution},         {"aten.conv1d.padding", convolution},
    {"aten.conv2d.default", convolution},         {"aten.conv2d.padding", convolution},
    {"aten.conv3d.default", convolution},         {"aten.conv3d.padding", convolution},
    {"aten.convolution.default", convolution},    {"aten.conv_transpose1d.default", convolution},
    {"aten.conv_transpose2d.input", convolution}, {"aten.conv_transpose3d.input", convolution},
};

}  // namespace

std::span<const KernelEntry> aten_convolution_kernels() { return entries; }

}  // namespace md

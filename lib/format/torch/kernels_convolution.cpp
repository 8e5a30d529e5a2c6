// Kernels of aten convolutions of one to three axes, transposed ones too.
#include "lib/eval/limits.h"
#include "lib/eval/primitives/convolution.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/axes.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

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

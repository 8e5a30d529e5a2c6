// Kernels of aten matrix products, convolutions and pools. Sums are kept in double and rounded once.
#include <limits>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Product of [.., m, k] and [.., k, n] with broadcast batches; vectors as matmul takes them.
Status matrix_product(const AtenCall& c, const Tensor& left, const Tensor& right, const Tensor* bias) {
  Shape a = left.shape, b = right.shape;
  if (a.empty() || b.empty()) return c.bad("operands of rank 0");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const auto m = a[a.size() - 2], k = a.back(), n = b.back();
  const auto batch = aten_broadcast({Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)});
  if (!batch || b[b.size() - 2] != k)
    return c.bad(fmt::format("{} times {}", shape_text(left.shape), shape_text(right.shape)));
  const auto pa = broadcast_positions(Shape(a.begin(), a.end() - 2), *batch),
             pb = broadcast_positions(Shape(b.begin(), b.end() - 2), *batch);
  const auto x = left.numbers(), y = right.numbers(), z = bias ? bias->numbers() : std::vector<double>{};
  const auto M = static_cast<std::size_t>(m), K = static_cast<std::size_t>(k),
             N = static_cast<std::size_t>(n);
  const auto lx = static_cast<std::size_t>(left.lanes()), ly = static_cast<std::size_t>(right.lanes());
  if (lx == 2 || ly == 2) {
    if (bias) return c.call.unsupported("with a bias on complex values");
    std::vector<double> pairs(2 * pa.size() * M * N);
    for (std::size_t p = 0; p < pa.size(); ++p)
      for (std::size_t i = 0; i < M; ++i)
        for (std::size_t t = 0; t < K; ++t)
          for (std::size_t j = 0; j < N; ++j) {
            const std::size_t xi = (static_cast<std::size_t>(pa[p]) * M * K + i * K + t) * lx;
            const std::size_t yi = (static_cast<std::size_t>(pb[p]) * K * N + t * N + j) * ly;
            const double xr = x[xi], xm = lx == 2 ? x[xi + 1] : 0, yr = y[yi], ym = ly == 2 ? y[yi + 1] : 0;
            double* o = pairs.data() + 2 * (p * M * N + i * N + j);
            o[0] += xr * yr - xm * ym, o[1] += xr * ym + xm * yr;
          }
    Shape shape = *batch;
    if (!row) shape.push_back(m);
    if (!column) shape.push_back(n);
    return c.give(shape, pairs);
  }
  std::vector<double> out(pa.size() * static_cast<std::size_t>(m * n));
  for (std::size_t p = 0; p < pa.size(); ++p) {
    const double* xa = x.data() + static_cast<std::size_t>(pa[p]) * M * K;
    const double* yb = y.data() + static_cast<std::size_t>(pb[p]) * K * N;
    double* o = out.data() + p * M * N;
    for (std::size_t i = 0; i < M; ++i)
      for (std::size_t t = 0; t < K; ++t)
        for (std::size_t j = 0; j < N; ++j) o[i * N + j] += xa[i * K + t] * yb[t * N + j];
    if (bias)
      for (std::size_t i = 0; i < M; ++i)
        for (std::size_t j = 0; j < N; ++j) o[i * N + j] += z[z.size() == 1 ? 0 : j];
  }
  Shape shape = *batch;
  if (!row) shape.push_back(m);
  if (!column) shape.push_back(n);
  return c.give(shape, out);
}

Status matmul(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(2); !ok) return ok;
  return matrix_product(c, call.in(0), call.in(1), nullptr);
}

Status linear(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *w = c.operand("weight"), *bias = c.operand("bias");
  if (!x || !w || w->rank() != 2) return c.bad("operands that do not fit");
  const auto numbers = w->numbers();
  const auto rows = static_cast<std::size_t>(w->shape[0]), columns = static_cast<std::size_t>(w->shape[1]);
  std::vector<double> turned(numbers.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < columns; ++k) turned[k * rows + r] = numbers[r * columns + k];
  const Tensor transposed = Tensor::of(w->dtype, {w->shape[1], w->shape[0]}, turned, call.wide());
  return matrix_product(c, *x, transposed, bias);
}

Status addmm(KernelCall& call) {
  AtenCall c(call);
  const Tensor *bias = c.operand("self"), *x = c.operand("mat1"), *w = c.operand("mat2");
  const bool plain = call.attrs().number("alpha", 1) == 1 && call.attrs().number("beta", 1) == 1;
  if (!x || !w || !bias || bias->rank() > 1 || !plain) return call.unsupported("with these operands");
  return matrix_product(c, *x, *w, bias);
}

std::vector<std::int64_t> per_axis(const Attributes& attrs, std::string_view name, std::size_t axes,
                                   std::int64_t otherwise) {
  std::vector<std::int64_t> out(axes, otherwise);
  if (const auto* list = attrs.integers(name)) {
    for (std::size_t i = 0; i < axes && !list->empty(); ++i)
      out[i] = (*list)[list->size() == 1 ? 0 : std::min(i, list->size() - 1)];
  } else if (const AttrValue* one = attrs.find(name); one && std::holds_alternative<std::int64_t>(*one)) {
    out.assign(axes, std::get<std::int64_t>(*one));
  }
  return out;
}

/// conv1d and conv2d, and conv_transpose1d: [N, C, spatial...].
Status convolution(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *w = c.operand("weight"), *bias = c.operand("bias");
  const bool transposed =
      aten_base(call.node.op).starts_with("aten.conv_transpose") || call.attrs().flag("transposed");
  if (!x || !w || x->rank() != w->rank() || x->rank() < 3 ||
      (call.attrs().find("padding") && std::holds_alternative<std::string>(*call.attrs().find("padding"))))
    return call.unsupported("with these operands");
  const std::size_t axes = static_cast<std::size_t>(x->rank()) - 2;
  const auto stride = per_axis(call.attrs(), "stride", axes, 1),
             padding = per_axis(call.attrs(), "padding", axes, 0),
             dilation = per_axis(call.attrs(), "dilation", axes, 1),
             extra = per_axis(call.attrs(), "output_padding", axes, 0);
  const std::int64_t groups = call.attrs().integer("groups", 1), in_channels = x->shape[1],
                     out_channels = transposed ? w->shape[1] * groups : w->shape[0];
  if (groups < 1 || in_channels % groups || out_channels % groups ||
      (transposed ? w->shape[0] != in_channels : w->shape[1] != in_channels / groups))
    return c.bad("channels that do not fit");
  Shape out{x->shape[0], out_channels}, kernel(w->shape.begin() + 2, w->shape.end());
  for (std::size_t d = 0; d < axes; ++d) {
    const std::int64_t reach = dilation[d] * (kernel[d] - 1) + 1, size = x->shape[d + 2];
    const std::int64_t length = transposed ? (size - 1) * stride[d] - 2 * padding[d] + reach + extra[d]
                                           : (size + 2 * padding[d] - reach) / stride[d] + 1;
    if (length <= 0 || stride[d] < 1) return c.bad("an empty result");
    out.push_back(length);
  }
  const auto xs = x->numbers(), ws = w->numbers(), bs = bias ? bias->numbers() : std::vector<double>{};
  const auto x_strides = strides_of(x->shape), w_strides = strides_of(w->shape), o_strides = strides_of(out);
  std::vector<double> result(static_cast<std::size_t>(product(out)), 0.0);
  const std::int64_t in_per = in_channels / groups, out_per = out_channels / groups;
  // Every pair of an input (transposed) or output position with a kernel position.
  Shape outer = transposed ? x->shape : out;
  for_each_index(outer, [&](const std::vector<std::int64_t>& at) {
    for_each_index(kernel, [&](const std::vector<std::int64_t>& k) {
      std::int64_t other = 0;
      for (std::size_t d = 0; d < axes; ++d) {
        const std::int64_t place = transposed ? at[d + 2] * stride[d] - padding[d] + k[d] * dilation[d]
                                              : at[d + 2] * stride[d] - padding[d] + k[d] * dilation[d];
        if (place < 0 || place >= (transposed ? out[d + 2] : x->shape[d + 2])) return;
        other += place * (transposed ? o_strides[d + 2] : x_strides[d + 2]);
      }
      std::int64_t k_at = 0, here = 0;
      for (std::size_t d = 0; d < axes; ++d)
        k_at += k[d] * w_strides[d + 2],
            here += at[d + 2] * (transposed ? x_strides[d + 2] : o_strides[d + 2]);
      const std::int64_t channel = at[1], g = channel / (transposed ? in_per : out_per);
      for (std::int64_t i = 0; i < (transposed ? out_per : in_per); ++i) {
        const std::int64_t ci = transposed ? channel : g * in_per + i,
                           co = transposed ? g * out_per + i : channel;
        const std::int64_t xi = at[0] * x_strides[0] + ci * x_strides[1] + (transposed ? here : other),
                           oi = at[0] * o_strides[0] + co * o_strides[1] + (transposed ? other : here);
        const std::int64_t wi =
            (transposed ? ci * w_strides[0] + i * w_strides[1] : co * w_strides[0] + i * w_strides[1]) + k_at;
        result[static_cast<std::size_t>(oi)] +=
            xs[static_cast<std::size_t>(xi)] * ws[static_cast<std::size_t>(wi)];
      }
    });
  });
  if (bias)
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] += bs[static_cast<std::size_t>(static_cast<std::int64_t>(i) / o_strides[1] % out_channels)];
  return c.give(out, result);
}

std::size_t index_of(std::int64_t i) { return static_cast<std::size_t>(i); }

/// einsum by its definition, letter by letter; no ellipsis.
Status einsum(KernelCall& call) {
  AtenCall c(call);
  std::string equation(call.attrs().text("equation"));
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const auto tensors = c.operands("tensors");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos || tensors.empty())
    return call.unsupported("with this equation");
  const std::string result = equation.substr(arrow + 2);
  std::vector<std::string> terms(1);
  for (const char letter : equation.substr(0, arrow)) {
    if (letter == ',')
      terms.emplace_back();
    else
      terms.back().push_back(letter);
  }
  std::string letters = result;
  for (const std::string& term : terms)
    for (const char letter : term)
      if (letters.find(letter) == std::string::npos) letters += letter;
  Shape sizes(letters.size(), 1);
  if (terms.size() != tensors.size()) return c.bad("another number of operands than terms");
  std::size_t lanes = 1;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!tensors[i] || terms[i].size() != tensors[i]->shape.size())
      return c.bad("operands that do not fit the equation");
    lanes = std::max(lanes, index_of(tensors[i]->lanes()));
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      std::int64_t& size = sizes[letters.find(terms[i][d])];
      size = std::max(size, tensors[i]->shape[d]);
    }
  }
  const Shape shape(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(result.size()));
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<std::int64_t>> strides;
  for (const Tensor* t : tensors) numbers.push_back(t->numbers()), strides.push_back(strides_of(t->shape));
  const auto out_strides = strides_of(shape);
  std::vector<double> out(index_of(product(shape)) * lanes, 0.0);
  for_each_index(sizes, [&](const std::vector<std::int64_t>& index) {
    double re = 1, im = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < terms[i].size(); ++d)
        if (tensors[i]->shape[d] != 1) place += index[letters.find(terms[i][d])] * strides[i][d];
      const std::size_t own = index_of(tensors[i]->lanes());
      const double x = numbers[i][index_of(place) * own],
                   y = own == 2 ? numbers[i][index_of(place) * own + 1] : 0;
      const double next = re * x - im * y;
      im = re * y + im * x, re = next;
    }
    std::int64_t place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) place += index[d] * out_strides[d];
    out[index_of(place) * lanes] += re;
    if (lanes == 2) out[index_of(place) * lanes + 1] += im;
  });
  return c.give(shape, out);
}

Status max_pool2d(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 3 || call.attrs().flag("ceil_mode")) return call.unsupported("with these operands");
  const auto kernel = per_axis(call.attrs(), "kernel_size", 2, 1),
             padding = per_axis(call.attrs(), "padding", 2, 0),
             dilation = per_axis(call.attrs(), "dilation", 2, 1);
  auto stride = per_axis(call.attrs(), "stride", 2, 0);
  for (std::size_t d = 0; d < 2; ++d)
    if (stride[d] == 0) stride[d] = kernel[d];
  Shape out = x.shape;
  const std::size_t first = x.shape.size() - 2;
  for (std::size_t d = 0; d < 2; ++d) {
    out[first + d] = (x.shape[first + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) /
                         std::max<std::int64_t>(stride[d], 1) +
                     1;
    if (out[first + d] <= 0) return c.bad("an empty result");
  }
  const auto numbers = x.numbers();
  const auto strides = strides_of(x.shape);
  std::vector<double> result;
  for_each_index(out, [&](const std::vector<std::int64_t>& index) {
    double most = -std::numeric_limits<double>::infinity();
    std::int64_t base = 0;
    for (std::size_t d = 0; d < first; ++d) base += index[d] * strides[d];
    for (std::int64_t i = 0; i < kernel[0]; ++i)
      for (std::int64_t j = 0; j < kernel[1]; ++j) {
        const std::int64_t r = index[first] * stride[0] - padding[0] + i * dilation[0],
                           s = index[first + 1] * stride[1] - padding[1] + j * dilation[1];
        if (r < 0 || s < 0 || r >= x.shape[first] || s >= x.shape[first + 1]) continue;
        const double v = numbers[static_cast<std::size_t>(base + r * strides[first] + s)];
        if (std::isnan(v) || v > most) most = std::isnan(most) ? most : v;
      }
    result.push_back(most);
  });
  return c.give(out, result);
}

constexpr KernelEntry entries[] = {
    {"aten.matmul.default", matmul},
    {"aten.mm.default", matmul},
    {"aten.bmm.default", matmul},
    {"aten.linear.default", linear},
    {"aten.conv1d.default", convolution},
    {"aten.conv2d.default", convolution},
    {"aten.conv3d.default", convolution},
    {"aten.convolution.default", convolution},
    {"aten.conv_transpose1d.default", convolution},
    {"aten.conv_transpose2d.input", convolution},
    {"aten.addmm.default", addmm},
    {"aten.max_pool2d.default", max_pool2d},
    {"aten.einsum.default", einsum},
};

}  // namespace

std::span<const KernelEntry> aten_contraction_kernels() { return entries; }

}  // namespace md

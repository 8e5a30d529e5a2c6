// Kernels of aten pools: the largest or the mean of windows.
#include <array>
#include <limits>

#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/axes.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// [first, last) of a window along one axis of the operand.
struct Range {
  std::int64_t first = 0, last = 0, step = 1;
  std::int64_t divisor = 1;  ///< positions that count for a mean, padding included where it counts
};
using Axis = std::vector<Range>;  // one a result

struct Pool {
  Shape out;
  std::size_t lead = 1;      ///< images
  Shape image, strides;      ///< of the spatial axes
  std::array<Axis, 3> axes;  ///< missing ones have one range of one element
};

/// The operand's last axes under windows, `axes` of them.
template <class Ranges>
std::optional<Pool> pool_over(const Tensor& x, std::size_t axes, Ranges&& ranges) {
  if (x.shape.size() < axes + 1) return std::nullopt;
  Pool p;
  const std::size_t first = x.shape.size() - axes;
  p.out.assign(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(first));
  p.lead = static_cast<std::size_t>(product(p.out));
  p.image.assign(3, 1);
  for (Axis& axis : p.axes) axis = {{0, 1, 1, 1}};
  for (std::size_t d = 0; d < axes; ++d) {
    const std::size_t slot = 3 - axes + d;
    p.image[slot] = x.shape[first + d];
    p.axes[slot] = ranges(d, x.shape[first + d]);
    if (p.axes[slot].empty()) return std::nullopt;
    p.out.push_back(static_cast<std::int64_t>(p.axes[slot].size()));
  }
  p.strides = strides_of(p.image);
  return p;
}

/// f(result, positions of the window in the operand, divisor)
template <class F>
void each_window(const Pool& p, F&& f) {
  std::vector<std::size_t> places;
  std::size_t at = 0;
  const auto image = static_cast<std::size_t>(product(p.image));
  for (std::size_t n = 0; n < p.lead; ++n)
    for (const Range& z : p.axes[0])
      for (const Range& y : p.axes[1])
        for (const Range& x : p.axes[2]) {
          places.clear();
          for (std::int64_t i = z.first; i < z.last; i += z.step)
            for (std::int64_t j = y.first; j < y.last; j += y.step)
              for (std::int64_t k = x.first; k < x.last; k += x.step)
                places.push_back(n * image +
                                 static_cast<std::size_t>(i * p.strides[0] + j * p.strides[1] + k));
          f(at++, places, z.divisor * y.divisor * x.divisor);
        }
}

/// Windows of a fixed size. Empty: sizes that do not fit.
Axis sliding(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
             std::int64_t dilation, bool ceil, bool padding_counts) {
  for (const std::int64_t n : {size, kernel, stride, dilation})
    if (n < 1 || n > most_window) return {};
  if (padding < 0 || padding > kernel) return {};
  const std::int64_t reach = dilation * (kernel - 1) + 1, room = size + 2 * padding - reach;
  if (room < 0) return {};
  std::int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (count - 1) * stride >= size + padding) --count;  // the last one begins inside, or left of it
  Axis axis;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = i * stride - padding, end = start + reach;
    Range r{start, std::min(end, size), dilation, 1};
    while (r.first < 0) r.first += dilation;
    const std::int64_t to = std::min(end, size + padding);
    r.divisor = padding_counts ? to - start : std::max<std::int64_t>(r.last - r.first, 0);
    axis.push_back(r);
  }
  return axis;
}

std::size_t axes_of(const KernelCall& call) {
  const std::string base = aten_base(call.node.op);
  const std::size_t at = base.find_first_of("123", base.find("pool"));
  return at == std::string::npos ? 2 : static_cast<std::size_t>(base[at] - '0');
}

std::optional<Pool> sliding_pool(KernelCall& call, const Tensor& x, bool mean) {
  const std::size_t axes = axes_of(call);
  const Attributes& attrs = call.attrs();
  const auto kernel = per_axis(attrs, "kernel_size", axes, 1), padding = per_axis(attrs, "padding", axes, 0),
             dilation = per_axis(attrs, "dilation", axes, 1);
  auto stride = per_axis(attrs, "stride", axes, 0);
  for (std::size_t d = 0; d < axes; ++d)
    if (stride[d] == 0) stride[d] = kernel[d];
  const bool ceil = attrs.flag("ceil_mode"), counts = attrs.flag("count_include_pad", true);
  return pool_over(x, axes, [&](std::size_t d, std::int64_t size) {
    return sliding(size, kernel[d], stride[d], padding[d], mean ? 1 : dilation[d], ceil, mean && counts);
  });
}

/// The largest of each window, and its place in the image where that is asked for.
Status give_largest(KernelCall& call, const Tensor& x, const Pool& p) {
  std::vector<std::int64_t> where;
  const auto image = static_cast<std::size_t>(product(p.image));
  const auto done = with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    const T start =
        std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity();
    return give_numbers<T>(call, 0, p.out, [&](std::span<T> to) {
      each_window(p, [&](std::size_t i, const std::vector<std::size_t>& places, std::int64_t) {
        T v = start;
        std::size_t pick = places.empty() ? 0 : places[0];
        for (const std::size_t place : places)
          if (from[place] > v || from[place] != from[place]) v = from[place], pick = place;
        to[i] = v;
        if (call.outputs.size() > 1) where.push_back(static_cast<std::int64_t>(pick % image));
      });
    });
  });
  if (!done || call.outputs.size() < 2) return done;
  return AtenCall(call).give_integers(p.out, where, 1);
}

Status give_means(KernelCall& call, const Tensor& x, const Pool& p, std::int64_t divisor) {
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, p.out, [&](std::span<T> to) {
      ModeSum sum(call, true);
      each_window(p, [&](std::size_t i, const std::vector<std::size_t>& places, std::int64_t count) {
        const T s = sum.of<T>(places.size(), [&](std::size_t k) { return from[places[k]]; });
        to[i] = s / static_cast<T>(divisor ? divisor : count);
      });
    });
  });
}

Status max_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto p = sliding_pool(call, call.in(0), false);
  if (!p || call.in(0).lanes() != 1) return call.bad("windows that do not fit");
  return give_largest(call, call.in(0), *p);
}

Status avg_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto p = sliding_pool(call, call.in(0), true);
  if (!p || !call.in(0).is_float()) return call.bad("windows that do not fit");
  return give_means(call, call.in(0), *p, call.attrs().integer("divisor_override", 0));
}

/// Windows that cut each axis into as many parts as are asked for.
std::optional<Pool> cutting_pool(KernelCall& call, const Tensor& x) {
  const std::size_t axes = axes_of(call);
  const auto size = per_axis(call.attrs(), "output_size", axes, 0);
  return pool_over(x, axes, [&](std::size_t d, std::int64_t in) {
    Axis axis;
    for (std::int64_t i = 0; i < size[d] && in > 0 && size[d] < most_window; ++i) {
      Range r{i * in / size[d], ((i + 1) * in + size[d] - 1) / size[d], 1, 1};
      r.divisor = r.last - r.first;
      axis.push_back(r);
    }
    return axis;
  });
}
Status adaptive_avg_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto p = cutting_pool(call, call.in(0));
  if (!p || !call.in(0).is_float()) return call.unsupported("with these operands");
  return give_means(call, call.in(0), *p, 0);
}
Status adaptive_max_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto p = cutting_pool(call, call.in(0));
  if (!p || call.in(0).lanes() != 1) return call.unsupported("with these operands");
  return give_largest(call, call.in(0), *p);
}

constexpr KernelEntry entries[] = {
    {"aten.max_pool1d.default", max_pool},
    {"aten.max_pool2d.default", max_pool},
    {"aten.max_pool3d.default", max_pool},
    {"aten.max_pool2d_with_indices.default", max_pool},
    {"aten.max_pool3d_with_indices.default", max_pool},
    {"aten.avg_pool1d.default", avg_pool},
    {"aten.avg_pool2d.default", avg_pool},
    {"aten.avg_pool3d.default", avg_pool},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool},
    {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool},
    {"aten._adaptive_avg_pool3d.default", adaptive_avg_pool},
    {"aten.adaptive_max_pool2d.default", adaptive_max_pool},
};

}  // namespace

std::span<const KernelEntry> aten_pooling_kernels() { return entries; }

}  // namespace md

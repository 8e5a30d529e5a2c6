// Kernels of pools: the largest, the mean or the norm of windows, and of whole images.
#include <array>
#include <cmath>
#include <limits>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/reduction.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"
#include "lib/format/onnx/windows.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

/// [first, last) of a window along one axis, in steps of the dilation; positions that count for a mean.
struct Range {
  std::int64_t first = 0, last = 0, step = 1, divisor = 1;
};

struct Pool {
  Shape out;
  std::size_t lead = 1;  ///< images
  Shape image{1, 1, 1};
  std::array<std::vector<Range>, 3> axes{{{Range{0, 1, 1, 1}}, {Range{0, 1, 1, 1}}, {Range{0, 1, 1, 1}}}};
};

Result<Pool> pool_of(KernelCall& call, const Tensor& x, bool counts_padding) {
  const std::size_t axes = x.shape.size() - 2;
  if (x.shape.size() < 3 || axes > 3) return call.unsupported("of this rank");
  Pool p;
  p.out = {x.shape[0], x.shape[1]};
  p.lead = at(x.shape[0] * x.shape[1]);
  double taps = 1;
  for (std::size_t d = 0; d < axes; ++d) {
    const std::int64_t n = x.shape[d + 2];
    const auto w = onnx::window_axis(call.attrs(), d, axes, n, 0);
    if (!w) return call.bad("windows that do not fit");
    const std::int64_t count = onnx::window_count(*w, n, call.attrs().flag("ceil_mode"));
    if (count < 1) return call.bad("an empty result");
    p.image[3 - axes + d] = n;
    auto& ranges = p.axes[3 - axes + d];
    ranges.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t start = i * w->stride - w->before, end = start + w->reach();
      Range r{start, std::min(end, n), w->dilation, 0};
      if (r.first < 0) r.first += (-r.first + w->dilation - 1) / w->dilation * w->dilation;
      const std::int64_t inside = r.last > r.first ? (r.last - r.first + w->dilation - 1) / w->dilation : 0;
      // Padding counts, but not what a rounded up size adds behind it.
      const std::int64_t last = std::min(end, n + w->behind);
      r.divisor =
          counts_padding ? std::max<std::int64_t>((last - start + w->dilation - 1) / w->dilation, 0) : inside;
      ranges.push_back(r);
    }
    p.out.push_back(count);
    taps *= static_cast<double>(w->kernel);
  }
  if (auto fits = charge(call, taps * static_cast<double>(product(p.out))); !fits)
    return tl::make_unexpected(fits.error());
  return p;
}

/// f(result, positions of the window in the operand, divisor)
template <class F>
void each_window(const Pool& p, F&& f) {
  std::vector<std::size_t> places;
  const auto image = at(product(p.image));
  std::size_t result = 0;
  for (std::size_t n = 0; n < p.lead; ++n)
    for (const Range& z : p.axes[0])
      for (const Range& y : p.axes[1])
        for (const Range& x : p.axes[2]) {
          places.clear();
          for (std::int64_t i = z.first; i < z.last; i += z.step)
            for (std::int64_t j = y.first; j < y.last; j += y.step)
              for (std::int64_t k = x.first; k < x.last; k += x.step)
                places.push_back(n * image + at((i * p.image[1] + j) * p.image[2] + k));
          f(result++, places, z.divisor * y.divisor * x.divisor);
        }
}

Status max_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || x.rank() < 3) return call.unsupported("of this rank");
  const auto p = pool_of(call, x, false);
  if (!p) return tl::make_unexpected(p.error());
  const bool columns = call.attrs().flag("storage_order");
  Numbers where;
  const auto done = with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, p->out, [&](std::span<T> to) {
      each_window(*p, [&](std::size_t i, const std::vector<std::size_t>& places, std::int64_t) {
        T best =
            std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity();
        std::size_t pick = places.empty() ? 0 : places[0];
        for (const std::size_t q : places)
          if (from[q] > best || from[q] != from[q]) best = from[q], pick = q;
        to[i] = best;
        where.push_back(static_cast<std::int64_t>(pick));
      });
    });
  });
  if (!done || !onnx::wants(call, 1)) return done;
  if (columns) {  // column-major within an image
    const std::int64_t image = product(p->image);
    for (std::int64_t& w : where) {
      const std::int64_t inside = w % image, z = inside / (p->image[1] * p->image[2]),
                         y = inside / p->image[2] % p->image[1], k = inside % p->image[2];
      w = w / image * image + (k * p->image[1] + y) * p->image[0] + z;
    }
  }
  return onnx::give_integers(call, 1, p->out, where);
}

Status average_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || x.rank() < 3 || !x.is_float()) return call.unsupported("on this operand");
  const auto p = pool_of(call, x, call.attrs().flag("count_include_pad"));
  if (!p) return tl::make_unexpected(p.error());
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, p->out, [&](std::span<T> to) {
      ModeSum sum(call, true);
      each_window(*p, [&](std::size_t i, const std::vector<std::size_t>& places, std::int64_t divisor) {
        to[i] = sum.of<T>(places.size(), [&](std::size_t k) { return from[places[k]]; }) /
                static_cast<T>(std::max<std::int64_t>(divisor, 1));
      });
    });
  });
}

template <class T>
T norm_of(T sum, double p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : static_cast<T>(std::pow(static_cast<double>(sum), 1 / p));
}
template <class T>
T power_of(T v, double p) {
  return p == 1   ? std::abs(v)
         : p == 2 ? v * v
                  : static_cast<T>(std::pow(std::abs(static_cast<double>(v)), p));
}

Status lp_pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || x.rank() < 3 || !x.is_float()) return call.unsupported("on this operand");
  const auto p = pool_of(call, x, false);
  if (!p) return tl::make_unexpected(p.error());
  const double order = call.attrs().number("p", 2);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, p->out, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_window(*p, [&](std::size_t i, const std::vector<std::size_t>& places, std::int64_t) {
        to[i] = norm_of(
            sum.of<T>(places.size(), [&](std::size_t k) { return power_of(from[places[k]], order); }), order);
      });
    });
  });
}

Status global(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || x.rank() < 2 || !x.is_float()) return call.unsupported("on this operand");
  const std::string_view op = call.node.op;
  const double p = call.attrs().number("p", 2);
  Shape shape = x.shape;
  std::fill(shape.begin() + 2, shape.end(), 1);
  const std::size_t n = at(product(std::span<const std::int64_t>(x.shape).subspan(2)));
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      ModeSum sum(call, op == "GlobalAveragePool");
      for (std::size_t i = 0; i < to.size(); ++i) {
        const T* row = from.data() + i * n;
        if (op == "GlobalAveragePool")
          to[i] = sum.of<T>(n, [&](std::size_t k) { return row[k]; }) / static_cast<T>(n);
        else if (op == "GlobalLpPool")
          to[i] = norm_of(sum.of<T>(n, [&](std::size_t k) { return power_of(row[k], p); }), p);
        else
          to[i] = n ? *std::max_element(row, row + n) : -std::numeric_limits<T>::infinity();
      }
    });
  });
}

/// Writes each number where MaxPool found it.
Status max_unpool(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto places = onnx::operand_numbers(call, 1);
  if (x.rank() < 3 || !places || places->size() != x.size()) return call.bad("indices that do not fit");
  Shape inferred = {x.shape[0], x.shape[1]};
  const std::size_t axes = x.shape.size() - 2;
  for (std::size_t d = 0; d < axes; ++d) {
    const auto w = onnx::window_axis(call.attrs(), d, axes, x.shape[d + 2], 0);
    if (!w) return call.bad("windows that do not fit");
    inferred.push_back((x.shape[d + 2] - 1) * w->stride + w->kernel - w->before - w->behind);
  }
  Shape shape = inferred;
  if (const auto given = onnx::operand_numbers(call, 2)) shape = *given;
  if (shape.size() != inferred.size()) return call.bad("a shape of another rank");
  const auto count = element_count(shape);
  if (!count || *count > (std::int64_t{1} << 32)) return call.unsupported("of this size");
  // Places are those in the inferred shape: a larger one holds it in its corner.
  const auto strides = strides_of(shape), small = strides_of(inferred);
  Numbers from(at(*count), -1);
  for (std::size_t i = 0; i < places->size(); ++i) {
    std::int64_t place = 0, rest = (*places)[i];
    for (std::size_t d = 0; d < shape.size() && rest >= 0; ++d) {
      const std::int64_t k = small[d] ? rest / small[d] : 0;
      rest -= k * small[d];
      place = k >= shape[d] ? *count : place + k * strides[d];
    }
    if (rest < 0 || place >= *count) return call.bad("an index outside the result");
    from[at(place)] = static_cast<std::int64_t>(i);
  }
  return onnx::give_moved(call, 0, x, shape, from);
}

constexpr KernelEntry entries[] = {
    {"AveragePool", average_pool}, {"GlobalAveragePool", global}, {"GlobalLpPool", global},
    {"GlobalMaxPool", global},     {"LpPool", lp_pool},           {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool, 1},
};

}  // namespace

std::span<const KernelEntry> onnx_pooling_kernels() { return entries; }

}  // namespace md

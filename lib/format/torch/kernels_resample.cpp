// Kernels of aten operators that give an image another size or sample it elsewhere.
#include <array>
#include <cmath>

#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/axes.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One result along an axis: elements of the operand and their weights.
template <class T>
struct Taps {
  std::array<std::int64_t, 4> place{};
  std::array<T, 4> weight{};
  std::size_t count = 0;
};

enum class Method { nearest, nearest_exact, linear, cubic };

/// Keys' cubic with a = -0.75, as torch has it.
template <class T>
std::array<T, 4> cubic_weights(T t) {
  const T a = T(-0.75);
  const auto near = [&](T x) { return ((a + T(2)) * x - (a + T(3))) * x * x + T(1); };
  const auto far = [&](T x) { return ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a; };
  return {far(t + T(1)), near(t), near(T(1) - t), far(T(2) - t)};
}

/// Step of the operand for one step of the result.
template <class T>
T scale_of(std::int64_t in, std::int64_t out, bool corners, double factor) {
  if (corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  return factor > 0 ? static_cast<T>(1.0 / factor) : static_cast<T>(in) / static_cast<T>(out);
}

template <class T>
std::vector<Taps<T>> taps_of(Method method, std::int64_t in, std::int64_t out, bool corners, double factor) {
  const T scale =
      scale_of<T>(in, out, corners && method != Method::nearest && method != Method::nearest_exact, factor);
  std::vector<Taps<T>> taps;
  for (std::int64_t i = 0; i < out; ++i) {
    const T d = static_cast<T>(i);
    Taps<T> t;
    if (method == Method::nearest || method == Method::nearest_exact) {
      const T source = method == Method::nearest ? d * scale : (d + T(0.5)) * scale;
      t.place[0] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(source)), 0, in - 1);
      t.weight[0] = T(1), t.count = 1;
    } else if (method == Method::linear) {
      const T source = corners ? scale * d : std::max(scale * (d + T(0.5)) - T(0.5), T(0));
      t.place[0] = std::min(static_cast<std::int64_t>(source), in - 1);
      t.place[1] = std::min(t.place[0] + 1, in - 1);
      t.weight[1] = std::clamp(source - static_cast<T>(t.place[0]), T(0), T(1));
      t.weight[0] = T(1) - t.weight[1], t.count = 2;
    } else {
      const T source = corners ? scale * d : scale * (d + T(0.5)) - T(0.5), low = std::floor(source);
      t.weight = cubic_weights(source - low), t.count = 4;
      for (std::size_t k = 0; k < 4; ++k)
        t.place[k] = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(low) - 1 + static_cast<std::int64_t>(k), 0, in - 1);
    }
    taps.push_back(t);
  }
  return taps;
}

/// One image through the taps of up to three axes.
template <class T>
void resample(const T* image, const std::array<std::vector<Taps<T>>, 3>& axes, std::int64_t height,
              std::int64_t width, T* to) {
  for (const Taps<T>& z : axes[0])
    for (const Taps<T>& y : axes[1])
      for (const Taps<T>& x : axes[2]) {
        T total = 0;
        for (std::size_t i = 0; i < z.count; ++i) {
          T plane = 0;
          for (std::size_t j = 0; j < y.count; ++j) {
            T line = 0;
            const T* row = image + (z.place[i] * height + y.place[j]) * width;
            for (std::size_t k = 0; k < x.count; ++k) line += x.weight[k] * row[x.place[k]];
            plane += y.weight[j] * line;
          }
          total += z.weight[i] * plane;
        }
        *to++ = total;
      }
}

Method method_of(const std::string& base) {
  if (base.find("nearest_exact") != std::string::npos) return Method::nearest_exact;
  if (base.find("nearest") != std::string::npos) return Method::nearest;
  return base.find("bicubic") != std::string::npos ? Method::cubic : Method::linear;
}

/// upsample_nearest1d to 3d, _upsample_nearest_exact, linear, bilinear, trilinear and bicubic.
Status upsample(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::string base = aten_base(call.node.op);
  const std::size_t axes = x.shape.size() < 3 ? 0 : x.shape.size() - 2;
  if (axes < 1 || axes > 3 || !x.is_float()) return call.unsupported("with this operand");
  const auto sizes = c.sizes("output_size");
  std::vector<double> factors(axes, 0);
  if (const AttrValue* given = call.attrs().find("scale_factors"))
    if (const auto* list = std::get_if<std::vector<double>>(given))
      for (std::size_t d = 0; d < axes && d < list->size(); ++d) factors[d] = (*list)[d];
  const std::array<std::string_view, 3> names = {"scales_d", "scales_h", "scales_w"};
  for (std::size_t d = 0; d < axes; ++d)
    if (c.given(names[3 - axes + d])) factors[d] = call.attrs().number(names[3 - axes + d]);
  if (axes == 1 && c.given("scales")) factors[0] = call.attrs().number("scales");
  Shape out(x.shape.begin(), x.shape.begin() + 2), in3(3, 1), out3(3, 1);
  std::array<double, 3> factor3{};
  for (std::size_t d = 0; d < axes; ++d) {
    const std::int64_t in = x.shape[d + 2];
    if (!sizes && !(factors[d] > 0 && factors[d] < 1e6)) return call.unsupported("without a size");
    const std::int64_t size =
        sizes ? (d < sizes->size() ? (*sizes)[d] : -1)
              : static_cast<std::int64_t>(std::floor(static_cast<double>(in) * factors[d]));
    if (in < 1 || size < 1 || size > most_window) return c.bad("an empty result");
    out.push_back(size);
    in3[3 - axes + d] = in, out3[3 - axes + d] = size, factor3[3 - axes + d] = factors[d];
  }
  const bool corners = call.attrs().flag("align_corners");
  const Method method = method_of(base);
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, out, [&](std::span<T> to) {
      std::array<std::vector<Taps<T>>, 3> taps;
      for (std::size_t d = 0; d < 3; ++d)
        taps[d] = taps_of<T>(d < 3 - axes ? Method::nearest : method, in3[d], out3[d], corners, factor3[d]);
      const auto image = at(product(in3)), result = at(product(out3));
      for (std::size_t n = 0; n * result < to.size(); ++n)
        resample<T>(from.data() + n * image, taps, in3[1], in3[2], to.data() + n * result);
    });
  });
}

/// How positions outside the image are treated.
enum class Outside { zeros, border, reflection };

template <class T>
T reflected(T v, T low2, T high2) {
  if (low2 == high2) return T(0);
  const T low = low2 / T(2), span = (high2 - low2) / T(2);
  v = std::abs(v - low);
  const T extra = std::fmod(v, span);
  return std::fmod(std::floor(v / span), T(2)) == T(0) ? extra + low : span - extra + low;
}

struct Sampling {
  std::int64_t height = 0, width = 0;
  Outside outside = Outside::zeros;
  bool corners = false;

  template <class T>
  T unnormalized(T v, std::int64_t size) const {
    return corners ? (v + T(1)) / T(2) * static_cast<T>(size - 1)
                   : ((v + T(1)) * static_cast<T>(size) - T(1)) / T(2);
  }
  template <class T>
  T inside(T v, std::int64_t size) const {
    if (outside == Outside::reflection)
      v = corners ? reflected(v, T(0), T(2) * static_cast<T>(size - 1))
                  : reflected(v, T(-1), static_cast<T>(2 * size - 1));
    if (outside != Outside::zeros) v = std::min(static_cast<T>(size - 1), std::max(v, T(0)));
    return v;
  }
  template <class T>
  T element(const T* image, T y, T x) const {
    if (!(y >= T(0) && y <= static_cast<T>(height - 1) && x >= T(0) && x <= static_cast<T>(width - 1)))
      return T(0);
    return image[static_cast<std::int64_t>(y) * width + static_cast<std::int64_t>(x)];
  }
  template <class T>
  T sample(const T* image, T gx, T gy, std::int64_t mode) const {
    T x = unnormalized(gx, width), y = unnormalized(gy, height);
    if (mode == 2) {
      const T x0 = std::floor(x), y0 = std::floor(y);
      const auto wx = cubic_weights(x - x0), wy = cubic_weights(y - y0);
      T total = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        T line = 0;
        for (std::size_t j = 0; j < 4; ++j)
          line += wx[j] * element(image, inside(y0 - T(1) + static_cast<T>(i), height),
                                  inside(x0 - T(1) + static_cast<T>(j), width));
        total += wy[i] * line;
      }
      return total;
    }
    x = inside(x, width), y = inside(y, height);
    if (mode == 1) return element(image, std::nearbyint(y), std::nearbyint(x));
    const T x0 = std::floor(x), y0 = std::floor(y), x1 = x0 + T(1), y1 = y0 + T(1);
    return element(image, y0, x0) * ((x1 - x) * (y1 - y)) + element(image, y0, x1) * ((x - x0) * (y1 - y)) +
           element(image, y1, x0) * ((x1 - x) * (y - y0)) + element(image, y1, x1) * ((x - x0) * (y - y0));
  }
};

Status grid_sampler(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *grid = c.operand("grid");
  if (!x || !grid || x->rank() != 4 || grid->rank() != 4 || grid->shape[3] != 2 ||
      grid->shape[0] != x->shape[0] || !x->is_float())
    return call.unsupported("with these operands");
  const std::int64_t mode = call.attrs().integer("interpolation_mode"),
                     padding = call.attrs().integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || x->shape[2] < 1 || x->shape[3] < 1)
    return call.unsupported("of this mode");
  const Sampling s{x->shape[2], x->shape[3], static_cast<Outside>(padding),
                   call.attrs().flag("align_corners")};
  const Shape out = {x->shape[0], x->shape[1], grid->shape[1], grid->shape[2]};
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x), points(*grid);
    const auto count = at(grid->shape[1] * grid->shape[2]), image = at(s.height * s.width),
               channels = at(x->shape[1]);
    return give_numbers<T>(call, 0, out, [&](std::span<T> to) {
      for (std::size_t n = 0; n < at(x->shape[0]); ++n)
        for (std::size_t k = 0; k < channels; ++k)
          for (std::size_t p = 0; p < count; ++p)
            to[(n * channels + k) * count + p] =
                s.sample<T>(from.data() + (n * channels + k) * image, points[2 * (n * count + p)],
                            points[2 * (n * count + p) + 1], mode);
    });
  });
}

/// pixel_shuffle: [.., c r r, h, w] to [.., c, h r, w r]; pixel_unshuffle back.
Status shuffle(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool back = aten_base(call.node.op) == "aten.pixel_unshuffle";
  const std::int64_t r = call.attrs().integer(back ? "downscale_factor" : "upscale_factor");
  if (x.rank() < 3 || r < 1 || r > (1 << 20)) return c.bad("operands that do not fit");
  const std::size_t first = x.shape.size() - 3;
  const std::int64_t channels = x.shape[first], height = x.shape[first + 1], width = x.shape[first + 2];
  if (back ? height % r || width % r : channels % (r * r)) return c.bad("sizes that do not divide");
  const auto strides = strides_of(x.shape);
  View view;
  view.dims.assign(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(first));
  view.steps.assign(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(first));
  Shape out = view.dims;
  const std::int64_t plane = height * width;
  const auto add = [&](std::int64_t size, std::int64_t step) {
    view.dims.push_back(size), view.steps.push_back(step);
  };
  if (back) {
    add(channels, plane), add(r, width), add(r, 1), add(height / r, r * width), add(width / r, r);
    out.insert(out.end(), {channels * r * r, height / r, width / r});
  } else {
    add(channels / (r * r), r * r * plane), add(height, width), add(r, r * plane), add(width, 1),
        add(r, plane);
    out.insert(out.end(), {channels / (r * r), height * r, width * r});
  }
  if (auto ok = c.give_view(x, view); !ok) return ok;
  call.outputs[0].shape = std::move(out);
  return {};
}

constexpr KernelEntry entries[] = {
    {"aten.upsample_nearest1d.default", upsample},
    {"aten.upsample_nearest1d.vec", upsample},
    {"aten.upsample_nearest2d.default", upsample},
    {"aten.upsample_nearest2d.vec", upsample},
    {"aten.upsample_nearest3d.default", upsample},
    {"aten.upsample_nearest3d.vec", upsample},
    {"aten._upsample_nearest_exact2d.default", upsample},
    {"aten._upsample_nearest_exact2d.vec", upsample},
    {"aten.upsample_linear1d.default", upsample},
    {"aten.upsample_linear1d.vec", upsample},
    {"aten.upsample_bilinear2d.default", upsample},
    {"aten.upsample_bilinear2d.vec", upsample},
    {"aten.upsample_trilinear3d.default", upsample},
    {"aten.upsample_trilinear3d.vec", upsample},
    {"aten.upsample_bicubic2d.default", upsample},
    {"aten.upsample_bicubic2d.vec", upsample},
    {"aten.grid_sampler.default", grid_sampler},
    {"aten.grid_sampler_2d.default", grid_sampler},
    {"aten.pixel_shuffle.default", shuffle, all_operands},
    {"aten.pixel_unshuffle.default", shuffle, all_operands},
};

}  // namespace

std::span<const KernelEntry> aten_resample_kernels() { return entries; }

}  // namespace md

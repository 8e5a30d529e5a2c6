// Kernels of operators that sample images where operands say: grids, regions, columns.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/eval/limits.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"
#include "lib/format/onnx/windows.h"

namespace md {
namespace {

using onnx::at;

// --- GridSample

struct Sampling {
  int order = 1;  ///< 0: nearest, 1: linear, 3: cubic
  std::string_view padding = "zeros";
  bool corners = false;
};

double denormalized(double n, std::int64_t length, bool corners) {
  const double size = static_cast<double>(length);
  return corners ? (n + 1) / 2 * (size - 1) : ((n + 1) * size - 1) / 2;
}

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0 || (x >= low && x <= high)) return range <= 0 ? low : x;
  const bool below = x < low;
  const double distance = below ? low - x : x - high, turns = std::floor(distance / range),
               rest = distance - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return below == even ? low + rest : high - rest;
}

/// The index of a pixel that may lie outside; -1: it is zero.
std::int64_t pixel(std::int64_t i, std::int64_t n, const Sampling& how) {
  if (i >= 0 && i < n) return i;
  if (how.padding == "zeros") return -1;
  if (how.padding == "border") return std::clamp<std::int64_t>(i, 0, n - 1);
  const double low = how.corners ? 0 : -0.5, high = static_cast<double>(n) - (how.corners ? 1 : 0.5);
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::nearbyint(reflected(static_cast<double>(i), low, high))), 0, n - 1);
}

struct Taps {
  std::int64_t first = 0;
  std::array<double, 4> weights{};
  int count = 1;
};

Taps taps_at(double x, std::int64_t n, const Sampling& how) {
  if (!(std::abs(x) < 1e9)) return {-4, {}, 1};  // far outside, or no number
  const double low = how.corners ? 0 : -0.5, high = static_cast<double>(n) - (how.corners ? 1 : 0.5);
  // The position itself is moved inside, except for cubic ones, whose pixels are.
  if (how.order != 3 && (x < low || x > high)) {
    if (how.padding == "border") x = std::clamp(x, 0.0, static_cast<double>(n - 1));
    if (how.padding == "reflection") x = reflected(x, low, high);
  }
  if (how.order == 0) return {static_cast<std::int64_t>(std::nearbyint(x)), {1}, 1};
  const double whole_part = std::floor(x), r = x - whole_part;
  const auto i = static_cast<std::int64_t>(whole_part);
  if (how.order == 1) return {i, {1 - r, r}, 2};
  const double a = -0.75;
  const auto far = [&](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  const auto near = [&](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  return {i - 1, {far(r + 1), near(r), near(1 - r), far(2 - r)}, 4};
}

Status grid_sample(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &grid = call.in(1);
  const std::size_t axes = x.shape.size() < 3 ? 0 : x.shape.size() - 2;
  if (axes < 1 || axes > 3 || grid.shape.size() != x.shape.size() ||
      grid.shape.back() != static_cast<std::int64_t>(axes) || grid.shape[0] != x.shape[0])
    return call.bad("a grid that does not fit");
  const std::string_view mode = call.attrs().text("mode", "linear");
  const Sampling how{.order = mode == "nearest"                      ? 0
                              : mode == "cubic" || mode == "bicubic" ? 3
                                                                     : 1,
                     .padding = call.attrs().text("padding_mode", "zeros"),
                     .corners = call.attrs().flag("align_corners")};
  Shape shape = {x.shape[0], x.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  const std::size_t places = at(product(std::span<const std::int64_t>(shape).subspan(2))),
                    channels = at(x.shape[1]);
  const std::size_t image = at(product(std::span<const std::int64_t>(x.shape).subspan(2)));
  if (image == 0 || axes == 0) return call.bad("an empty image");
  if (auto fits = charge(call, 16 * static_cast<double>(product(shape))); !fits) return fits;
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    const As<double> where(grid);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t b = 0; b < at(x.shape[0]); ++b)
        for (std::size_t p = 0; p < places; ++p) {
          Taps taps[3] = {{0, {1}, 1}, {0, {1}, 1}, {0, {1}, 1}};
          Shape dims = {1, 1, 1};
          for (std::size_t d = 0; d < axes; ++d) {  // the grid names the last axis first
            const std::int64_t n = x.shape[2 + d];
            dims[3 - axes + d] = n;
            taps[3 - axes + d] = taps_at(
                denormalized(where[(b * places + p) * axes + (axes - 1 - d)], n, how.corners), n, how);
          }
          for (std::size_t c = 0; c < channels; ++c) {
            const T* pixels = from.data() + (b * channels + c) * image;
            T sum = T(0);
            for (int i = 0; i < taps[0].count; ++i)
              for (int j = 0; j < taps[1].count; ++j)
                for (int k = 0; k < taps[2].count; ++k) {
                  const std::int64_t z = pixel(taps[0].first + i, dims[0], how),
                                     y = pixel(taps[1].first + j, dims[1], how),
                                     u = pixel(taps[2].first + k, dims[2], how);
                  if (z < 0 || y < 0 || u < 0) continue;
                  const double weight =
                      taps[0].weights[at(i)] * taps[1].weights[at(j)] * taps[2].weights[at(k)];
                  sum += static_cast<T>(weight) * pixels[at((z * dims[1] + y) * dims[2] + u)];
                }
            to[(b * channels + c) * places + p] = sum;
          }
        }
    });
  });
}

Status affine_grid(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& theta = call.in(0);
  const auto size = onnx::operand_numbers(call, 1);
  if (!size || (size->size() != 4 && size->size() != 5)) return call.bad("expected a size of 4 or 5 numbers");
  const std::size_t axes = size->size() - 2;
  const auto a = static_cast<std::int64_t>(axes);
  if (theta.shape != Shape{(*size)[0], a, a + 1}) return call.bad("matrices that do not fit");
  const bool corners = call.attrs().flag("align_corners");
  Shape dims(size->begin() + 2, size->end()), shape = dims;
  shape.insert(shape.begin(), (*size)[0]);
  shape.push_back(a);
  const auto count = element_count(shape);
  if (!count || *count > (std::int64_t{1} << 30)) return call.unsupported("of this size");
  std::vector<double> out;
  for (std::size_t b = 0; b < at((*size)[0]); ++b)
    for_each_index(dims, [&](const onnx::Numbers& index) {
      double place[4] = {1, 1, 1, 1};
      for (std::size_t d = 0; d < axes; ++d) {
        const double n = static_cast<double>(dims[d]), i = static_cast<double>(index[d]);
        place[axes - 1 - d] = corners ? (n > 1 ? -1 + 2 * i / (n - 1) : 0) : -1 + (2 * i + 1) / n;
      }
      place[axes] = 1;
      for (std::size_t r = 0; r < axes; ++r) {
        double sum = 0;
        for (std::size_t k = 0; k <= axes; ++k)
          sum += theta.number((b * axes + r) * (axes + 1) + k) * place[k];
        out.push_back(sum);
      }
    });
  return onnx::give(call, 0, shape, out);
}

// --- regions

/// Between four pixels, as RoiAlign weighs them; outside by more than one pixel: nothing.
struct Between {
  std::array<std::size_t, 4> places{};
  std::array<double, 4> weights{};
};

Between between(double y, double x, std::int64_t height, std::int64_t width) {
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return {};
  const auto split = [](double v, std::int64_t n) {
    v = std::max(v, 0.0);
    auto low = static_cast<std::int64_t>(v);
    std::int64_t high = low + 1;
    if (low >= n - 1) low = high = n - 1, v = static_cast<double>(low);
    return std::tuple(low, high, v - static_cast<double>(low));
  };
  const auto [y0, y1, ly] = split(y, height);
  const auto [x0, x1, lx] = split(x, width);
  return {{at(y0 * width + x0), at(y0 * width + x1), at(y1 * width + x0), at(y1 * width + x1)},
          {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
}

Status roi_align(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &rois = call.in(1);
  const auto batch = onnx::operand_numbers(call, 2);
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 4 || !batch ||
      static_cast<std::int64_t>(batch->size()) != rois.shape[0])
    return call.bad("regions that do not fit");
  const Attributes& attrs = call.attrs();
  const bool half =
      call.node.version >= 16 && attrs.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool mean = attrs.text("mode", "avg") == "avg";
  const std::int64_t height = x.shape[2], width = x.shape[3], ph = attrs.integer("output_height", 1),
                     pw = attrs.integer("output_width", 1), ratio = attrs.integer("sampling_ratio");
  const double scale = attrs.number("spatial_scale", 1), offset = half ? 0.5 : 0;
  if (ph < 1 || pw < 1 || ph > 4096 || pw > 4096 || height < 1 || width < 1 || ratio > 1024)
    return call.bad("sizes that do not fit");
  const Shape shape = {rois.shape[0], x.shape[1], ph, pw};
  auto out = std::vector<double>(at(product(shape)));
  const As<double> pixels(x);
  const std::size_t image = at(height * width);
  std::size_t k = 0;
  for (std::int64_t n = 0; n < rois.shape[0]; ++n) {
    const std::int64_t b = (*batch)[at(n)];
    if (b < 0 || b >= x.shape[0]) return call.bad("a batch index outside the tensor");
    double r[4];
    for (std::size_t i = 0; i < 4; ++i) r[i] = rois.number(at(n) * 4 + i) * scale - offset;
    double w = r[2] - r[0], h = r[3] - r[1];
    if (!half) w = std::max(w, 1.0), h = std::max(h, 1.0);
    const double bh = h / static_cast<double>(ph), bw = w / static_cast<double>(pw);
    const double gh = ratio > 0 ? static_cast<double>(ratio) : std::ceil(bh),
                 gw = ratio > 0 ? static_cast<double>(ratio) : std::ceil(bw);
    if (!(gh < 1e4 && gw < 1e4)) return call.bad("a region that does not fit");
    if (auto fits = charge(call, 8 * gh * gw * static_cast<double>(x.shape[1] * ph * pw)); !fits) return fits;
    for (std::int64_t c = 0; c < x.shape[1]; ++c)
      for (std::int64_t i = 0; i < ph; ++i)
        for (std::int64_t j = 0; j < pw; ++j, ++k) {
          const double* plane = pixels.data() + at(b * x.shape[1] + c) * image;
          double sum = 0, top = 0;
          bool first = true;
          for (double iy = 0; iy < gh; ++iy)
            for (double ix = 0; ix < gw; ++ix) {
              const Between p =
                  between(r[1] + static_cast<double>(i) * bh + (iy + 0.5) * bh / gh,
                          r[0] + static_cast<double>(j) * bw + (ix + 0.5) * bw / gw, height, width);
              for (std::size_t q = 0; q < 4; ++q) {
                const double v = p.weights[q] * plane[p.places[q]];
                sum += v;
                top = first ? v : std::max(top, v), first = false;
              }
            }
          out[k] = mean ? sum / std::max(gh * gw, 1.0) : top;
        }
  }
  return onnx::give(call, 0, shape, out);
}

Status max_roi_pool(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &rois = call.in(1);
  const auto* pooled = call.attrs().integers("pooled_shape");
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 5 || !pooled || pooled->size() != 2)
    return call.bad("regions that do not fit");
  const double scale = call.attrs().number("spatial_scale", 1);
  const std::int64_t ph = (*pooled)[0], pw = (*pooled)[1], height = x.shape[2], width = x.shape[3];
  if (ph < 1 || pw < 1 || ph > 4096 || pw > 4096) return call.bad("sizes that do not fit");
  const Shape shape = {rois.shape[0], x.shape[1], ph, pw};
  std::vector<double> out(at(product(shape)));
  std::size_t k = 0;
  for (std::int64_t n = 0; n < rois.shape[0]; ++n) {
    double r[5];
    for (std::size_t i = 0; i < 5; ++i) r[i] = rois.number(at(n) * 5 + i) * (i ? scale : 1);
    for (const double v : r)
      if (!(std::abs(v) < 1e9)) return call.bad("a region that does not fit");
    const auto b = static_cast<std::int64_t>(r[0]);
    if (b < 0 || b >= x.shape[0]) return call.bad("a batch index outside the tensor");
    const double x0 = std::round(r[1]), y0 = std::round(r[2]), w = std::max(std::round(r[3]) - x0 + 1, 1.0),
                 h = std::max(std::round(r[4]) - y0 + 1, 1.0);
    for (std::int64_t c = 0; c < x.shape[1]; ++c)
      for (std::int64_t i = 0; i < ph; ++i)
        for (std::int64_t j = 0; j < pw; ++j, ++k) {
          const auto edge = [](double start, double size, double part, std::int64_t parts, std::int64_t n_,
                               bool up) {
            const double v = part * size / static_cast<double>(parts);
            return std::clamp<std::int64_t>(
                static_cast<std::int64_t>((up ? std::ceil(v) : std::floor(v)) + start), 0, n_);
          };
          const std::int64_t top = edge(y0, h, static_cast<double>(i), ph, height, false),
                             bottom = edge(y0, h, static_cast<double>(i + 1), ph, height, true),
                             left = edge(x0, w, static_cast<double>(j), pw, width, false),
                             right = edge(x0, w, static_cast<double>(j + 1), pw, width, true);
          double best = 0;
          for (std::int64_t y = top; y < bottom; ++y)
            for (std::int64_t u = left; u < right; ++u) {
              const double v = x.number(at(((b * x.shape[1] + c) * height + y) * width + u));
              best = y == top && u == left ? v : std::max(best, v);
            }
          out[k] = best;
        }
  }
  return onnx::give(call, 0, shape, out);
}

// --- columns

Status col2im(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto image = onnx::operand_numbers(call, 1), block = onnx::operand_numbers(call, 2);
  if (x.rank() != 3 || !image || !block || image->size() != block->size() || image->empty())
    return call.bad("operands that do not fit");
  const std::size_t axes = image->size();
  Shape windows;
  std::vector<onnx::WindowAxis> axis;
  for (std::size_t d = 0; d < axes; ++d) {
    const auto w = onnx::window_axis(call.attrs(), d, axes, (*image)[d], (*block)[d]);
    if (!w) return call.bad("windows that do not fit");
    axis.push_back(*w);
    windows.push_back(onnx::window_count(*w, (*image)[d], false));
  }
  const auto taps = element_count(*block), places = element_count(windows), pixels = element_count(*image);
  if (!taps || !places || !pixels || *taps < 1 || x.shape[1] % *taps || x.shape[2] != *places)
    return call.bad("columns that do not fit");
  const std::int64_t channels = x.shape[1] / *taps;
  Shape shape = {x.shape[0], channels};
  shape.insert(shape.end(), image->begin(), image->end());
  const auto strides = strides_of(*image);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      std::fill(to.begin(), to.end(), T(0));
      for (std::int64_t n = 0; n < x.shape[0] * channels; ++n) {
        std::int64_t tap = 0;
        for_each_index(*block, [&](const onnx::Numbers& k) {
          std::int64_t place = 0;
          for_each_index(windows, [&](const onnx::Numbers& w) {
            std::int64_t p = 0;
            bool inside = true;
            for (std::size_t d = 0; d < axes; ++d) {
              const std::int64_t i = w[d] * axis[d].stride - axis[d].before + k[d] * axis[d].dilation;
              inside = inside && i >= 0 && i < (*image)[d];
              p += i * strides[d];
            }
            if (inside) to[at(n * *pixels + p)] += from[at((n * *taps + tap) * *places + place)];
            ++place;
          });
          ++tap;
        });
      }
    });
  });
}

/// A convolution whose taps are moved by offsets, between pixels; 2 axes.
Status deform_conv(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &w = call.in(1), &offset = call.in(2);
  const std::int64_t groups = call.attrs().integer("group", 1),
                     offset_groups = call.attrs().integer("offset_group", 1);
  if (x.rank() != 4 || w.rank() != 4 || offset.rank() != 4 || groups < 1 || offset_groups < 1)
    return call.unsupported("of this rank");
  const std::int64_t filters = w.shape[0], each = w.shape[1], kh = w.shape[2], kw = w.shape[3],
                     oh = offset.shape[2], ow = offset.shape[3];
  if (x.shape[1] != each * groups || filters % groups || x.shape[1] % offset_groups ||
      offset.shape[1] != offset_groups * kh * kw * 2 || offset.shape[0] != x.shape[0])
    return call.bad("operands that do not fit");
  const auto h = onnx::window_axis(call.attrs(), 0, 2, x.shape[2], kh),
             v = onnx::window_axis(call.attrs(), 1, 2, x.shape[3], kw);
  if (!h || !v) return call.bad("windows that do not fit");
  if ((call.has(3) && call.in(3).size() != at(filters)) ||
      (call.has(4) && call.in(4).size() * 2 != offset.size()))
    return call.bad("a bias or mask that does not fit");
  const Shape shape = {x.shape[0], filters, oh, ow};
  if (auto fits = charge(call, 8 * static_cast<double>(product(shape)) * static_cast<double>(each * kh * kw));
      !fits)
    return fits;
  const As<double> image(x), weights(w), moved(offset);
  const std::size_t plane = at(x.shape[2] * x.shape[3]), results = at(oh * ow);
  std::vector<double> out(at(product(shape)));
  std::size_t r = 0;
  for (std::int64_t b = 0; b < x.shape[0]; ++b)
    for (std::int64_t f = 0; f < filters; ++f)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j, ++r) {
          double sum = call.has(3) ? call.in(3).number(at(f)) : 0;
          for (std::int64_t c = 0; c < each; ++c) {
            const std::int64_t channel = f / (filters / groups) * each + c,
                               group = channel / (x.shape[1] / offset_groups);
            for (std::int64_t t = 0; t < kh * kw; ++t) {
              const std::int64_t first = (b * offset_groups + group) * kh * kw + t;
              const double y = static_cast<double>(i * h->stride - h->before + t / kw * h->dilation) +
                               moved[at(first * 2) * results + at(i * ow + j)];
              const double u = static_cast<double>(j * v->stride - v->before + t % kw * v->dilation) +
                               moved[at(first * 2 + 1) * results + at(i * ow + j)];
              if (!(std::abs(y) < 1e9 && std::abs(u) < 1e9)) continue;
              const Sampling zeros;
              const double y0 = std::floor(y), u0 = std::floor(u);
              double value = 0;
              for (int q = 0; q < 4; ++q) {
                const std::int64_t py = pixel(static_cast<std::int64_t>(y0) + q / 2, x.shape[2], zeros),
                                   pu = pixel(static_cast<std::int64_t>(u0) + q % 2, x.shape[3], zeros);
                if (py < 0 || pu < 0) continue;
                value += (q / 2 ? y - y0 : 1 - (y - y0)) * (q % 2 ? u - u0 : 1 - (u - u0)) *
                         image[at(b * x.shape[1] + channel) * plane + at(py * x.shape[3] + pu)];
              }
              const double mask = call.has(4) ? call.in(4).number(at(first) * results + at(i * ow + j)) : 1;
              sum += value * mask * weights[at((f * each + c) * kh * kw + t)];
            }
          }
          out[r] = sum;
        }
  return onnx::give(call, 0, shape, out);
}

constexpr KernelEntry entries[] = {
    {"AffineGrid", affine_grid},
    {"Col2Im", col2im},
    {"DeformConv", deform_conv},
    {"GridSample", grid_sample},
    {"MaxRoiPool", max_roi_pool},
    {"RoiAlign", roi_align},
    {"com.microsoft.GridSample", grid_sample, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_vision_kernels() { return entries; }

}  // namespace md

// Kernels of Resize and Upsample: one axis after the other, each result element a weighted sum of neighbours.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/axis_rows.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

struct AxisResize {
  std::int64_t in = 1, out = 1;
  double scale = 1, first = 0, last = 1;  ///< first and last: of the region
};

struct Rules {
  std::string_view coordinates, mode, nearest;
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

/// Where result `x` lies on the operand's axis; nullopt: outside, the result is the extrapolation value.
std::optional<double> source_of(const Rules& rules, const AxisResize& a, double x) {
  const double in = static_cast<double>(a.in), out = a.scale * in;
  const std::string_view how = rules.coordinates;
  if (how == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (how == "asymmetric") return x / a.scale;
  if (how == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (how == "pytorch_half_pixel" && out == 1) return -0.5;
  if (how == "half_pixel_symmetric")
    return in / 2 * (1 - static_cast<double>(a.out) / out) + (x + 0.5) / a.scale - 0.5;
  if (how == "tf_crop_and_resize") {
    const double size = (a.last - a.first) * (in - 1);
    const double place = (out == 1 ? size / 2 : x * size / (out - 1)) + a.first * (in - 1);
    return place < 0 || place > in - 1 ? std::nullopt : std::optional(place);
  }
  return (x + 0.5) / a.scale - 0.5;
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The elements that a result is made of: the first one's index (may be outside) and a weight each.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

Taps taps_of(const Rules& rules, const AxisResize& a, double place) {
  Taps t;
  if (rules.mode == "nearest") {
    const double n = rules.nearest == "floor"               ? std::floor(place)
                     : rules.nearest == "ceil"              ? std::ceil(place)
                     : rules.nearest == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                            : std::ceil(place - 0.5);
    t.first = static_cast<std::int64_t>(n);
    t.weights = {1};
    return t;
  }
  const bool cubic = rules.mode == "cubic";
  const double low = std::floor(place), ratio = place - low, half = cubic ? 2 : 1;
  const double scale = rules.antialias ? std::min(a.scale, 1.0) : 1.0;
  const auto start = static_cast<std::int64_t>(std::floor(-half / scale)) + 1, end = 2 - start;
  t.first = static_cast<std::int64_t>(low) + start;
  for (std::int64_t i = start; i < end; ++i) {
    const double x = (static_cast<double>(i) - ratio) * scale;
    t.weights.push_back(cubic ? cubic_weight(x, rules.cubic) : std::max(1 - std::abs(x), 0.0));
  }
  if (rules.exclude_outside)
    for (std::size_t i = 0; i < t.weights.size(); ++i)
      if (const std::int64_t k = t.first + static_cast<std::int64_t>(i); k < 0 || k >= a.in) t.weights[i] = 0;
  if (rules.exclude_outside || rules.antialias) {
    const double sum = std::accumulate(t.weights.begin(), t.weights.end(), 0.0);
    for (double& w : t.weights) w = sum == 0 ? 0 : w / sum;
  }
  return t;
}

struct Plan {
  std::vector<AxisResize> axes;  ///< of the operand, all
  Rules rules;
  double outside = 0;
};

/// One axis of `from` (shape `shape`, whose axis is replaced).
template <class T>
std::vector<T> resized(const Plan& plan, std::size_t axis, const std::vector<T>& from, Shape& shape,
                       std::vector<char>& outside) {
  const AxisResize& a = plan.axes[axis];
  const AxisRows rows = rows_along(shape, axis);
  shape[axis] = a.out;
  std::vector<T> to(rows.outer * at(a.out) * rows.inner);
  std::vector<char> marks(outside.empty() ? 0 : to.size());
  for (std::int64_t x = 0; x < a.out; ++x) {
    const auto place = source_of(plan.rules, a, static_cast<double>(x));
    const Taps taps = taps_of(plan.rules, a, place.value_or(0));
    for (std::size_t o = 0; o < rows.outer; ++o)
      for (std::size_t i = 0; i < rows.inner; ++i) {
        const std::size_t result = (o * at(a.out) + at(x)) * rows.inner + i;
        T sum = T(0);
        bool beyond = !place;
        for (std::size_t k = 0; k < taps.weights.size(); ++k) {
          const std::int64_t source =
              std::clamp<std::int64_t>(taps.first + static_cast<std::int64_t>(k), 0, a.in - 1);
          const std::size_t p = (o * rows.length + at(source)) * rows.inner + i;
          sum = static_cast<T>(sum + static_cast<T>(taps.weights[k]) * from[p]);
          if (!marks.empty()) beyond = beyond || outside[p];
        }
        to[result] = sum;
        if (!marks.empty()) marks[result] = beyond;
      }
  }
  outside = std::move(marks);
  return to;
}

/// Moves elements: every axis picks one.
Status nearest(KernelCall& call, const Plan& plan, const Shape& shape) {
  const Tensor& x = call.in(0);
  std::vector<Numbers> sources;
  for (const AxisResize& a : plan.axes) {
    sources.emplace_back();
    for (std::int64_t i = 0; i < a.out; ++i) {
      const auto place = a.in == a.out && a.scale == 1 && plan.rules.coordinates != "tf_crop_and_resize"
                             ? std::optional<double>(static_cast<double>(i))
                             : source_of(plan.rules, a, static_cast<double>(i));
      sources.back().push_back(
          place ? std::clamp<std::int64_t>(taps_of(plan.rules, a, *place).first, 0, a.in - 1) : -1);
    }
  }
  const auto strides = strides_of(x.shape);
  Numbers from;
  bool beyond = false;
  for_each_index(shape, [&](const Numbers& index) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t i = sources[d][at(index[d])];
      p = i < 0 || p < 0 ? -1 : p + i * strides[d];
    }
    beyond = beyond || p < 0;
    from.push_back(p);
  });
  if (auto ok = onnx::give_moved(call, 0, x, shape, from); !ok || !beyond || plan.outside == 0) return ok;
  if (call.carriers) return call.unsupported("with an extrapolation value");
  Tensor& out = call.outputs[0];
  with_store(out.store(), [&](auto zero) {
    auto numbers = out.mutable_data<decltype(zero)>();
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] < 0) numbers[i] = static_cast<decltype(zero)>(plan.outside);
  });
  return {};
}

Status interpolated(KernelCall& call, const Plan& plan) {
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || call.carriers) return call.unsupported("on these elements");
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> data(x);
    std::vector<T> now(data.span().begin(), data.span().end());
    std::vector<char> outside(plan.rules.coordinates == "tf_crop_and_resize" ? now.size() : 0, 0);
    Shape shape = x.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const AxisResize& a = plan.axes[d];
      if (a.in == a.out && a.scale == 1 && (outside.empty() || (a.first == 0 && a.last == 1))) continue;
      now = resized(plan, d, now, shape, outside);
    }
    const bool whole_numbers = !is_float(x.dtype);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = !outside.empty() && outside[i] ? static_cast<T>(plan.outside) : now[i];
        if (whole_numbers) to[i] = std::nearbyint(to[i]);
      }
    });
  });
}

/// Scales by operand or attribute: old forms.
std::optional<std::vector<double>> scales_of(KernelCall& call) {
  if (call.node.op == "Resize") {
    const std::size_t i = call.node.version < 11 ? 1 : 2;
    return call.has(i) ? std::optional(call.in(i).numbers()) : std::nullopt;
  }
  if (call.node.version >= 9) return call.has(1) ? std::optional(call.in(1).numbers()) : std::nullopt;
  if (const auto* list = onnx::reals(call, "scales")) return *list;
  return std::vector<double>{1, 1, call.attrs().number("height_scale", 1),
                             call.attrs().number("width_scale", 1)};
}

Status set_sizes(KernelCall& call, Plan& plan, const std::vector<std::size_t>& axes) {
  const bool by_size =
      call.node.op == "Resize" && call.node.version >= 11 && call.has(3) && call.in(3).size() > 0;
  if (!by_size) {
    const auto scales = scales_of(call);
    if (!scales || scales->size() != axes.size()) return call.bad("scales that do not fit");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      AxisResize& a = plan.axes[axes[i]];
      a.scale = (*scales)[i];
      const double size = std::floor(static_cast<double>(a.in) * a.scale);
      if (!(a.scale > 0) || !(size < 1e9)) return call.bad("a scale that does not fit");
      a.out = static_cast<std::int64_t>(size);
    }
    return {};
  }
  const auto sizes = onnx::operand_numbers(call, 3);
  if (!sizes || sizes->size() != axes.size()) return call.bad("sizes that do not fit");
  const std::string_view policy = call.attrs().text("keep_aspect_ratio_policy", "stretch");
  double ratio = policy == "not_larger" ? HUGE_VAL : 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisResize& a = plan.axes[axes[i]];
    if ((*sizes)[i] < 0 || (*sizes)[i] > (std::int64_t{1} << 30) || a.in < 1)
      return call.bad("a size that does not fit");
    a.out = (*sizes)[i], a.scale = static_cast<double>(a.out) / static_cast<double>(a.in);
    ratio = policy == "not_larger" ? std::min(ratio, a.scale) : std::max(ratio, a.scale);
  }
  if (policy == "stretch") return {};
  for (const std::size_t d : axes) {
    AxisResize& a = plan.axes[d];
    a.scale = ratio, a.out = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(a.in) + 0.5));
  }
  return {};
}

Status resize(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool old = call.node.op == "Upsample" || call.node.version < 11;
  Plan plan;
  plan.rules = {
      .coordinates = old ? "asymmetric" : call.attrs().text("coordinate_transformation_mode", "half_pixel"),
      .mode = call.attrs().text("mode", "nearest"),
      .nearest = old ? "floor" : call.attrs().text("nearest_mode", "round_prefer_floor"),
      .cubic = call.attrs().number("cubic_coeff_a", -0.75),
      .exclude_outside = call.attrs().flag("exclude_outside"),
      .antialias = call.attrs().flag("antialias")};
  if (plan.rules.mode == "bilinear") plan.rules.mode = "linear";
  if (plan.rules.mode != "nearest" && plan.rules.mode != "linear" && plan.rules.mode != "cubic")
    return call.unsupported("of this mode");
  plan.outside = call.attrs().number("extrapolation_value", 0);
  for (const std::int64_t n : x.shape) plan.axes.push_back({.in = n, .out = n});
  std::vector<std::size_t> axes;
  if (const auto listed = old ? std::nullopt : onnx::list_of(call, "axes", 99)) {
    for (const std::int64_t number : *listed) {
      const auto axis = normal_axis(number, x.shape.size());
      if (!axis) return call.bad("an axis outside the tensor");
      axes.push_back(*axis);
    }
  } else {
    for (std::size_t d = 0; d < x.shape.size(); ++d) axes.push_back(d);
  }
  if (auto ok = set_sizes(call, plan, axes); !ok) return ok;
  if (plan.rules.coordinates == "tf_crop_and_resize") {
    if (!call.has(1) || call.in(1).size() != 2 * axes.size()) return call.bad("a region that does not fit");
    for (std::size_t i = 0; i < axes.size(); ++i)
      plan.axes[axes[i]].first = call.in(1).number(i),
      plan.axes[axes[i]].last = call.in(1).number(axes.size() + i);
  }
  Shape shape;
  for (const AxisResize& a : plan.axes) {
    if (a.in < 1 && a.out > 0) return call.bad("an empty axis");
    shape.push_back(a.out);
  }
  const auto count = element_count(shape);
  if (!count || *count > (std::int64_t{1} << 32)) return call.unsupported("of this size");
  if (auto fits = charge(call, static_cast<double>(*count + static_cast<std::int64_t>(x.size())) * 8); !fits)
    return fits;
  return plan.rules.mode == "nearest" ? nearest(call, plan, shape) : interpolated(call, plan);
}

constexpr KernelEntry entries[] = {
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

std::span<const KernelEntry> onnx_resize_kernels() { return entries; }

}  // namespace md

// Inference of convolutions, pools, resizing and sampling.
#include <algorithm>
#include <cmath>

#include "lib/format/onnx/infer_rules.h"
#include "lib/graph/encode.h"

namespace md::onnx {
namespace {

struct Axis {
  std::int64_t kernel, stride, dilation, before, behind;
};

std::int64_t item(const Attributes& attrs, std::string_view name, std::size_t i, std::int64_t otherwise) {
  const auto* list = attrs.integers(name);
  return list && i < list->size() ? (*list)[i] : otherwise;
}

/// nullopt: numbers that nothing can be divided by.
std::optional<Axis> axis_of(const Site& s, std::size_t i, std::size_t axes, std::int64_t kernel) {
  const Attributes& a = s.attrs();
  Axis axis{item(a, "kernel_shape", i, kernel), item(a, "strides", i, 1), item(a, "dilations", i, 1),
            item(a, "pads", i, 0), item(a, "pads", axes + i, 0)};
  if (axis.stride < 1 || axis.dilation < 1 || axis.kernel < 1 || axis.kernel > (1LL << 31) ||
      axis.dilation > (1LL << 31))
    return std::nullopt;
  return axis;
}

std::int64_t windowed(const Site& s, std::int64_t in, const Axis& axis, bool ceil) {
  if (in < 0) return dynamic_dim;
  const std::string_view pad = s.attrs().text("auto_pad", "NOTSET");
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (pad == "SAME_UPPER" || pad == "SAME_LOWER") return (in + axis.stride - 1) / axis.stride;
  const std::int64_t total = pad == "VALID" ? in : in + axis.before + axis.behind;
  if (total < extent) return 0;
  if (!ceil) return (total - extent) / axis.stride + 1;
  std::int64_t out = (total - extent + axis.stride - 1) / axis.stride + 1;
  // A window that starts in the padding behind is none.
  if ((out - 1) * axis.stride >= in + (pad == "VALID" ? 0 : axis.before)) --out;
  return out;
}

template <std::size_t filter>
void convolution(Site& s) {
  if (!s.ranked(filter)) return;
  const Shape &x = s.shape(0), &w = s.shape(filter);
  if (x.size() < 3 || x.size() != w.size()) return s.no("the operand and the filter differ in rank");
  const std::int64_t group = s.attrs().integer("group", 1);
  if (x[1] >= 0 && w[1] >= 0 && times(w[1], group) != x[1]) return s.no("the channels do not fit the filter");
  Shape shape = {x[0], w[0]};
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (w[i] < 0 && !s.attrs().integers("kernel_shape")) {
      shape.push_back(dynamic_dim);
      continue;
    }
    const auto axis = axis_of(s, i - 2, x.size() - 2, std::max<std::int64_t>(w[i], 1));
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    shape.push_back(windowed(s, x[i], *axis, false));
  }
  s.give(0, std::move(shape));
}

void transposed(Site& s) {
  const Shape &x = s.shape(0), &w = s.shape(1);
  if (x.size() < 3 || x.size() != w.size()) return s.no("the operand and the filter differ in rank");
  Shape shape = {x[0], times(w[1], s.attrs().integer("group", 1))};
  const std::size_t axes = x.size() - 2;
  const auto* fixed = s.attrs().integers("output_shape");
  const std::string_view pad = s.attrs().text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = axis_of(s, i, axes, std::max<std::int64_t>(w[i + 2], 1));
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    if (fixed && !fixed->empty())
      shape.push_back(fixed->size() == axes       ? (*fixed)[i]
                      : fixed->size() == axes + 2 ? (*fixed)[i + 2]
                                                  : dynamic_dim);
    else if (x[i + 2] < 0 || (w[i + 2] < 0 && !s.attrs().integers("kernel_shape")))
      shape.push_back(dynamic_dim);
    else if (pad == "SAME_UPPER" || pad == "SAME_LOWER")
      shape.push_back(times(x[i + 2], axis->stride));
    else
      shape.push_back(times(x[i + 2] - 1, axis->stride) + item(s.attrs(), "output_padding", i, 0) +
                      (axis->kernel - 1) * axis->dilation + 1 -
                      (pad == "VALID" ? 0 : axis->before + axis->behind));
  }
  s.give(0, std::move(shape));
}

void pool(Site& s) {
  const Shape& x = s.shape(0);
  const auto* kernel = s.attrs().integers("kernel_shape");
  if (x.size() < 3 || !kernel || kernel->size() != x.size() - 2)
    return s.no("kernel_shape needs one number a dimension behind the channels");
  Shape shape = {x[0], x[1]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const auto axis = axis_of(s, i, x.size() - 2, 1);
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    shape.push_back(windowed(s, x[i + 2], *axis, s.attrs().flag("ceil_mode")));
  }
  s.give(0, shape);
  s.give(1, std::move(shape));
}

void unpool(Site& s) {
  const Shape& x = s.shape(0);
  if (s.has(2)) {
    if (const auto given = s.numbers(2)) {
      Shape shape = *given;
      for (std::int64_t& n : shape) n = n == unknown_number ? dynamic_dim : n;
      s.give(0, std::move(shape));
    } else {
      s.give(0, Shape(x.size(), dynamic_dim));
    }
    return;
  }
  if (x.size() < 3) return;
  Shape shape = {x[0], x[1]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const auto axis = axis_of(s, i, x.size() - 2, 1);
    if (!axis) return s.no("strides or kernel_shape are not positive");
    shape.push_back(x[i + 2] < 0
                        ? dynamic_dim
                        : times(x[i + 2] - 1, axis->stride) + axis->kernel - axis->before - axis->behind);
  }
  s.give(0, std::move(shape));
}

void roi(Site& s) {
  const Shape &x = s.shape(0), &rois = s.shape(1);
  if (x.size() != 4 || rois.size() != 2) return s.no("expected an image of rank 4 and regions of rank 2");
  if (const auto* shape = s.attrs().integers("pooled_shape"))
    return shape->size() == 2 ? s.give(0, {rois[0], x[1], (*shape)[0], (*shape)[1]}) : s.no("pooled_shape");
  s.give(0, {rois[0], x[1], s.attrs().integer("output_height", 1), s.attrs().integer("output_width", 1)});
}

void grid_sample(Site& s) {
  const Shape &x = s.shape(0), &grid = s.shape(1);
  if (x.size() != grid.size() || x.size() < 3) return s.no("the operand and the grid differ in rank");
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  s.give(0, std::move(shape));
}

void col2im(Site& s) {
  const auto image = s.numbers(1), block = s.all_numbers(2);
  const Shape& x = s.shape(0);
  if (x.size() != 3) return;
  if (!image || !block) {
    if (s.ranked(1) && s.shape(1).size() == 1 && s.shape(1)[0] > 0 && s.shape(1)[0] < 64) {
      Shape unknown(static_cast<std::size_t>(s.shape(1)[0]) + 2, dynamic_dim);
      unknown[0] = x[0];
      s.give(0, std::move(unknown));
    }
    return;
  }
  std::int64_t taps = 1;
  for (const std::int64_t n : *block) taps = times(taps, n);
  Shape shape = {x[0], x[1] < 0 || taps < 1 ? dynamic_dim : x[1] / taps};
  for (const std::int64_t n : *image) shape.push_back(n == unknown_number ? dynamic_dim : n);
  s.give(0, std::move(shape));
}

// --- resizing

std::optional<std::vector<double>> reals(const Site& s, std::size_t i) {
  if (!s.has(i) || !s.operands[i]->is_constant()) return std::nullopt;
  return decode(*s.operands[i]);
}

Shape scaled(const Shape& x, const std::vector<double>& scales) {
  Shape shape = x;
  for (std::size_t d = 0; d < shape.size() && d < scales.size(); ++d) {
    const double n = std::floor(static_cast<double>(static_cast<float>(x[d])) * scales[d]);
    shape[d] = x[d] < 0 || !(n >= 0 && n < 9e15) ? dynamic_dim : static_cast<std::int64_t>(n);
  }
  return shape;
}

void upsample(Site& s) {
  const Shape& x = s.shape(0);
  std::optional<std::vector<double>> scales;
  if (s.node.version >= 9) {
    scales = reals(s, 1);
  } else if (const AttrValue* list = s.attrs().find("scales")) {
    if (const auto* numbers = std::get_if<std::vector<double>>(list)) scales = *numbers;
  } else if (s.node.version < 7 && x.size() == 4) {
    scales = {1, 1, s.attrs().number("height_scale", 1), s.attrs().number("width_scale", 1)};
  }
  s.give(0, scales && scales->size() == x.size() ? scaled(x, *scales) : Shape(x.size(), dynamic_dim));
}

/// Sizes win; "not_larger" and "not_smaller" keep the proportions.
void resize(Site& s) {
  const Shape& x = s.shape(0);
  if (s.node.version < 11) {
    const auto scales = reals(s, 1);
    return s.give(0,
                  scales && scales->size() == x.size() ? scaled(x, *scales) : Shape(x.size(), dynamic_dim));
  }
  std::vector<std::size_t> axes;
  if (const auto* list = s.attrs().integers("axes"); list && !list->empty()) {
    for (const std::int64_t a : *list) {
      const auto axis = axis_in(a, x.size());
      if (!axis) return s.no("an axis is out of range");
      axes.push_back(*axis);
    }
  } else {
    for (std::size_t d = 0; d < x.size(); ++d) axes.push_back(d);
  }
  Shape shape = x;
  if (s.has(3)) {
    const auto sizes = s.numbers(3);
    const std::string_view policy = s.attrs().text("keep_aspect_ratio_policy", "stretch");
    if (sizes && sizes->size() != axes.size()) return s.no("sizes need one number an axis");
    double ratio = policy == "not_larger" ? HUGE_VAL : 0;
    bool known = sizes.has_value();
    for (std::size_t i = 0; known && i < axes.size(); ++i) {
      if ((*sizes)[i] < 0 || x[axes[i]] <= 0) {
        known = policy == "stretch";
        continue;
      }
      const double r = static_cast<double>((*sizes)[i]) / static_cast<double>(x[axes[i]]);
      ratio = policy == "not_larger" ? std::min(ratio, r) : std::max(ratio, r);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::int64_t& n = shape[axes[i]];
      if (!known || (*sizes)[i] == unknown_number)
        n = dynamic_dim;
      else if (policy == "stretch")
        n = (*sizes)[i];
      else
        n = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(x[axes[i]]) + 0.5));
    }
    return s.give(0, std::move(shape));
  }
  const auto scales = reals(s, 2);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& n = shape[axes[i]];
    const double size = scales && i < scales->size() ? std::floor(static_cast<double>(n) * (*scales)[i]) : -1;
    n = n < 0 || !(size >= 0 && size < 9e15) ? dynamic_dim : static_cast<std::int64_t>(size);
  }
  s.give(0, std::move(shape));
}

constexpr Rule rules[] = {
    {"Conv ConvInteger FusedConv", convolution<1>},
    {"QLinearConv", convolution<3>},
    {"DeformConv", convolution<1>},
    {"ConvTranspose", transposed, 2},
    {"AveragePool LpPool MaxPool", pool},
    {"MaxUnpool", unpool},
    {"MaxRoiPool RoiAlign", roi, 2},
    {"GridSample", grid_sample, 2},
    {"Col2Im", col2im},
    {"Upsample", upsample},
    {"Resize", resize},
};

}  // namespace

std::span<const Rule> window_rules() { return rules; }

}  // namespace md::onnx

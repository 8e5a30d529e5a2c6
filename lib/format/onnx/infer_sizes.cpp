// Inference of operators that make tensors from sizes, and of those whose sizes only values decide.
#include <algorithm>
#include <cmath>

#include "lib/format/onnx/infer_rules.h"

namespace md::onnx {
namespace {

void shape_of(Site& s) {
  const auto rank = static_cast<std::int64_t>(s.shape(0).size());
  const auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t first = bound(s.attrs().integer("start", 0)),
                     last = bound(s.attrs().integer("end", rank));
  s.give(0, {std::max<std::int64_t>(last - first, 0)});
}

void scalar(Site& s) { s.give(0, {}); }

void constant_of_shape(Site& s) {
  const auto wanted = s.numbers(0);
  s.out[0].dtype = DType::f32;
  if (const AttrValue* type = s.attrs().find("#value_dtype"))
    if (const auto* text = std::get_if<std::string>(type))
      s.out[0].dtype = dtype_from_name(*text).value_or(DType::f32);
  if (!wanted) {
    if (s.ranked(0) && s.shape(0).size() == 1 && s.shape(0)[0] >= 0 && s.shape(0)[0] < 64)
      s.give(0, Shape(static_cast<std::size_t>(s.shape(0)[0]), dynamic_dim));
    return;
  }
  Shape shape = *wanted;
  for (std::int64_t& n : shape) {
    if (n == unknown_number)
      n = dynamic_dim;
    else if (n < 0)
      return s.no("a size is negative");
  }
  s.give(0, std::move(shape));
}

void nonzero(Site& s) { s.give(0, {static_cast<std::int64_t>(s.shape(0).size()), dynamic_dim}); }

void topk(Site& s) {
  Shape shape = s.shape(0);
  const auto axis = axis_in(s.attrs().integer("axis", -1), shape.size());
  if (!axis) return s.no("the axis is out of range");
  const auto k = s.node.version < 10 ? std::optional(Numbers{s.attrs().integer("k", -1)}) : s.numbers(1);
  const bool known = k && k->size() == 1 && k->front() >= 0;
  if (known && shape[*axis] >= 0 && k->front() > shape[*axis]) return s.no("k is more than the dimension");
  shape[*axis] = known ? k->front() : dynamic_dim;
  s.give(0, shape);
  s.give(1, std::move(shape));
}

void unique(Site& s) {
  Shape shape = s.shape(0);
  const AttrValue* axis = s.attrs().find("axis");
  if (axis && std::holds_alternative<std::int64_t>(*axis)) {
    const auto at = axis_in(s.attrs().integer("axis"), shape.size());
    if (!at) return s.no("the axis is out of range");
    shape[*at] = dynamic_dim;
  } else {
    shape = {dynamic_dim};
  }
  s.give(0, std::move(shape));
  for (std::size_t i = 1; i < 4; ++i) s.give(i, {dynamic_dim});
}

void one_hot(Site& s) {
  Shape shape = s.shape(0);
  const auto depth = s.numbers(1);
  const auto axis = axis_in(s.attrs().integer("axis", -1), shape.size() + 1);
  if (!axis) return s.no("the axis is out of range");
  std::int64_t n = depth && depth->size() == 1 && depth->front() >= 0 ? depth->front() : dynamic_dim;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), n);
  s.give(0, std::move(shape));
}

void compress(Site& s) {
  Shape shape = s.shape(0);
  const AttrValue* axis = s.attrs().find("axis");
  if (!axis) return s.give(0, {dynamic_dim});
  const auto at = axis_in(s.attrs().integer("axis"), shape.size());
  if (!at) return s.no("the axis is out of range");
  shape[*at] = dynamic_dim;
  s.give(0, std::move(shape));
}

void range(Site& s) {
  const auto first = s.all_numbers(0), limit = s.all_numbers(1), step = s.all_numbers(2);
  if (!first || !limit || !step || first->size() != 1 || limit->size() != 1 || step->size() != 1 ||
      step->front() == 0)
    return s.give(0, {dynamic_dim});
  const double count = std::ceil((static_cast<double>(limit->front()) - static_cast<double>(first->front())) /
                                 static_cast<double>(step->front()));
  s.give(0, {count < 9e18 ? std::max<std::int64_t>(static_cast<std::int64_t>(count), 0) : dynamic_dim});
}

void random_of_shape(Site& s) {
  s.out[0].dtype = dtype_of_onnx(s.attrs().integer("dtype", 1)).value_or(DType::f32);
  if (const auto shape = s.list("shape", 99)) s.give(0, *shape);
}

void dtype_like(Site& s) {
  if (s.attrs().find("dtype"))
    s.out[0].dtype = dtype_of_onnx(s.attrs().integer("dtype")).value_or(DType::unknown);
  else
    s.out[0].dtype = s.dtype(0);
  s.give(0, s.shape(0));
}

void multinomial(Site& s) {
  s.out[0].dtype = dtype_of_onnx(s.attrs().integer("dtype", 6)).value_or(DType::i32);
  if (s.shape(0).size() == 2) s.give(0, {s.shape(0)[0], s.attrs().integer("sample_size", 1)});
}

void no_dimensions(Site& s) { s.give(0, {}); }
void selected_boxes(Site& s) { s.give(0, {dynamic_dim, 3}); }

void image(Site& s) {
  s.give(0, {dynamic_dim, dynamic_dim, s.attrs().text("pixel_format", "RGB") == "Grayscale" ? 1 : 3});
}

constexpr Rule rules[] = {
    {"Shape", shape_of},
    {"Size", scalar, 0},
    {"ConstantOfShape", constant_of_shape, 0},
    {"NonZero", nonzero},
    {"TopK", topk},
    {"Unique", unique},
    {"OneHot", one_hot},
    {"Compress", compress},
    {"Range", range, 0},
    {"RandomNormal RandomUniform", random_of_shape, 0},
    {"RandomNormalLike RandomUniformLike EyeLike Bernoulli", dtype_like},
    {"Multinomial", multinomial},
    {"SequenceLength OptionalHasElement", no_dimensions, 0},
    {"NonMaxSuppression", selected_boxes, 0},
    {"ImageDecoder", image, 0},
};

}  // namespace

std::span<const Rule> size_rules() { return rules; }

}  // namespace md::onnx

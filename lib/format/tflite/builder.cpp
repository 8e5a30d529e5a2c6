#include "lib/format/tflite/builder.h"

#include <algorithm>

#include "lib/graph/encode.h"

namespace md {

namespace {

Attributes no_activation() {
  Attributes attrs;
  attrs.set("fused_activation_function", EnumValue{0, "NONE"});
  return attrs;
}

std::vector<std::int64_t> list(TfliteBuilder::Numbers numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

ValueId TfliteBuilder::value_like(ValueId type, const Shape& shape) {
  const Value& v = patch_.value(type);
  return patch_.add_value(v.name, v.dtype, shape, v.quantization);
}

ValueId TfliteBuilder::int32s(Numbers numbers) {
  const auto [it, added] = int32s_.try_emplace(list(numbers), none_id);
  if (added) it->second = patch_.add_int32("numbers", numbers);
  return it->second;
}

ValueId TfliteBuilder::floats(const std::string& name, const Shape& shape, std::span<const double> values,
                              DType dtype) {
  return patch_.add_constant(name, dtype, shape, values);
}

ValueId TfliteBuilder::reshape(ValueId x, const Shape& shape, ValueId into) {
  const ValueId y = target(x, shape, into);
  const ValueId sizes = int32s(shape);
  patch_.add_node("RESHAPE", {x, sizes}, {y});
  return y;
}

ValueId TfliteBuilder::transpose(ValueId x, Numbers permutation, ValueId into) {
  Shape to;
  for (const std::int64_t axis : permutation) to.push_back(shape(x)[static_cast<std::size_t>(axis)]);
  const ValueId y = target(x, to, into);
  const ValueId order = int32s(permutation);
  patch_.add_node("TRANSPOSE", {x, order}, {y});
  return y;
}

ValueId TfliteBuilder::slice(ValueId x, Numbers begin, Numbers size, ValueId into) {
  const ValueId y = target(x, list(size), into);
  const ValueId from = int32s(begin), sizes = int32s(size);
  patch_.add_node("SLICE", {x, from, sizes}, {y});
  return y;
}

ValueId TfliteBuilder::strided_slice(ValueId x, Numbers begin, Numbers end, Numbers strides, ValueId into) {
  Shape to;
  for (std::size_t i = 0; i < begin.size(); ++i)
    to.push_back((end[i] - begin[i] + strides[i] - 1) / strides[i]);
  const ValueId y = target(x, to, into);
  const ValueId from = int32s(begin), until = int32s(end), by = int32s(strides);
  Attributes attrs;
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    attrs.set(mask, std::int64_t{0});
  patch_.add_node("STRIDED_SLICE", {x, from, until, by}, {y}, std::move(attrs));
  return y;
}

ValueId TfliteBuilder::tile(ValueId x, Numbers multiples, ValueId into) {
  Shape to = shape(x);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] *= multiples[i];
  const ValueId y = target(x, to, into);
  const ValueId times = int32s(multiples);
  patch_.add_node("TILE", {x, times}, {y});
  return y;
}

ValueId TfliteBuilder::repeat(ValueId x, Numbers multiples, ValueId into) {
  if (patch_.value(x).dtype != DType::boolean) return tile(x, multiples, into);
  // The accelerator's TILE takes no bool; its CONCATENATION does, also of one value with itself.
  const auto is_repeated = [](std::int64_t n) { return n > 1; };
  const auto last = std::find_if(multiples.rbegin(), multiples.rend(), is_repeated);
  for (std::size_t axis = 0; axis < multiples.size(); ++axis) {
    if (multiples[axis] < 2) continue;
    const bool final = axis + 1 == static_cast<std::size_t>(multiples.rend() - last);
    const std::vector<ValueId> parts(static_cast<std::size_t>(multiples[axis]), x);
    x = concatenation(parts, static_cast<int>(axis), final ? into : none_id);
  }
  return x;
}

ValueId TfliteBuilder::concatenation(const std::vector<ValueId>& parts, int axis, ValueId into) {
  Shape to = shape(parts.front());
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t i = 1; i < parts.size(); ++i) to[at] += shape(parts[i])[at];
  const ValueId y = target(parts.front(), to, into);
  Attributes attrs = no_activation();
  attrs.set("axis", std::int64_t{axis});
  patch_.add_node("CONCATENATION", parts, {y}, std::move(attrs));
  return y;
}

ValueId TfliteBuilder::gather(ValueId x, ValueId indices, int axis, ValueId into) {
  Shape to = shape(x);
  to[static_cast<std::size_t>(axis)] = shape(indices).front();
  const ValueId y = target(x, to, into);
  Attributes attrs;
  attrs.set("axis", std::int64_t{axis});
  attrs.set("batch_dims", std::int64_t{0});
  patch_.add_node("GATHER", {x, indices}, {y}, std::move(attrs));
  return y;
}

ValueId TfliteBuilder::mirror_pad(ValueId x, Numbers paddings, ValueId into) {
  Shape to = shape(x);
  std::vector<double> numbers(paddings.begin(), paddings.end());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += paddings[2 * i] + paddings[2 * i + 1];
  const auto rank = static_cast<std::int64_t>(to.size());
  const ValueId y = target(x, to, into);
  const ValueId widths = patch_.add_constant("paddings", DType::i32, {rank, 2}, numbers);
  Attributes attrs;
  attrs.set("mode", EnumValue{0, "REFLECT"});
  patch_.add_node("MIRROR_PAD", {x, widths}, {y}, std::move(attrs));
  return y;
}

ValueId TfliteBuilder::cast(ValueId x, DType dtype, ValueId into) {
  const ValueId y = into != none_id ? into : patch_.add_value(patch_.value(x).name, dtype, shape(x));
  patch_.add_node("CAST", {x}, {y});
  return y;
}

ValueId TfliteBuilder::fully_connected(ValueId x, ValueId weights, ValueId bias, ValueId into) {
  Shape to = shape(x);
  to.back() = shape(weights).front();
  const ValueId y = target(x, to, into);
  Attributes attrs = no_activation();
  attrs.set("weights_format", EnumValue{0, "DEFAULT"});
  attrs.set("keep_num_dims", true);
  attrs.set("asymmetric_quantize_inputs", false);
  patch_.add_node("FULLY_CONNECTED", {x, weights, bias}, {y}, std::move(attrs));
  return y;
}

ValueId TfliteBuilder::batch_matmul(ValueId x, ValueId y, bool adjoint_x, bool adjoint_y, ValueId into) {
  const Shape& a = shape(x);
  const Shape& b = shape(y);
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  Shape to = broadcast_shape(batch_a, batch_b).value_or(batch_a);
  to.push_back(a[a.size() - (adjoint_x ? 1 : 2)]);
  to.push_back(b[b.size() - (adjoint_y ? 2 : 1)]);
  const ValueId z = target(x, to, into);
  Attributes attrs;
  attrs.set("adj_x", adjoint_x);
  attrs.set("adj_y", adjoint_y);
  attrs.set("asymmetric_quantize_inputs", false);
  patch_.add_node("BATCH_MATMUL", {x, y}, {z}, std::move(attrs));
  return z;
}

ValueId TfliteBuilder::unary(const std::string& op, ValueId x, ValueId into) {
  const ValueId y = target(x, shape(x), into);
  patch_.add_node(op, {x}, {y});
  return y;
}

ValueId TfliteBuilder::binary(const std::string& op, ValueId x, ValueId y, ValueId into) {
  const ValueId z = target(x, broadcast_shape(shape(x), shape(y)).value_or(shape(x)), into);
  const bool fuses = op == "ADD" || op == "SUB" || op == "MUL" || op == "DIV";
  patch_.add_node(op, {x, y}, {z}, fuses ? no_activation() : Attributes{});
  return z;
}

ValueId TfliteBuilder::reduce(const std::string& op, ValueId x, Numbers axes, ValueId into) {
  Shape to = shape(x);
  for (const std::int64_t axis : axes) to[static_cast<std::size_t>(axis)] = 1;
  const ValueId y = target(x, to, into);
  const ValueId over = int32s(axes);
  Attributes attrs;
  attrs.set("keep_dims", true);
  patch_.add_node(op, {x, over}, {y}, std::move(attrs));
  return y;
}

void TfliteBuilder::copy_node(const Node& like, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.op = like.op;
  node.custom = like.custom;
  node.layer = like.layer;
  node.attrs = like.attrs;
  node.version = 0;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  patch_.add_node(std::move(node));
}

ValueId TfliteBuilder::constant_view(ValueId x, const StridedView& view, const Shape& result) {
  const Value& v = patch_.value(x);
  const std::size_t width = static_cast<std::size_t>(bit_width(v.dtype)) / 8;
  const bool per_channel = v.quantization && v.quantization->scale.size() > 1;
  const auto count = element_count(v.shape);
  if (width == 0 || v.sparsity || per_channel || !count) return none_id;
  const Bytes from = v.constant->bytes;
  if (from.size() < static_cast<std::size_t>(*count) * width) return none_id;
  if (view.digits() == StridedView::whole(v.shape).digits() &&
      view.offset == 0) {  // the same bytes: share them
    const Constant bytes = *v.constant;
    const ValueId y = value_like(x, result);
    patch_.patch().new_values.back().constant = bytes;
    return y;
  }
  std::vector<std::uint8_t> bytes;
  for (const std::int64_t i : view.indices()) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * width);
    bytes.insert(bytes.end(), at, at + static_cast<std::ptrdiff_t>(width));
  }
  return patch_.add_constant(std::string(v.name), v.dtype, result, std::move(bytes),
                             std::optional(v.quantization));
}

ValueId TfliteBuilder::move(ValueId x, const StridedView& view, const Shape& result, ValueId into) {
  if (patch_.value(x).is_constant() && into == none_id) return constant_view(x, view, result);
  if (patch_.value(x).is_constant()) {
    const ValueId moved = constant_view(x, view, result);
    return moved == none_id ? none_id : reshape(moved, result, into);
  }
  const auto steps = plan_moves(view, shape(x), result);
  if (!steps) return none_id;
  if (steps->empty()) return into == none_id ? x : reshape(x, result, into);
  for (const MoveStep& step : *steps) {
    const ValueId out = &step == &steps->back() ? into : none_id;
    switch (step.kind) {
      case MoveStep::Kind::reshape:
        x = reshape(x, step.shape, out);
        break;
      case MoveStep::Kind::transpose:
        x = transpose(x, step.numbers, out);
        break;
      case MoveStep::Kind::slice:
        x = slice(x, step.numbers, step.shape, out);
        break;
      case MoveStep::Kind::tile:
        x = repeat(x, step.numbers, out);
        break;
    }
  }
  return x;
}

}  // namespace md

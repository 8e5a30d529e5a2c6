#include "lib/format/torch/call.h"

#include <cstdlib>
#include <cstring>

#include "lib/eval/primitives/typed.h"
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
  if (std::holds_alternative<double>(*attr))
    return Tensor::of(DType::f32, {}, std::vector<double>{number(argument)}, true);
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

std::optional<AtenInput> AtenCall::operand_or_number(std::string_view argument) const {
  const bool tensor = operand(argument) != nullptr;
  auto found = value(argument);
  if (!found) return std::nullopt;
  return AtenInput{std::move(*found), !tensor};
}

bool AtenCall::given(std::string_view argument) const {
  const AttrValue* attr = attrs().find(argument);
  return attr && !std::holds_alternative<std::monostate>(*attr);
}

double AtenCall::number(std::string_view argument, double otherwise) const {
  const double given_number = given(argument) ? attrs().number(argument, otherwise) : otherwise;
  if (!call.mode().is_f16()) return given_number;
  return static_cast<double>(round_to_f16(static_cast<float>(given_number), call.mode().saturate));
}

std::optional<std::vector<bool>> AtenCall::marked_dims(std::string_view argument, int rank) const {
  const auto listed = aten_dims(call.node, argument, rank);
  if (!listed) {  // axis 0 and -1 of a tensor of rank 0 are allowed
    const std::int64_t one = attrs().integer(argument, 1);
    if (rank == 0 && (one == 0 || one == -1)) return std::vector<bool>{};
    return std::nullopt;
  }
  std::vector<bool> marked(static_cast<std::size_t>(rank), false);
  for (const int d : *listed) marked[static_cast<std::size_t>(d)] = true;
  return marked;
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
  auto out = call.make_output(i, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  cast_numbers(std::span<const double>(numbers), *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Status AtenCall::give_integers(Shape shape, const std::vector<std::int64_t>& numbers, std::size_t i) const {
  auto out = call.make_output(i, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  cast_numbers(std::span<const std::int64_t>(numbers), *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Status AtenCall::move(const Tensor& source, Shape shape, const std::vector<std::int64_t>& from,
                      std::size_t i) const {
  auto out = moved_output(call, i, source, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  if (out->size() != from.size()) return bad("a moved tensor of another size");
  const std::size_t width = source.element_bytes();
  std::byte* to = out->mutable_raw();
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] < 0)
      std::memset(to + k * width, 0, width);
    else if (static_cast<std::size_t>(from[k]) < source.size())
      std::memcpy(to + k * width, source.raw() + static_cast<std::size_t>(from[k]) * width, width);
    else
      return bad("an index outside the tensor");
  }
  call.outputs[i] = std::move(*out);
  return {};
}

Status AtenCall::give_cast(const Tensor& source, std::size_t i) const {
  if (source.dtype == call.out_value(i).dtype) {
    call.outputs[i] = source;
    return {};
  }
  auto out = call.make_output(i, source.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (source.lanes() != out->lanes()) return call.unsupported("between real and complex types");
  cast_elements(source, *out);
  call.outputs[i] = std::move(*out);
  return {};
}

Status AtenCall::give_view(const Tensor& source, const View& view, std::size_t i) const {
  auto out = moved_output(call, i, source, view.dims);
  if (!out) return tl::make_unexpected(out.error());
  read_view(source, view, *out);
  call.outputs[i] = std::move(*out);
  return {};
}

namespace {

enum class Kind { none, marks, whole, real, complex };

Kind kind_of(DType type) {
  if (type == DType::unknown) return Kind::none;
  if (type == DType::boolean) return Kind::marks;
  if (is_complex(type)) return Kind::complex;
  return is_float(type) ? Kind::real : Kind::whole;
}

/// The type that holds both, among equals.
DType wider(DType a, DType b) {
  if (a == b || b == DType::unknown) return a;
  if (a == DType::unknown) return b;
  const Kind ka = kind_of(a), kb = kind_of(b);
  if (ka != kb) {
    const DType high = ka > kb ? a : b, low = ka > kb ? b : a;
    if (kind_of(high) == Kind::complex && (low == DType::f64 || high == DType::c128)) return DType::c128;
    return kind_of(high) == Kind::complex && kind_of(low) == Kind::real && low == DType::f32 ? DType::c64
                                                                                             : high;
  }
  if (ka == Kind::real && bit_width(a) == bit_width(b)) return DType::f32;  // f16 and bf16
  if (ka == Kind::whole && is_signed(a) != is_signed(b)) {
    const DType with = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
    if (bit_width(with) > bit_width(without)) return with;
    return bit_width(without) == 8 ? DType::i16 : bit_width(without) == 16 ? DType::i32 : DType::i64;
  }
  return bit_width(a) >= bit_width(b) ? a : b;
}

}  // namespace

DType promoted(std::span<const AtenInput> operands) {
  DType level[3] = {DType::unknown, DType::unknown, DType::unknown};  // with axes, of rank 0, numbers
  for (const AtenInput& o : operands) {
    const std::size_t at = o.number ? 2 : o.tensor.rank() == 0 ? 1 : 0;
    level[at] = wider(level[at], o.tensor.dtype);
  }
  DType result = level[2];
  for (const std::size_t at : {std::size_t{1}, std::size_t{0}}) {
    const Kind above = kind_of(level[at]), below = kind_of(result);
    if (above >= below)
      result = above == Kind::none ? result : level[at];
    else if (below == Kind::complex && above == Kind::real)
      result = wider(result, level[at]);
  }
  return result;
}

}  // namespace md

// What kernels of ONNX's operators share: attributes and operands in every version's form, elementwise loops,
// moves. They only decode; the arithmetic is that of lib/eval/primitives.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/eval/kernel.h"
#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/positions.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/typed.h"

namespace md::onnx {

using Numbers = std::vector<std::int64_t>;
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The integers of an operand (absent: nullopt).
inline std::optional<Numbers> operand_numbers(const KernelCall& call, std::size_t i) {
  return index_operand(call, i);
}
/// An operand's integers where it is there, else an attribute's list; an empty list counts as absent.
std::optional<Numbers> list_of(const KernelCall& call, std::string_view attribute, std::size_t operand);
/// A number of an operand of one element, else of an attribute.
std::optional<double> number_of(const KernelCall& call, std::size_t operand);
/// An attribute's floats.
const std::vector<double>* reals(const KernelCall& call, std::string_view attribute);
const std::vector<std::string>* texts(const KernelCall& call, std::string_view attribute);
/// An attribute's float as the mode holds it (fp16 modes round it).
double real(const KernelCall& call, std::string_view attribute, double otherwise);
/// True when a later result is asked for.
bool wants(const KernelCall& call, std::size_t output);
/// Marks of the axes in a list; an empty or absent list marks all. nullopt: an axis outside the rank.
std::optional<std::vector<bool>> marked_axes(const std::optional<Numbers>& axes, std::size_t rank);
Status give(KernelCall& call, std::size_t i, Shape shape, const std::vector<double>& numbers);
Status give_integers(KernelCall& call, std::size_t i, Shape shape, const Numbers& numbers);
/// Output i: element k is element from[k] of `source`; -1 gives zero.
Status give_moved(KernelCall& call, std::size_t i, const Tensor& source, Shape shape, const Numbers& from);
/// Output i: the elements of a view of `source`.
Status give_view(KernelCall& call, std::size_t i, const Tensor& source, const View& view);
/// A tensor with other numbers and shape, for kernels that stand on others.
Result<Tensor> transposed(KernelCall& call, const Tensor& x, const Numbers& permutation);
/// The elements as another type.
Result<Tensor> cast_to(KernelCall& call, const Tensor& x, DType dtype);

/// f(element) in the arithmetic of the operand's type: floats in float or double, others in 64-bit integers.
template <class F>
Status each(KernelCall& call, F&& f) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = f(from[i]);
    });
  });
}

/// The same in floats alone.
template <class F>
Status each_real(KernelCall& call, F&& f) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = f(from[i]);
    });
  });
}

/// The shape of operands that broadcast; before opset 7 the second is stretched by attributes.
Result<Shape> joint_shape(KernelCall& call, const Shape& a, const Shape& b);
/// The second operand's shape as it is aligned ("axis" and "broadcast" before opset 7).
Shape aligned(const KernelCall& call, const Shape& a, const Shape& b);

/// f(a, b) in the arithmetic of `type`, as `R` numbers of output 0.
template <class F>
Status zip_as(KernelCall& call, DType type, const Tensor& a, const Tensor& b, F&& f) {
  if (a.lanes() != 1 || b.lanes() != 1) return call.unsupported("on complex values");
  const Shape second = aligned(call, a.shape, b.shape);
  const auto shape = joint_shape(call, a.shape, second);
  if (!shape) return tl::make_unexpected(shape.error());
  return with_arithmetic(call, type, [&](auto zero) {
    using T = decltype(zero);
    using R = decltype(f(zero, zero));
    const As<T> x(a), y(b);
    return give_numbers<R>(call, 0, *shape, [&](std::span<R> to) {
      broadcast_binary<T, R>(x.span(), a.shape, y.span(), second, to, *shape, f);
    });
  });
}

/// The same of the first two operands, in the first one's type.
template <class F>
Status zip(KernelCall& call, F&& f) {
  if (auto ok = call.need(2); !ok) return ok;
  return zip_as(call, call.in(0).dtype, call.in(0), call.in(1), f);
}

}  // namespace md::onnx

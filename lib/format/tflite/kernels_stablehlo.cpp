// STABLEHLO operators that converters leave in a .tflite file: those that are a TFLite operator under another
// name, and those that move elements.
#include <array>
#include <cstring>

#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/dialect.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

/// The same operands and attributes as the TFLite operator.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) { std::copy_n(from, N, text); }  // NOLINT: a literal becomes a name
};
template <Name Op>
Status as(KernelCall& call) {
  const KernelEntry* entry = find_kernel(dialect_tflite, Op.text);
  return entry ? entry->run(call) : call.unsupported("");
}

/// Logic on bool, bits on integers.
template <Name Logic, Name Bits>
Status logic(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  return call.in(0).dtype == DType::boolean ? as<Logic>(call) : as<Bits>(call);
}

const std::vector<std::int64_t>& list(const KernelCall& call, std::string_view name) {
  static const std::vector<std::int64_t> none;
  const auto* numbers = call.attrs().integers(name);
  return numbers ? *numbers : none;
}

Status finish(KernelCall& call, Result<Tensor> out) {
  if (!out) return tl::make_unexpected(out.error());
  call.outputs[0] = std::move(*out);
  return {};
}

Status reshape(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Shape& shape = call.out_value().shape;
  if (element_count(shape).value_or(-1) != static_cast<std::int64_t>(call.in(0).size()))
    return call.bad("the result's shape holds another number of elements");
  call.forward(0, call.in(0), shape);
  return {};
}

/// Writes the view of operand 0 as the result.
Status read(KernelCall& call, View view) {
  auto out = moved_output(call, 0, call.in(0), view.dims);
  if (!out) return tl::make_unexpected(out.error());
  if (out->size() > 0) read_view(call.in(0), view, *out);
  return finish(call, std::move(out));
}

Status transpose(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto& order = list(call, "permutation");
  const View from = whole(call.in(0).shape);
  if (order.size() != from.dims.size()) return call.bad("the permutation has another rank");
  View view;
  for (const std::int64_t d : order) {
    const auto axis = normal_axis(d, from.dims.size());
    if (!axis) return call.bad("the permutation names no axis");
    view.dims.push_back(from.dims[*axis]), view.steps.push_back(from.steps[*axis]);
  }
  return read(call, std::move(view));
}

Status slice(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto &start = list(call, "start_indices"), &end = list(call, "limit_indices"),
             &step = list(call, "strides");
  View view = whole(call.in(0).shape);
  if (start.size() != view.dims.size() || end.size() != start.size() ||
      (!step.empty() && step.size() != start.size()))
    return call.bad("the slice has another rank");
  for (std::size_t d = 0; d < start.size(); ++d) {
    const std::int64_t by = step.empty() ? 1 : step[d];
    if (start[d] < 0 || end[d] < start[d] || end[d] > view.dims[d] || by < 1)
      return call.bad("the slice leaves the operand");
    view.base += start[d] * view.steps[d];
    view.dims[d] = (end[d] - start[d] + by - 1) / by;
    view.steps[d] *= by;
  }
  return read(call, std::move(view));
}

Status broadcast_in_dim(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto listed = index_operand(call, 1);
  const auto& axes = listed ? *listed : list(call, "broadcast_dimensions");
  const View from = whole(call.in(0).shape);
  View view;
  view.dims = call.out_value().shape;
  view.steps.assign(view.dims.size(), 0);
  if (axes.size() != from.dims.size())
    return call.bad("broadcast_dimensions has another rank than the operand");
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto axis = normal_axis(axes[d], view.dims.size());
    if (!axis || (from.dims[d] != 1 && from.dims[d] != view.dims[*axis]))
      return call.bad("the operand does not broadcast to the result");
    view.steps[*axis] = from.dims[d] == 1 ? 0 : from.steps[d];
  }
  return read(call, std::move(view));
}

Status concatenate(KernelCall& call) {
  if (auto ok = call.need(std::max<std::size_t>(call.count(), 1)); !ok) return ok;
  Shape shape = call.in(0).shape;
  const auto axis = normal_axis(call.attrs().integer("dimension"), shape.size());
  if (!axis) return call.bad("the dimension is out of range");
  for (std::size_t i = 1; i < call.count(); ++i) {
    Shape other = call.in(i).shape;
    if (other.size() != shape.size()) return call.bad("operands differ in rank");
    std::swap(other[*axis], shape[*axis]);
    const std::int64_t sum = other[*axis] + shape[*axis];
    std::swap(other[*axis], shape[*axis]);
    Shape a = shape, b = other;
    a[*axis] = b[*axis] = 0;
    if (a != b) return call.bad("operands differ in shape");
    shape[*axis] = sum;
  }
  auto out = moved_output(call, 0, call.in(0), shape);
  if (!out) return tl::make_unexpected(out.error());
  View view = whole(shape);
  for (std::size_t i = 0; i < call.count(); ++i) {
    view.dims = call.in(i).shape;
    if (call.in(i).size() > 0) write_view(call.in(i), *out, view);
    view.base += view.dims[*axis] * view.steps[*axis];
  }
  return finish(call, std::move(out));
}

/// Where a dynamic slice begins: one scalar an axis, moved so that the slice stays inside.
std::optional<std::vector<std::int64_t>> starts(const KernelCall& call, std::size_t first, const Shape& shape,
                                                const Shape& size) {
  if (shape.size() != size.size() || call.count() < first + shape.size()) return std::nullopt;
  std::vector<std::int64_t> at;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!call.has(first + d) || call.in(first + d).size() != 1 || size[d] > shape[d] || size[d] < 0)
      return std::nullopt;
    at.push_back(std::clamp<std::int64_t>(call.in(first + d).integer(0), 0, shape[d] - size[d]));
  }
  return at;
}

Status dynamic_slice(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  View view = whole(call.in(0).shape);
  const Shape& size = list(call, "slice_sizes");
  const auto at = starts(call, 1, view.dims, size);
  if (!at) return call.bad("the slice does not fit the operand");
  for (std::size_t d = 0; d < size.size(); ++d) view.base += (*at)[d] * view.steps[d];
  view.dims = size;
  return read(call, std::move(view));
}

Status dynamic_update_slice(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  View view = whole(call.in(0).shape);
  const auto at = starts(call, 2, view.dims, call.in(1).shape);
  if (!at || call.in(0).store() != call.in(1).store()) return call.bad("the update does not fit the operand");
  auto out = moved_output(call, 0, call.in(0), view.dims);
  if (!out) return tl::make_unexpected(out.error());
  if (call.in(0).size() > 0) std::memcpy(out->mutable_raw(), call.in(0).raw(), call.in(0).bytes());
  for (std::size_t d = 0; d < view.dims.size(); ++d) view.base += (*at)[d] * view.steps[d];
  view.dims = call.in(1).shape;
  if (call.in(1).size() > 0) write_view(call.in(1), *out, view);
  return finish(call, std::move(out));
}

/// Padding may be negative (it cuts) and lie between elements.
Status pad(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto &low = list(call, "edge_padding_low"), &high = list(call, "edge_padding_high"),
             &between = list(call, "interior_padding");
  const Tensor& x = call.in(0);
  const std::size_t rank = x.shape.size();
  if (low.size() != rank || high.size() != rank || between.size() != rank || call.in(1).size() != 1 ||
      call.in(1).store() != x.store())
    return call.bad("the padding does not fit the operand");
  const View all = whole(x.shape);
  View from = all, to;
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d) {
    if (between[d] < 0) return call.bad("the padding between elements is negative");
    const std::int64_t step = between[d] + 1, length = x.shape[d] > 0 ? (x.shape[d] - 1) * step + 1 : 0;
    shape.push_back(std::max<std::int64_t>(0, low[d] + length + high[d]));
    // Elements first .. first + count - 1 land inside.
    const std::int64_t first = low[d] < 0 ? (-low[d] + step - 1) / step : 0;
    const std::int64_t place = low[d] + first * step;
    const std::int64_t room = shape[d] - place;
    const std::int64_t count = std::clamp<std::int64_t>(room > 0 ? (room + step - 1) / step : 0, 0,
                                                        std::max<std::int64_t>(0, x.shape[d] - first));
    from.base += first * all.steps[d];
    from.dims[d] = count;
    to.dims.push_back(count), to.steps.push_back(step);
  }
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  fill(*out, call.in(1).raw());
  const auto strides = strides_of(shape);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t step = to.steps[d];
    const std::int64_t first = low[d] < 0 ? (-low[d] + step - 1) / step : 0;
    to.base += (low[d] + first * step) * strides[d];
    to.steps[d] = step * strides[d];
  }
  if (product(from.dims) > 0) {
    Tensor kept = Tensor::make(x.dtype, from.dims, x.store() == Store::f64);
    read_view(x, from, kept);
    write_view(kept, *out, to);
  }
  return finish(call, std::move(out));
}

Status iota(KernelCall& call) {
  const Shape& shape = call.out_value().shape;
  const auto count = element_count(shape);
  const auto axis = normal_axis(call.attrs().integer("iota_dimension"), shape.size());
  if (!count || !axis) return call.bad("the result's shape is not known");
  const auto strides = strides_of(shape);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(*count));
  for (std::int64_t i = 0; i < *count; ++i)
    numbers[static_cast<std::size_t>(i)] = i / strides[*axis] % shape[*axis];
  const DType dtype = call.out_value().dtype;
  if (is_float(dtype))
    return finish(call,
                  Tensor::of(dtype, shape, std::vector<double>(numbers.begin(), numbers.end()), call.wide()));
  return finish(call, Tensor::of_integers(dtype, shape, numbers));
}

/// min(max(x, low), high); the bounds have the operand's shape or one element.
Status clamp(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &low = call.in(0), &x = call.in(1), &high = call.in(2);
  const auto fits = [&](const Tensor& bound) {
    return bound.store() == x.store() && (bound.size() == 1 || bound.shape == x.shape);
  };
  if (!fits(low) || !fits(high)) return call.bad("the bounds do not fit the operand");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = low.data<T>(), v = x.data<T>(), b = high.data<T>();
    auto y = out->mutable_data<T>();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const T floor = a[a.size() == 1 ? 0 : i], top = b[b.size() == 1 ? 0 : i];
      y[i] = v[i] < floor ? floor : v[i] > top ? top : v[i];
    }
  });
  return finish(call, std::move(out));
}

Status cube_root(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (!call.in(0).is_float()) return call.unsupported("on integers");
  std::vector<double> numbers = call.in(0).numbers();
  for (double& v : numbers) v = std::cbrt(v);
  return finish(call, Tensor::of(call.out_value().dtype, call.in(0).shape, numbers, call.wide()));
}

/// The remainder has the dividend's sign.
Status remainder(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.shape != b.shape || a.store() != b.store()) return call.bad("operands differ in shape or type");
  auto out = call.make_output(0, a.shape);
  if (!out) return tl::make_unexpected(out.error());
  with_store(a.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = a.data<T>(), y = b.data<T>();
    auto r = out->mutable_data<T>();
    for (std::size_t i = 0; i < x.size(); ++i)
      if constexpr (std::is_floating_point_v<T>)
        r[i] = std::fmod(x[i], y[i]);
      else
        r[i] = y[i] == 0 ? x[i] : y[i] == T(-1) ? T(0) : static_cast<T>(x[i] % y[i]);
  });
  return finish(call, std::move(out));
}

}  // namespace

std::span<const KernelEntry> stablehlo_kernels() {
  static const std::array rows = {
      KernelEntry{"STABLEHLO_ADD", as<"ADD">},
      KernelEntry{"STABLEHLO_SUBTRACT", as<"SUB">},
      KernelEntry{"STABLEHLO_MULTIPLY", as<"MUL">},
      KernelEntry{"STABLEHLO_DIVIDE", as<"DIV">},
      KernelEntry{"STABLEHLO_MAXIMUM", as<"MAXIMUM">},
      KernelEntry{"STABLEHLO_MINIMUM", as<"MINIMUM">},
      KernelEntry{"STABLEHLO_POWER", as<"POW">},
      KernelEntry{"STABLEHLO_REMAINDER", remainder},
      KernelEntry{"STABLEHLO_AND", logic<"LOGICAL_AND", "BITWISE_AND">},
      KernelEntry{"STABLEHLO_OR", logic<"LOGICAL_OR", "BITWISE_OR">},
      KernelEntry{"STABLEHLO_SHIFT_LEFT", as<"BITWISE_SHIFT_LEFT">},
      KernelEntry{"STABLEHLO_ABS", as<"ABS">},
      KernelEntry{"STABLEHLO_NEGATE", as<"NEG">},
      KernelEntry{"STABLEHLO_EXPONENTIAL", as<"EXP">},
      KernelEntry{"STABLEHLO_LOG", as<"LOG">},
      KernelEntry{"STABLEHLO_LOGISTIC", as<"LOGISTIC">},
      KernelEntry{"STABLEHLO_COSINE", as<"COS">},
      KernelEntry{"STABLEHLO_TANH", as<"TANH">},
      KernelEntry{"STABLEHLO_RSQRT", as<"RSQRT">},
      KernelEntry{"STABLEHLO_FLOOR", as<"FLOOR">},
      KernelEntry{"STABLEHLO_CBRT", cube_root},
      KernelEntry{"STABLEHLO_SELECT", as<"SELECT_V2">, 0b110},
      KernelEntry{"STABLEHLO_CONVERT", as<"CAST">, 0, true},
      KernelEntry{"STABLEHLO_CLAMP", clamp},
      KernelEntry{"STABLEHLO_WHILE", as<"WHILE">, 0, true},
      KernelEntry{"STABLEHLO_IOTA", iota},
      KernelEntry{"STABLEHLO_RESHAPE", reshape, 1},
      KernelEntry{"STABLEHLO_TRANSPOSE", transpose, 1},
      KernelEntry{"STABLEHLO_SLICE", slice, 1},
      KernelEntry{"STABLEHLO_BROADCAST_IN_DIM", broadcast_in_dim, 1},
      KernelEntry{"STABLEHLO_CONCATENATE", concatenate, all_operands},
      KernelEntry{"STABLEHLO_DYNAMIC_SLICE", dynamic_slice, 1},
      KernelEntry{"STABLEHLO_DYNAMIC_UPDATE_SLICE", dynamic_update_slice, 0b11},
      KernelEntry{"STABLEHLO_PAD", pad, 0b11},
  };
  return rows;
}

}  // namespace md

// Kernels of aten operators that make tensors from numbers, windows included.
#include <cmath>
#include <numbers>

#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

constexpr std::int64_t most_elements = 100'000'000;  // of a range: past that lies damage

/// zeros, ones, full, empty, and their _like and new_ forms. What empty holds is not defined: zeros here.
Status fill(KernelCall& call) {
  AtenCall c(call);
  const std::string base = aten_base(call.node.op);
  std::optional<Shape> shape = c.sizes("size");
  if (!shape && base.ends_with("_like") && call.has(0)) shape = call.in(0).shape;
  if (!shape && base == "aten.scalar_tensor") shape = Shape{};
  if (!shape) shape = call.out_value().shape;
  if (!element_count(*shape)) return call.unsupported("of a size that is not known");
  double value = base.find("ones") != std::string::npos ? 1 : 0;
  for (const char* name : {"fill_value", "s", "value"}) {
    if (c.attrs().find(name)) value = c.number(name);
    if (const Tensor* computed = c.operand(name); computed && computed->size() == 1)
      value = computed->number(0);
  }
  if (const AttrValue* flag = c.attrs().find("fill_value"); flag && std::holds_alternative<bool>(*flag))
    value = std::get<bool>(*flag) ? 1 : 0;
  const auto count = static_cast<std::size_t>(*element_count(*shape));
  const int lanes = call.out_value().dtype == DType::c64 || call.out_value().dtype == DType::c128 ? 2 : 1;
  std::vector<double> numbers(count * static_cast<std::size_t>(lanes), 0);
  for (std::size_t i = 0; i < count; ++i) numbers[i * static_cast<std::size_t>(lanes)] = value;
  return c.give(*shape, numbers);
}

/// A bound of a range: a number, or a symbol.
double bound(const AtenCall& c, std::string_view name, double otherwise) {
  if (const Tensor* computed = c.operand(name); computed && computed->size() == 1) return computed->number(0);
  return c.given(name) ? c.attrs().number(name, otherwise) : otherwise;
}

Status arange(KernelCall& call) {
  AtenCall c(call);
  const double start = bound(c, "start", 0), end = bound(c, "end", 0), step = bound(c, "step", 1);
  const double count = step == 0 ? -1 : std::ceil((end - start) / step);
  if (!(count >= 0) || count > static_cast<double>(most_elements)) return c.bad("a range without an end");
  const auto n = static_cast<std::int64_t>(count);
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    return give_numbers<T>(call, 0, {n}, [&](std::span<T> to) {
      for (std::int64_t i = 0; i < n; ++i)
        to[static_cast<std::size_t>(i)] = static_cast<T>(start) + static_cast<T>(i) * static_cast<T>(step);
    });
  });
}

Status window(KernelCall& call) {
  AtenCall c(call);
  const std::string base = aten_base(call.node.op);
  const std::int64_t n = c.attrs().integer("window_length");
  if (n < 0 || n > (1 << 24)) return c.bad("a window without a length");
  const bool periodic = c.attrs().flag("periodic", true);
  const double span = static_cast<double>(periodic ? n : n - 1);
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const double angle = n == 1 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / span;
    double v = 0.5 - 0.5 * std::cos(angle);
    if (base == "aten.hamming_window")
      v = c.attrs().number("alpha", 0.54) - c.attrs().number("beta", 0.46) * std::cos(angle);
    if (base == "aten.blackman_window") v = 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
    out.push_back(n == 1 ? 1 : v);
  }
  return c.give({n}, out);
}

/// linspace: from both ends, so that the last is exact.
Status linspace(KernelCall& call) {
  AtenCall c(call);
  const double start = c.attrs().number("start"), end = c.attrs().number("end");
  const std::int64_t steps = c.attrs().integer("steps", -1);
  if (steps < 0 || steps > most_elements) return c.bad("a range without a length");
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T first = static_cast<T>(start), last = static_cast<T>(end);
    const T step = steps > 1 ? (last - first) / static_cast<T>(steps - 1) : T(0);
    return give_numbers<T>(call, 0, {steps}, [&](std::span<T> to) {
      for (std::int64_t i = 0; i < steps; ++i)
        to[static_cast<std::size_t>(i)] =
            i < steps / 2 ? first + static_cast<T>(i) * step : last - static_cast<T>(steps - 1 - i) * step;
      if (steps == 1) to[0] = first;
    });
  });
}

Status eye(KernelCall& call) {
  AtenCall c(call);
  const std::int64_t n = c.attrs().integer("n", -1), m = c.attrs().integer("m", n);
  if (n < 0 || m < 0 || n > most_elements || m > most_elements) return c.bad("a size that is not known");
  return give_numbers<std::int64_t>(call, 0, {n, m}, [&](std::span<std::int64_t> to) {
    std::fill(to.begin(), to.end(), 0);
    for (std::int64_t i = 0; i < std::min(n, m); ++i) to[static_cast<std::size_t>(i * m + i)] = 1;
  });
}

/// tril_indices and triu_indices: rows, then columns.
Status triangle_indices(KernelCall& call) {
  AtenCall c(call);
  const bool lower = aten_base(call.node.op) == "aten.tril_indices";
  const std::int64_t rows = c.attrs().integer("row", -1), columns = c.attrs().integer("col", -1),
                     offset = c.attrs().integer("offset");
  if (rows < 0 || columns < 0 || rows > most_elements || columns > most_elements ||
      rows * columns > most_elements)
    return c.bad("a size that is not known");
  std::vector<std::int64_t> at_row, at_column;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      if (lower ? j - i <= offset : j - i >= offset) at_row.push_back(i), at_column.push_back(j);
  const auto count = static_cast<std::int64_t>(at_row.size());
  at_row.insert(at_row.end(), at_column.begin(), at_column.end());
  return c.give_integers({2, count}, at_row);
}

constexpr KernelEntry entries[] = {
    {"aten.zeros.default", fill},
    {"aten.ones.default", fill},
    {"aten.full.default", fill},
    {"aten.empty.memory_format", fill},
    {"aten.scalar_tensor.default", fill},
    {"aten.zeros_like.default", fill},
    {"aten.ones_like.default", fill},
    {"aten.full_like.default", fill},
    {"aten.empty_like.default", fill},
    {"aten.new_zeros.default", fill},
    {"aten.new_ones.default", fill},
    {"aten.new_full.default", fill},
    {"aten.new_empty.default", fill},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
    {"aten.linspace.default", linspace},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
    {"aten.tril_indices.default", triangle_indices},
    {"aten.triu_indices.default", triangle_indices},
    {"aten.hann_window.default", window},
    {"aten.hann_window.periodic", window},
    {"aten.hamming_window.default", window},
    {"aten.hamming_window.periodic", window},
    {"aten.blackman_window.default", window},
    {"aten.blackman_window.periodic", window},
};

}  // namespace

std::span<const KernelEntry> aten_factory_kernels() { return entries; }

}  // namespace md

// TOPK_V2, WHERE and STABLEHLO_SORT.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Status topk(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto k_operand = index_operand(call, 1);
  if (x.rank() < 1 || !k_operand || k_operand->size() != 1 || (*k_operand)[0] < 0 ||
      (*k_operand)[0] > x.shape.back() || call.outputs.size() != 2)
    return call.bad("k does not fit the last dimension");
  const auto k = static_cast<std::size_t>((*k_operand)[0]), n = static_cast<std::size_t>(x.shape.back());
  Shape shape = x.shape;
  shape.back() = static_cast<std::int64_t>(k);
  auto values = call.make_output(0, shape);
  if (!values) return tl::make_unexpected(values.error());
  if (values->store() != x.store()) return call.bad("the result's type is not the operand's");
  std::vector<std::int64_t> picks;
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    auto to = values->mutable_data<T>();
    std::vector<std::size_t> order(n);
    for (std::size_t row = 0; n && row < x.size() / n; ++row) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return from[row * n + a] > from[row * n + b]; });
      for (std::size_t i = 0; i < k; ++i) {
        to[row * k + i] = from[row * n + order[i]];
        picks.push_back(static_cast<std::int64_t>(order[i]));
      }
    }
  });
  call.outputs[0] = std::move(*values);
  call.outputs[1] = Tensor::of_integers(call.out_value(1).dtype, std::move(shape), picks);
  return {};
}

Status where(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto strides = strides_of(x.shape);
  std::vector<std::int64_t> found;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x.number(i) == 0) continue;
    ++rows;
    for (std::size_t d = 0; d < x.shape.size(); ++d)
      found.push_back(static_cast<std::int64_t>(i) / strides[d] % x.shape[d]);
  }
  call.outputs[0] = Tensor::of_integers(call.out_value().dtype, {rows, x.rank()}, found);
  return {};
}

/// Rows of all operands in the order that the comparator graph gives them. Each comparison runs that graph.
Status stablehlo_sort(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  constexpr std::size_t limit = 1 << 16;  // elements; every comparison is a run of a graph
  const Shape& shape = call.in(0).shape;
  const auto comparator = static_cast<int>(call.attrs().integer("comparator_subgraph_index", -1));
  std::int64_t axis = call.attrs().integer("dimension");
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (!call.call_graph || comparator < 0 || axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    return call.bad("names no comparator, or no dimension of its operand");
  if (call.in(0).size() > limit) return call.unsupported(fmt::format("of more than {} elements", limit));
  for (std::size_t i = 0; i < call.count(); ++i)
    if (call.in(i).shape != shape || call.in(i).lanes() != 1) return call.bad("operands of different shapes");
  const auto strides = strides_of(shape);
  const auto n = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const auto step = static_cast<std::size_t>(strides[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < call.count(); ++i) {
    auto out = call.make_output(i, shape);
    if (!out) return tl::make_unexpected(out.error());
    if (out->store() != call.in(i).store()) return call.bad("the result's type is not the operand's");
    call.outputs[i] = std::move(*out);
  }
  std::optional<Error> failed;
  const auto element = [&](std::size_t operand, std::size_t at) {
    Tensor one = Tensor::make(call.in(operand).dtype, {}, call.wide());
    std::memcpy(one.mutable_raw(), call.in(operand).raw() + at * call.in(operand).element_bytes(),
                call.in(operand).element_bytes());
    return one;
  };
  const auto before = [&](std::size_t a, std::size_t b) {
    std::vector<Tensor> arguments;
    for (std::size_t i = 0; i < call.count(); ++i)
      arguments.push_back(element(i, a)), arguments.push_back(element(i, b));
    auto verdict = failed ? Result<std::vector<Tensor>>(std::vector<Tensor>{})
                          : call.call_graph(comparator, std::move(arguments));
    if (!verdict) failed = verdict.error();
    return verdict && !verdict->empty() && verdict->front().number(0) != 0;
  };
  for (std::size_t first = 0; first < call.in(0).size() && n > 0; ++first) {
    if (first / step % n != 0) continue;  // not the first element of its row
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = first + i * step;
    std::stable_sort(order.begin(), order.end(), before);
    for (std::size_t k = 0; k < call.count(); ++k)
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t bytes = call.in(k).element_bytes();
        std::memcpy(call.outputs[k].mutable_raw() + (first + i * step) * bytes,
                    call.in(k).raw() + order[i] * bytes, bytes);
      }
  }
  if (failed) return tl::make_unexpected(*failed);
  return {};
}

}  // namespace

std::span<const KernelEntry> sorting_kernels() {
  static const std::array rows = {KernelEntry{"TOPK_V2", topk}, KernelEntry{"WHERE", where},
                                  KernelEntry{"STABLEHLO_SORT", stablehlo_sort}};
  return rows;
}

}  // namespace md

// TOPK_V2 and WHERE.
#include <array>
#include <numeric>

#include "lib/eval/strided.h"

namespace md {
namespace {

Status topk(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto k_operand = index_operand(call, 1);
  if (x.rank() < 1 || !k_operand || k_operand->size() != 1 || (*k_operand)[0] < 0 || (*k_operand)[0] > x.shape.back() || call.outputs.size() != 2) return call.bad("k does not fit the last dimension");
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
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return from[row * n + a] > from[row * n + b]; });
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
    for (std::size_t d = 0; d < x.shape.size(); ++d) found.push_back(static_cast<std::int64_t>(i) / strides[d] % x.shape[d]);
  }
  call.outputs[0] = Tensor::of_integers(call.out_value().dtype, {rows, x.rank()}, found);
  return {};
}

}  // namespace

std::span<const KernelEntry> sorting_kernels() {
  static const std::array rows = {KernelEntry{"TOPK_V2", topk}, KernelEntry{"WHERE", where}};
  return rows;
}

}  // namespace md

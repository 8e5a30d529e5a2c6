#include <cstring>

#include "lib/eval/kernel.h"
#include "test/toy/toy.h"

namespace md::toy {
namespace {

template <class F>
Status map(KernelCall& call, F f) {
  if (auto ok = call.need(call.count()); !ok) return ok;
  auto out = call.make_output(0, call.in(0).shape);
  if (!out) return tl::make_unexpected(out.error());
  if (!out->is_float()) return call.unsupported("on integers");
  with_store(out->store(), [&](auto zero) {
    using T = decltype(zero);
    auto to = out->template mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(f(i));
  });
  call.outputs[0] = std::move(*out);
  return {};
}

Status negate(KernelCall& call) {
  return map(call, [&](std::size_t i) { return -call.in(0).number(i); });
}
Status add(KernelCall& call) {
  return map(call, [&](std::size_t i) { return call.in(0).number(i) + call.in(1).number(i); });
}
Status grow_twofold(KernelCall& call) {
  return map(call, [&](std::size_t i) { return 2 * call.in(0).number(i); });
}
Status grow_threefold(KernelCall& call) {
  return map(call, [&](std::size_t i) { return 3 * call.in(0).number(i); });
}

Status same(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  call.forward(0, call.in(0), call.in(0).shape);
  return {};
}

/// One behind the other along the first axis.
Status join(KernelCall& call) {
  if (auto ok = call.need(call.count()); !ok) return ok;
  Shape shape = call.in(0).shape;
  if (shape.empty()) return call.bad("joins scalars");
  for (std::size_t i = 1; i < call.count(); ++i) shape[0] += call.in(i).shape[0];
  auto out = call.carriers ? call.make(call.in(0).dtype, shape) : call.make_output(0, shape);
  if (!out) return tl::make_unexpected(out.error());
  std::size_t at = 0;
  for (std::size_t i = 0; i < call.count(); ++i) {
    if (call.in(i).store() != out->store()) return call.bad("joins different types");
    std::memcpy(out->mutable_raw() + at, call.in(i).raw(), call.in(i).bytes());
    at += call.in(i).bytes();
  }
  call.outputs[0] = std::move(*out);
  return {};
}

// The second version of GROW means something else than the first; both are of a domain of their own.
constexpr KernelEntry entries[] = {
    {.op = "ADD", .run = add},
    {.op = "GROW", .run = grow_twofold, .domain = "toy.math", .since = 1, .before = 2},
    {.op = "GROW", .run = grow_threefold, .domain = "toy.math", .since = 2},
    {.op = "JOIN", .run = join, .moved_operands = all_operands},
    {.op = "NEG", .run = negate},
    {.op = "KEEP", .run = same, .moved_operands = all_operands},
};

}  // namespace

std::span<const KernelEntry> kernels() { return entries; }

}  // namespace md::toy

#include "lib/format/torch/pairs.h"

namespace md {

namespace {

/// Operands of another type than a 16-bit common one are rounded to it first.
void round_to_common(const KernelCall& call, AtenInput& input, DType common) {
  if (call.wide() || !is_float(common) || bit_width(common) != 16 || input.tensor.dtype == common) return;
  input.tensor = Tensor::of(common, input.tensor.shape, input.tensor.numbers());
}

}  // namespace

Result<Pair> real_pair(KernelCall& call, std::string_view first, std::string_view second) {
  AtenCall c(call);
  auto a = c.operand_or_number(first), b = c.operand_or_number(second);
  if (!a || !b) return call.bad("an operand is missing");
  if (a->tensor.lanes() != 1 || b->tensor.lanes() != 1) return call.unsupported("on complex values");
  auto shape = broadcast_shapes({a->tensor.shape, b->tensor.shape});
  if (!shape)
    return call.bad(
        fmt::format("{} and {} do not broadcast", shape_text(a->tensor.shape), shape_text(b->tensor.shape)));
  const DType common = promoted(*a, *b);
  round_to_common(call, *a, common), round_to_common(call, *b, common);
  return Pair{std::move(*a), std::move(*b), std::move(*shape), common};
}

}  // namespace md

// Kernels of numbers outside tensors: sizes, items, and what a program computes with them.
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Symbolic scalars are integers of rank 0 here; comparisons give 0 or 1.
Status scalar(KernelCall& call) {
  AtenCall c(call);
  const std::string_view op = call.node.op;
  const auto give = [&](std::int64_t n) {
    call.outputs[0] = Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{n});
    return Status{};
  };
  if (op == "aten.sym_size.int") {
    if (auto ok = call.need(1); !ok) return ok;
    const int dim = c.dim("dim", call.in(0).rank());
    return dim < 0 ? c.bad("an axis outside the tensor")
                   : give(call.in(0).shape[static_cast<std::size_t>(dim)]);
  }
  if (op == "aten.item.default") {
    if (auto ok = call.need(1); !ok) return ok;
    return call.in(0).size() == 1 ? give(call.in(0).integer(0)) : c.bad("several elements");
  }
  const auto a = c.value(op == "torch.sym_ite" ? "t" : "a"), b = c.value(op == "torch.sym_ite" ? "f" : "b");
  if (!a || !b || a->size() != 1 || b->size() != 1) return call.unsupported("with these operands");
  const std::int64_t x = a->integer(0), y = b->integer(0);
  if (op == "torch.sym_ite") {
    const auto choice = c.value("b");
    return choice && choice->size() == 1 ? give(choice->integer(0) ? x : y)
                                         : call.unsupported("with these operands");
  }
  const std::string_view name = op.substr(op.find('.') + 1);
  if (name == "eq") return give(x == y);
  if (name == "ne") return give(x != y);
  if (name == "lt") return give(x < y);
  if (name == "le") return give(x <= y);
  if (name == "gt") return give(x > y);
  if (name == "ge") return give(x >= y);
  if (name == "add")
    return give(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y)));
  if (name == "floordiv")
    return y ? give(x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0)) : call.bad("a division by 0");
  if (name == "mod") return y ? give((x % y + y) % y) : call.bad("a division by 0");
  if (name == "sub")
    return give(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)));
  return give(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)));
}

constexpr KernelEntry entries[] = {
    {"aten.sym_size.int", scalar},  {"aten.item.default", scalar}, {"torch.sym_ite", scalar},
    {"_operator.eq", scalar},       {"_operator.ne", scalar},      {"_operator.lt", scalar},
    {"_operator.le", scalar},       {"_operator.gt", scalar},      {"_operator.ge", scalar},
    {"_operator.add", scalar},      {"_operator.sub", scalar},     {"_operator.mul", scalar},
    {"_operator.floordiv", scalar}, {"_operator.mod", scalar},
};

}  // namespace

std::span<const KernelEntry> aten_scalar_kernels() { return entries; }

}  // namespace md

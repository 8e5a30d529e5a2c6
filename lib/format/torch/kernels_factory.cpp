// Kernels of aten operators that make tensors from numbers, windows included.
#include <numbers>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

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
  for (const char* name : {"fill_value", "s", "value"})
    if (c.attrs().find(name)) value = c.attrs().number(name);
  if (const AttrValue* flag = c.attrs().find("fill_value"); flag && std::holds_alternative<bool>(*flag))
    value = std::get<bool>(*flag) ? 1 : 0;
  const auto count = static_cast<std::size_t>(*element_count(*shape));
  const int lanes = call.out_value().dtype == DType::c64 || call.out_value().dtype == DType::c128 ? 2 : 1;
  std::vector<double> numbers(count * static_cast<std::size_t>(lanes), 0);
  for (std::size_t i = 0; i < count; ++i) numbers[i * static_cast<std::size_t>(lanes)] = value;
  return c.give(*shape, numbers);
}

/// fill_ and zero_ write into their operand.
Status fill_in_place(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  return c.give(call.in(0).shape, std::vector<double>(call.in(0).size(), c.attrs().number("value", 0)));
}

Status arange(KernelCall& call) {
  AtenCall c(call);
  const double start = c.attrs().number("start", 0), end = c.attrs().number("end"),
               step = c.attrs().number("step", 1);
  const double count = step == 0 ? 0 : std::ceil((end - start) / step);
  if (!(count >= 0) || count > 1e8) return c.bad("a range without an end");
  std::vector<double> out;
  for (double i = 0; i < count; ++i) out.push_back(start + i * step);
  return c.give({static_cast<std::int64_t>(out.size())}, out);
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
  if (name == "sub")
    return give(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)));
  return give(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)));
}

constexpr KernelEntry entries[] = {
    {"aten.sym_size.int", scalar},
    {"aten.item.default", scalar},
    {"_operator.eq", scalar},
    {"_operator.ne", scalar},
    {"_operator.lt", scalar},
    {"_operator.le", scalar},
    {"_operator.gt", scalar},
    {"_operator.ge", scalar},
    {"_operator.add", scalar},
    {"_operator.sub", scalar},
    {"_operator.mul", scalar},
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
    {"aten.fill_.Scalar", fill_in_place},
    {"aten.zero_.default", fill_in_place},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
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

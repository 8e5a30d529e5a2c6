#include <algorithm>

#include "test/toy/toy.h"

namespace md::toy {
namespace {

OpSpec row(std::string name, std::vector<std::string> operands, Primitive primitive) {
  OpSpec spec;
  spec.name = std::move(name);
  spec.required = static_cast<int>(operands.size());
  spec.operand_specs.resize(operands.size());
  spec.operands = std::move(operands);
  spec.least_operands = spec.required;
  spec.primitive = primitive;
  return spec;
}

OpTable make_table() {
  OpTable table;
  OpSpec add = row("ADD", {"a", "b"}, Primitive::zip);
  add.binary = add.commutative = true;
  OpSpec join = row("JOIN", {"x"}, Primitive::move);
  join.variadic = true;
  OpSpec negate = row("NEG", {"x"}, Primitive::map);
  negate.unary = true;
  table.ops = {add,  row("COUNTER", {"x"}, Primitive::state), row("GROW", {"x"}, Primitive::map),
               join, row("KEEP", {"x"}, Primitive::move),     negate};
  return table;  // ordered by name
}

}  // namespace

const OpTable& operators() {
  static const OpTable table = make_table();
  return table;
}

tl::expected<std::vector<ValueType>, NoType> infer(const Node& node, std::span<const Value* const> operands,
                                                   std::size_t outputs) {
  if (outputs != 1 || operands.empty() || !operands[0])
    return tl::make_unexpected(NoType{node.op + " has operands and one result", true});
  ValueType type = type_of(*operands[0]);
  for (const Value* operand : operands.subspan(1)) {
    if (!operand || operand->dtype != type.dtype || operand->rank() != static_cast<int>(type.shape.size()))
      return tl::make_unexpected(NoType{"its operands are of different types", true});
    if (node.op == "JOIN" && !type.shape.empty()) type.shape[0] += operand->shape[0];
  }
  return std::vector<ValueType>{type};
}

}  // namespace md::toy

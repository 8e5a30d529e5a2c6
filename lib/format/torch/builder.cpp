#include "lib/format/torch/builder.h"

#include <algorithm>

#include "lib/op/infer.h"

namespace md {
namespace {

/// Dimensions that are not known before run time carry the operands' symbols along: in their order.
void name_dimensions(PatchBuilder& b, ValueId out, const std::vector<AtenOperand>& operands) {
  Value& made = b.patch().new_values[new_value_index(out)];
  const auto unknown =
      std::count_if(made.shape.begin(), made.shape.end(), [](std::int64_t d) { return d < 0; });
  if (unknown == 0) return;
  for (const AtenOperand& operand : operands) {
    if (operand.value == none_id) continue;
    const Value& from = b.value(operand.value);
    std::vector<std::string> symbols;
    for (std::size_t d = 0; d < from.shape.size() && d < from.dim_names.size(); ++d)
      if (from.shape[d] < 0) symbols.push_back(from.dim_names[d]);
    if (static_cast<std::ptrdiff_t>(symbols.size()) != unknown) continue;
    std::vector<std::string> names(made.shape.size());
    std::size_t next = 0;
    for (std::size_t d = 0; d < names.size(); ++d)
      if (made.shape[d] < 0) names[d] = symbols[next++];
    made.dim_names = std::move(names);
    return;
  }
}

}  // namespace

EnumValue aten_scalar_type(DType dtype) {
  // torch._export.serde.schema.ScalarType, as dtype arguments of a .pt2 use it.
  constexpr std::pair<DType, int> numbers[] = {
      {DType::u8, 1},    {DType::i8, 2},       {DType::i16, 3},  {DType::i32, 4}, {DType::i64, 5},
      {DType::f16, 6},   {DType::f32, 7},      {DType::f64, 8},  {DType::c32, 9}, {DType::c64, 10},
      {DType::c128, 11}, {DType::boolean, 12}, {DType::bf16, 13}};
  for (const auto& [known, number] : numbers)
    if (known == dtype) return {number, std::string(name(dtype))};
  return {0, std::string(name(dtype))};
}

ValueId AtenBuilder::make(std::string op, std::vector<AtenOperand> operands, Attributes attrs, DType dtype,
                          Shape shape, std::string hint) {
  if (hint.empty()) {
    hint = op.substr(op.find('.') + 1);
    hint = hint.substr(0, hint.find('.'));
  }
  const ValueId out = add_value("md_" + hint, dtype, std::move(shape));
  name_dimensions(*this, out, operands);
  write(std::move(op), std::move(operands), std::move(attrs), out);
  return out;
}

void AtenBuilder::write(std::string op, std::vector<AtenOperand> operands, Attributes attrs, ValueId out) {
  Node node;
  node.op = std::move(op);
  for (AtenOperand& operand : operands) {
    node.inputs.push_back(operand.value);
    node.input_names.push_back(std::move(operand.name));
  }
  node.outputs = {out};
  node.attrs = std::move(attrs);
  add_node(std::move(node));
}

ValueId AtenBuilder::finish(std::string op, std::vector<AtenOperand> operands, Attributes attrs, DType dtype,
                            Shape shape) {
  if (into_ == none_id)
    return make(std::move(op), std::move(operands), std::move(attrs), dtype, std::move(shape));
  const ValueId out = into_;
  into_ = none_id;
  write(std::move(op), std::move(operands), std::move(attrs), out);
  return out;
}

ValueId AtenBuilder::unary(const std::string& op, ValueId x) {
  return finish(op, {{"self", x}}, {}, dtype(x), shape(x));
}

ValueId AtenBuilder::binary(const std::string& op, ValueId a, ValueId b) {
  const bool compares = op.starts_with("aten.eq.") || op.starts_with("aten.ne.") ||
                        op.starts_with("aten.lt.") || op.starts_with("aten.le.") ||
                        op.starts_with("aten.gt.") || op.starts_with("aten.ge.");
  const DType higher =
      dtype(a) == DType::boolean || (is_integer(dtype(a)) && is_float(dtype(b))) ? dtype(b) : dtype(a);
  return finish(op, {{"self", a}, {"other", b}}, {}, compares ? DType::boolean : higher,
                broadcast_shape(shape(a), shape(b)).value_or(shape(a)));
}

ValueId AtenBuilder::scalar(const std::string& op, ValueId x, AttrValue other, std::string argument) {
  Attributes attrs;
  attrs.set(argument, std::move(other));
  const bool compares = op.starts_with("aten.eq.") || op.starts_with("aten.ne.") ||
                        op.starts_with("aten.lt.") || op.starts_with("aten.le.") ||
                        op.starts_with("aten.gt.") || op.starts_with("aten.ge.");
  return finish(op, {{"self", x}}, std::move(attrs), compares ? DType::boolean : dtype(x), shape(x));
}

ValueId AtenBuilder::reshape(ValueId x, Shape target) {
  Attributes attrs;
  attrs.set("shape", target);
  return finish("aten.reshape.default", {{"self", x}}, std::move(attrs), dtype(x), std::move(target));
}

ValueId AtenBuilder::slice(ValueId x, int dim, std::int64_t start, std::int64_t end) {
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim}), attrs.set("start", start), attrs.set("end", end);
  Shape out = shape(x);
  out[static_cast<std::size_t>(dim)] =
      std::max<std::int64_t>(0, std::min(end, out[static_cast<std::size_t>(dim)]) - start);
  return finish("aten.slice.Tensor", {{"self", x}}, std::move(attrs), dtype(x), std::move(out));
}

ValueId AtenBuilder::select(ValueId x, int dim, std::int64_t index) {
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim}), attrs.set("index", index);
  Shape out = shape(x);
  out.erase(out.begin() + dim);
  return finish("aten.select.int", {{"self", x}}, std::move(attrs), dtype(x), std::move(out));
}

ValueId AtenBuilder::unsqueeze(ValueId x, int dim) {
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim});
  Shape out = shape(x);
  out.insert(out.begin() + dim, 1);
  return finish("aten.unsqueeze.default", {{"self", x}}, std::move(attrs), dtype(x), std::move(out));
}

ValueId AtenBuilder::flip(ValueId x, int dim) {
  Attributes attrs;
  attrs.set("dims", std::vector<std::int64_t>{dim});
  return finish("aten.flip.default", {{"self", x}}, std::move(attrs), dtype(x), shape(x));
}

ValueId AtenBuilder::cat(const std::vector<ValueId>& parts, int dim) {
  std::vector<AtenOperand> operands;
  Shape out = shape(parts.front());
  out[static_cast<std::size_t>(dim)] = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    operands.push_back({"tensors[" + std::to_string(i) + "]", parts[i]});
    out[static_cast<std::size_t>(dim)] += shape(parts[i])[static_cast<std::size_t>(dim)];
  }
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim});
  return finish("aten.cat.default", std::move(operands), std::move(attrs), dtype(parts.front()),
                std::move(out));
}

ValueId AtenBuilder::stack(const std::vector<ValueId>& parts, int dim) {
  std::vector<AtenOperand> operands;
  for (std::size_t i = 0; i < parts.size(); ++i)
    operands.push_back({"tensors[" + std::to_string(i) + "]", parts[i]});
  Shape out = shape(parts.front());
  out.insert(out.begin() + dim, static_cast<std::int64_t>(parts.size()));
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim});
  return finish("aten.stack.default", std::move(operands), std::move(attrs), dtype(parts.front()),
                std::move(out));
}

ValueId AtenBuilder::transpose(ValueId x, int a, int b) {
  Attributes attrs;
  attrs.set("dim0", std::int64_t{a}), attrs.set("dim1", std::int64_t{b});
  Shape out = shape(x);
  std::swap(out[static_cast<std::size_t>(a)], out[static_cast<std::size_t>(b)]);
  return finish("aten.transpose.int", {{"self", x}}, std::move(attrs), dtype(x), std::move(out));
}

ValueId AtenBuilder::sum(ValueId x, int dim, DType type) {
  Attributes attrs;
  attrs.set("dim", std::vector<std::int64_t>{dim}), attrs.set("dtype", aten_scalar_type(type));
  Shape out = shape(x);
  out.erase(out.begin() + dim);
  return finish("aten.sum.dim_IntList", {{"self", x}}, std::move(attrs), type, std::move(out));
}

ValueId AtenBuilder::to(ValueId x, DType type) {
  Attributes attrs;
  attrs.set("dtype", aten_scalar_type(type));
  return finish("aten.to.dtype", {{"self", x}}, std::move(attrs), type, shape(x));
}

ValueId AtenBuilder::arange(std::int64_t count, DType type) {
  Attributes attrs;
  attrs.set("end", count), attrs.set("dtype", aten_scalar_type(type)),
      attrs.set("device", std::string("cpu")), attrs.set("pin_memory", false);
  return finish("aten.arange.default", {}, std::move(attrs), type, {count});
}

ValueId AtenBuilder::matmul(ValueId a, ValueId b) {
  const Shape x = shape(a), y = shape(b);
  Shape batch = broadcast_shape(Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2))
                    .value_or(Shape(x.begin(), x.end() - 2));
  batch.push_back(x[x.size() - 2]), batch.push_back(y.back());
  return finish("aten.matmul.default", {{"self", a}, {"other", b}}, {}, dtype(a), std::move(batch));
}

void AtenBuilder::replace_uses(ValueId old, ValueId with) {
  for (const Use& use : graph().uses(old)) {
    const auto& gone = patch().removed;
    if (std::find(gone.begin(), gone.end(), use.node) == gone.end()) rewire(use.node, use.operand, with);
  }
}

void AtenBuilder::bypass(NodeId node, ValueId result, ValueId source) {
  remove(node);
  if (!graph().is_output(result)) return replace_uses(result, source);
  const NodeId maker = is_new_value(source) ? none_id : graph().producer(source);
  const auto& gone = patch().removed;
  const bool takes_over = maker != none_id && !graph().is_output(source) &&
                          std::find(gone.begin(), gone.end(), maker) == gone.end();
  if (!takes_over) return write("aten.clone.default", {{"self", source}}, {}, result);
  const auto& outputs = graph().node(maker).outputs;
  NodeChange takes;
  takes.node = maker;
  takes.outputs.emplace_back(
      static_cast<int>(std::find(outputs.begin(), outputs.end(), source) - outputs.begin()), result);
  change(std::move(takes));
  replace_uses(source, result);
}

}  // namespace md

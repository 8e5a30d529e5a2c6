// Operators that compute, at rank 4.
#include <algorithm>
#include <numeric>

#include "lib/graph/encode.h"
#include "lib/rewrite/rank_lowering.h"

namespace md {

namespace {

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                         shape.begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{1},
                         std::multiplies<>());
}

/// One axis of a shape by itself, everything before it and behind it merged; without channels behind it it is
/// the last.
struct OneAxis {
  Shape shape;
  int axis = 2;
  OneAxis(const Shape& whole, std::size_t at) {
    const std::int64_t before = product(whole, 0, at), behind = product(whole, at + 1, whole.size());
    shape = behind == 1 ? Shape{1, 1, before, whole[at]} : Shape{1, before, whole[at], behind};
    axis = behind == 1 ? 3 : 2;
  }
  Shape with(std::int64_t size) const {
    Shape s = shape;
    s[static_cast<std::size_t>(axis)] = size;
    return s;
  }
};

/// The last axis kept, the others merged to three.
Shape rows(const Shape& shape, std::int64_t last) {
  Shape lead(shape.begin(), shape.end() - 1);
  if (shape.back() != last) lead = {product(shape, 0, shape.size()) / last};
  lead = at_rank_4(lead);
  return {1, lead[0] * lead[1] * lead[2], lead[3], last};
}

/// Operators that work on each element by itself (with broadcasting where they take several).
bool is_element_wise(const std::string& op) {
  static const std::set<std::string, std::less<>> names = {"ABS",
                                                           "CAST",
                                                           "CEIL",
                                                           "COS",
                                                           "DEQUANTIZE",
                                                           "ELU",
                                                           "EXP",
                                                           "FLOOR",
                                                           "GELU",
                                                           "HARD_SWISH",
                                                           "LEAKY_RELU",
                                                           "LOG",
                                                           "LOGICAL_NOT",
                                                           "LOGISTIC",
                                                           "NEG",
                                                           "QUANTIZE",
                                                           "RELU",
                                                           "RELU6",
                                                           "RELU_0_TO_1",
                                                           "RELU_N1_TO_1",
                                                           "ROUND",
                                                           "RSQRT",
                                                           "SIGN",
                                                           "SIN",
                                                           "SQRT",
                                                           "SQUARE",
                                                           "TANH",
                                                           "ADD",
                                                           "ATAN2",
                                                           "DIV",
                                                           "EQUAL",
                                                           "FLOOR_DIV",
                                                           "FLOOR_MOD",
                                                           "GREATER",
                                                           "GREATER_EQUAL",
                                                           "LESS",
                                                           "LESS_EQUAL",
                                                           "LOGICAL_AND",
                                                           "LOGICAL_OR",
                                                           "MAXIMUM",
                                                           "MINIMUM",
                                                           "MUL",
                                                           "NOT_EQUAL",
                                                           "POW",
                                                           "SELECT_V2",
                                                           "SELECT",
                                                           "SQUARED_DIFFERENCE",
                                                           "SUB"};
  return names.count(op) != 0;
}

}  // namespace

bool RankLowering::is_plain_scalar(ValueId id) const {
  const Value& v = graph_.value(id);
  return v.is_constant() && v.rank() <= 1 && element_count(v.shape) == 1;
}

bool RankLowering::on_the_source(const Node& node) {
  // A view that only reorders commutes with the operator: apply it to what the view is made from.
  std::size_t moving = node.inputs.size();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_plain_scalar(node.inputs[i])) continue;
    if (moving != node.inputs.size()) return false;
    moving = i;
  }
  if (moving == node.inputs.size()) return false;
  const Lazy in = lazy(node.inputs[moving]);
  const ValueId out = node.outputs.front();
  const Shape source = build_.shape(in.source);
  std::int64_t elements = 1;
  for (const Digit& d : in.view.digits()) {
    if (d.stride == 0) return false;
    elements *= d.size;
  }
  if (source.size() > 4 || build_.patch().value(in.source).is_constant() ||
      elements != product(source, 0, source.size()))
    return false;
  const ValueId made = build_.value_like(out, source);
  std::vector<ValueId> inputs = node.inputs;
  inputs[moving] = in.source;
  build_.copy_node(node, std::move(inputs), {made});
  lazy_[out] = {made, in.view};
  return true;
}

bool RankLowering::element_wise(const Node& node) {
  if (!is_element_wise(node.op) || node.outputs.size() != 1) return false;
  if (on_the_source(node)) return true;
  const ValueId out = node.outputs.front();
  const Shape& whole = shape(out);
  // SELECT takes a condition of rank 1 as a choice of rows; with the full shape it is element by element.
  if (node.op == "SELECT" && shape(node.inputs.front()) != whole) return false;
  std::vector<Lazy> operands;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Lazy value = lazy(node.inputs[i]);
    const bool branch = node.op == "SELECT_V2" && i > 0;  // the accelerator broadcasts no branch but a scalar
    const bool scalar = *element_count(shape(node.inputs[i])) == 1;
    if (branch && !scalar) value.view = value.view.broadcast(whole).value_or(value.view);
    shapes.push_back(value.view.shape());
    operands.push_back(std::move(value));
  }
  MergedAxes merged = merge_axes(whole, shapes);
  // Too many groups: spread operands out until few enough are left, constants first (they are only bytes).
  for (const bool constants : {true, false})
    for (std::size_t i = 0; i < operands.size() && merged.groups > 4; ++i) {
      if (build_.patch().value(operands[i].source).is_constant() != constants || shapes[i] == whole) continue;
      const auto spread = operands[i].view.broadcast(whole);
      if (!spread || *element_count(shapes[i]) == 1) continue;
      operands[i].view = *spread;
      shapes[i] = whole;
      merged = merge_axes(whole, shapes);
    }
  if (merged.groups > 4) return decline("its operands broadcast along too many axes");
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ValueId operand =
        is_plain_scalar(node.inputs[i]) ? node.inputs[i] : written(operands[i], merged.operands[i]);
    if (operand == none_id) return false;
    inputs.push_back(operand);
  }
  const ValueId made = result(out, merged.out);
  build_.copy_node(node, std::move(inputs), {made});
  return true;
}

bool RankLowering::reduce(const Node& node) {
  const auto axes = node.inputs.size() > 1 ? decode_integers(graph_.value(node.inputs[1])) : std::nullopt;
  if (!axes) return decline("its axes are not constant");
  const ValueId in = node.inputs.front(), out = node.outputs.front();
  const Shape& whole = shape(in);
  Shape kept = whole;
  for (std::int64_t axis : *axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(whole.size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(whole.size())) return false;
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  Lazy value = lazy(in);
  MergedAxes merged = merge_axes(whole, {kept});
  if (merged.groups > 4) {  // bring the axes that stay to the front
    Shape permutation, front, back;
    for (std::size_t i = 0; i < whole.size(); ++i)
      (kept[i] == 1 ? back : front).push_back(static_cast<std::int64_t>(i));
    permutation = front;
    permutation.insert(permutation.end(), back.begin(), back.end());
    value.view = *value.view.transpose(permutation);
    const Shape ordered = value.view.shape();
    Shape ordered_kept = ordered;
    std::fill(ordered_kept.begin() + static_cast<std::ptrdiff_t>(front.size()), ordered_kept.end(), 1);
    merged = merge_axes(ordered, {ordered_kept});
  }
  std::vector<std::int64_t> over;
  for (std::size_t i = 0; i < 4; ++i)
    if (merged.operands[0][i] != merged.out[i]) over.push_back(static_cast<std::int64_t>(i));
  if (over.empty()) over.push_back(0);  // only axes of size 1: the leading one is such an axis too
  const ValueId base = written(value, merged.out);
  if (base == none_id) return false;
  const ValueId made = result(out, merged.operands[0]);
  Node like = node;
  like.attrs.set("keep_dims", true);
  build_.copy_node(like, {base, build_.int32s(over)}, {made});
  reorders_sums_ =
      reorders_sums_ || ((node.op == "SUM" || node.op == "MEAN") && is_float(graph_.value(in).dtype));
  return true;
}

bool RankLowering::along_last_axis(const Node& node) {
  const ValueId in = node.inputs.front(), out = node.outputs.front();
  const bool matmul = node.op == "FULLY_CONNECTED";
  if (matmul && (node.inputs.size() < 2 || graph_.value(node.inputs[1]).rank() != 2)) return false;
  if (shape(in).empty()) return false;
  const std::int64_t last = matmul ? shape(node.inputs[1]).back() : shape(in).back();
  if (last < 1) return false;
  const Shape wanted = rows(shape(in), last);
  const ValueId base = as(in, wanted);
  if (base == none_id) return false;
  Shape made_shape = wanted;
  Node like = node;
  if (matmul) {
    made_shape.back() = shape(node.inputs[1]).front();
    like.attrs.set("keep_num_dims", true);
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs.front() = base;
  const ValueId made = result(out, made_shape);
  build_.copy_node(like, std::move(inputs), {made});
  return true;
}

bool RankLowering::concatenate(const Node& node) {
  const ValueId out = node.outputs.front();
  const Shape& whole = shape(out);
  std::int64_t axis = node.attrs.integer("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(whole.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(whole.size())) return false;
  const auto at = static_cast<std::size_t>(axis);
  const OneAxis merged(whole, at);
  std::vector<ValueId> parts;
  for (const ValueId in : node.inputs) {
    if (node.op != "PACK" && shape(in).size() != whole.size()) return false;
    const std::int64_t size = node.op == "PACK" ? 1 : shape(in)[at];
    const ValueId part = as(in, merged.with(size));
    if (part == none_id) return false;
    parts.push_back(part);
  }
  Node like = node;
  if (node.op == "PACK") {
    like.op = "CONCATENATION";
    like.attrs = {};
    like.attrs.set("fused_activation_function", EnumValue{0, "NONE"});
  }
  like.attrs.set("axis", std::int64_t{merged.axis});
  const ValueId made = result(out, merged.shape);
  build_.copy_node(like, std::move(parts), {made});
  return true;
}

bool RankLowering::along_one_axis(const Node& node) {
  const auto axes = node.inputs.size() > 1 ? decode_integers(graph_.value(node.inputs[1])) : std::nullopt;
  if (!axes || axes->size() != 1) return decline("its axis is not a single constant");
  const ValueId in = node.inputs.front(), out = node.outputs.front();
  const Shape& whole = shape(in);
  const std::int64_t axis =
      axes->front() < 0 ? axes->front() + static_cast<std::int64_t>(whole.size()) : axes->front();
  if (axis < 0 || axis >= static_cast<std::int64_t>(whole.size())) return false;
  const OneAxis merged(whole, static_cast<std::size_t>(axis));
  const ValueId base = as(in, merged.shape);
  if (base == none_id) return false;
  Shape made_shape = merged.shape;
  const bool picks = node.op == "ARG_MAX" || node.op == "ARG_MIN";
  if (picks) made_shape.erase(made_shape.begin() + merged.axis);
  const ValueId made = result(out, made_shape);
  const Value& old = graph_.value(node.inputs[1]);
  const double number = merged.axis;
  const ValueId where = build_.patch().add_constant("axis", DType::i32, old.shape, std::span(&number, 1));
  build_.copy_node(node, {base, where}, {made});
  return true;
}

bool RankLowering::pad(const Node& node) {
  const auto widths = node.inputs.size() > 1 ? decode_integers(graph_.value(node.inputs[1])) : std::nullopt;
  const ValueId in = node.inputs.front(), out = node.outputs.front();
  Shape now = shape(in);
  if (!widths || widths->size() != 2 * now.size()) return decline("its paddings are not constant");
  Lazy value = lazy(in);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::int64_t before = (*widths)[2 * i], after = (*widths)[2 * i + 1];
    if (before == 0 && after == 0) continue;
    const OneAxis merged(now, i);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = written(value, merged.shape);
    if (inputs[0] == none_id) return false;
    std::vector<double> numbers(8, 0.0);
    numbers[2 * static_cast<std::size_t>(merged.axis)] = static_cast<double>(before);
    numbers[2 * static_cast<std::size_t>(merged.axis) + 1] = static_cast<double>(after);
    inputs[1] = build_.patch().add_constant("paddings", DType::i32, {4, 2}, numbers);
    now[i] += before + after;
    const ValueId made = build_.value_like(out, merged.with(now[i]));
    build_.copy_node(node, std::move(inputs), {made});
    value = {made, StridedView::whole(now)};
  }
  if (now != shape(out)) return false;
  lazy_[out] = value;
  return true;
}

bool RankLowering::gather(const Node& node) {
  if (node.inputs.size() < 2 || node.attrs.integer("batch_dims") != 0) return false;
  const ValueId in = node.inputs[0], out = node.outputs.front();
  const Shape& whole = shape(in);
  std::int64_t axis = node.attrs.integer("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(whole.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(whole.size())) return false;
  const auto at = static_cast<std::size_t>(axis);
  const auto indices = decode_integers(graph_.value(node.inputs[1]));
  bool run = indices.has_value() && !indices->empty();  // a run of neighbours is a slice
  for (std::size_t i = 1; run && i < indices->size(); ++i) run = (*indices)[i] == (*indices)[i - 1] + 1;
  if (run) {
    const bool done = view_of(in, out, [&](const StridedView& view) -> std::optional<StridedView> {
      const auto part = view.slice(at, indices->front(), static_cast<std::int64_t>(indices->size()));
      return part ? part->reshape(shape(out)) : std::nullopt;
    });
    if (done) return true;
  }
  const OneAxis merged(whole, at);
  const std::int64_t count = *element_count(shape(node.inputs[1]));
  const ValueId base = as(in, merged.shape);
  const ValueId flat = indices ? build_.int32s(*indices) : as(node.inputs[1], {count});
  if (base == none_id || flat == none_id) return false;
  const ValueId made = result(out, merged.with(count));
  build_.gather(base, flat, merged.axis, made);
  return true;
}

bool RankLowering::batch_matmul(const Node& node) {
  if (node.inputs.size() != 2) return false;
  const ValueId out = node.outputs.front();
  const Shape& whole = shape(out);
  if (whole.size() < 3) return false;
  const Shape batch(whole.begin(), whole.end() - 2);
  std::vector<ValueId> inputs;
  for (const ValueId in : node.inputs) {
    Lazy value = lazy(in);
    const Shape& own = shape(in);
    if (own.size() < 2) return false;
    Shape wanted = batch;
    wanted.insert(wanted.end(), own.end() - 2, own.end());
    const auto spread = value.view.broadcast(wanted);
    if (!spread) return false;
    value.view = *spread;
    const ValueId operand =
        written(value, {1, product(batch, 0, batch.size()), own[own.size() - 2], own.back()});
    if (operand == none_id) return false;
    inputs.push_back(operand);
  }
  const ValueId made =
      result(out, {1, product(batch, 0, batch.size()), whole[whole.size() - 2], whole.back()});
  build_.copy_node(node, std::move(inputs), {made});
  return true;
}

}  // namespace md

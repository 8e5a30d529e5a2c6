#include "lib/format/onnx/builder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/format/onnx/operators.h"

namespace md {
namespace {

/// "com.microsoft" of "com.microsoft.Gelu"; "" of the default domain's.
std::string domain_of(const std::string& op) {
  const std::size_t dot = op.rfind('.');
  return dot == std::string::npos ? std::string() : op.substr(0, dot);
}

}  // namespace

int onnx_set_version(const Model& model, std::string_view domain) {
  for (const OperatorSet& set : model.operator_sets)
    if (set.domain == domain) return set.version;
  return 0;
}

bool OnnxBuilder::has(std::string_view op) const { return onnx_row(op, set_) != nullptr; }

std::vector<ValueId> OnnxBuilder::add_several(const std::string& op, std::vector<ValueId> operands,
                                              Attributes attrs, std::size_t results) {
  Node node;
  node.op = op;
  node.custom = domain_of(op);
  const OpSpec* row = onnx_row(op, node.custom.empty() ? set_ : std::numeric_limits<int>::max());
  node.version = row ? row->since : 0;
  while (!operands.empty() && operands.back() == none_id) operands.pop_back();
  node.inputs = std::move(operands);
  node.attrs = std::move(attrs);
  std::vector<const Value*> values;
  for (const ValueId v : node.inputs) values.push_back(v == none_id ? nullptr : &patch_.value(v));
  const auto types = infer_onnx_types(node, values, results);
  std::vector<ValueType> made(results);
  for (std::size_t i = 0; i < results; ++i) {
    if (types && i < types->size())
      made[i] = (*types)[i];
    else if (!values.empty() && values[0])
      made[i] = {values[0]->dtype, values[0]->shape, {}};
  }
  for (const ValueType& type : made) node.outputs.push_back(patch_.add_value(op, type.dtype, type.shape));
  const std::vector<ValueId> ids = node.outputs;
  patch_.add_node(std::move(node));
  return ids;
}

ValueId OnnxBuilder::add(const std::string& op, std::vector<ValueId> operands, Attributes attrs,
                         ValueId into) {
  if (into == none_id) return add_several(op, std::move(operands), std::move(attrs), 1)[0];
  Node node;
  node.op = op;
  node.custom = domain_of(op);
  const OpSpec* row = onnx_row(op, node.custom.empty() ? set_ : std::numeric_limits<int>::max());
  node.version = row ? row->since : 0;
  while (!operands.empty() && operands.back() == none_id) operands.pop_back();
  node.inputs = std::move(operands);
  node.outputs = {into};
  node.attrs = std::move(attrs);
  patch_.add_node(std::move(node));
  return into;
}

ValueId OnnxBuilder::reshape(ValueId x, const Shape& shape, ValueId into) {
  if (set_ >= 5) return add("Reshape", {x, int64s(shape)}, {}, into);
  Attributes attrs;
  attrs.set("shape", Numbers(shape));
  return add("Reshape", {x}, std::move(attrs), into);
}

ValueId OnnxBuilder::reshape_by(ValueId x, ValueId shape, ValueId into) {
  return add("Reshape", {x, shape}, {}, into);
}

ValueId OnnxBuilder::transpose(ValueId x, Numbers permutation, ValueId into) {
  Attributes attrs;
  attrs.set("perm", std::move(permutation));
  return add("Transpose", {x}, std::move(attrs), into);
}

bool OnnxBuilder::axes_are_operands(std::string_view op) const {
  if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") return set_ >= 13;
  return set_ >= 18;  // the other reductions
}

ValueId OnnxBuilder::with_axes(const std::string& op, ValueId x, Numbers axes, Attributes attrs,
                               ValueId into) {
  std::vector<ValueId> operands = {x};
  if (axes_are_operands(op)) {
    if (!axes.empty()) operands.push_back(int64s(std::move(axes)));
  } else if (!axes.empty()) {
    if (set_ < 11)  // negative axes came with opset 11
      for (std::int64_t& axis : axes)
        if (axis < 0)
          axis += patch_.value(x).rank() + (op == "Unsqueeze" ? static_cast<std::int64_t>(axes.size()) : 0);
    attrs.set("axes", std::move(axes));
  }
  return add(op, std::move(operands), std::move(attrs), into);
}

ValueId OnnxBuilder::squeeze(ValueId x, Numbers axes, ValueId into) {
  return with_axes("Squeeze", x, std::move(axes), {}, into);
}
ValueId OnnxBuilder::unsqueeze(ValueId x, Numbers axes, ValueId into) {
  return with_axes("Unsqueeze", x, std::move(axes), {}, into);
}

ValueId OnnxBuilder::reduce(const std::string& op, ValueId x, Numbers axes, bool keep, ValueId into) {
  Attributes attrs;
  attrs.set("keepdims", std::int64_t{keep});
  return with_axes(op, x, std::move(axes), std::move(attrs), into);
}

ValueId OnnxBuilder::slice(ValueId x, Numbers starts, Numbers ends, Numbers axes, Numbers steps,
                           ValueId into) {
  if (set_ >= 10) {
    std::vector<ValueId> operands = {x, int64s(std::move(starts)), int64s(std::move(ends)),
                                     int64s(std::move(axes))};
    if (!steps.empty()) operands.push_back(int64s(std::move(steps)));
    return add("Slice", std::move(operands), {}, into);
  }
  Attributes attrs;
  attrs.set("axes", std::move(axes));
  attrs.set("ends", std::move(ends));
  attrs.set("starts", std::move(starts));
  return add("Slice", {x}, std::move(attrs), into);
}

ValueId OnnxBuilder::concat(std::vector<ValueId> parts, std::int64_t axis, ValueId into) {
  Attributes attrs;
  attrs.set("axis", axis);
  return add("Concat", std::move(parts), std::move(attrs), into);
}

std::vector<ValueId> OnnxBuilder::split(ValueId x, Numbers sizes, std::int64_t axis) {
  Attributes attrs;
  attrs.set("axis", axis);
  const std::size_t parts = sizes.size();
  if (set_ >= 13 || set_ < 2)
    return add_several("Split", {x, int64s(std::move(sizes))}, std::move(attrs), parts);
  attrs.set("split", std::move(sizes));
  return add_several("Split", {x}, std::move(attrs), parts);
}

ValueId OnnxBuilder::gather(ValueId x, ValueId indices, std::int64_t axis, ValueId into) {
  Attributes attrs;
  attrs.set("axis", axis);
  return add("Gather", {x, indices}, std::move(attrs), into);
}

ValueId OnnxBuilder::expand(ValueId x, const Shape& shape, ValueId into) {
  return add("Expand", {x, int64s(shape)}, {}, into);
}

ValueId OnnxBuilder::tile(ValueId x, Numbers repeats, ValueId into) {
  return add("Tile", {x, int64s(std::move(repeats))}, {}, into);
}

ValueId OnnxBuilder::pad(ValueId x, Numbers pads, double value, const std::string& mode, ValueId into) {
  Attributes attrs;
  if (mode != "constant") attrs.set("mode", mode);
  if (set_ >= 11) {
    std::vector<ValueId> operands = {x, int64s(std::move(pads))};
    if (mode == "constant" && value != 0) operands.push_back(number(patch_.value(x).dtype, value));
    return add("Pad", std::move(operands), std::move(attrs), into);
  }
  attrs.set(set_ < 2 ? "paddings" : "pads", std::move(pads));
  if (value != 0) attrs.set("value", value);
  return add("Pad", {x}, std::move(attrs), into);
}

ValueId OnnxBuilder::cast(ValueId x, DType dtype, ValueId into) {
  Attributes attrs;
  static constexpr std::pair<DType, std::string_view> names[] = {
      {DType::f32, "FLOAT"},    {DType::f64, "DOUBLE"}, {DType::f16, "FLOAT16"}, {DType::i8, "INT8"},
      {DType::i16, "INT16"},    {DType::i32, "INT32"},  {DType::i64, "INT64"},   {DType::u8, "UINT8"},
      {DType::u16, "UINT16"},   {DType::u32, "UINT32"}, {DType::u64, "UINT64"},  {DType::boolean, "BOOL"},
      {DType::string, "STRING"}};
  if (set_ >= 6)
    attrs.set("to", onnx_data_type(dtype).value_or(0));
  else
    for (const auto& [type, name] : names)
      if (type == dtype) attrs.set("to", std::string(name));
  return add("Cast", {x}, std::move(attrs), into);
}

ValueId OnnxBuilder::clip(ValueId x, std::optional<double> low, std::optional<double> high, ValueId into) {
  if (set_ >= 11) {
    const DType dtype = patch_.value(x).dtype;
    return add("Clip", {x, low ? number(dtype, *low) : none_id, high ? number(dtype, *high) : none_id}, {},
               into);
  }
  Attributes attrs;
  if (high) attrs.set("max", *high);
  if (low) attrs.set("min", *low);
  return add("Clip", {x}, std::move(attrs), into);
}

ValueId OnnxBuilder::softmax(ValueId x, std::int64_t axis, ValueId into, const std::string& op) {
  const int rank = patch_.value(x).rank();
  if (axis < 0) axis += rank;
  Attributes attrs;
  if (set_ >= 13 || axis == rank - 1) {
    attrs.set("axis", axis);
    return add(op, {x}, std::move(attrs), into);
  }
  Numbers last(static_cast<std::size_t>(rank));
  std::iota(last.begin(), last.end(), 0);
  std::swap(last[static_cast<std::size_t>(axis)], last.back());
  attrs.set("axis", std::int64_t{rank - 1});
  return transpose(add(op, {transpose(x, last)}, std::move(attrs)), last, into);
}

ValueId OnnxBuilder::int64s(Numbers numbers) {
  const auto found = lists_.find(numbers);
  if (found != lists_.end()) return found->second;
  std::vector<std::uint8_t> bytes;
  for (const std::int64_t n : numbers)
    for (int shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(n) >> shift));
  const ValueId made =
      patch_.add_constant("sizes", DType::i64, {static_cast<std::int64_t>(numbers.size())}, std::move(bytes));
  lists_.emplace(std::move(numbers), made);
  return made;
}

ValueId OnnxBuilder::int64(std::int64_t n) {
  const auto found = int64_.find(n);
  if (found != int64_.end()) return found->second;
  std::vector<std::uint8_t> bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(n) >> shift));
  return int64_[n] = patch_.add_constant("number", DType::i64, {}, std::move(bytes));
}

ValueId OnnxBuilder::number(DType dtype, double v) {
  const auto key = std::pair(dtype, v);
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  const double values[] = {v};
  const ValueId made = patch_.add_constant("number", dtype, {}, values);
  if (v == v) numbers_.emplace(key, made);
  return made;
}

void OnnxBuilder::copy_node(const Node& like, std::vector<ValueId> operands, std::vector<ValueId> results) {
  Node node;
  node.op = like.op;
  node.custom = like.custom;
  node.version = like.version;
  node.layer = like.layer;
  node.attrs = like.attrs;
  node.subgraphs = like.subgraphs;
  node.inputs = std::move(operands);
  node.outputs = std::move(results);
  patch_.add_node(std::move(node));
}

}  // namespace md

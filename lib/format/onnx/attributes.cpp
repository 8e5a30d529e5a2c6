// Attributes of nodes, and Constant nodes.
#include <fmt/format.h>

#include <cstring>

#include "lib/format/onnx/graph_reader.h"
#include "lib/format/onnx/operators.h"
#include "lib/graph/encode.h"
#include "lib/op/ops.h"

namespace md::onnx {
namespace {

float float_of(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

/// AttributeProto.AttributeType.
enum Kind : std::int64_t {
  kNone,
  kFloat,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kTensors,
  kGraphs
};

struct Parts {
  std::string_view name, reference;
  std::int64_t kind = kNone;
  double number = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::optional<Bytes> tensor, graph, other;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::vector<Bytes> graphs;
};

/// Before IR version 2 an attribute did not say what it is: the field that is there does.
std::int64_t kind_of_field(std::uint32_t number) {
  switch (number) {
    case 2:
      return kFloat;
    case 3:
      return kInt;
    case 4:
      return kString;
    case 5:
      return kTensor;
    case 6:
      return kGraph;
    case 7:
      return kFloats;
    case 8:
      return kInts;
    case 9:
      return kStrings;
    case 10:
      return kTensors;
    case 11:
      return kGraphs;
    default:
      return kNone;
  }
}

bool take(const Field& field, Parts& parts) {
  switch (field.number) {
    case 1:
      parts.name = field.text();
      break;
    case 2:
      parts.number = float_of(field.value);
      break;
    case 3:
      parts.integer = field.integer();
      break;
    case 4:
      parts.text = field.text();
      break;
    case 5:
      parts.tensor = field.content;
      break;
    case 6:
      parts.graph = field.content;
      break;
    case 7:
      if (field.wire == Wire::fixed32) parts.numbers.push_back(float_of(field.value));
      for (std::size_t i = 0; i + 4 <= field.content.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, field.content.data() + i, 4);
        parts.numbers.push_back(value);
      }
      break;
    case 8:
      if (field.wire == Wire::varint) parts.integers.push_back(field.integer());
      for (Bytes rest = field.content; !rest.empty();) {
        const auto value = take_varint(rest);
        if (!value) return false;
        parts.integers.push_back(static_cast<std::int64_t>(*value));
      }
      break;
    case 9:
      parts.texts.emplace_back(field.text());
      break;
    case 11:
      parts.graphs.push_back(field.content);
      break;
    case 10:
    case 14:
    case 15:
    case 22:
    case 23:
      parts.other = field.whole;
      break;
    case 20:
      parts.kind = field.integer();
      break;
    case 21:
      parts.reference = field.text();
      break;
    default:
      break;
  }
  return true;
}

std::optional<Parts> read_parts(Bytes message) {
  Parts parts;
  std::int64_t seen = kNone;
  FieldWalk walk(message);
  while (const Field* field = walk.next()) {
    if (!take(*field, parts)) return std::nullopt;
    if (const std::int64_t kind = kind_of_field(field->number); kind != kNone) seen = kind;
  }
  if (walk.broken()) return std::nullopt;
  if (parts.kind == kNone) parts.kind = seen;
  return parts;
}

Blob blob_of(Bytes bytes) { return Blob{{bytes.begin(), bytes.end()}}; }

}  // namespace

Status GraphReader::read_attribute(Bytes message, Node& node,
                                   std::vector<std::unique_ptr<GraphReader>>& bodies) {
  const auto parts = read_parts(message);
  if (!parts)
    return state_.error(message.data(),
                        fmt::format("node \"{}\" ({}): expected an attribute", node.name, node.op));
  const std::string_view name = parts->name;
  if (!parts->reference.empty()) {
    node.attrs.set("@" + std::string(name), std::string(parts->reference));
    return {};
  }
  switch (parts->kind) {
    case kFloat:
      node.attrs.set(name, parts->number);
      break;
    case kInt:
      node.attrs.set(name, parts->integer);
      break;
    case kString:
      node.attrs.set(name, std::string(parts->text));
      break;
    case kFloats:
      node.attrs.set(name, parts->numbers);
      break;
    case kInts:
      node.attrs.set(name, parts->integers);
      break;
    case kStrings:
      node.attrs.set(name, parts->texts);
      break;
    case kTensor: {
      const auto tensor = parts->tensor ? read_tensor(*parts->tensor) : std::nullopt;
      if (!tensor)
        return state_.error(message.data(), fmt::format("node \"{}\" ({}): expected a tensor as its {}",
                                                        node.name, node.op, name));
      const auto dtype = dtype_of_onnx(tensor->data_type);
      auto constant =
          node.op == "ConstantOfShape" ? constant_of(*tensor, state_.file, state_.external) : input_error("");
      Value held;
      if (constant && dtype) held.dtype = *dtype, held.shape = {}, held.constant = *constant;
      if (!constant || !dtype || constant->bytes.size() * 8 != static_cast<std::size_t>(bit_width(*dtype))) {
        node.attrs.set(name, blob_of(*parts->tensor));
        break;
      }
      const auto numbers = decode(held);
      const std::optional<double> number =
          numbers && !numbers->empty() ? std::optional(numbers->front()) : std::nullopt;
      if (is_float(*dtype))
        node.attrs.set(name, number.value_or(0));
      else
        node.attrs.set(name, static_cast<std::int64_t>(number.value_or(0)));
      node.attrs.set("#value_dtype", std::string(md::name(*dtype)));
      break;
    }
    case kGraph:
    case kGraphs: {
      std::vector<Bytes> graphs = parts->graphs;
      if (parts->graph) graphs = {*parts->graph};
      std::vector<std::int64_t> indices;
      for (const Bytes graph : graphs) {
        std::int32_t index = 0;
        if (auto done = read_body(graph, node, bodies, index); !done) return done;
        indices.push_back(index);
      }
      if (parts->kind == kGraph && !indices.empty())
        node.attrs.set(name, indices.front());
      else
        node.attrs.set(name, indices);
      break;
    }
    default:
      node.attrs.set(name, blob_of(parts->other.value_or(message)));
      break;
  }
  return {};
}

Status GraphReader::read_constant_node(NodeId id) {
  const RawNode& raw = nodes_[static_cast<std::size_t>(id)];
  if (raw.outputs.size() != 1 || raw.attributes.size() != 1 || !raw.inputs.empty()) return {};
  const auto parts = read_parts(raw.attributes.front());
  if (!parts || !parts->reference.empty()) return {};
  const ValueId made = graph().node(id).outputs.front();
  if (made == none_id) return {};
  Value& result = value(made);
  const auto hold = [&](DType dtype, Shape shape, const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    result.dtype = dtype, result.shape = std::move(shape);
    result.constant = Constant::own(std::vector<std::uint8_t>(bytes, bytes + size));
  };
  if (parts->kind == kTensor && parts->tensor) {
    const auto tensor = read_tensor(*parts->tensor);
    if (!tensor) return state_.error(raw.content.data(), "expected a tensor");
    auto constant = constant_of(*tensor, state_.file, state_.external);
    if (!constant)
      return state_.error(raw.content.data(),
                          fmt::format("constant \"{}\": {}", raw.outputs.front(), constant.error().message));
    result.dtype = dtype_of_onnx(tensor->data_type).value_or(DType::unknown);
    result.shape = tensor->shape;
    result.constant = std::move(*constant);
  } else if (parts->kind == kFloat) {
    const auto number = static_cast<float>(parts->number);
    hold(DType::f32, {}, &number, sizeof number);
  } else if (parts->kind == kInt) {
    hold(DType::i64, {}, &parts->integer, sizeof parts->integer);
  } else if (parts->kind == kInts) {
    hold(DType::i64, {static_cast<std::int64_t>(parts->integers.size())}, parts->integers.data(),
         8 * parts->integers.size());
  } else if (parts->kind == kFloats) {
    const std::vector<float> numbers(parts->numbers.begin(), parts->numbers.end());
    hold(DType::f32, {static_cast<std::int64_t>(numbers.size())}, numbers.data(), 4 * numbers.size());
  } else {
    return {};
  }
  result.unranked = false;
  result.dim_names.clear();
  value_place(made).constant_node = id;
  producer_[static_cast<std::size_t>(made)] = none_id;
  place().nodes[static_cast<std::size_t>(id)].constant = true;
  return {};
}

}  // namespace md::onnx

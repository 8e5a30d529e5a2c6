#include "test/generated_models.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lib/format/tflite/dialect.h"
#include "lib/format/tflite/op_versions.h"
#include "lib/graph/document.h"
#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "lib/op/ops.h"
#include "tflite_generated.h"

namespace md::test {
namespace {

constexpr std::int64_t most_elements = 4096;  // of one tensor

bool is_quantized_type(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16;
}

/// A model with one graph and nothing in it.
std::string empty_model() {
  flatbuffers::FlatBufferBuilder b;
  const std::vector<std::int32_t> none;
  const auto graph = tflite::CreateSubGraph(
      b, b.CreateVector(std::vector<flatbuffers::Offset<tflite::Tensor>>()), b.CreateVector(none),
      b.CreateVector(none), b.CreateVector(std::vector<flatbuffers::Offset<tflite::Operator>>()));
  const auto codes = b.CreateVector(std::vector<flatbuffers::Offset<tflite::OperatorCode>>());
  const auto graphs = b.CreateVector(std::vector{graph});
  const auto buffers = b.CreateVector(std::vector{tflite::CreateBuffer(b)});
  b.Finish(tflite::CreateModel(b, 3, codes, graphs, b.CreateString("generated"), buffers), "TFL3");
  return std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
}

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "the generator is wrong: %s\n", why.c_str());
  std::abort();
}

}  // namespace

std::int64_t ModelMaker::size(std::int64_t largest) {
  static constexpr std::int64_t sizes[] = {1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16};
  return std::min(sizes[static_cast<std::size_t>(below(std::size(sizes)))], largest);
}

Shape ModelMaker::shape(int lowest_rank, int highest_rank) {
  Shape shape(static_cast<std::size_t>(lowest_rank + below(highest_rank - lowest_rank + 1)));
  for (auto& d : shape) d = size(shape.size() > 4 ? 4 : 16);
  while (element_count(shape).value_or(0) > most_elements)
    for (auto& d : shape) d = std::max<std::int64_t>(1, d / 2);
  return shape;
}

DType ModelMaker::type() {
  const std::int64_t pick = below(20);
  return pick < 13   ? DType::f32
         : pick < 15 ? DType::i8
         : pick < 17 ? DType::i32
         : pick < 18 ? DType::i64
         : pick < 19 ? DType::boolean
                     : DType::f32;
}

std::optional<Quantization> ModelMaker::scales(DType dtype) {
  if (!is_quantized_type(dtype)) return std::nullopt;
  Quantization q;
  q.scale = {static_cast<float>(0.001 * static_cast<double>(1 + below(200)))};
  q.zero_point = {dtype == DType::i16 ? 0 : dtype == DType::u8 ? below(256) : below(256) - 128};
  return q;
}

ValueId ModelMaker::add(Value value) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  value.name = "v" + std::to_string(id);
  graph_.values.push_back(std::move(value));
  return id;
}

ValueId ModelMaker::input(DType dtype, Shape shape) {
  Value value;
  value.dtype = dtype, value.shape = std::move(shape), value.quantization = scales(dtype);
  const ValueId id = add(std::move(value));
  graph_.inputs.push_back(id);
  live_.push_back(id);
  return id;
}

ValueId ModelMaker::operand(DType dtype, int lowest_rank, int highest_rank) {
  for (int tries = 0; tries < 6 && !live_.empty() && !chance(10); ++tries) {
    // The last ones more often, so that chains grow.
    const auto back = std::min<std::int64_t>(below(static_cast<std::int64_t>(live_.size())),
                                             below(static_cast<std::int64_t>(live_.size())));
    const ValueId id = live_[live_.size() - 1 - static_cast<std::size_t>(back)];
    const Value& there = value(id);
    if (there.dtype == dtype && there.rank() >= lowest_rank && there.rank() <= highest_rank) return id;
  }
  return input(dtype, shape(lowest_rank, highest_rank));
}

ValueId ModelMaker::operand(DType dtype, const Shape& wanted) {
  for (const ValueId id : live_)
    if (value(id).dtype == dtype && value(id).shape == wanted && chance(70)) return id;
  return input(dtype, wanted);
}

ValueId ModelMaker::constant(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  Value value;
  value.dtype = dtype, value.shape = shape, value.quantization = scales(dtype);
  value.constant = Constant::own(encode(dtype, shape, numbers));
  return add(std::move(value));
}

ValueId ModelMaker::integers(const std::vector<std::int64_t>& numbers, DType dtype) {
  return constant(dtype, {static_cast<std::int64_t>(numbers.size())},
                  std::vector<double>(numbers.begin(), numbers.end()));
}

ValueId ModelMaker::number(DType dtype, double number) { return constant(dtype, {}, {number}); }

ValueId ModelMaker::random_constant(DType dtype, const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape).value_or(0)));
  const bool special = chance(15);
  for (double& v : numbers)
    v = dtype == DType::boolean ? static_cast<double>(below(2))
        : is_float(dtype)       ? (special ? static_cast<double>(below(3) - 1) : random_.normal())
                                : static_cast<double>(below(17) - 8);
  return constant(dtype, shape, numbers);
}

ValueId ModelMaker::weights(DType dtype, const Shape& shape) {
  if (dtype != DType::f32 || chance(60)) return random_constant(dtype, shape);
  const ValueId stored = random_constant(chance(60) ? DType::f16 : DType::i8, shape);
  const auto made = emit_as("DEQUANTIZE", {stored}, {}, {{DType::f32, shape, {}}});
  live_.pop_back();  // weights, not data
  return made[0];
}

ValueId ModelMaker::partner(DType dtype, const Shape& shape) {
  Shape narrow = shape;
  if (chance(40))
    for (auto& d : narrow)
      if (chance(50)) d = 1;
  if (chance(20) && !narrow.empty())
    narrow.erase(narrow.begin(), narrow.begin() + below(static_cast<std::int64_t>(narrow.size()) + 1));
  if (chance(50)) return weights(dtype, narrow);
  return operand(dtype, narrow);
}

void ModelMaker::set_enum(Attributes& attrs, std::string_view op, std::string_view attribute,
                          std::int64_t number) const {
  const OpSpec* spec = find_op(dialect("tflite"), op);
  const AttributeSpec* found = spec ? spec->find(attribute) : nullptr;
  if (!found || !found->enumeration) stop("no enumeration " + std::string(attribute));
  attrs.set(attribute, EnumValue{number, found->enumeration->values.at(static_cast<std::size_t>(number))});
}

std::vector<ValueId> ModelMaker::emit(const std::string& op, std::vector<ValueId> inputs, Attributes attrs,
                                      std::size_t outputs) {
  Node node;
  node.op = op, node.attrs = attrs;
  // Scales are this generator's choice; inference is asked about types and shapes.
  std::vector<Value> plain;
  for (const ValueId v : inputs) {
    plain.push_back(v < 0 ? Value() : value(v));
    plain.back().quantization.reset();
  }
  std::vector<const Value*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(inputs[i] < 0 ? nullptr : &plain[i]);
  auto types = infer_types(dialect("tflite"), node, operands, outputs);
  if (!types) return {};
  for (ValueType& type : *types) {
    const auto count = element_count(type.shape);
    if (!count || *count > most_elements || type.shape.size() > 6) return {};
    const OpSpec* spec = find_op(dialect("tflite"), op);
    const bool keeps = spec && spec->moves() && inputs[0] >= 0 && value(inputs[0]).dtype == type.dtype;
    type.quantization = keeps ? value(inputs[0]).quantization : scales(type.dtype);
  }
  return emit_as(op, std::move(inputs), std::move(attrs), *types);
}

std::vector<ValueId> ModelMaker::emit_as(const std::string& op, std::vector<ValueId> inputs, Attributes attrs,
                                         const std::vector<ValueType>& types) {
  Node node;
  node.op = op, node.attrs = std::move(attrs), node.inputs = std::move(inputs), node.version = 0;
  std::vector<const Value*> operands;
  for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &value(v));
  set_derived_attributes(node, operands, types);
  for (const ValueType& type : types) {
    Value value;
    value.dtype = type.dtype, value.shape = type.shape, value.quantization = type.quantization;
    node.outputs.push_back(add(std::move(value)));
  }
  live_.insert(live_.end(), node.outputs.begin(), node.outputs.end());
  graph_.order.push_back(static_cast<NodeId>(graph_.nodes.size()));
  graph_.nodes.push_back(node);
  return node.outputs;
}

Graph ModelMaker::finish() {
  std::set<ValueId> read;
  for (const Node& node : graph_.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (const Node& node : graph_.nodes)
    for (const ValueId v : node.outputs)
      if (!read.count(v) || chance(12)) graph_.outputs.push_back(v);
  graph_.name = "main";
  graph_.index();
  return graph_;
}

std::string generated_model(std::uint64_t seed) {
  const auto& operators = made_operators();
  ModelMaker maker(seed * 0x9e3779b97f4a7c15u + 1);
  const std::int64_t wanted = 1 + maker.below(8);
  // The first operator goes through the whole list, so that a few thousand models hold each many times.
  std::size_t next = static_cast<std::size_t>(seed) % operators.size();
  for (std::int64_t made = 0, tries = 0; made < wanted && tries < 64; ++tries) {
    if (operators[next].make(maker, std::string(operators[next].op))) ++made;
    next = static_cast<std::size_t>(maker.below(static_cast<std::int64_t>(operators.size())));
  }
  const auto document = open_document(MappedFile::from_bytes("empty.tflite", empty_model()));
  if (!document) stop(document.error().message);
  Model model = (*document)->model();
  model.graphs[0] = maker.finish();
  settle_operator_versions((*document)->model(), model);
  MemorySink sink;
  if (auto written = (*document)->write(model, sink); !written) stop(written.error().message);
  return sink.bytes;
}

std::set<std::string> operators_of(const std::string& bytes) {
  std::set<std::string> names;
  const auto document = open_document(MappedFile::from_bytes("m.tflite", bytes));
  if (!document) return names;
  for (const Node& node : (*document)->model().graphs[0].nodes) names.insert(node.op);
  return names;
}

}  // namespace md::test

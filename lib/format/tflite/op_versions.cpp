// Operator versions of the TFLite format: which version an operator must carry for the types, ranks and
// attributes of its operands (the rules that converters follow when they write a model).
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "lib/format/tflite/op_versions.h"

namespace md {
namespace {

/// By type of the first operand: "type:version", separated by blanks; what is not listed is 1 ("*" changes
/// that).
struct TypeRow {
  std::string_view ops, versions;
};
constexpr TypeRow by_first_operand[] = {
    {"ABS", "i32:5 i16:4 i8:2 u8:2"},
    {"RELU", "i16:3 i8:2 u8:2"},
    {"RELU6 RSQRT MEAN MIRROR_PAD REDUCE_MAX REDUCE_MIN TANH LOGISTIC MAX_POOL_2D AVERAGE_POOL_2D LESS "
     "GREATER_EQUAL BATCH_MATMUL",
     "i16:3 i8:2"},
    {"EXP LOG SQRT REDUCE_PROD FLOOR_MOD", "i8:2 i16:2"},
    {"SUM LOG_SOFTMAX GREATER LESS_EQUAL SQUARED_DIFFERENCE DEPTH_TO_SPACE SPACE_TO_DEPTH L2_NORMALIZATION",
     "i8:2"},
    {"GELU", "f16:3 i8:2 u8:2"},
    {"SOFTMAX", "f16:4 i16:3 i8:2"},
    {"SIGN", "i32:2"},
    {"SIN COS", "f16:2"},
    {"LEAKY_RELU", "i16:2"},
    {"FLOOR_DIV", "i16:3 i8:3 f32:2"},
    {"EQUAL", "i16:5 string:3 i8:2"},
    {"NOT_EQUAL", "i16:4 string:3 i8:2"},
    {"ADD", "f16:6 i16:5 i64:4 i8:2"},
    {"MUL", "f16:8 i16:7 u32:7 c64:6 i64:5 i8:2"},
    {"SUB", "i16:5 i64:4 i8:2"},
    {"MAXIMUM MINIMUM", "i16:4 i8:2"},
    {"CONCATENATION", "f8e4m3fn:7 f8e5m2:7 f16:6 i4:5 u32:4 i16:3 i8:2"},
    {"PACK", "f8e4m3fn:5 f8e5m2:5 u32:4 i16:3 i8:2"},
    {"UNPACK", "f8e4m3fn:6 f8e5m2:6 f16:5 bf16:5 i16:4 bool:3 i8:2 u8:2"},
    {"TILE", "i8:3 string:2"},
    {"SQUEEZE", "string:2"},
    {"ARG_MAX ARG_MIN", "bool:3 i8:2"},
    {"REVERSE_V2", "f8e4m3fn:4 f8e5m2:4 i8:3 bool:2"},
    {"RANGE", "i64:2"},
    {"SELECT_V2", "u32:2"},
    {"SPLIT_V", "f8e4m3fn:3 f8e5m2:3 i8:2"},
    {"BROADCAST_TO", "f8e4m3fn:4 f8e5m2:4 i8:3 i16:3 *:2"},
    {"WHERE", "bool:1 *:2"},
    {"GATHER_ND", "f8e4m3fn:6 f8e5m2:6 bool:5 i16:3 string:2"},
    {"SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND", "i16:4 i8:2"},
    {"QUANTIZE", "u4:5 i4:4"},
    {"DEQUANTIZE", "f8e4m3fn:9 f8e5m2:9 u4:8 i2:7 i4:6 i16:3 f16:3 i8:2"},
    {"GATHER", "f8e4m3fn:8 f8e5m2:8 i4:7 i16:4 bool:3 i8:2"},
    {"DYNAMIC_UPDATE_SLICE", "bf16:6 i4:5 i16:4 f16:3"},
    {"TOPK_V2", "i16:3 i8:2"},
    {"SELECT", "u32:4 i8:2"},
};

bool word_in(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

int version_in_row(std::string_view versions, DType type) {
  int otherwise = 1;
  for (std::size_t at = 0; at < versions.size();) {
    const std::size_t end = std::min(versions.find(' ', at), versions.size());
    const std::string_view entry = versions.substr(at, end - at);
    const std::size_t colon = entry.find(':');
    const int version = entry[colon + 1] - '0';
    if (entry.substr(0, colon) == name(type)) return version;
    if (entry[0] == '*') otherwise = version;
    at = end + 1;
  }
  return otherwise;
}

/// What the rules look at.
struct Operands {
  const Graph& graph;
  const Node& node;
  const Value* input(std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] >= 0 ? &graph.value(node.inputs[i]) : nullptr;
  }
  const Value* output(std::size_t i = 0) const {
    return i < node.outputs.size() && node.outputs[i] >= 0 ? &graph.value(node.outputs[i]) : nullptr;
  }
  DType type(std::size_t i) const { return input(i) ? input(i)->dtype : DType::unknown; }
  DType result(std::size_t i = 0) const { return output(i) ? output(i)->dtype : DType::unknown; }
  int rank(std::size_t i = 0) const { return input(i) ? input(i)->rank() : 0; }
  bool scales(const Value* value, std::size_t at_least) const {
    return value && value->quantization && value->quantization->scale.size() >= at_least;
  }
  bool per_channel(std::size_t i) const { return scales(input(i), 2); }
  bool hybrid(std::size_t weights) const {
    return type(0) == DType::f32 && type(weights) == DType::i8 && result() == DType::f32;
  }
  bool all_of(DType t) const { return type(0) == t && type(1) == t && result() == t; }
  bool flag(std::string_view name) const { return node.attrs.flag(name); }
  std::int64_t number(std::string_view name) const { return node.attrs.integer(name); }
  /// Different shapes of the two operands, one of rank above 4.
  bool broadcasts_above_rank_4() const {
    return input(0) && input(1) && input(0)->shape != input(1)->shape && std::max(rank(0), rank(1)) > 4;
  }
};

int convolution(const Operands& o) {
  if (o.type(0) == DType::i16 && o.type(1) == DType::i8 && o.result() == DType::i16 &&
      o.number("quantized_bias_type") != 0)
    return 8;
  const Value *in = o.input(0), *weights = o.input(1);
  const bool grouped =
      in && weights && in->rank() == 4 && weights->rank() == 4 && weights->shape[3] != in->shape[3];
  if (grouped) return 6;
  if (o.all_of(DType::i16)) return 4;
  if (o.all_of(DType::i8)) return 3;
  if (o.type(0) == DType::i8 && o.type(1) == DType::i4 && o.result() == DType::i8) return 7;
  if (o.hybrid(1)) return o.per_channel(1) ? 5 : 2;
  return 1;
}

int depthwise_convolution(const Operands& o) {
  if (o.all_of(DType::i16)) return 5;
  if (o.hybrid(1)) return o.per_channel(1) ? 6 : 4;
  if (o.all_of(DType::i8)) return 3;
  if (o.type(0) == DType::i8 && o.type(1) == DType::i4 && o.result() == DType::i8) return 7;
  const auto dilation = [&](std::string_view name) { return o.node.attrs.integer(name, 1); };
  return dilation("dilation_w_factor") != 1 || dilation("dilation_h_factor") != 1 ? 2 : 1;
}

int fully_connected(const Operands& o) {
  if (o.type(1) == DType::i2) return 14;
  if (o.type(0) == DType::i16 && o.type(1) == DType::i4 && o.result() == DType::i16) return 13;
  if (o.hybrid(1) && o.per_channel(1)) return 12;
  if (o.type(0) == DType::i16 && o.type(1) == DType::i8 && o.result() == DType::i16 &&
      o.number("quantized_bias_type") != 0)
    return 11;
  if (o.input(1) && o.input(1)->sparsity) return 8;
  if (o.all_of(DType::i16)) return 7;
  if (o.node.inputs.size() == 2) return 6;
  if (o.flag("keep_num_dims")) return 5;
  if (o.all_of(DType::i8)) return 4;
  if (o.type(0) == DType::i8 && o.type(1) == DType::i4 && o.result() == DType::i8) return 10;
  if (o.hybrid(1)) return o.flag("asymmetric_quantize_inputs") ? 9 : 3;
  return o.number("weights_format") == 1 ? 2 : 1;
}

int transpose_convolution(const Operands& o) {
  if (o.type(0) == DType::i16 && o.type(1) == DType::i8 && o.result() == DType::i16 &&
      o.number("quantized_bias_type") != 0)
    return 5;
  if (o.number("fused_activation_function") != 0) return 4;
  if (o.node.inputs.size() == 4 && o.input(3)) return 3;
  return o.type(1) == DType::i8 ? 2 : 1;
}

int cast(const Operands& o) {
  const auto either = [&](DType t) { return o.type(0) == t || o.result() == t; };
  if (either(DType::f8e4m3fn) || either(DType::f8e5m2)) return 9;
  if (either(DType::i2) || either(DType::u4)) return 8;
  if (either(DType::bf16)) return 7;
  if (o.type(0) == DType::i4 && o.result() == DType::f32) return 6;
  if (either(DType::f64) || either(DType::f16)) return 5;
  if (either(DType::u16)) return 4;
  if (either(DType::i8)) return 3;
  return either(DType::u32) ? 2 : 1;
}

int strided_slice(const Operands& o) {
  if (o.flag("offset")) return 8;
  if (o.type(0) == DType::u32) return 7;
  if (o.number("ellipsis_mask") != 0 || o.number("new_axis_mask") != 0) return 6;
  if (o.type(0) == DType::string) return 5;
  if (o.rank() > 4) return 4;
  return o.type(0) == DType::boolean ? 3 : o.type(0) == DType::i8 ? 2 : 1;
}

int transpose(const Operands& o) {
  if (o.type(0) == DType::f16) return 9;
  if (o.rank() > 6 || o.type(0) == DType::bf16) return 8;
  if (o.type(0) == DType::i4) return 7;
  if (o.rank() > 5) return 6;
  if (o.type(0) == DType::i16) return 5;
  if (o.rank() > 4) return 4;
  return o.type(0) == DType::boolean ? 3 : o.type(0) == DType::i8 ? 2 : 1;
}

int slice(const Operands& o) {
  if (o.type(0) == DType::f16) return 8;
  if (o.type(0) == DType::i4) return 7;
  if (o.type(0) == DType::u32) return 6;
  if (o.rank() > 4) return 5;
  return o.type(0) == DType::i16 ? 4 : o.type(0) == DType::string ? 3 : o.type(0) == DType::i8 ? 2 : 1;
}

int pad(const Operands& o) {
  if (o.type(0) == DType::f8e4m3fn || o.type(0) == DType::f8e5m2) return 6;
  if (o.type(0) == DType::boolean) return 5;
  if (o.rank() > 4) return 4;
  return o.type(0) == DType::i16 ? 3 : o.type(0) == DType::i8 ? 2 : 1;
}

int add_or_mul(const Operands& o, int by_type) {
  const bool add = o.node.op == "ADD", int16 = o.type(0) == DType::i16;
  const bool quantized = o.scales(o.input(0), 1);
  if (int16) {
    if (!quantized) return add ? 5 : 7;
    if (add) return o.node.attrs.flag("pot_scale_int16", true) ? 1 : 3;
    return 4;
  }
  if (!add && (by_type == 1 || by_type == 2) && quantized && o.scales(o.input(1), 1) &&
      o.scales(o.output(), 1)) {
    const float product = o.input(0)->quantization->scale[0] * o.input(1)->quantization->scale[0];
    if (product / o.output()->quantization->scale[0] >= 1.0f) return 3;
  }
  return by_type;
}

int resize(const Operands& o) {
  if (o.type(0) == DType::i16) return 4;
  const bool corners = o.node.op == "RESIZE_NEAREST_NEIGHBOR" && o.flag("align_corners");
  if (o.flag("half_pixel_centers") || corners) return 3;
  return o.type(0) == DType::i8 ? 2 : 1;
}

int gather(const Operands& o, int by_type) {
  if (by_type >= 7) return by_type;
  if (o.type(1) == DType::i16) return 6;
  return o.number("batch_dims") != 0 ? 5 : by_type;
}

int recurrent(const Operands& o) {
  const bool asymmetric = o.flag("asymmetric_quantize_inputs");
  if (o.node.op == "LSTM" || o.node.op == "UNIDIRECTIONAL_SEQUENCE_LSTM") {
    const bool full = o.node.op != "LSTM" || o.number("kernel_type") == 0;
    if (full && o.type(0) == DType::i16 && o.type(2) == DType::i8 && o.result() == DType::i16) return 5;
    if (o.node.op != "LSTM" && o.flag("diagonal_recurrent_tensors")) return 4;
    if (full && o.hybrid(2)) return asymmetric == (o.node.op == "LSTM") ? (asymmetric ? 4 : 2) : 3;
    return full ? 1 : 2;
  }
  if (o.type(1) != DType::i8 || o.result() != DType::f32) return 1;
  return asymmetric ? 3 : 2;
}

int fill(const Operands& o) {
  switch (o.type(1)) {
    case DType::f8e4m3fn:
    case DType::f8e5m2:
      return 5;
    case DType::f16:
      return 4;
    case DType::i8:
    case DType::i16:
      return 3;
    case DType::boolean:
    case DType::string:
      return 2;
    default:
      return 1;
  }
}

/// SPLIT's data is its second operand, SPARSE_TO_DENSE's its third, of which int32 counts as well.
int split(const Operands& o) {
  switch (o.type(1)) {
    case DType::f8e4m3fn:
    case DType::f8e5m2:
      return 5;
    case DType::i16:
      return 4;
    case DType::i32:
      return 3;
    case DType::i8:
      return 2;
    default:
      return 1;
  }
}

int embedding_lookup(const Operands& o) {
  if (o.type(1) == DType::i4 || o.per_channel(1)) return 4;
  return o.type(1) == DType::i2 ? 5 : 1;
}

using Special = int (*)(const Operands&);
const std::map<std::string_view, Special>& specials() {
  static const std::map<std::string_view, Special> table = {
      {"CONV_2D", convolution},
      {"DEPTHWISE_CONV_2D", depthwise_convolution},
      {"FULLY_CONNECTED", fully_connected},
      {"TRANSPOSE_CONV", transpose_convolution},
      {"CAST", cast},
      {"STRIDED_SLICE", strided_slice},
      {"TRANSPOSE", transpose},
      {"SLICE", slice},
      {"PAD", pad},
      {"PADV2", pad},
      {"RESIZE_BILINEAR", resize},
      {"RESIZE_NEAREST_NEIGHBOR", resize},
      {"LSTM", recurrent},
      {"UNIDIRECTIONAL_SEQUENCE_LSTM", recurrent},
      {"BIDIRECTIONAL_SEQUENCE_LSTM", recurrent},
      {"RNN", recurrent},
      {"UNIDIRECTIONAL_SEQUENCE_RNN", recurrent},
      {"BIDIRECTIONAL_SEQUENCE_RNN", recurrent},
      {"FILL", fill},
      {"SPLIT", split},
      {"EMBEDDING_LOOKUP", embedding_lookup},
      {"FAKE_QUANT", [](const Operands& o) { return o.flag("narrow_range") ? 2 : 1; }},
      {"DIV", [](const Operands& o) { return o.broadcasts_above_rank_4() ? 2 : 1; }},
      {"SPARSE_TO_DENSE",
       [](const Operands& o) {
         return o.type(2) == DType::i8 || o.type(2) == DType::u8 ? 3 : o.type(2) == DType::i64 ? 2 : 1;
       }},
  };
  return table;
}

/// Corrections to the version that the first operand's type asks for.
int corrected(const Operands& o, int by_type) {
  const std::string_view op = o.node.op;
  if (op == "ADD" || op == "MUL") return add_or_mul(o, by_type);
  if (op == "GATHER") return gather(o, by_type);
  if (op == "SUB") {
    if (o.type(0) == DType::i16)
      return o.result() == DType::i16 && o.node.attrs.flag("pot_scale_int16", true) ? 1 : 5;
    return by_type < 3 && o.broadcasts_above_rank_4() ? 3 : by_type;
  }
  if (op == "MAXIMUM" || op == "MINIMUM") return by_type < 3 && o.broadcasts_above_rank_4() ? 3 : by_type;
  if (op == "ABS" && o.type(0) == DType::i16) return o.scales(o.input(0), 1) ? 3 : 4;
  if (op == "QUANTIZE") {
    if (o.result() == DType::u4) return 5;
    if (o.result() == DType::i4) return std::max(by_type, 4);
    if (by_type > 1) return by_type;
    return o.scales(o.output(), 2) ? 3 : o.result() == DType::i16 ? 2 : 1;
  }
  if (op == "DEQUANTIZE" && o.type(0) == DType::i8) return o.per_channel(0) ? 5 : 2;
  if (op == "SELECT")
    return by_type != 4 && (o.rank(0) == 5 || o.rank(1) == 5 || o.rank(2) == 5) ? 3 : by_type;
  if (op == "SPACE_TO_BATCH_ND" || op == "BATCH_TO_SPACE_ND")
    return by_type < 4 && o.rank() != 4 ? 3 : by_type;
  if (op == "GATHER_ND") return by_type < 5 && o.type(1) == DType::i16 ? 4 : by_type;
  if (op == "BATCH_MATMUL") return o.hybrid(1) && o.flag("asymmetric_quantize_inputs") ? 4 : by_type;
  if (op == "DYNAMIC_UPDATE_SLICE") return by_type == 1 && o.type(2) == DType::i64 ? 2 : by_type;
  if (op == "TOPK_V2") return o.type(1) == DType::i16 || o.result(1) == DType::i16 ? 3 : by_type;
  return by_type;
}

}  // namespace

int minimal_operator_version(const Graph& graph, const Node& node) {
  const Operands operands{graph, node};
  if (const auto special = specials().find(node.op); special != specials().end())
    return special->second(operands);
  for (const TypeRow& row : by_first_operand)
    if (word_in(row.ops, node.op)) return corrected(operands, version_in_row(row.versions, operands.type(0)));
  return 1;
}

}  // namespace md

// TFLite's operators. Names, fields and defaults are facts of the file format (schema.fbs); operand names are
// those of the operators' documentation.
//
// One line an operator:   NAME operand operand? operand... | attributes | traits
// A '?' marks an operand that may be absent, '...' any number of operands (each may be absent in "...?"),
// ":4" and
// ":2+" the rank it must have. Attributes: name:type=default, type
// one of i (integer), b (bool), f (float), s (text), I, F (lists), B (bytes), or the name of an enumeration.
// "default~usual" when the operator's meaning without the field differs from what the schema reads; "*" at
// the end marks an attribute that any pattern ignores, "@ROLE" what its number must be. Traits: what the
// operator is (lib/op/ops.h's Primitive; "unary" is a map, "binary" and "compare" are zips), "commutative",
// "kind" (OpSpec::keeps_kind), "stateful" for one that may keep something between runs beside what it
// computes (variables of recurrent operators, whatever a custom operator does), "reads" for one that leaves
// its state as it is; results=2, 1-4, 1+ or any (one when nothing is said), operands=5+ where more are needed
// than the names say.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <tuple>

#include "lib/format/tflite/operators.h"

namespace md {
namespace {

constexpr std::string_view enum_lines = R"(Padding SAME VALID
Activation NONE RELU RELU_N1_TO_1 RELU6 TANH SIGN_BIT
LSHProjection UNKNOWN SPARSE DENSE
WeightsFormat DEFAULT SHUFFLED4x16INT8
LSTMKernel FULL BASIC
Combiner SUM MEAN SQRTN
MirrorPad REFLECT SYMMETRIC
ReduceWindow UNSUPPORTED ADD MUL MINIMUM MAXIMUM ALL ANY
Precision DEFAULT HIGH HIGHEST
Direction STABLEHLO_COMPARISON_DIRECTION_EQ STABLEHLO_COMPARISON_DIRECTION_NE STABLEHLO_COMPARISON_DIRECTION_GE STABLEHLO_COMPARISON_DIRECTION_GT STABLEHLO_COMPARISON_DIRECTION_LE STABLEHLO_COMPARISON_DIRECTION_LT
Comparison STABLEHLO_COMPARISON_TYPE_NOTYPE STABLEHLO_COMPARISON_TYPE_FLOAT STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER STABLEHLO_COMPARISON_TYPE_SIGNED STABLEHLO_COMPARISON_TYPE_UNSIGNED
Rng DEFAULT PHILOX THREEFRY
TensorType FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 UINT64 RESOURCE VARIANT UINT32 UINT16 INT4 BFLOAT16 INT2 UINT4 FLOAT8_E4M3FN FLOAT8_E5M2
)";

/// The element type of each TensorType, by number.
constexpr DType tensor_types[] = {
    DType::f32, DType::f16, DType::i32,  DType::u8,   DType::i64, DType::string,   DType::boolean, DType::i16,
    DType::c64, DType::i8,  DType::f64,  DType::c128, DType::u64, DType::resource, DType::variant, DType::u32,
    DType::u16, DType::i4,  DType::bf16, DType::i2,   DType::u4,  DType::f8e4m3fn, DType::f8e5m2};

constexpr std::string_view op_lines = R"(ABS x | | unary
ADD a b | fused_activation_function:Activation=NONE pot_scale_int16:b=true* | binary commutative
ADD_N x... | | zip operands=1+ kind
ARG_MAX input:1+ axis | output_type:TensorType=FLOAT32* | reduce
ARG_MIN input:1+ axis | output_type:TensorType=FLOAT32* | reduce
ASSIGN_VARIABLE resource value | | state results=0
ATAN2 y x | | binary
AVERAGE_POOL_2D input:4 | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive filter_width:i=0~1@positive filter_height:i=0~1@positive fused_activation_function:Activation=NONE | window kind
BATCH_MATMUL a:2+ b:2+ | adj_x:b=false adj_y:b=false asymmetric_quantize_inputs:b=false* | contract kind
BATCH_TO_SPACE_ND input block_shape crops | | move kind
BIDIRECTIONAL_SEQUENCE_LSTM input...? | fused_activation_function:Activation=NONE cell_clip:f=0 proj_clip:f=0 merge_outputs:b=false time_major:b=true asymmetric_quantize_inputs:b=false* | stateful results=1-2 operands=35+ kind
BIDIRECTIONAL_SEQUENCE_RNN input...? | time_major:b=false fused_activation_function:Activation=NONE merge_outputs:b=false asymmetric_quantize_inputs:b=false* | stateful results=1-2 operands=8+ kind
BITCAST input | | map
BITWISE_XOR a b | | binary commutative
BROADCAST_ARGS a b | |
BROADCAST_TO input shape | | move kind
BUCKETIZE input | boundaries:F= | map
CALL x... | subgraph:i=0 | control results=any
CALL_ONCE x... | init_subgraph_index:i=0 | state results=0
CAST input | in_data_type:TensorType=FLOAT32* out_data_type:TensorType=FLOAT32* | map
CEIL x | | unary
COMPLEX_ABS x | | map
CONCATENATION x:1+... | axis:i=0@axis fused_activation_function:Activation=NONE | move operands=1+ kind
CONCAT_EMBEDDINGS x... | num_channels:i=0 num_columns_per_channel:I= embedding_dim_per_channel:I= | operands=1+
CONV_2D input:4 filter:4 bias? | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive fused_activation_function:Activation=NONE dilation_w_factor:i=1@positive dilation_h_factor:i=1@positive quantized_bias_type:TensorType=FLOAT32* | window kind
CONV_3D input:5 filter:5 bias? | padding:Padding=SAME stride_d:i=0~1@positive stride_w:i=0~1@positive stride_h:i=0~1@positive fused_activation_function:Activation=NONE dilation_d_factor:i=1@positive dilation_w_factor:i=1@positive dilation_h_factor:i=1@positive | window
CONV_3D_TRANSPOSE output_shape filter:5 input:5 bias? | padding:Padding=SAME stride_d:i=0~1@positive stride_w:i=0~1@positive stride_h:i=0~1@positive fused_activation_function:Activation=NONE dilation_d_factor:i=1@positive dilation_w_factor:i=1@positive dilation_h_factor:i=1@positive | window
COS x | | unary
CUMSUM input:1+ axis | exclusive:b=false reverse:b=false | reduce kind
CUSTOM x...? | | stateful results=any
DELEGATE x...? | | stateful results=any
DENSIFY input | |
DEPTHWISE_CONV_2D input:4 filter:4 bias? | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive depth_multiplier:i=0~1 fused_activation_function:Activation=NONE dilation_w_factor:i=1@positive dilation_h_factor:i=1@positive | window kind
DEPTH_TO_SPACE input:4 | block_size:i=0@positive | move kind
DEQUANTIZE input | | map
DILATE input dilations padding_value | | move kind
DIV a b | fused_activation_function:Activation=NONE | binary
DYNAMIC_UPDATE_SLICE operand update start_indices | | move kind
ELU x | | unary
EMBEDDING_LOOKUP lookup value:1+ | | gather
EMBEDDING_LOOKUP_SPARSE ids indices shape weights value | combiner:Combiner=SUM |
EQUAL a b | | compare commutative
EXP x | | unary
EXPAND_DIMS input axis | | move kind
FAKE_QUANT x | min:f=0 max:f=0 num_bits:i=0 narrow_range:b=false | map
FILL dims value | | move
FLOOR x | | unary
FLOOR_DIV a b | | binary
FLOOR_MOD a b | | binary
FULLY_CONNECTED input filter:2 bias? | fused_activation_function:Activation=NONE weights_format:WeightsFormat=DEFAULT keep_num_dims:b=false asymmetric_quantize_inputs:b=false* quantized_bias_type:TensorType=FLOAT32* | contract kind
GATHER input:1+ indices | axis:i=0@axis batch_dims:i=0 | gather kind
GATHER_ND input:1+ indices:1+ | | gather kind
GELU x | approximate:b=false | unary
GREATER a b | | compare
GREATER_EQUAL a b | | compare
HARD_SWISH x | | unary
HASHTABLE | table_id:i=0 key_dtype:TensorType=FLOAT32 value_dtype:TensorType=FLOAT32 | state
HASHTABLE_FIND resource keys default | | state reads
HASHTABLE_IMPORT resource keys values | | state results=0
HASHTABLE_LOOKUP lookup key value | | results=2
HASHTABLE_SIZE resource | | state reads
IF condition x... | then_subgraph_index:i=0@branch else_subgraph_index:i=0@branch | control results=any
IMAG x | | map
L2_NORMALIZATION x:1+ | fused_activation_function:Activation=NONE | reduce kind
L2_POOL_2D input:4 | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive filter_width:i=0~1@positive filter_height:i=0~1@positive fused_activation_function:Activation=NONE | window kind
LEAKY_RELU x | alpha:f=0 | unary
LESS a b | | compare
LESS_EQUAL a b | | compare
LOCAL_RESPONSE_NORMALIZATION x:4 | radius:i=0 bias:f=0 alpha:f=0 beta:f=0 | reduce kind
LOG x | | unary
LOGICAL_AND a b | | binary commutative
LOGICAL_NOT x | | unary
LOGICAL_OR a b | | binary commutative
LOGISTIC x | | unary
LOG_SOFTMAX x:1+ | | reduce kind
LSH_PROJECTION hash input weight? | type:LSHProjection=UNKNOWN |
LSTM input...? | fused_activation_function:Activation=NONE cell_clip:f=0 proj_clip:f=0 kernel_type:LSTMKernel=FULL asymmetric_quantize_inputs:b=false* | stateful results=1-4 operands=5+ kind
MATRIX_DIAG x:1+ | |
MATRIX_SET_DIAG x:2+ diagonal | |
MAXIMUM a b | | binary commutative
MAX_POOL_2D input:4 | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive filter_width:i=0~1@positive filter_height:i=0~1@positive fused_activation_function:Activation=NONE | window kind
MEAN input axis | keep_dims:b=false | reduce kind
MINIMUM a b | | binary commutative
MIRROR_PAD input paddings | mode:MirrorPad=REFLECT | move kind
MUL a b | fused_activation_function:Activation=NONE | binary commutative
MULTINOMIAL logits samples | seed:i=0 seed2:i=0 | random
NEG x | | unary
NON_MAX_SUPPRESSION_V4 boxes scores max_output iou_threshold score_threshold | | sort results=2
NON_MAX_SUPPRESSION_V5 boxes scores max_output iou_threshold score_threshold sigma | | sort results=3
NOT_EQUAL a b | | compare commutative
ONE_HOT indices depth on off | axis:i=0~-1@result_axis |
PACK x... | values_count:i=0* axis:i=0@result_axis | move operands=1+ kind
PAD input paddings | | move kind
PADV2 input paddings value | | move kind
PLACEHOLDER_FOR_GREATER_OP_CODES x...? | | results=any
POW a b | | binary
PRELU input alpha | | zip kind
QUANTIZE input | | map
RANDOM_STANDARD_NORMAL shape | seed:i=0 seed2:i=0 | random
RANDOM_UNIFORM shape | seed:i=0 seed2:i=0 | random
RANGE start limit delta | |
RANK input | |
READ_VARIABLE resource | | state reads
REAL x | | map
REDUCE_ALL input axis | keep_dims:b=false | reduce
REDUCE_ANY input axis | keep_dims:b=false | reduce
REDUCE_MAX input axis | keep_dims:b=false | reduce kind
REDUCE_MIN input axis | keep_dims:b=false | reduce kind
REDUCE_PROD input axis | keep_dims:b=false | reduce kind
REDUCE_WINDOW input init window_shape window_strides window_dilations | reduce_function:ReduceWindow=UNSUPPORTED | window
RELU x | | unary
RELU6 x | | unary
RELU_0_TO_1 x | | unary
RELU_N1_TO_1 x | | unary
RESHAPE input shape? | new_shape:I=* | move kind
RESIZE_BILINEAR input:4 size | align_corners:b=false half_pixel_centers:b=false | window kind
RESIZE_NEAREST_NEIGHBOR input:4 size | align_corners:b=false half_pixel_centers:b=false | move kind
REVERSE_SEQUENCE input:1+ lengths | seq_dim:i=0@axis batch_dim:i=0@axis | move kind
REVERSE_V2 input axis | | move kind
RFFT2D input:2+ fft_length | | contract
RIGHT_SHIFT a b | | binary
RNN input...? | fused_activation_function:Activation=NONE asymmetric_quantize_inputs:b=false* | stateful operands=5+ kind
ROUND x | | unary
RSQRT x | | unary
SCATTER_ND indices:1+ updates shape | | scatter
SEGMENT_SUM input:1+ ids | | scatter
SELECT condition a b | | select
SELECT_V2 condition a b | | select
SHAPE input | out_type:TensorType=FLOAT32* |
SIGN x | | unary
SIN x | | unary
SKIP_GRAM x | ngram_size:i=0 max_skip_size:i=0 include_all_ngrams:b=false |
SLICE input begin size | | move kind
SOFTMAX x:1+ | beta:f=0~1 | reduce kind
SPACE_TO_BATCH_ND input block_shape paddings | | move kind
SPACE_TO_DEPTH input:4 | block_size:i=0@positive | move kind
SPARSE_TO_DENSE indices shape values default | validate_indices:b=false | scatter
SPLIT axis input:1+ | num_splits:i=0* | move results=1+
SPLIT_V input:1+ sizes axis | num_splits:i=0* | move results=1+
SQRT x | | unary
SQUARE x | | unary
SQUARED_DIFFERENCE a b | | binary commutative
SQUEEZE input | squeeze_dims:I= | move kind
STABLEHLO_ABS x | | map
STABLEHLO_ADD a b | | zip commutative
STABLEHLO_AND a b | | zip commutative
STABLEHLO_BROADCAST_IN_DIM operand dimensions? | broadcast_dimensions:I= | move
STABLEHLO_CASE index x... | branch_subgraph_indices:I= | control results=any
STABLEHLO_CBRT x | | map
STABLEHLO_CLAMP min operand max | | zip
STABLEHLO_COMPARE a b | comparison_direction:Direction=STABLEHLO_COMPARISON_DIRECTION_EQ compare_type:Comparison=STABLEHLO_COMPARISON_TYPE_NOTYPE | zip
STABLEHLO_COMPOSITE x...? | name:s= decomposition_subgraph_index:i=0@decomposition composite_attributes:B= composite_attributes_format:i=0 version:i=0 | control results=any
STABLEHLO_CONCATENATE x:1+... | dimension:i=0@axis | move operands=1+
STABLEHLO_CONVERT x | | map
STABLEHLO_CONVOLUTION input kernel | window_strides:I= padding:I= lhs_dilation:I= rhs_dilation:I= window_reversal:I= input_batch_dimension:i=0 input_feature_dimension:i=0 input_spatial_dimensions:I= kernel_input_feature_dimension:i=0 kernel_output_feature_dimension:i=0 kernel_spatial_dimensions:I= output_batch_dimension:i=0 output_feature_dimension:i=0 output_spatial_dimensions:I= feature_group_count:i=0 batch_group_count:i=0 precision_config:I= | window
STABLEHLO_COSINE x | | map
STABLEHLO_CUSTOM_CALL x...? | call_target_name:s= has_side_effect:b=false backend_config:s= api_version:i=0 called_computations:I= custom_attributes:B= | stateful results=any
STABLEHLO_DIVIDE a b | | zip
STABLEHLO_DOT_GENERAL a b | lhs_batching_dimensions:I= rhs_batching_dimensions:I= lhs_contracting_dimensions:I= rhs_contracting_dimensions:I= precision_config:I= | contract
STABLEHLO_DYNAMIC_SLICE operand... | slice_sizes:I= | gather operands=1+
STABLEHLO_DYNAMIC_UPDATE_SLICE operand... | | move operands=2+
STABLEHLO_EXPONENTIAL x | | map
STABLEHLO_FLOOR x | | map
STABLEHLO_GATHER operand indices | offset_dims:I= collapsed_slice_dims:I= start_index_map:I= index_vector_dim:i=0 slice_sizes:I= indices_are_sorted:b=false | gather
STABLEHLO_IOTA | iota_dimension:i=0@result_axis |
STABLEHLO_LOG x | | map
STABLEHLO_LOGISTIC x | | map
STABLEHLO_MAXIMUM a b | | zip commutative
STABLEHLO_MINIMUM a b | | zip commutative
STABLEHLO_MULTIPLY a b | | zip commutative
STABLEHLO_NEGATE x | | map
STABLEHLO_OR a b | | zip commutative
STABLEHLO_PAD operand value | edge_padding_low:I= edge_padding_high:I= interior_padding:I= | move
STABLEHLO_POWER a b | | zip
STABLEHLO_REDUCE x... | dimensions:I= body_subgraph_index:i=0 | reduce results=1+ operands=2+
STABLEHLO_REDUCE_WINDOW x... | window_dimensions:I= window_strides:I= base_dilations:I= window_dilations:I= padding:I= body_subgraph_index:i=0 | window results=1+ operands=2+
STABLEHLO_REMAINDER a b | | zip
STABLEHLO_RESHAPE x | | move
STABLEHLO_RNG_BIT_GENERATOR state | algorithm:Rng=DEFAULT | results=2
STABLEHLO_RSQRT x | | map
STABLEHLO_SCATTER operand indices updates | indices_are_sorted:b=false update_window_dims:I= inserted_window_dims:I= scatter_dims_to_operand_dims:I= index_vector_dim:i=0 unique_indices:b=false update_computation_subgraph_index:i=0 | scatter
STABLEHLO_SELECT condition a b | | select
STABLEHLO_SHIFT_LEFT a b | | zip
STABLEHLO_SLICE x | start_indices:I= limit_indices:I= strides:I= | move
STABLEHLO_SORT x... | dimension:i=0@axis is_stable:b=false comparator_subgraph_index:i=0 | sort results=1+ operands=1+
STABLEHLO_SUBTRACT a b | | zip
STABLEHLO_TANH x | | map
STABLEHLO_TRANSPOSE x | permutation:I= | move
STABLEHLO_WHILE x... | cond_subgraph_index:i=0@condition body_subgraph_index:i=0@body | control results=any
STRIDED_SLICE input begin end strides | begin_mask:i=0 end_mask:i=0 ellipsis_mask:i=0 new_axis_mask:i=0 shrink_axis_mask:i=0 offset:b=false | move kind
SUB a b | fused_activation_function:Activation=NONE pot_scale_int16:b=true* | binary
SUM input axis | keep_dims:b=false | reduce kind
SVDF input:2 weights_feature:2 weights_time:2 bias? state | rank:i=0 fused_activation_function:Activation=NONE asymmetric_quantize_inputs:b=false* | stateful kind
TANH x | | unary
TILE input multiples | | move kind
TOPK_V2 input:1+ k | | sort results=2 kind
TRANSPOSE input perm | | move kind
TRANSPOSE_CONV output_shape filter:4 input:4 bias? | padding:Padding=SAME stride_w:i=0~1@positive stride_h:i=0~1@positive fused_activation_function:Activation=NONE quantized_bias_type:TensorType=FLOAT32* | window
UNIDIRECTIONAL_SEQUENCE_LSTM input...? | fused_activation_function:Activation=NONE cell_clip:f=0 proj_clip:f=0 time_major:b=false asymmetric_quantize_inputs:b=false* diagonal_recurrent_tensors:b=false | stateful operands=18+ kind
UNIDIRECTIONAL_SEQUENCE_RNN input...? | time_major:b=false fused_activation_function:Activation=NONE asymmetric_quantize_inputs:b=false* | stateful operands=5+ kind
UNIQUE input | idx_out_type:TensorType=FLOAT32~INT32 | sort results=2
UNPACK input:1+ | num:i=0* axis:i=0@axis | move results=1+ kind
UNSORTED_SEGMENT_MAX input ids num | | scatter
UNSORTED_SEGMENT_MIN input ids num | | scatter
UNSORTED_SEGMENT_PROD input ids num | | scatter
UNSORTED_SEGMENT_SUM input ids num | | scatter
VAR_HANDLE | container:s= shared_name:s= | state
WHERE condition | |
WHILE x... | cond_subgraph_index:i=0@condition body_subgraph_index:i=0@body | control results=any
ZEROS_LIKE x | | map kind
)";

/// Cuts the next piece up to `stop` off `text`, without blanks around it.
std::string_view cut(std::string_view& text, char stop) {
  const std::size_t at = text.find(stop);
  std::string_view piece = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
  while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
  return piece;
}

AttrValue value_of(std::string_view type, const EnumSpec* enumeration, std::string_view text) {
  if (enumeration) return *enumeration->find(text);
  switch (type.front()) {
    case 'b':
      return text == "true";
    case 'f':
      return std::strtod(std::string(text).c_str(), nullptr);
    case 's':
      return std::string(text);
    case 'I':
      return std::vector<std::int64_t>();
    case 'F':
      return std::vector<double>();
    case 'B':
      return Blob();
    default:
      break;
  }
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

AttributeRole role_of(std::string_view text) {
  static constexpr std::string_view names[] = {"free",   "positive",  "axis", "result_axis",
                                               "branch", "condition", "body", "decomposition"};
  const auto at = std::find(std::begin(names), std::end(names), text);
  return static_cast<AttributeRole>(at - std::begin(names));
}

/// "2", "1-4", "1+" or "any".
std::pair<int, int> range_of(std::string_view text) {
  if (text == "any") return {0, any_number};
  const auto number = [](std::string_view digits) {
    int n = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return n;
  };
  const int least = number(text);
  if (text.ends_with('+')) return {least, any_number};
  const std::size_t dash = text.find('-');
  return {least, dash == std::string_view::npos ? least : number(text.substr(dash + 1))};
}

AttributeSpec attribute_of(const OpTable& table, std::string_view text) {
  AttributeSpec spec;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    spec.role = role_of(text.substr(at + 1));
    text = text.substr(0, at);
  }
  if (text.ends_with('*')) spec.ignored = true, text.remove_suffix(1);
  spec.name = cut(text, ':');
  const std::string_view type = cut(text, '=');
  for (const EnumSpec& e : table.enums)
    if (e.name == type) spec.enumeration = &e;
  const std::string_view schema = cut(text, '~');
  spec.schema_default = value_of(type, spec.enumeration, schema);
  spec.usual = text.empty() ? spec.schema_default : value_of(type, spec.enumeration, text);
  return spec;
}

void add_operand(OpSpec& spec, std::string_view text) {
  OperandSpec operand;
  if (text.ends_with('?')) operand.optional = true, text.remove_suffix(1);
  if (text.ends_with("..."))
    spec.variadic = true, text.remove_suffix(3);
  else if (!operand.optional)
    ++spec.required, spec.least_operands = static_cast<int>(spec.operands.size()) + 1;
  const std::string_view operand_name = cut(text, ':');
  if (!text.empty()) std::tie(operand.least_rank, operand.most_rank) = range_of(text);
  spec.operands.emplace_back(operand_name);
  spec.operand_specs.push_back(operand);
}

constexpr std::pair<std::string_view, Primitive> primitives[] = {
    {"map", Primitive::map},       {"unary", Primitive::map},         {"zip", Primitive::zip},
    {"binary", Primitive::zip},    {"compare", Primitive::zip},       {"select", Primitive::select},
    {"reduce", Primitive::reduce}, {"contract", Primitive::contract}, {"window", Primitive::window},
    {"move", Primitive::move},     {"gather", Primitive::gather},     {"scatter", Primitive::scatter},
    {"sort", Primitive::sort},     {"random", Primitive::random},     {"control", Primitive::control},
    {"state", Primitive::state},
};

void add_trait(OpSpec& spec, std::string_view trait) {
  for (const auto& [word, primitive] : primitives)
    if (trait == word) spec.primitive = primitive;
  if (trait == "unary") spec.unary = spec.keeps_kind = true;
  if (trait == "binary") spec.binary = spec.keeps_kind = true;
  if (trait == "compare") spec.compare = true;
  if (trait == "commutative") spec.commutative = true;
  if (trait == "stateful") spec.keeps_state = true;
  if (trait == "reads") spec.only_reads = true;
  if (trait == "kind") spec.keeps_kind = true;
  if (trait.starts_with("results="))
    std::tie(spec.least_results, spec.most_results) = range_of(trait.substr(8));
  if (trait.starts_with("operands=")) spec.least_operands = range_of(trait.substr(9)).first;
}

OpSpec op_of(const OpTable& table, std::string_view line) {
  OpSpec spec;
  std::string_view operands = cut(line, '|'), attributes = cut(line, '|');
  spec.name = cut(operands, ' ');
  while (!operands.empty()) add_operand(spec, cut(operands, ' '));
  while (!attributes.empty()) spec.attributes.push_back(attribute_of(table, cut(attributes, ' ')));
  while (!line.empty()) add_trait(spec, cut(line, ' '));
  return spec;
}

OpTable read_table() {
  OpTable table;
  for (std::string_view rest = enum_lines; !rest.empty();) {
    std::string_view line = cut(rest, '\n');
    EnumSpec spec;
    spec.name = cut(line, ' ');
    while (!line.empty()) spec.values.emplace_back(cut(line, ' '));
    table.enums.push_back(std::move(spec));
  }
  for (std::string_view rest = op_lines; !rest.empty();) table.ops.push_back(op_of(table, cut(rest, '\n')));
  std::sort(table.ops.begin(), table.ops.end(),
            [](const OpSpec& a, const OpSpec& b) { return a.name < b.name; });
  add_operator_facts(table);
  return table;
}

}  // namespace

const OpTable& tflite_ops() {
  static const OpTable table = read_table();
  return table;
}

std::optional<EnumValue> tflite_tensor_type(DType dtype) {
  const auto at = std::find(std::begin(tensor_types), std::end(tensor_types), dtype);
  if (at == std::end(tensor_types)) return std::nullopt;
  const auto number = static_cast<std::size_t>(at - std::begin(tensor_types));
  return EnumValue{static_cast<std::int64_t>(number), tflite_ops().enums.back().values[number]};
}

std::optional<DType> dtype_of_tflite(std::int64_t tensor_type) {
  if (tensor_type < 0 || tensor_type >= static_cast<std::int64_t>(std::size(tensor_types)))
    return std::nullopt;
  return tensor_types[tensor_type];
}

}  // namespace md

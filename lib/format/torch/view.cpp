#include "lib/format/torch/view.h"

#include <algorithm>
#include <array>

#include "lib/format/torch/schema.h"

namespace md {
namespace {

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& names, std::string_view op) {
  return std::find(names.begin(), names.end(), aten_base(op)) != names.end();
}

/// The position of an argument among the tensor arguments of the schema, for nodes without operand names.
int position_by_schema(const Node& node, std::string_view argument) {
  if (node.inputs.empty()) return -1;
  const AtenSchema* schema = aten_schema(aten_functional(node.op));
  if (!schema)
    return argument == "self" || argument == "input" ? 0
           : argument == "other" || argument == "src" || argument == "values"
               ? static_cast<int>(node.inputs.size()) - 1
               : -1;
  std::vector<const AtenArgument*> tensors;  // that are operands here
  for (const AtenArgument& a : schema->arguments) {
    const bool tensor = a.kind == AtenKind::tensor || a.kind == AtenKind::optional_tensor ||
                        a.kind == AtenKind::tensors || a.kind == AtenKind::optional_tensors;
    if (tensor && !node.attrs.find(a.name)) tensors.push_back(&a);
  }
  int position = 0;
  for (const AtenArgument* a : tensors) {
    if (a->name == argument) return position < static_cast<int>(node.inputs.size()) ? position : -1;
    const bool list = a->kind == AtenKind::tensors || a->kind == AtenKind::optional_tensors;
    // A list has as many operands as the others leave.
    position += list ? static_cast<int>(node.inputs.size()) - static_cast<int>(tensors.size()) + 1 : 1;
  }
  return -1;
}

}  // namespace

int aten_operand_position(const Node& node, std::string_view argument) {
  for (std::size_t i = 0; i < node.input_names.size() && i < node.inputs.size(); ++i)
    if (node.input_names[i] == argument) return static_cast<int>(i);
  return node.input_names.empty() ? position_by_schema(node, argument) : -1;
}

ValueId aten_operand(const Node& node, std::string_view argument) {
  const int at = aten_operand_position(node, argument);
  return at < 0 ? none_id : node.inputs[static_cast<std::size_t>(at)];
}

std::vector<ValueId> aten_operands(const Node& node, std::string_view argument) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < node.input_names.size() && i < node.inputs.size(); ++i) {
    const std::string_view name = node.input_names[i];
    if (name.starts_with(argument) && name.size() > argument.size() && name[argument.size()] == '[')
      out.push_back(node.inputs[i]);
  }
  if (!node.input_names.empty()) return out;
  const int first = position_by_schema(node, argument);
  if (first < 0) return out;
  std::size_t last = node.inputs.size();
  if (argument == "indices" && aten_base(node.op) == "aten.index_put") --last;  // the values follow
  for (auto i = static_cast<std::size_t>(first); i < last; ++i) out.push_back(node.inputs[i]);
  return out;
}

std::optional<int> aten_dim(const Node& node, std::string_view argument, int rank, std::int64_t otherwise) {
  std::int64_t dim = node.attrs.integer(argument, otherwise);
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= std::max(rank, 1)) return std::nullopt;
  return static_cast<int>(dim);
}

std::optional<std::vector<int>> aten_dims(const Node& node, std::string_view argument, int rank) {
  std::vector<std::int64_t> raw;
  if (const auto* list = node.attrs.integers(argument))
    raw = *list;
  else if (const AttrValue* value = node.attrs.find(argument);
           value && std::holds_alternative<std::int64_t>(*value))
    raw = {std::get<std::int64_t>(*value)};
  std::vector<int> dims;
  for (std::int64_t dim : raw) {
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) return std::nullopt;
    dims.push_back(static_cast<int>(dim));
  }
  if (dims.empty())
    for (int d = 0; d < rank; ++d) dims.push_back(d);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

bool is_complex(DType t) { return t == DType::c32 || t == DType::c64 || t == DType::c128; }

std::string aten_base(std::string_view op) {
  const std::string functional = aten_functional(op);
  const std::size_t dot = functional.find('.', functional.find('.') + 1);
  return functional.substr(0, dot);
}

bool aten_in_place(std::string_view op) {
  if (!op.starts_with("aten.")) return false;
  const std::size_t dot = op.find('.', 5);
  const std::string_view name = op.substr(5, dot == std::string_view::npos ? dot : dot - 5);
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

std::string aten_functional(std::string_view op) {
  std::string out(op);
  if (!aten_in_place(op)) return out;
  const std::size_t dot = out.find('.', 5);
  out.erase((dot == std::string::npos ? out.size() : dot) - 1, 1);
  return out;
}

bool aten_is_check(std::string_view op) {
  constexpr std::array<std::string_view, 6> names = {
      "aten._assert_scalar",      "aten._assert_tensor_metadata", "aten.sym_constrain_range_for_size",
      "aten.sym_constrain_range", "aten._assert_async",           "aten._functional_assert_scalar"};
  return one_of(names, op);
}

bool aten_elementwise(std::string_view op) {
  constexpr std::array<std::string_view, 62> names = {
      "aten.add",         "aten.sub",         "aten.mul",         "aten.div",         "aten.neg",
      "aten.abs",         "aten.exp",         "aten.log",         "aten.sqrt",        "aten.rsqrt",
      "aten.reciprocal",  "aten.pow",         "aten.relu",        "aten.relu6",       "aten.gelu",
      "aten.silu",        "aten.sigmoid",     "aten.tanh",        "aten.sin",         "aten.cos",
      "aten.tan",         "aten.erf",         "aten.floor",       "aten.ceil",        "aten.round",
      "aten.trunc",       "aten.sign",        "aten.clamp",       "aten.clamp_min",   "aten.clamp_max",
      "aten.hardtanh",    "aten.hardswish",   "aten.hardsigmoid", "aten.leaky_relu",  "aten.elu",
      "aten.softplus",    "aten.maximum",     "aten.minimum",     "aten.where",       "aten.eq",
      "aten.ne",          "aten.lt",          "aten.le",          "aten.gt",          "aten.ge",
      "aten.logical_and", "aten.logical_or",  "aten.logical_not", "aten.logical_xor", "aten.bitwise_and",
      "aten.bitwise_or",  "aten.bitwise_not", "aten.to",          "aten._to_copy",    "aten.clone",
      "aten.contiguous",  "aten.detach",      "aten.alias",       "aten.masked_fill", "aten.rsub",
      "aten.dropout",     "aten.square"};
  return one_of(names, op);
}

bool aten_view(std::string_view op) {
  constexpr std::array<std::string_view, 24> names = {"aten.slice",
                                                      "aten.select",
                                                      "aten.view",
                                                      "aten.reshape",
                                                      "aten.flatten",
                                                      "aten.unflatten",
                                                      "aten.transpose",
                                                      "aten.permute",
                                                      "aten.t",
                                                      "aten.numpy_T",
                                                      "aten.unsqueeze",
                                                      "aten.squeeze",
                                                      "aten.expand",
                                                      "aten.expand_as",
                                                      "aten.alias",
                                                      "aten.detach",
                                                      "aten.narrow",
                                                      "aten.split",
                                                      "aten.split_with_sizes",
                                                      "aten.chunk",
                                                      "aten.unbind",
                                                      "aten.diagonal",
                                                      "aten.view_as",
                                                      "aten._unsafe_view"};
  return one_of(names, op);
}

bool aten_factory(std::string_view op) {
  constexpr std::array<std::string_view, 12> names = {"aten.zeros",
                                                      "aten.ones",
                                                      "aten.full",
                                                      "aten.empty",
                                                      "aten.arange",
                                                      "aten.linspace",
                                                      "aten.eye",
                                                      "aten.scalar_tensor",
                                                      "aten.hann_window",
                                                      "aten.hamming_window",
                                                      "aten.blackman_window",
                                                      "aten.empty_strided"};
  return one_of(names, op);
}

}  // namespace md

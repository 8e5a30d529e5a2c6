#include "test/patch_mutations.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lib/format/torch/builder.h"
#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "lib/op/ops.h"

namespace md::test {
namespace {

/// Changes a number so that nobody can take it for the old one.
bool flip_constant(DType dtype, const Shape& shape, const std::optional<Quantization>& quantization,
                   Constant& constant) {
  Value value;
  value.dtype = dtype, value.shape = shape, value.constant = constant;
  auto numbers = decode(value);
  if (!numbers || numbers->empty()) return false;
  double& number = (*numbers)[numbers->size() / 2];
  if (dtype == DType::boolean)
    number = number == 0;
  else if (is_float(dtype))
    number = number == 0 ? 1 : -2 * number - 1;
  else
    number += number > 0 ? -1 : 1;
  (void)quantization;  // the stored number was flipped
  constant = Constant::own(encode(dtype, shape, *numbers));
  return true;
}

/// Arguments that say nothing about the numbers, or repeat what the operands say.
bool tells_nothing(std::string_view name) {
  constexpr std::string_view names[] = {"dtype",        "layout", "device",   "pin_memory",   "memory_format",
                                        "non_blocking", "copy",   "implicit", "requires_grad"};
  return name.starts_with('#') || std::find(std::begin(names), std::end(names), name) != std::end(names);
}

ValueId operand(const Node& node, std::string_view name) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (i < node.input_names.size() ? node.input_names[i] == name : i == 0) return node.inputs[i];
  return none_id;
}

const Value* value_of(const Graph& graph, const Patch& patch, ValueId id) {
  if (is_new_value(id)) return &patch.new_values[new_value_index(id)];
  return id >= 0 ? &graph.value(id) : nullptr;
}

/// Another number for an argument; the old one when every other means the same (the end of a slice behind the
/// end).
AttrValue another(const Graph& graph, const Patch& patch, const Node& node, std::string_view name,
                  const AttrValue& old) {
  const Value* self = value_of(graph, patch, operand(node, "self"));
  if (const auto* flag = std::get_if<bool>(&old)) return !*flag;
  if (const auto* real = std::get_if<double>(&old))
    return *real == 0 ? 1.0 : std::isfinite(*real) ? -2 * *real - 1 : 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&old)) {
    if (name == "end" && self) {  // one element less
      const std::int64_t rank = self->rank(), dim = node.attrs.integer("dim");
      const std::int64_t size = rank ? self->shape[static_cast<std::size_t>((dim + rank) % rank)] : 0;
      if (size <= 0) return old;
      return (*whole < 0 ? *whole + size : std::min(*whole, size)) - 1;
    }
    if ((name == "dim" || name == "dim0" || name == "dim1") && self && self->rank() == 1)
      return old;  // -1 and 0 are one axis
    // The lowest and the highest integer stand for no number: one beside them would tell nothing apart.
    constexpr std::int64_t ordinary = std::int64_t{1} << 31;
    return *whole > -ordinary && *whole < ordinary ? *whole + 1 : std::int64_t{0};
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&old); list && !list->empty()) {
    std::vector<std::int64_t> changed = *list;
    // Two sizes or axes change places, so that the count of elements stays right; a lone one changes its
    // value.
    for (std::size_t i = 1; i < changed.size(); ++i)
      if (changed[i] != changed[0]) return std::swap(changed[i], changed[0]), changed;
    changed[0] += 1;
    return changed;
  }
  return old;
}

/// Operators whose first two tensors may change places.
bool commutes(std::string_view op) {
  constexpr std::string_view names[] = {"aten.add.",         "aten.mul.",         "aten.maximum.",
                                        "aten.minimum.",     "aten.logical_and.", "aten.logical_or.",
                                        "aten.logical_xor.", "aten.eq.",          "aten.ne.",
                                        "aten.bitwise_and.", "aten.bitwise_or.",  "aten.bitwise_xor."};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view n) { return op.starts_with(n); });
}

/// Neighbouring operands of one type change places.
void mutate_operands(const Graph& graph, const Patch& patch, std::size_t i, std::vector<Mutation>& out) {
  const Node& node = patch.new_nodes[i];
  for (std::size_t a = 0; a + 1 < node.inputs.size(); ++a) {
    const Value *x = value_of(graph, patch, node.inputs[a]), *y = value_of(graph, patch, node.inputs[a + 1]);
    if (!x || !y || node.inputs[a] == node.inputs[a + 1] || x->dtype != y->dtype || x->shape != y->shape)
      continue;
    Mutation m{node.op + "'s operands", patch};
    std::swap(m.patch.new_nodes[i].inputs[a], m.patch.new_nodes[i].inputs[a + 1]);
    out.push_back(std::move(m));
  }
}

std::vector<double> numbers_of(const Graph& graph, const Patch& patch, const Node& node,
                               std::size_t operand) {
  const Value* value = operand < node.inputs.size() ? value_of(graph, patch, node.inputs[operand]) : nullptr;
  const auto numbers = value ? decode(*value) : std::nullopt;
  return numbers ? *numbers : std::vector<double>();
}

/// The axes that a STRIDED_SLICE does not take from their first element, or not to their last: only for those
/// does a mask say anything.
std::int64_t cut_axes(const Graph& graph, const Patch& patch, const Node& node, std::string_view mask) {
  const auto begin = numbers_of(graph, patch, node, 1), end = numbers_of(graph, patch, node, 2),
             strides = numbers_of(graph, patch, node, 3);
  const Value* data = value_of(graph, patch, node.inputs[0]);
  std::int64_t bits = 0;
  for (std::size_t d = 0; data && d < begin.size() && d < end.size() && d < data->shape.size(); ++d) {
    const double stride = d < strides.size() && strides[d] > 0 ? strides[d] : 1;
    const auto taken = [&](double to) { return std::ceil((to - begin[d]) / stride); };
    const bool late = begin[d] != 0, early = taken(end[d]) != taken(static_cast<double>(data->shape[d]));
    const bool shows = mask == "begin_mask" ? late : mask == "end_mask" ? early : late || early;
    if (shows && (mask != "ellipsis_mask" || bits == 0)) bits |= std::int64_t{1} << d;
  }
  return bits;
}

/// A window of one element has no padding and no holes, and a single place needs no stride.
bool single_place(const Graph& graph, const Patch& patch, const Node& node, std::string_view name) {
  const Value* filter = node.inputs.size() > 1 ? value_of(graph, patch, node.inputs[1]) : nullptr;
  const Value* out = node.outputs.empty() ? nullptr : value_of(graph, patch, node.outputs[0]);
  const Value* in =
      node.op == "TRANSPOSE_CONV" && node.inputs.size() > 2 ? value_of(graph, patch, node.inputs[2]) : out;
  if (!filter || filter->rank() != 4 || !out || out->rank() != 4 || !in || in->rank() != 4) return false;
  if (name == "stride_h") return in->shape[1] == 1 && out->shape[1] == filter->shape[1];
  if (name == "stride_w") return in->shape[2] == 1 && out->shape[2] == filter->shape[2];
  if (name == "dilation_h_factor") return filter->shape[1] == 1;
  if (name == "dilation_w_factor") return filter->shape[2] == 1;
  if (name != "padding") return false;
  if (node.op != "TRANSPOSE_CONV") return filter->shape[1] == 1 && filter->shape[2] == 1;
  // A result as large as without padding is not padded by SAME either.
  const std::int64_t h = node.attrs.integer("stride_h", 1), w = node.attrs.integer("stride_w", 1);
  return out->shape[1] == (in->shape[1] - 1) * h + filter->shape[1] &&
         out->shape[2] == (in->shape[2] - 1) * w + filter->shape[2];
}

/// No result of a quantized value leaves [-1, 1].
bool within_one(const Value& value) {
  if (!value.quantization || value.quantization->scale.size() != 1 || value.dtype != DType::i8) return false;
  const auto& zero = value.quantization->zero_point;
  const double scale = value.quantization->scale[0];
  const double middle = zero.empty() ? 0 : static_cast<double>(zero[0]);
  return std::abs((-128 - middle) * scale) <= 1 && std::abs((127 - middle) * scale) <= 1;
}

/// Another value of this attribute is the same computation here, or one that the shapes say again: the
/// kernels go by the shapes.
bool tells_nothing_here(const Graph& graph, const Patch& patch, const Node& node, std::string_view name) {
  const Value* data = node.inputs.empty() ? nullptr : value_of(graph, patch, node.inputs[0]);
  const Value* out = node.outputs.empty() ? nullptr : value_of(graph, patch, node.outputs[0]);
  if (name == "keep_dims" || name == "keep_num_dims" || name == "depth_multiplier" ||
      name == "shrink_axis_mask" || name == "new_axis_mask")
    return true;
  if (name == "offset") {  // ends count from the beginnings
    const auto begin = numbers_of(graph, patch, node, 1);
    return std::all_of(begin.begin(), begin.end(), [](double b) { return b == 0; });
  }
  if (name == "batch_dims") return data && !data->shape.empty() && data->shape[0] == 1;
  if (name == "fused_activation_function") return out && within_one(*out);
  return single_place(graph, patch, node, name);
}

/// Another value of a TFLite attribute; the old one where none would be another computation.
AttrValue another_attribute(const Graph& graph, const Patch& patch, const Node& node,
                            const AttributeSpec& spec, const AttrValue& old) {
  if (spec.ignored || tells_nothing_here(graph, patch, node, spec.name)) return old;
  if (node.op == "STRIDED_SLICE")
    if (const auto* mask = std::get_if<std::int64_t>(&old))
      return *mask ^ cut_axes(graph, patch, node, spec.name);
  if (const auto* flag = std::get_if<bool>(&old)) return !*flag;
  if (const auto* real = std::get_if<double>(&old)) return *real == 0 ? 1.0 : -2 * *real - 1;
  if (const auto* whole = std::get_if<std::int64_t>(&old)) return *whole + 1;
  if (const auto* word = std::get_if<EnumValue>(&old); word && spec.enumeration) {
    // A clamp to [-1, 1] shows on every result that is not there already, a ReLU only on negative ones.
    const char* other = word->name == "NONE" ? "RELU_N1_TO_1" : word->name == "SAME" ? "VALID" : "NONE";
    if (const auto found = spec.enumeration->find(word->name == "VALID" ? "SAME" : other)) return *found;
  }
  return old;
}

/// Attributes of new TFLite nodes and of nodes that a patch changes, and operands that change places.
void mutate_attributes(const Graph& graph, const Patch& patch, std::vector<Mutation>& out) {
  const auto each = [&](const Node& node, const Attributes& attrs, const auto& set) {
    const OpSpec* spec = find_op(md::dialect("tflite"), node.op);
    for (const auto& [name, value] : attrs) {
      const AttributeSpec* known = spec ? spec->find(name) : nullptr;
      const AttrValue changed = known ? another_attribute(graph, patch, node, *known, value) : value;
      if (changed == value) continue;
      Mutation m{node.op + "'s " + name, patch};
      set(m.patch, name, changed);
      out.push_back(std::move(m));
    }
  };
  for (std::size_t i = 0; i < patch.new_nodes.size(); ++i) {
    const Node& node = patch.new_nodes[i];
    each(node, node.attrs, [i](Patch& p, const std::string& name, const AttrValue& value) {
      p.new_nodes[i].attrs.set(name, value);
    });
    const OpSpec* spec = find_op(md::dialect("tflite"), node.op);
    if (spec && !spec->commutative) mutate_operands(graph, patch, i, out);
  }
  for (std::size_t i = 0; i < patch.node_changes.size(); ++i)
    each(graph.node(patch.node_changes[i].node), patch.node_changes[i].set_attrs,
         [i](Patch& p, const std::string& name, const AttrValue& value) {
           p.node_changes[i].set_attrs.set(name, value);
         });
}

/// The results of a patch, negated on the way out: what is left where nothing in it can be another.
void mutate_results(const Dialect& dialect, const Graph& graph, const Patch& patch,
                    std::vector<Mutation>& out) {
  for (std::size_t i = 0; i < patch.new_nodes.size(); ++i)
    for (std::size_t k = 0; k < patch.new_nodes[i].outputs.size(); ++k) {
      const ValueId result = patch.new_nodes[i].outputs[k];
      if (result < 0) continue;
      Value plain = graph.value(result);
      if (plain.quantization || (!is_float(plain.dtype) && !is_integer(plain.dtype))) continue;
      plain.name += "/plain";
      Mutation m{"sign of " + graph.value(result).name, patch};
      const ValueId between = new_value(m.patch.new_values.size());
      m.patch.new_values.push_back(plain);
      m.patch.new_nodes[i].outputs[k] = between;
      Node negation;
      negation.op = dialect.name == "pt2" ? "aten.neg.default" : dialect.name == "onnx" ? "Neg" : "NEG";
      negation.version = dialect.name == "onnx" ? 13 : 1;
      negation.inputs = {between}, negation.outputs = {result};
      if (dialect.name == "pt2") negation.input_names = {"self"};
      m.patch.new_nodes.push_back(std::move(negation));
      out.push_back(std::move(m));
    }
}

/// Arguments of new aten nodes, and operands that change places.
void mutate_arguments(const Graph& graph, const Patch& patch, std::vector<Mutation>& out) {
  for (std::size_t i = 0; i < patch.new_nodes.size(); ++i) {
    const Node& node = patch.new_nodes[i];
    for (const auto& [name, value] : node.attrs) {
      if (tells_nothing(name)) continue;
      AttrValue changed = another(graph, patch, node, name, value);
      if (changed == value) continue;
      Mutation m{node.op + "'s argument " + name, patch};
      m.patch.new_nodes[i].attrs.set(name, std::move(changed));
      out.push_back(std::move(m));
    }
    if (node.op == "buffer_mutation") {  // the buffer keeps what it held
      Mutation m{"value for the buffer", patch};
      m.patch.new_nodes[i].inputs[1] = node.inputs[0];
      out.push_back(std::move(m));
      continue;
    }
    if (!commutes(node.op)) mutate_operands(graph, patch, i, out);
  }
}

/// Arguments that a patch gives to nodes that stay.
void mutate_changed_arguments(const Graph& graph, const Patch& patch, std::vector<Mutation>& out) {
  for (std::size_t i = 0; i < patch.node_changes.size(); ++i)
    for (const auto& [name, value] : patch.node_changes[i].set_attrs) {
      if (tells_nothing(name)) continue;
      AttrValue changed = another(graph, patch, graph.node(patch.node_changes[i].node), name, value);
      if (changed == value) continue;
      Mutation m{"changed argument " + name, patch};
      m.patch.node_changes[i].set_attrs.set(name, std::move(changed));
      out.push_back(std::move(m));
    }
}

/// Where a patch only changes types: truth values instead of numbers, once each.
void mutate_types(const Patch& patch, std::vector<Mutation>& out) {
  const EnumValue truth = aten_scalar_type(DType::boolean);
  for (std::size_t i = 0; i < patch.new_nodes.size(); ++i)
    if (patch.new_nodes[i].attrs.find("dtype")) {
      Mutation m{patch.new_nodes[i].op + "'s dtype", patch};
      m.patch.new_nodes[i].attrs.set("dtype", truth);
      out.push_back(std::move(m));
    }
  for (std::size_t i = 0; i < patch.node_changes.size(); ++i)
    if (patch.node_changes[i].set_attrs.find("dtype")) {
      Mutation m{"changed dtype", patch};
      m.patch.node_changes[i].set_attrs.set("dtype", truth);
      out.push_back(std::move(m));
    }
}

/// A sign is no change to a truth value.
std::string_view negation_of(const Graph& graph, const Patch& patch, const Node& node) {
  const Value* data = node.inputs.empty() ? nullptr : value_of(graph, patch, node.inputs[0]);
  return data && data->dtype == DType::boolean ? "aten.logical_not.default" : "aten.neg.default";
}

/// A node that computes something else of the same type.
void mutate_operator(const Graph& graph, const Patch& patch, std::size_t i, std::vector<Mutation>& out) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"aten.add.Tensor", "aten.sub.Tensor"},
      {"aten.sub.Tensor", "aten.add.Tensor"},
      {"aten.mul.Tensor", "aten.add.Tensor"},
      {"aten.div.Tensor", "aten.mul.Tensor"},
      {"aten.neg.default", "aten.abs.default"},
      {"aten.abs.default", "aten.neg.default"},
      {"aten.clone.default", "aten.neg.default"},
      {"aten.copy.default", "aten.add.Tensor"},
      {"aten.exp.default", "aten.neg.default"},
      {"aten.sqrt.default", "aten.neg.default"},
      {"aten.rsqrt.default", "aten.neg.default"},
      {"aten.where.self", "aten.add.Tensor"},
      {"aten.view.default", "aten.neg.default"},
      {"aten.reshape.default", "aten.neg.default"},
      {"aten._to_copy.default", "aten.neg.default"},
      {"aten.full_like.default", "aten.neg.default"},
      {"aten.amax.default", "aten.amin.default"},
      {"aten.amin.default", "aten.amax.default"},
      {"aten.matmul.default", "aten.add.Tensor"},
      {"aten.mm.default", "aten.add.Tensor"},
      {"Add", "Sub"},
      {"Sub", "Add"},
      {"Mul", "Sub"},
      {"Div", "Mul"},
      {"And", "Or"},
      {"Or", "And"},
      {"Max", "Min"},
      {"Min", "Max"},
      {"Exp", "Neg"},
      {"Sqrt", "Neg"},
      {"Sigmoid", "Tanh"},
      {"Tanh", "Sigmoid"}};
  const Node& made = patch.new_nodes[i];
  const bool listed = std::any_of(std::begin(others), std::end(others),
                                  [&](const auto& pair) { return pair.first == made.op; });
  if (!listed && made.op.starts_with("aten.") && made.outputs.size() == 1 && !made.inputs.empty()) {
    Mutation m{"operator " + made.op, patch};
    Node& node = m.patch.new_nodes[i];
    node.op = negation_of(graph, patch, made), node.attrs = {};
    node.inputs.resize(1), node.input_names = {"self"};
    out.push_back(std::move(m));
  }
  if (made.op == "Where") {
    Mutation m{"operator Where's branches", patch};
    std::swap(m.patch.new_nodes[i].inputs[1], m.patch.new_nodes[i].inputs[2]);
    out.push_back(std::move(m));
  }
  for (const auto& [op, other] : others) {
    if (patch.new_nodes[i].op != op) continue;
    Mutation m{"operator " + patch.new_nodes[i].op, patch};
    m.patch.new_nodes[i].op = other == "aten.neg.default" ? negation_of(graph, patch, made) : other;
    out.push_back(std::move(m));
  }
}

/// A TFLite node that computes something else of the same type.
void mutate_tflite_operator(const Patch& patch, std::size_t i, std::vector<Mutation>& out) {
  const OpSpec* spec = find_op(md::dialect("tflite"), patch.new_nodes[i].op);
  if (!spec || !(spec->unary || spec->binary || spec->compare)) return;
  Mutation m{"operator " + patch.new_nodes[i].op, patch};
  Node& node = m.patch.new_nodes[i];
  if (spec->compare)
    node.op = node.op == "LESS" ? "GREATER" : "LESS";
  else
    node.op = spec->unary ? (node.op == "NEG" ? "ABS" : "NEG") : (node.op == "SUB" ? "ADD" : "SUB");
  Node plain;
  plain.op = node.op;
  node.attrs = with_defaults(md::dialect("tflite"), plain);
  out.push_back(std::move(m));
}

/// Some new values only served to find the others.
bool is_read(const Patch& patch, ValueId value) {
  const auto reads = [&](const Node& n) {
    return std::find(n.inputs.begin(), n.inputs.end(), value) != n.inputs.end();
  };
  return std::any_of(patch.new_nodes.begin(), patch.new_nodes.end(), reads) ||
         std::any_of(patch.rewires.begin(), patch.rewires.end(),
                     [&](const Rewire& r) { return r.value == value; });
}

}  // namespace

std::vector<Mutation> mutations(const Dialect& dialect, const Graph& graph, const Patch& patch) {
  std::vector<Mutation> out;
  for (std::size_t i = 0; i < patch.new_values.size(); ++i) {
    if (!is_read(patch, new_value(i))) continue;
    Mutation m{"constant " + patch.new_values[i].name, patch};
    Value& value = m.patch.new_values[i];
    if (value.constant && flip_constant(value.dtype, value.shape, value.quantization, *value.constant))
      out.push_back(std::move(m));
  }
  for (std::size_t i = 0; i < patch.value_changes.size(); ++i) {
    Mutation m{"constant bytes", patch};
    ValueChange& change = m.patch.value_changes[i];
    const Value& old = graph.value(change.value);
    if (change.constant && flip_constant(change.dtype.value_or(old.dtype), change.shape.value_or(old.shape),
                                         old.quantization, *change.constant))
      out.push_back(std::move(m));
  }
  for (std::size_t i = 0; i < patch.rewires.size(); ++i) {
    const Rewire& rewire = patch.rewires[i];
    const ValueId now = graph.node(rewire.node).inputs[static_cast<std::size_t>(rewire.operand)];
    for (const ValueId other : graph.inputs) {
      if (other == rewire.value || other == now || now < 0 ||
          graph.value(other).shape != graph.value(now).shape ||
          graph.value(other).dtype != graph.value(now).dtype)
        continue;
      Mutation m{"operand", patch};
      m.patch.rewires[i].value = other;
      out.push_back(std::move(m));
    }
  }
  const bool constants = !out.empty();
  if (dialect.name == "pt2") mutate_arguments(graph, patch, out);
  if (dialect.name != "tflite")
    mutate_changed_arguments(graph, patch, out);
  else
    mutate_attributes(graph, patch, out);
  if (dialect.name == "pt2" && out.empty()) mutate_types(patch, out);
  // Beside a constant, a changed operator can be as right as the old one (any scale does in a guarded
  // hypotenuse).
  for (std::size_t i = 0; !constants && i < patch.new_nodes.size(); ++i)
    dialect.name != "tflite" ? mutate_operator(graph, patch, i, out) : mutate_tflite_operator(patch, i, out);
  if (out.empty()) mutate_results(dialect, graph, patch, out);
  return out;
}

}  // namespace md::test

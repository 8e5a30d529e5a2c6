#include "lib/rewrite/linear_form.h"

#include <algorithm>
#include <string>

#include "lib/eval/fold.h"

namespace md {

namespace {

// Declared shapes need not agree with each other: an element that a shape does not have is -1, and has no
// form.
Shape index_of(std::int64_t element, const Shape& shape) {
  Shape index(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] < 1) continue;
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

std::int64_t element_at(const Shape& index, const Shape& shape) {
  if (index.size() != shape.size()) return -1;
  std::int64_t element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape[d]) return -1;
    element = element * shape[d] + index[d];
  }
  return element;
}

/// The element of an operand that broadcasts to `whole`.
std::int64_t broadcast_element(const Shape& index, const Shape& operand) {
  if (operand.size() > index.size()) return -1;
  Shape own(operand.size());
  const std::size_t missing = index.size() - operand.size();
  for (std::size_t d = 0; d < operand.size(); ++d) own[d] = operand[d] == 1 ? 0 : index[d + missing];
  return element_at(own, operand);
}

Form sum_of(const Form& a, const Form& b, double factor) {
  Form result;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    Term t;
    if (j == b.size() || (i < a.size() && a[i].element < b[j].element)) {
      t = a[i++];
    } else if (i == a.size() || b[j].element < a[i].element) {
      t = {b[j].element, factor * b[j].factor};
      ++j;
    } else {
      t = {a[i].element, a[i].factor + factor * b[j].factor};
      ++i, ++j;
    }
    if (t.factor != 0) result.push_back(t);
  }
  return result;
}

std::optional<double> number_at(const std::vector<double>& numbers, std::int64_t element) {
  if (element < 0 || static_cast<std::size_t>(element) >= numbers.size()) return std::nullopt;
  return numbers[static_cast<std::size_t>(element)];
}

bool plain(const Node& node) { return node.attrs.integer("fused_activation_function") == 0; }

}  // namespace

LinearForms::LinearForms(const Model& model, int graph_index, ValueId source, std::set<NodeId> nodes)
    : model_(model),
      graph_index_(graph_index),
      graph_(model.graphs[static_cast<std::size_t>(graph_index)]),
      source_(source),
      nodes_(std::move(nodes)) {}

bool LinearForms::is_linear(const Node& node) {
  static const std::set<std::string, std::less<>> names = {
      "ADD",   "SUB",           "MUL",           "DIV",          "NEG",         "SUM",
      "MEAN",  "GATHER_ND",     "TRANSPOSE",     "RESHAPE",      "EXPAND_DIMS", "SQUEEZE",
      "SLICE", "STRIDED_SLICE", "CONCATENATION", "BROADCAST_TO", "SELECT",      "SELECT_V2"};
  return names.count(node.op) != 0 && node.outputs.size() == 1 && plain(node);
}

const std::vector<double>* LinearForms::constant(ValueId id) {
  const auto [it, added] = constants_.try_emplace(id);
  if (added && depends_on_constants_only(graph_, id))
    if (const auto tensor = fold_value(model_, graph_index_, id)) it->second = tensor->real_values();
  return it->second ? &*it->second : nullptr;
}

std::optional<Form> LinearForms::form(ValueId value, std::int64_t element) {
  const auto count = element_count(shape(value));
  if (element < 0 || !count || element >= *count) return std::nullopt;
  if (value == source_) return Form{{element, 1.0}};
  const NodeId maker = graph_.producer(value);
  if (maker == none_id || nodes_.count(maker) == 0) return std::nullopt;
  const Node& node = graph_.node(maker);
  return is_linear(node) ? of_node(node, value, element) : std::nullopt;
}

std::optional<Form> LinearForms::of_node(const Node& node, ValueId value, std::int64_t element) {
  const std::string& op = node.op;
  if (op == "ADD" || op == "SUB" || op == "MUL" || op == "DIV" || op == "NEG")
    return arithmetic(node, value, element);
  if (op == "SUM" || op == "MEAN") return reduction(node, value, element);
  if (op == "SELECT" || op == "SELECT_V2") return selection(node, value, element);
  return moved(node, value, element);
}

std::optional<Form> LinearForms::arithmetic(const Node& node, ValueId value, std::int64_t element) {
  const Shape index = index_of(element, shape(value));
  const auto operand = [&](std::size_t i) {
    return form(node.inputs[i], broadcast_element(index, shape(node.inputs[i])));
  };
  if (node.op == "NEG") {
    const auto x = operand(0);
    return x ? std::optional(sum_of({}, *x, -1)) : std::nullopt;
  }
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.op == "ADD" || node.op == "SUB") {
    const auto a = operand(0), b = operand(1);
    return a && b ? std::optional(sum_of(*a, *b, node.op == "ADD" ? 1 : -1)) : std::nullopt;
  }
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    const std::vector<double>* factors = constant(node.inputs[i]);
    if (!factors || (node.op == "DIV" && i == 0)) continue;
    const auto number = number_at(*factors, broadcast_element(index, shape(node.inputs[i])));
    const auto x = operand(1 - i);
    if (!number || !x) return std::nullopt;
    return sum_of({}, *x, node.op == "DIV" ? 1 / *number : *number);
  }
  return std::nullopt;
}

std::optional<Form> LinearForms::selection(const Node& node, ValueId value, std::int64_t element) {
  const std::vector<double>* condition = node.inputs.size() == 3 ? constant(node.inputs[0]) : nullptr;
  const Shape index = index_of(element, shape(value));
  // SELECT with a condition of rank 1 chooses rows.
  if (!condition || (node.op == "SELECT" && shape(node.inputs[0]) != shape(value))) return std::nullopt;
  const auto chosen = number_at(*condition, broadcast_element(index, shape(node.inputs[0])));
  if (!chosen) return std::nullopt;
  const ValueId branch = node.inputs[*chosen != 0 ? 1 : 2];
  const std::int64_t at = broadcast_element(index, shape(branch));
  const std::vector<double>* fixed = constant(branch);
  if (!fixed) return form(branch, at);
  const auto number = number_at(*fixed, at);
  return number && *number == 0 ? std::optional(Form{}) : std::nullopt;
}

std::optional<Form> LinearForms::reduction(const Node& node, ValueId value, std::int64_t element) {
  const std::vector<double>* axes = node.inputs.size() > 1 ? constant(node.inputs[1]) : nullptr;
  if (!axes) return std::nullopt;
  const Shape& whole = shape(node.inputs[0]);
  std::set<std::size_t> reduced;
  for (const double a : *axes) {
    const double axis = a < 0 ? a + static_cast<double>(whole.size()) : a;
    if (!(axis >= 0 && axis < static_cast<double>(whole.size()))) return std::nullopt;
    reduced.insert(static_cast<std::size_t>(axis));
  }
  // The kept axes are those of the result in order, with or without the reduced ones.
  Shape kept = whole, extent(whole.size(), 1);
  for (const std::size_t a : reduced) {
    extent[a] = whole[a];
    kept[a] = 1;
  }
  const Shape base = index_of(element_at(index_of(element, shape(value)), shape(value)), kept);
  Form result;
  const std::int64_t count = element_count(extent).value_or(0);
  if (count == 0) return std::nullopt;  // the mean of nothing is not a number
  for (std::int64_t i = 0; i < count; ++i) {
    Shape at = index_of(i, extent);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
    const auto x = form(node.inputs[0], element_at(at, whole));
    if (!x) return std::nullopt;
    result = sum_of(result, *x, node.op == "MEAN" ? 1.0 / static_cast<double>(count) : 1.0);
  }
  return result;
}

namespace {

/// The operand's axes of a TRANSPOSE. nullopt: its permutation is none.
std::optional<Shape> transposed_place(const Shape& index, const Shape& whole,
                                      const std::vector<double>& permutation) {
  if (permutation.size() != whole.size() || index.size() != whole.size()) return std::nullopt;
  Shape at(whole.size(), 0);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const double axis = permutation[d];
    if (!(axis >= 0 && axis < static_cast<double>(at.size()))) return std::nullopt;
    at[static_cast<std::size_t>(axis)] = index[d];
  }
  return at;
}

/// Of a SLICE, or a STRIDED_SLICE without masks. `steps`: null for steps of 1.
std::optional<Shape> sliced_place(const Node& node, const Shape& index, const Shape& whole,
                                  const std::vector<double>& begins, const std::vector<double>* steps) {
  const bool masked = node.attrs.integer("shrink_axis_mask") != 0 ||
                      node.attrs.integer("new_axis_mask") != 0 || node.attrs.integer("ellipsis_mask") != 0 ||
                      node.attrs.integer("begin_mask") != 0;
  if (begins.size() != whole.size() || index.size() != whole.size() || masked) return std::nullopt;
  if (node.op == "STRIDED_SLICE" && (!steps || steps->size() != whole.size())) return std::nullopt;
  Shape at(whole.size(), 0);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto begin = static_cast<std::int64_t>(begins[d]);
    at[d] = (begin < 0 ? begin + whole[d] : begin) +
            index[d] * (steps ? static_cast<std::int64_t>((*steps)[d]) : 1);
  }
  return at;
}

/// Of a GATHER_ND with the constant `places`, of shape `entries`.
std::optional<Shape> gathered_place(const Shape& index, const Shape& whole, const Shape& entries,
                                    const std::vector<double>& places) {
  Shape at(whole.size(), 0);
  if (entries.empty() || entries.back() < 0 || static_cast<std::size_t>(entries.back()) > at.size() ||
      index.size() + static_cast<std::size_t>(entries.back()) != entries.size() - 1 + at.size())
    return std::nullopt;
  const auto axes = static_cast<std::size_t>(entries.back());
  const std::size_t lead = entries.size() - 1;
  std::int64_t row = 0;
  for (std::size_t d = 0; d < lead; ++d) row = row * entries[d] + index[d];
  for (std::size_t a = 0; a < axes; ++a) {
    const auto place = number_at(places, row * entries.back() + static_cast<std::int64_t>(a));
    if (!place) return std::nullopt;
    at[a] = static_cast<std::int64_t>(*place);
  }
  for (std::size_t d = axes; d < at.size(); ++d) at[d] = index[lead + d - axes];
  return at;
}

}  // namespace

std::optional<Form> LinearForms::moved(const Node& node, ValueId value, std::int64_t element) {
  const std::string& op = node.op;
  const ValueId in = node.inputs[0];
  const Shape& whole = shape(in);
  if (op == "RESHAPE" || op == "EXPAND_DIMS" || op == "SQUEEZE") return form(in, element);
  Shape index = index_of(element, shape(value));
  if (op == "BROADCAST_TO") return form(in, broadcast_element(index, whole));
  if (op == "CONCATENATION") return joined(node, std::move(index));
  const std::vector<double>* list = node.inputs.size() > 1 ? constant(node.inputs[1]) : nullptr;
  if (!list) return std::nullopt;
  std::optional<Shape> at;
  if (op == "TRANSPOSE")
    at = transposed_place(index, whole, *list);
  else if (op == "SLICE" || op == "STRIDED_SLICE")
    at = sliced_place(node, index, whole, *list,
                      op == "STRIDED_SLICE" && node.inputs.size() > 3 ? constant(node.inputs[3]) : nullptr);
  else if (op == "GATHER_ND")
    at = gathered_place(index, whole, shape(node.inputs[1]), *list);
  if (!at) return std::nullopt;
  for (std::size_t d = 0; d < at->size(); ++d)
    if ((*at)[d] < 0 || (*at)[d] >= whole[d]) return std::nullopt;
  return form(in, element_at(*at, whole));
}

std::optional<Form> LinearForms::joined(const Node& node, Shape index) {
  std::int64_t axis = node.attrs.integer("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(index.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(index.size())) return std::nullopt;
  std::int64_t& place = index[static_cast<std::size_t>(axis)];
  for (const ValueId part : node.inputs) {
    if (shape(part).size() != index.size()) return std::nullopt;
    const std::int64_t size = shape(part)[static_cast<std::size_t>(axis)];
    if (place < size) return form(part, element_at(index, shape(part)));
    place -= size;
  }
  return std::nullopt;
}

}  // namespace md

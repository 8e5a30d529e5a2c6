#include "lib/op/well_formed.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/op/dialect.h"

namespace md {
namespace {

using Fault = std::optional<std::string>;

/// Four tensors of a terabyte: nothing real is larger, and products of a few such numbers still fit 64 bits.
constexpr std::int64_t element_limit = std::int64_t{1} << 40;

std::string expected_count(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  return most >= any_number ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
}

std::string quoted_value(const Value& value) {
  return fmt::format("\"{}\" of type {}[{}]", value.name, name(value.dtype), shape_text(value.shape));
}

/// The rank, where the file says it: a result without dimensions may be a scalar or of unknown rank.
std::optional<int> known_rank(const Value& value) {
  if (value.rank() == 0 && !value.is_constant()) return std::nullopt;
  return value.rank();
}

enum class Kind { other, real, integer, complex };
Kind kind_of(DType dtype) {
  switch (dtype) {
    case DType::c32:
    case DType::c64:
    case DType::c128:
      return Kind::complex;
    default:
      return is_float(dtype) ? Kind::real : is_integer(dtype) ? Kind::integer : Kind::other;
  }
}

/// A flag, a number and an enumeration that the table takes for a number read alike.
bool same_form(const AttrValue& a, const AttrValue& b) {
  const auto whole = [](const AttrValue& v) {
    return std::holds_alternative<bool>(v) || std::holds_alternative<std::int64_t>(v) ||
           std::holds_alternative<EnumValue>(v);
  };
  return a.index() == b.index() || (whole(a) && whole(b));
}

class Gate {
 public:
  Gate(const Model& model, const Graph& graph, const Node& node, const OpSpec& spec)
      : model_(model), graph_(graph), node_(node), spec_(spec) {}

  Fault check() const {
    for (const auto part : {&Gate::operands, &Gate::results, &Gate::attributes, &Gate::ranks, &Gate::kinds})
      if (Fault fault = (this->*part)()) return fault;
    return std::nullopt;
  }

 private:
  const OperandSpec* operand_spec(std::size_t i) const {
    if (i < spec_.operand_specs.size()) return &spec_.operand_specs[i];
    return spec_.variadic ? &spec_.operand_specs.back() : nullptr;
  }
  std::string operand_name(std::size_t i) const {
    return fmt::format("its operand {} \"{}\"", i, spec_.operands[std::min(i, spec_.operands.size() - 1)]);
  }
  const Value* first(const std::vector<ValueId>& ids) const {
    return ids.empty() || ids[0] == none_id ? nullptr : &graph_.value(ids[0]);
  }
  /// The operand that a movement or a unary operator is about: the first that is not an axis or a shape in
  /// front.
  const Value* data_operand() const { return first(node_.inputs); }

  Fault operands() const {
    const auto count = static_cast<int>(node_.inputs.size());
    const int most = spec_.variadic ? any_number : static_cast<int>(spec_.operands.size());
    if (count < spec_.least_operands || count > most)
      return fmt::format("it has {} operands, expected {}", count,
                         expected_count(spec_.least_operands, most));
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      if (node_.inputs[i] == none_id && !operand_spec(i)->optional)
        return operand_name(i) + " is absent (-1), expected a tensor";
    return std::nullopt;
  }

  Fault results() const {
    const auto count = static_cast<int>(node_.outputs.size());
    if (count < spec_.least_results || count > spec_.most_results)
      return fmt::format("it has {} results, expected {}", count,
                         expected_count(spec_.least_results, spec_.most_results));
    for (std::size_t i = 0; i < node_.outputs.size(); ++i)
      if (node_.outputs[i] == none_id && !(spec_.least_results == 0 && spec_.most_results == any_number))
        return fmt::format("its result {} is absent (-1), expected a tensor", i);
    return std::nullopt;
  }

  Fault attributes() const {
    for (const AttributeSpec& attribute : spec_.attributes) {
      const AttrValue* value = node_.attrs.find(attribute.name);
      if (!value || !same_form(*value, attribute.schema_default)) {
        if (attribute.ignored || (!value && attribute.optional)) continue;
        return fmt::format("its {} is missing: the options are those of another operator, expected its own",
                           attribute.name);
      }
      if (const auto* e = std::get_if<EnumValue>(value);
          e && attribute.enumeration && !attribute.ignored &&
          (e->number < 0 || e->number >= static_cast<std::int64_t>(attribute.enumeration->values.size())))
        return fmt::format("its {} is {}, expected 0 to {}", attribute.name, e->number,
                           attribute.enumeration->values.size() - 1);
      if (attribute.role != AttributeRole::free)
        if (Fault fault = number(attribute, node_.attrs.integer(attribute.name))) return fault;
    }
    return std::nullopt;
  }

  Fault number(const AttributeSpec& attribute, std::int64_t value) const {
    switch (attribute.role) {
      case AttributeRole::free:
        return std::nullopt;
      case AttributeRole::positive:
        if (value >= 1) return std::nullopt;
        return fmt::format("its {} is {}, expected 1 or more", attribute.name, value);
      case AttributeRole::axis:
        return axis(attribute, value, data_operand());
      case AttributeRole::result_axis:
        return axis(attribute, value, first(node_.outputs));
      default:
        return called(attribute, value);
    }
  }

  static Fault axis(const AttributeSpec& attribute, std::int64_t value, const Value* of) {
    const std::optional<int> rank = of ? known_rank(*of) : std::nullopt;
    if (!rank || (value >= -*rank && value < *rank)) return std::nullopt;
    return fmt::format("its {} is {}, expected {} to {} for {}", attribute.name, value, -*rank, *rank - 1,
                       quoted_value(*of));
  }

  Fault called(const AttributeSpec& attribute, std::int64_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= model_.graphs.size())
      return fmt::format("its {} is {}, but there are {} subgraphs", attribute.name, index,
                         model_.graphs.size());
    const Graph& graph = model_.graphs[static_cast<std::size_t>(index)];
    const std::size_t given = node_.inputs.size() - (attribute.role == AttributeRole::branch ? 1 : 0);
    const std::size_t wanted = attribute.role == AttributeRole::condition ? 1
                               : attribute.role == AttributeRole::body    ? node_.inputs.size()
                                                                          : node_.outputs.size();
    if (graph.inputs.size() != given)
      return fmt::format("its {} is {}, which takes {} tensors, expected {}", attribute.name, index,
                         graph.inputs.size(), given);
    if (graph.outputs.size() != wanted)
      return fmt::format("its {} is {}, which gives {} tensors, expected {}", attribute.name, index,
                         graph.outputs.size(), wanted);
    if (attribute.role == AttributeRole::body && node_.outputs.size() != node_.inputs.size())
      return fmt::format("it has {} results, expected one for each of its {} operands", node_.outputs.size(),
                         node_.inputs.size());
    return std::nullopt;
  }

  Fault ranks() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i] == none_id) continue;
      const OperandSpec& spec = *operand_spec(i);
      const Value& value = graph_.value(node_.inputs[i]);
      const auto rank = known_rank(value);
      if (!rank || (*rank >= spec.least_rank && *rank <= spec.most_rank)) continue;
      return fmt::format("{} is {} and has rank {}, expected {}", operand_name(i), quoted_value(value), *rank,
                         spec.most_rank < 1000 ? expected_count(spec.least_rank, spec.most_rank)
                                               : fmt::format("{} or more", spec.least_rank));
    }
    return std::nullopt;
  }

  /// A kernel reads what it writes as: a complex result of a float would be read past its end.
  Fault kinds() const {
    const Value *from = data_operand(), *to = first(node_.outputs);
    if (!spec_.keeps_kind || !from || !to) return std::nullopt;
    const Kind a = kind_of(from->dtype), b = kind_of(to->dtype);
    if (a == b) return std::nullopt;
    return fmt::format("its result {} cannot come from {}, expected a type of the same kind",
                       quoted_value(*to), quoted_value(*from));
  }

  const Model& model_;
  const Graph& graph_;
  const Node& node_;
  const OpSpec& spec_;
};

Fault absurd_size(const Value& value) {
  if (std::count(value.shape.begin(), value.shape.end(), 0) > 0) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t dim : value.shape)
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(dim, 1), &count) || count >= element_limit)
      return fmt::format("({}): its shape holds too many elements, expected fewer than 2^40",
                         quoted_value(value));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> malformed(const Model& model) {
  if (!model.dialect || !has_op_table(*model.dialect)) return std::nullopt;
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    const Graph& graph = model.graphs[g];
    for (std::size_t v = 0; v < graph.values.size(); ++v)
      if (const Fault fault = absurd_size(graph.values[v]))
        return fmt::format("subgraph {} tensor {} {}", g, v, *fault);
    if (!model.dialect->operators().strict) continue;
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      const OpSpec* spec = find_op(*model.dialect, node);
      if (!spec) continue;
      if (const Fault fault = Gate(model, graph, node, *spec).check())
        return fmt::format("subgraph {} operator {} ({}): {}", g, id, node.op, *fault);
    }
  }
  return std::nullopt;
}

}  // namespace md

#include "lib/edit/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "lib/op/dialect.h"

namespace md {
namespace {

/// Constants up to this size are compared whenever a file was written: shapes, axes, scalars.
constexpr std::size_t small_constant = 4096;

bool same_bytes(Bytes a, Bytes b) {
  return a.size() == b.size() &&
         (a.data() == b.data() || a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Bit by bit, so that a NaN in a file is not a change.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same_quantization(const std::optional<Quantization>& a, const std::optional<Quantization>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same_bits(a->scale, b->scale) && a->zero_point == b->zero_point && a->axis == b->axis &&
         same_bits(a->min, b->min) && same_bits(a->max, b->max);
}

bool identical(const AttrValue& a, const AttrValue& b) {
  if (const auto* x = std::get_if<double>(&a), *y = std::get_if<double>(&b); x && y)
    return std::memcmp(x, y, sizeof *x) == 0;
  if (const auto* x = std::get_if<std::vector<double>>(&a), *y = std::get_if<std::vector<double>>(&b); x && y)
    return same_bits(*x, *y);
  return a == b;
}

bool identical(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && identical(x.second, y.second);
  });
}

bool same_sparsity(const Value& a, const Value& b) {
  if (a.sparsity == b.sparsity) return true;
  if (!a.sparsity || !b.sparsity) return false;
  const auto same_dimension = [](const Sparsity::Dimension& x, const Sparsity::Dimension& y) {
    return x.sparse == y.sparse && x.dense_size == y.dense_size && x.segments == y.segments &&
           x.indices == y.indices;
  };
  return a.sparsity->traversal_order == b.sparsity->traversal_order &&
         a.sparsity->block_map == b.sparsity->block_map &&
         std::equal(a.sparsity->dimensions.begin(), a.sparsity->dimensions.end(),
                    b.sparsity->dimensions.begin(), b.sparsity->dimensions.end(), same_dimension);
}

bool same_signatures(const std::vector<ModelSignature>& a, const std::vector<ModelSignature>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const ModelSignature& x, const ModelSignature& y) {
        return x.key == y.key && x.graph == y.graph && x.inputs == y.inputs && x.outputs == y.outputs;
      });
}

void compare_nodes(const Graph& original, const Graph& edited, GraphChanges& changes) {
  std::vector<char> kept(original.nodes.size(), 0);
  std::int32_t last = none_id;
  for (const NodeId id : edited.order) {
    const Node& node = edited.node(id);
    if (node.origin == none_id || static_cast<std::size_t>(node.origin) >= original.nodes.size()) {
      changes.added.push_back(id);
      continue;
    }
    kept[static_cast<std::size_t>(node.origin)] = 1;
    if (node.origin < last) changes.reordered = true;
    last = node.origin;
    if (!same_node(original.node(node.origin), node)) changes.changed.push_back(id);
  }
  for (const NodeId id : original.order)
    if (!kept[static_cast<std::size_t>(id)]) changes.removed.push_back(id);
}

void compare_values(const Graph& original, const Graph& edited, GraphChanges& changes) {
  for (std::size_t i = 0; i < edited.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (i >= original.values.size()) {
      changes.added_values.push_back(id);
      continue;
    }
    if (!same_type(original.value(id), edited.value(id))) changes.retyped.push_back(id);
    if (!same_constant(original.value(id), edited.value(id))) changes.refilled.push_back(id);
  }
}

std::optional<double> as_number(const AttrValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1.0 : 0.0;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* e = std::get_if<EnumValue>(&value)) return static_cast<double>(e->number);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

bool is_real(const AttrValue& v) { return std::holds_alternative<double>(v); }

bool same_real(double a, double b) {
  return static_cast<float>(a) == static_cast<float>(b) || (std::isnan(a) && std::isnan(b));
}

/// Equal after the trip through a file, which stores reals as f32 and knows which integers are enumerations.
bool same_attribute(const AttrValue& a, const AttrValue& b) {
  if (identical(a, b)) return true;
  const auto x = as_number(a), y = as_number(b);
  if (x && y) return is_real(a) || is_real(b) ? same_real(*x, *y) : *x == *y;
  const auto *p = std::get_if<std::vector<double>>(&a), *q = std::get_if<std::vector<double>>(&b);
  return p && q && std::equal(p->begin(), p->end(), q->begin(), q->end(), same_real);
}

std::optional<std::string> node_difference(const Node& meant, const Node& found) {
  if (meant.op != found.op || meant.custom != found.custom)
    return fmt::format("is {} {}, expected {} {}", found.op, found.custom, meant.op, meant.custom);
  // A version of 0 asks the writer for the lowest, which is 1 once nobody has said otherwise.
  if (meant.version != found.version && !(meant.version == 0 && found.version == 1))
    return fmt::format("has version {}, expected {}", found.version, meant.version);
  if (meant.inputs != found.inputs) return "has other inputs";
  if (meant.outputs != found.outputs) return "has other outputs";
  if (meant.intermediates != found.intermediates) return "has other intermediates";
  if (meant.subgraphs != found.subgraphs && (meant.origin != none_id || !meant.subgraphs.empty()))
    return "calls other subgraphs";
  for (const auto& [key, value] : meant.attrs) {
    const AttrValue* other = found.attrs.find(key);
    if (!other || !same_attribute(value, *other)) return fmt::format("has another {}", key);
  }
  return std::nullopt;
}

std::optional<std::string> value_difference(const Graph& graph, ValueId id, const Value& meant,
                                            const Value& found, bool all_bytes) {
  const bool is_new = meant.origin == none_id;
  if (!is_new && meant.name != found.name)
    return fmt::format("is named \"{}\", expected \"{}\"", found.name, meant.name);
  if (meant.dtype != found.dtype || meant.shape != found.shape)
    return fmt::format("is {}[{}], expected {}[{}]", name(found.dtype), shape_text(found.shape),
                       name(meant.dtype), shape_text(meant.shape));
  if (!same_quantization(meant.quantization, found.quantization)) return "has another quantization";
  if (meant.is_variable != found.is_variable) return "has another variable mark";
  if (!same_sparsity(meant, found)) return "has another sparsity";
  const bool used =
      graph.producer(id) != none_id || !graph.uses(id).empty() || graph.is_input(id) || graph.is_output(id);
  if (!used) return std::nullopt;  // a value that nobody reads any more may look like an empty constant
  if (meant.is_constant() != found.is_constant())
    return found.is_constant() ? "became a constant" : "lost its constant";
  if (!meant.constant) return std::nullopt;
  const Bytes a = meant.constant->bytes, b = found.constant->bytes;
  if (a.size() != b.size()) return fmt::format("holds {} bytes, expected {}", b.size(), a.size());
  if ((is_new || all_bytes || a.size() <= small_constant) && !same_bytes(a, b)) return "holds other bytes";
  return std::nullopt;
}

std::optional<std::string> graph_difference(const Graph& meant, const Graph& found, bool all_bytes) {
  if (meant.inputs != found.inputs) return "has other inputs";
  if (meant.outputs != found.outputs) return "has other outputs";
  if (meant.order.size() != found.order.size())
    return fmt::format("has {} operators, expected {}", found.order.size(), meant.order.size());
  if (meant.values.size() != found.values.size())
    return fmt::format("has {} tensors, expected {}", found.values.size(), meant.values.size());
  for (std::size_t i = 0; i < meant.order.size(); ++i)
    if (auto why = node_difference(meant.node(meant.order[i]), found.node(found.order[i])))
      return fmt::format("operator {} ({}) {}", i, meant.node(meant.order[i]).op, *why);
  for (std::size_t i = 0; i < meant.values.size(); ++i)
    if (auto why =
            value_difference(meant, static_cast<ValueId>(i), meant.values[i], found.values[i], all_bytes))
      return fmt::format("tensor {} \"{}\" {}", i, meant.values[i].name, *why);
  return std::nullopt;
}

}  // namespace

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.custom == b.custom && a.version == b.version && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.intermediates == b.intermediates && a.input_names == b.input_names &&
         a.subgraphs == b.subgraphs && identical(a.attrs, b.attrs);
}

bool same_type(const Value& a, const Value& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape &&
         same_quantization(a.quantization, b.quantization) && a.is_variable == b.is_variable &&
         same_sparsity(a, b);
}

bool same_constant(const Value& a, const Value& b) {
  if (a.is_constant() != b.is_constant()) return false;
  return !a.constant || same_bytes(a.constant->bytes, b.constant->bytes);
}

Changes list_changes(const Model& original, const Model& edited) {
  Changes changes;
  changes.graph_count = original.graphs.size() != edited.graphs.size();
  changes.signatures = !same_signatures(original.signatures, edited.signatures);
  changes.file = original.format_version != edited.format_version ||
                 original.operator_sets != edited.operator_sets || original.repairs != edited.repairs;
  for (std::size_t g = 0; g < std::min(original.graphs.size(), edited.graphs.size()); ++g) {
    const Graph &before = original.graphs[g], &after = edited.graphs[g];
    GraphChanges here;
    here.graph = static_cast<int>(g);
    compare_nodes(before, after, here);
    compare_values(before, after, here);
    here.inputs = before.inputs != after.inputs;
    here.outputs = before.outputs != after.outputs;
    if (!here.empty()) changes.graphs.push_back(std::move(here));
  }
  return changes;
}

namespace {

/// Two graphs compared along the data flow, for formats in which ids are not kept: a name or a place in the
/// file belongs to another id after nodes and values have come and gone.
class FlowComparison {
 public:
  FlowComparison(const Graph& meant, const Graph& found, bool all_bytes)
      : meant_(meant), found_(found), all_bytes_(all_bytes) {}

  std::optional<std::string> run() {
    if (auto why = pair_lists(meant_.inputs, found_.inputs)) return "inputs: " + *why;
    const auto computing = [](const Graph& graph) {
      std::vector<NodeId> nodes;
      for (const NodeId id : graph.order)
        if (graph.node(id).op != "buffer_mutation") nodes.push_back(id);
      return nodes;
    };
    const auto a = computing(meant_), b = computing(found_);
    if (a.size() != b.size() || meant_.order.size() != found_.order.size())
      return fmt::format("has {} operators, expected {}", found_.order.size(), meant_.order.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      if (auto why = pair_nodes(meant_.node(a[i]), found_.node(b[i])))
        return fmt::format("operator {} ({}) {}", i, meant_.node(a[i]).op, *why);
    if (auto why = pair_lists(meant_.outputs, found_.outputs)) return "outputs: " + *why;
    return std::nullopt;
  }

 private:
  std::optional<std::string> pair_nodes(const Node& meant, const Node& found) {
    if (meant.op != found.op || meant.custom != found.custom) return fmt::format("is {}", found.op);
    if (meant.subgraphs.size() != found.subgraphs.size()) return "calls other subgraphs";
    if (auto why = pair_lists(meant.inputs, found.inputs)) return *why;
    if (auto why = pair_lists(meant.outputs, found.outputs)) return *why;
    for (const auto& [key, value] : meant.attrs) {
      if (key.starts_with('#')) continue;  // metadata
      const AttrValue* other = found.attrs.find(key);
      if (!other ||
          (!same_attribute(value, *other) && !std::holds_alternative<std::vector<std::string>>(value)))
        return fmt::format("has another {}", key);
    }
    return std::nullopt;
  }

  std::optional<std::string> pair_lists(const std::vector<ValueId>& meant,
                                        const std::vector<ValueId>& found) {
    if (meant.size() != found.size()) return fmt::format("{} instead of {}", found.size(), meant.size());
    for (std::size_t i = 0; i < meant.size(); ++i)
      if (auto why = pair(meant[i], found[i])) return fmt::format("number {}: {}", i, *why);
    return std::nullopt;
  }

  std::optional<std::string> pair(ValueId a, ValueId b) {
    if ((a == none_id) != (b == none_id)) return "an operand is absent";
    if (a == none_id) return std::nullopt;
    const auto [it, fresh] = partner_.emplace(a, b);
    if (!fresh) return it->second == b ? std::nullopt : std::optional<std::string>("another value");
    const Value &meant = meant_.value(a), &found = found_.value(b);
    if (meant.origin != none_id && meant.name != found.name)
      return fmt::format("\"{}\" instead of \"{}\"", found.name, meant.name);
    if (meant.dtype != found.dtype || meant.shape != found.shape)
      return fmt::format("\"{}\" has another type", found.name);
    if (meant.is_constant() != found.is_constant())
      return fmt::format("\"{}\" {}", found.name,
                         found.is_constant() ? "became a constant" : "lost its constant");
    if (!meant.constant) return std::nullopt;
    const Bytes x = meant.constant->bytes, y = found.constant->bytes;
    const bool compared = meant.origin == none_id || all_bytes_ || x.size() <= small_constant;
    if (x.size() != y.size() || (compared && !same_bytes(x, y)))
      return fmt::format("\"{}\" holds other bytes", found.name);
    return std::nullopt;
  }

  const Graph &meant_, &found_;
  bool all_bytes_;
  std::map<ValueId, ValueId> partner_;
};

std::vector<int> all_graphs(const Model& model) {
  std::vector<int> all(model.graphs.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::optional<std::string> same_structure(const Model& edited, const Model& reopened, bool all_bytes) {
  if (edited.format_version != reopened.format_version)
    return fmt::format("the written file has version {}, expected {}", reopened.format_version,
                       edited.format_version);
  if (edited.operator_sets != reopened.operator_sets) return "the written file has other operator sets";
  if (reopened.repairs.size() > edited.repairs.size())
    return fmt::format("the written file still needs a repair: {}", reopened.repairs.front().text);
  const bool inside_nodes = edited.dialect && edited.dialect->graphs_inside_nodes;
  const std::vector<int> kept = inside_nodes ? called_graphs(edited) : all_graphs(edited);
  // A function that nobody calls any more may stay in the file.
  const std::vector<int> there = inside_nodes ? called_graphs(reopened) : all_graphs(reopened);
  if (kept.size() != there.size())
    return fmt::format("the written file has {} graphs, expected {}", there.size(), kept.size());
  for (std::size_t g = 0; g < kept.size(); ++g) {
    const Graph& meant = edited.graphs[static_cast<std::size_t>(kept[g])];
    const Graph& written = reopened.graphs[static_cast<std::size_t>(there[g])];
    if (auto why = inside_nodes ? FlowComparison(meant, written, all_bytes).run()
                                : graph_difference(meant, written, all_bytes))
      return fmt::format("graph {} {}", g, *why);
  }
  if (inside_nodes) return std::nullopt;
  if (!same_signatures(edited.signatures, reopened.signatures))
    return "the written file has other signatures";
  return std::nullopt;
}

}  // namespace md

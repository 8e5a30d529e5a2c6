// Graphs to text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "lib/op/lexer.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"

namespace md {
namespace {

bool is_plain_name(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        c == '_' || c == '/' || c == '.' || c == ';';
    if (!letter) return false;
  }
  return !name.empty();
}

template <class T, class F>
std::string list_text(const std::vector<T>& items, F&& text) {
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + text(items[i]);
  return out + "]";
}

std::string hex(Bytes bytes) {
  std::string out = "hex \"";
  for (const std::uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out + '"';
}

std::string quantization_text(const Quantization& q) {
  const auto real = [](float v) { return number_text(v); };
  const auto whole = [](std::int64_t v) { return std::to_string(v); };
  const bool single = q.scale.size() == 1 && q.zero_point.size() == 1 && q.axis == 0;
  std::string out = single ? fmt::format("q({}, {}", real(q.scale[0]), q.zero_point[0])
                           : fmt::format("q({}, {}, axis = {}", list_text(q.scale, real),
                                         list_text(q.zero_point, whole), q.axis);
  if (!q.min.empty()) out += ", min = " + list_text(q.min, real);
  if (!q.max.empty()) out += ", max = " + list_text(q.max, real);
  return out + ")";
}

std::string constant_text(const Value& value, const TextOptions& options) {
  const auto count = element_count(value.shape);
  if (value.sparsity || (count && options.largest_constant >= 0 && *count > options.largest_constant))
    return "...";
  if (const auto integers = decode_integers(value))
    return list_text(*integers, [](std::int64_t v) { return std::to_string(v); });
  const auto numbers = decode(value);
  if (!numbers) return hex(value.constant->bytes);
  if (value.dtype == DType::f64) return list_text(*numbers, [](double v) { return number_text(v); });
  return list_text(*numbers, [](double v) { return number_text(static_cast<float>(v)); });
}

class Printer {
 public:
  Printer(const Graph& graph, const Dialect& dialect, const TextOptions& options)
      : graph_(graph), dialect_(dialect), options_(options) {
    for (const Value& value : graph.values) ++names_[value.name];
  }

  std::string all() {
    mark_read_values();
    std::string out;
    for (const ValueId id : graph_.inputs) out += declaration("input", id) + '\n';
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (!read_[i] || graph_.is_input(id) || graph_.producer(id) != none_id) continue;
      const Value& value = graph_.value(id);
      if (value.constant)
        out += fmt::format("{} = {}\n", declaration("const", id), constant_text(value, options_));
      else
        out += declaration(value.is_variable ? "variable" : "value", id) + '\n';
    }
    for (const NodeId id : graph_.order) out += statement(id) + '\n';
    for (const ValueId id : graph_.outputs) out += "output " + reference(id) + '\n';
    return out;
  }

  std::string statement(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string out;
    for (const ValueId v : node.outputs) out += (out.empty() ? "" : ", ") + reference(v);
    out += (out.empty() ? "= " : " = ") + op_text(node) + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i) out += ", ";
      if (i < node.input_names.size() && !node.input_names[i].empty()) out += node.input_names[i] + " = ";
      out += reference(node.inputs[i]);
    }
    out += ")" + attributes_text(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      out += (i ? ", " : " : ") +
             (node.outputs[i] < 0 ? std::string("_") : print_type(graph_.value(node.outputs[i])));
    return out;
  }

 private:
  void mark_read_values() {
    read_.assign(graph_.values.size(), 0);
    const auto mark = [&](ValueId id) {
      if (id >= 0) read_[static_cast<std::size_t>(id)] = 1;
    };
    for (const NodeId id : graph_.order)
      for (const ValueId v : graph_.node(id).inputs) mark(v);
    for (const ValueId v : graph_.outputs) mark(v);
  }

  std::string reference(ValueId id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.values.size()) return "_";
    const std::string& name = graph_.value(id).name;
    std::string out = "%";
    if (!name.empty()) out += is_plain_name(name) ? name : quoted(name);
    if (name.empty() || names_.find(name)->second > 1) out += fmt::format("@{}", id);
    return out;
  }

  std::string declaration(std::string_view kind, ValueId id) const {
    return fmt::format("{} {} : {}", kind, reference(id), print_type(graph_.value(id)));
  }

  std::string op_text(const Node& node) const {
    bool dotted = !node.op.empty() && !(node.op[0] >= '0' && node.op[0] <= '9');
    for (const char c : node.op)
      dotted = dotted && (is_plain_name(std::string_view(&c, 1)) || c == ':') && c != '/' && c != ';';
    std::string out = dotted ? node.op : quoted(node.op);
    if (node.version != usual_version(dialect_, node.op)) out += fmt::format("@{}", node.version);
    if (!node.custom.empty() && !dialect_.domains_in_names) out += " " + quoted(node.custom) + " ";
    return out;
  }

  std::string attributes_text(const Node& node) const {
    std::string out;
    const OpSpec* spec = find_op(dialect_, node);
    for (const auto& [key, value] : node.attrs) {
      const AttributeSpec* known = spec ? spec->find(key) : nullptr;
      if (known && known->usual == value) continue;
      const auto* e = std::get_if<EnumValue>(&value);
      const bool named = e && known && known->enumeration && known->enumeration->find(e->name) == *e;
      out += (out.empty() ? " { " : ", ") + key + " = " + (named ? e->name : print_attribute(value));
    }
    if (!node.subgraphs.empty())
      out += (out.empty() ? " { " : ", ") + fmt::format("subgraphs = [{}]", fmt::join(node.subgraphs, ", "));
    return out.empty() ? out : out + " }";
  }

  const Graph& graph_;
  const Dialect& dialect_;
  const TextOptions& options_;
  std::map<std::string_view, int> names_;
  std::vector<char> read_;
};

}  // namespace

std::string print_type(const Value& value) {
  std::string out = fmt::format("{}[", name(value.dtype));
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    if (i) out += ", ";
    if (value.shape[i] >= 0)
      out += std::to_string(value.shape[i]);
    else
      out += "?" + (i < value.dim_names.size() ? value.dim_names[i] : "");
  }
  out += "]";
  if (value.quantization) out += " " + quantization_text(*value.quantization);
  return out;
}

std::string print_attribute(const AttrValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number_text(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const EnumValue& v) const {
      return fmt::format("enum({}, {})", v.number, quoted(v.name));
    }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return list_text(v, [](std::int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const std::vector<double>& v) const {
      return v.empty() ? "floats[]" : list_text(v, [](double x) { return number_text(x); });
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return v.empty() ? "texts[]" : list_text(v, [](const std::string& x) { return quoted(x); });
    }
    std::string operator()(const Blob& v) const { return hex(Bytes(v.bytes)); }
  };
  return std::visit(Visitor{}, value);
}

std::string print(const Graph& graph, const Dialect& dialect, const TextOptions& options) {
  return Printer(graph, dialect, options).all();
}

std::string print(const Model& model, const TextOptions& options) {
  std::string out;
  for (std::size_t i = 0; i < model.graphs.size(); ++i) {
    if (i) out += "\ngraph " + quoted(model.graphs[i].name) + '\n';
    out += print(model.graphs[i], *model.dialect, options);
  }
  return out;
}

std::string print_node(const Graph& graph, NodeId id, const Dialect& dialect) {
  const TextOptions options;
  return Printer(graph, dialect, options).statement(id);
}

}  // namespace md

#include "lib/format/torch/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/format/torch/json.h"
#include "lib/format/torch/layout.h"
#include "lib/format/torch/schema.h"

namespace md {
namespace {

template <class List, class F>
std::string joined(const List& list, F&& text) {
  std::string out = "[";
  for (const auto& item : list) {
    if (out.size() > 1) out += ", ";
    out += text(item);
  }
  return out + "]";
}

struct NamedOperand {
  std::string_view name;
  ValueId value = none_id;
};

/// Operands whose name is `name` or `name[i]`; without names on the node, the schema's tensors in order.
std::vector<NamedOperand> operands_of(const Node& node, std::string_view name) {
  std::vector<NamedOperand> out;
  for (std::size_t i = 0; i < node.inputs.size() && i < node.input_names.size(); ++i) {
    const std::string_view n = node.input_names[i];
    if (n == name || (n.starts_with(name) && n.size() > name.size() && n[name.size()] == '['))
      out.push_back({n, node.inputs[i]});
  }
  return out;
}

std::string render_operands(const Graph& graph, const std::vector<NamedOperand>& operands,
                            const ValueNames& names, bool optional) {
  const auto type = [&](const NamedOperand& o) -> const Value& { return graph.value(o.value); };
  if (operands.size() == 1 && operands[0].name.find('[') == std::string_view::npos)
    return operands[0].value == none_id ? "{\"as_none\": true}"
                                        : render_value(type(operands[0]), names(operands[0].value));
  const bool any_absent =
      std::any_of(operands.begin(), operands.end(), [](const NamedOperand& o) { return o.value == none_id; });
  if (optional || any_absent)
    return "{\"as_optional_tensors\": " +
           joined(operands,
                  [&](const NamedOperand& o) {
                    return o.value == none_id ? std::string("{\"as_none\": true}")
                                              : render_value(type(o), names(o.value));
                  }) +
           "}";
  return "{\"as_tensors\": " +
         joined(operands,
                [&](const NamedOperand& o) { return "{\"name\": " + json_quote(names(o.value)) + "}"; }) +
         "}";
}

/// A list with symbols, "%n" naming one: {"as_sym_ints": [{"as_name": "n"}, {"as_int": 2}]}.
std::string render_symbol_list(std::string_view name, const std::vector<std::string>& texts, const Node& node,
                               const ValueNames& names) {
  std::string out = "{\"as_sym_ints\": [";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i) out += ", ";
    const auto operand = operands_of(node, fmt::format("{}[{}]", name, i));
    if (!operand.empty())
      out += "{\"as_name\": " + json_quote(names(operand[0].value)) + "}";
    else
      out += "{\"as_int\": " + texts[i] + "}";
  }
  return out + "]}";
}

}  // namespace

std::string render_argument(std::string_view name, const std::string& value, bool keyword,
                            const Pt2Dialect& dialect) {
  const std::string kind = dialect.kinds ? fmt::format(", \"kind\": {}", keyword ? 2 : 1) : "";
  return fmt::format("{{\"name\": {}, \"arg\": {}{}}}", json_quote(name), value, kind);
}

std::string render_value(const Value& value, const std::string& name) {
  const std::string quoted = json_quote(name);
  switch (value.dtype) {
    case DType::symint:
      return "{\"as_sym_int\": {\"as_name\": " + quoted + "}}";
    case DType::symbool:
      return "{\"as_sym_bool\": {\"as_name\": " + quoted + "}}";
    case DType::symfloat:
      return "{\"as_sym_float\": {\"as_name\": " + quoted + "}}";
    default:
      return "{\"as_tensor\": {\"name\": " + quoted + "}}";
  }
}

std::string render_tensor_meta(const Value& value, const SizeText& size, bool requires_grad) {
  std::string sizes = "[", strides;
  std::int64_t stride = 1;
  bool known = true;
  for (std::size_t d = 0; d < value.shape.size(); ++d) sizes += (d ? ", " : "") + size(value, d);
  for (std::size_t d = value.shape.size(); d-- > 0;) {
    strides = fmt::format("{{\"as_int\": {}}}", known ? stride : 1) + (strides.empty() ? "" : ", ") + strides;
    known = known && value.shape[d] >= 0;
    if (known) stride *= std::max<std::int64_t>(value.shape[d], 1);
  }
  return fmt::format(
      "{{\"dtype\": {}, \"sizes\": {}], \"requires_grad\": {}, \"device\": {{\"type\": \"cpu\", \"index\": "
      "null}}, \"strides\": [{}], \"storage_offset\": {{\"as_int\": 0}}, \"layout\": 7}}",
      pt2_scalar_type(value.dtype), sizes, requires_grad, strides);
}

std::string render_literal(std::string_view name, const AttrValue& value, const Graph& graph,
                           const Node& node, const ValueNames& names) {
  (void)graph;
  if (std::holds_alternative<std::monostate>(value)) return "{\"as_none\": true}";
  if (const auto* b = std::get_if<bool>(&value)) return fmt::format("{{\"as_bool\": {}}}", *b);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return fmt::format("{{\"as_int\": {}}}", *i);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{{\"as_float\": {}}}", json_float(*d));
  if (const auto* e = std::get_if<EnumValue>(&value)) {
    const char* kind = name == "memory_format" ? "as_memory_format"
                       : name == "layout"      ? "as_layout"
                                               : "as_scalar_type";
    return fmt::format("{{\"{}\": {}}}", kind, e->number);
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return "{\"as_ints\": " + joined(*list, [](std::int64_t i) { return std::to_string(i); }) + "}";
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    return "{\"as_floats\": " + joined(*list, [](double d) { return json_float(d); }) + "}";
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    return render_symbol_list(name, *list, node, names);
  const auto* text = std::get_if<std::string>(&value);
  if (!text) return "{\"as_none\": true}";
  if (name != "device") return "{\"as_string\": " + json_quote(*text) + "}";
  const std::size_t colon = text->find(':');
  return fmt::format("{{\"as_device\": {{\"type\": {}, \"index\": {}}}}}", json_quote(text->substr(0, colon)),
                     colon == std::string::npos ? "null" : text->substr(colon + 1));
}

std::string render_node(const Graph& graph, const Node& node, const ValueNames& names,
                        const std::string& metadata, const Pt2Dialect& dialect) {
  std::vector<std::string> arguments;
  const AtenSchema* schema = aten_schema(node.op);
  bool gap = false;  // behind an argument that keeps its default, the rest is given by name
  const auto add = [&](std::string_view name, const std::string& value, bool keyword) {
    arguments.push_back(render_argument(name, value, keyword || gap, dialect));
  };
  if (schema) {
    std::size_t position = 0;  // for nodes without operand names
    for (const AtenArgument& argument : schema->arguments) {
      auto operands = operands_of(node, argument.name);
      const AttrValue* literal = node.attrs.find(argument.name);
      const bool list = argument.kind == AtenKind::tensors || argument.kind == AtenKind::optional_tensors;
      if (node.input_names.empty() && !literal &&
          (list || argument.kind == AtenKind::tensor || argument.kind == AtenKind::optional_tensor))
        while (position < node.inputs.size()) {
          operands.push_back({list ? std::string_view("[]") : argument.name, node.inputs[position++]});
          if (!list) break;
        }
      if (literal && std::holds_alternative<std::vector<std::string>>(*literal)) operands.clear();
      if (!operands.empty())
        add(argument.name,
            render_operands(graph, operands, names, argument.kind == AtenKind::optional_tensors),
            argument.keyword_only);
      else if (literal)
        add(argument.name, render_literal(argument.name, *literal, graph, node, names),
            argument.keyword_only);
      else
        gap = true;
    }
  } else {
    std::vector<std::string> done;
    for (const std::string& full : node.input_names) {
      const std::string name = full.substr(0, full.find('['));
      if (node.attrs.find(name) || std::find(done.begin(), done.end(), name) != done.end()) continue;
      done.push_back(name);
      add(name, render_operands(graph, operands_of(node, name), names, name == "indices"),
          true);  // by name: torch sorts them by the schema
    }
    for (const auto& [name, value] : node.attrs)
      if (!name.starts_with('#')) add(name, render_literal(name, value, graph, node, names), true);
  }
  std::string outputs;
  if (schema && schema->returns_list) {
    outputs = "{\"as_tensors\": " +
              joined(node.outputs, [&](ValueId v) { return "{\"name\": " + json_quote(names(v)) + "}"; }) +
              "}";
  } else {
    for (const ValueId v : node.outputs)
      outputs += (outputs.empty() ? "" : ", ") + render_value(graph.value(v), names(v));
  }
  const bool bare =
      node.op.starts_with("_operator.") || node.op.starts_with("torch.") || node.op.starts_with("math.");
  std::string name = node.outputs.empty() ? node.op.substr(node.op.rfind('.') + 1) : names(node.outputs[0]);
  if (node.outputs.size() > 1) name += "_tuple";
  return fmt::format("{{\"target\": {}, \"inputs\": {}, \"outputs\": [{}], \"metadata\": {}{}{}}}",
                     json_quote((bare ? "" : "torch.ops.") + node.op),
                     joined(arguments, [](const std::string& s) { return s; }), outputs, metadata,
                     dialect.hop_mark ? ", \"is_hop_single_tensor_return\": null" : "",
                     dialect.names ? ", \"name\": " + json_quote(name) : "");
}

std::optional<std::string> result_tree_with(const std::string& tree, std::size_t count) {
  using Tree = nlohmann::ordered_json;
  Tree versioned =
      Tree::parse(tree, nullptr, false);  // [1, {"type": .., "context": .., "children_spec": [..]}]
  if (!versioned.is_array() || versioned.size() != 2 || !versioned[1].is_object()) return std::nullopt;
  const Tree leaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", Tree::array()}};
  Tree& root = versioned[1];
  const bool tuple = root.value("type", Tree()) == "builtins.tuple";
  if (!tuple)
    root = {{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", Tree::array({root})}};
  if (!root["children_spec"].is_array()) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) root["children_spec"].push_back(leaf);
  return versioned.dump(-1, ' ', true, Tree::error_handler_t::replace);
}

}  // namespace md

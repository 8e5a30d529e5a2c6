#include "lib/format/torch/program_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lib/format/torch/graph_reader.h"
#include "lib/format/torch/render.h"

namespace md {
namespace {

tl::unexpected<Error> cannot(const std::string& what) {
  return fail(Error::Kind::internal, "writing a .pt2: " + what);
}

/// A name torch accepts for a graph value: letters, digits and underscores, not starting with a digit.
std::string identifier(std::string_view hint) {
  std::string out;
  for (const char c : hint) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "v_");
  return out;
}

/// True when the program stores a new value in the constant, which makes a buffer of it.
bool is_mutated(const Graph& graph, ValueId id) {
  return id != none_id && std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId n) {
           const Node& node = graph.node(n);
           return node.op == "buffer_mutation" && !node.inputs.empty() && node.inputs[0] == id;
         });
}

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.dim_names == b.dim_names;
}

}  // namespace

Pt2ProgramEditor::Pt2ProgramEditor(const Model& original, const Model& edited, const Pt2Layout& layout,
                                   std::function<Pt2PortKind(const Constant&)> shared_kind)
    : original_(original),
      edited_(edited),
      layout_(layout),
      shared_kind_(std::move(shared_kind)),
      splices_(layout.json->text()) {
  new_names_.resize(edited.graphs.size());
  live_.resize(edited.graphs.size());
  for (const Graph& graph : original.graphs)
    for (const Value& value : graph.values) used_names_.insert(value.name);
}

Status Pt2ProgramEditor::run() {
  if (edited_.graphs.size() != original_.graphs.size()) return cannot("graphs were added or removed");
  for (std::size_t g = 0; g < edited_.graphs.size(); ++g) find_live_values(g), name_values(g);
  // Inner graphs lie inside the text of their nodes and have the higher index: from the inside out.
  for (std::size_t g = edited_.graphs.size(); g-- > 0;)
    if (auto ok = edit_graph(g); !ok) return ok;
  if (!unnamed_.empty())
    return cannot(
        fmt::format("\"{}\" has a dimension that is not known before run time and has no symbol", unnamed_));
  return edit_interface();
}

void Pt2ProgramEditor::find_live_values(std::size_t index) {
  const Graph& graph = edited_.graphs[index];
  auto& live = live_[index];
  for (const NodeId id : graph.order) {
    for (const ValueId v : graph.node(id).inputs)
      if (v >= 0) live.insert(v);
    live.insert(graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  }
  live.insert(graph.inputs.begin(), graph.inputs.end());
  live.insert(graph.outputs.begin(), graph.outputs.end());
}

void Pt2ProgramEditor::name_values(std::size_t index) {
  const Graph& graph = edited_.graphs[index];
  const std::size_t known = original_.graphs[index].values.size();
  for (std::size_t i = known; i < graph.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!is_live(index, id)) continue;
    const Value& value = graph.values[i];
    std::string base = identifier(value.name);
    if (index == 0 && value.is_constant() && !base.starts_with("c_md_")) base = "c_md_" + base;
    std::string name = base;
    // An inner graph's input may carry the name of the operand it stands for: other graphs have their own
    // names.
    for (int n = 1;
         used_names_.count(name) &&
         !(index > 0 && std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end() &&
           n == 1);
         ++n)
      name = fmt::format("{}_{}", base, n);
    used_names_.insert(name);
    new_names_[index].emplace(id, std::move(name));
  }
}

std::string Pt2ProgramEditor::name_of(std::size_t index, ValueId id) const {
  const auto it = new_names_[index].find(id);
  return it != new_names_[index].end() ? it->second : edited_.graphs[index].value(id).name;
}

bool Pt2ProgramEditor::is_renamed(std::size_t index, ValueId id) const {
  const auto& before = original_.graphs[index].values;
  return id >= 0 && static_cast<std::size_t>(id) < before.size() &&
         before[static_cast<std::size_t>(id)].name != edited_.graphs[index].value(id).name;
}

Status Pt2ProgramEditor::edit_graph(std::size_t index) {
  const Graph& before = original_.graphs[index];
  const Graph& after = edited_.graphs[index];
  if (after.values.size() < before.values.size() || after.nodes.size() < before.nodes.size())
    return cannot("values or nodes of the file are missing from the edited model");
  for (const NodeId id : after.order)
    if (static_cast<std::size_t>(id) < before.nodes.size())
      if (auto ok = edit_node(index, id); !ok) return ok;
  if (auto ok = edit_nodes(index); !ok) return ok;
  edit_values(index);
  return index == 0 ? Status{} : edit_inner_ports(index);
}

/// A node of the file that stays: operands, results and attributes that changed.
Status Pt2ProgramEditor::edit_node(std::size_t index, NodeId id) {
  const Node& was = original_.graphs[index].node(id);
  const Node& now = edited_.graphs[index].node(id);
  const Pt2NodeLayout& at = layout_.graphs[index].nodes_at[static_cast<std::size_t>(id)];
  if (at.mutation) return {};
  if (now.op != was.op || now.inputs.size() != was.inputs.size() || now.outputs.size() != was.outputs.size())
    return cannot(fmt::format("node {} ({}) changed its operator or its number of operands", id, was.op));
  for (std::size_t i = 0; i < now.inputs.size(); ++i) {
    if (now.inputs[i] == was.inputs[i] && !is_renamed(index, now.inputs[i])) continue;
    if (now.inputs[i] == none_id)
      return cannot(fmt::format("operand {} of node {} ({}) was taken away", i, id, was.op));
    const std::string name = name_of(index, now.inputs[i]);
    const bool absent = was.inputs[i] == none_id;
    splices_.replace(at.input_names[i], absent
                                            ? render_value(edited_.graphs[index].value(now.inputs[i]), name)
                                            : json_quote(name));
  }
  for (std::size_t i = 0; i < now.outputs.size(); ++i)
    if (now.outputs[i] != was.outputs[i] || is_renamed(index, now.outputs[i]))
      splices_.replace(at.output_names[i], json_quote(name_of(index, now.outputs[i])));
  const auto names = [&](ValueId v) { return name_of(index, v); };
  std::string added;
  for (const auto& [key, value] : now.attrs) {
    const AttrValue* old = was.attrs.find(key);
    if (old && *old == value) continue;
    if (key.starts_with('#')) {
      if (!old) add_metadata(at.metadata, key.substr(1), std::get<std::string>(value));
      continue;
    }
    const std::string text = render_literal(key, value, edited_.graphs[index], now, names);
    const auto span =
        std::find_if(at.attrs.begin(), at.attrs.end(), [&k = key](const auto& a) { return a.first == k; });
    if (span != at.attrs.end())
      splices_.replace(span->second, text);
    else
      added += (at.inputs.count() || !added.empty() ? ", " : "") +
               render_argument(key, text, true, layout_.dialect);
  }
  if (!added.empty()) splices_.insert(at.inputs.span().end - 1, added);
  return {};
}

void Pt2ProgramEditor::add_metadata(JsonSpan metadata, const std::string& key, const std::string& text) {
  if (metadata.size() < 2) return;
  const bool empty =
      splices_.original().substr(metadata.begin, metadata.size()).find('"') == std::string_view::npos;
  splices_.insert(metadata.end - 1, (empty ? "" : ", ") + json_quote(key) + ": " + json_quote(text));
}

/// The metadata of the file's node that a new node came from, so that errors still name the user's source.
std::string Pt2ProgramEditor::metadata_for(std::size_t index, const Node& node) const {
  for (const std::int32_t origin : node.origins) {
    const auto& nodes = layout_.graphs[index].nodes_at;
    if (origin < 0 || static_cast<std::size_t>(origin) >= nodes.size()) continue;
    const JsonSpan span = nodes[static_cast<std::size_t>(origin)].metadata;
    if (span.size() >= 2) return std::string(splices_.original().substr(span.begin, span.size()));
  }
  return "{}";
}

Status Pt2ProgramEditor::edit_nodes(std::size_t index) {
  const Graph& before = original_.graphs[index];
  const Graph& after = edited_.graphs[index];
  if (before.order == after.order) return {};
  std::vector<std::string> parts;
  parts.reserve(after.order.size());
  for (const NodeId id : after.order) {
    const Node& node = after.node(id);
    if (node.op == "buffer_mutation") continue;
    if (static_cast<std::size_t>(id) < before.nodes.size())
      parts.push_back(splices_.text_of(layout_.graphs[index].nodes_at[static_cast<std::size_t>(id)].whole));
    else
      parts.push_back(render_node(
          after, node, [&](ValueId v) { return name_of(index, v); }, metadata_for(index, node),
          layout_.dialect));
  }
  splices_.replace_elements(layout_.graphs[index].nodes, parts);
  return {};
}

std::string Pt2ProgramEditor::size_text(std::size_t index, const Value& value, std::size_t dim) {
  const std::string symbol = dim < value.dim_names.size() ? value.dim_names[dim] : std::string();
  if (symbol.empty() && value.shape[dim] < 0) unnamed_ = value.name;
  if (symbol.empty()) return fmt::format("{{\"as_int\": {}}}", value.shape[dim]);
  if (symbol_sizes_.empty())
    for (std::size_t g = 0; g < original_.graphs.size(); ++g)
      for (const Json meta : layout_.graphs[g].value_meta)
        for (Json size = meta.at("sizes").first(); size; size = size.next())
          if (const Json expression = size.at("as_expr").at("expr_str"))
            symbol_sizes_.emplace(pt2_symbol_text(expression.text()), size.raw());
  (void)index;
  const auto it = symbol_sizes_.find(symbol);
  return it != symbol_sizes_.end()
             ? it->second
             : fmt::format("{{\"as_int\": {}}}", std::max<std::int64_t>(value.shape[dim], 1));
}

/// The table of tensor types: entries of values that are gone leave, changed ones are rendered again, new
/// ones follow.
void Pt2ProgramEditor::edit_values(std::size_t index) {
  const Graph& before = original_.graphs[index];
  const Graph& after = edited_.graphs[index];
  const Pt2GraphLayout& at = layout_.graphs[index];
  const auto size = [&](const Value& value, std::size_t dim) { return size_text(index, value, dim); };
  std::unordered_set<ValueId> was_used;
  for (const NodeId id : before.order) {
    was_used.insert(before.node(id).inputs.begin(), before.node(id).inputs.end());
    was_used.insert(before.node(id).outputs.begin(), before.node(id).outputs.end());
  }
  std::vector<std::string> parts;
  bool rebuilt = false;
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = after.values[i];
    if (i < before.values.size()) {
      if (at.value_entries[i].size() == 0) continue;
      if (!is_live(index, id) && was_used.count(id)) {
        rebuilt = true;
        continue;
      }
      const Json meta = at.value_meta[i];
      if (value.shape != before.values[i].shape || value.dim_names != before.values[i].dim_names)
        splices_.replace(meta.span(), render_tensor_meta(value, size, meta.at("requires_grad").boolean()));
      else if (value.dtype != before.values[i].dtype)
        splices_.replace(meta.at("dtype").span(), std::to_string(pt2_scalar_type(value.dtype)));
      if (is_renamed(index, id)) splices_.replace(meta.key_span(), json_quote(value.name)), rebuilt = true;
      parts.push_back(splices_.text_of(at.value_entries[i]));
    } else if (is_live(index, id) && bit_width(value.dtype) > 0) {
      parts.push_back(json_quote(name_of(index, id)) + ": " + render_tensor_meta(value, size));
      rebuilt = true;
    }
  }
  if (rebuilt) splices_.replace_elements(at.tensor_values, parts);
}

Status Pt2ProgramEditor::edit_inner_ports(std::size_t index) {
  const Graph& after = edited_.graphs[index];
  for (const auto& [ports, ids] : {std::pair{&layout_.graphs[index].input_ports, &after.inputs},
                                   std::pair{&layout_.graphs[index].output_ports, &after.outputs}}) {
    std::size_t next = 0;
    for (const Pt2Port& port : *ports) {
      if (port.value == none_id) continue;
      if (next >= ids->size()) return cannot("an inner graph lost an input or output");
      const ValueId id = (*ids)[next++];
      if (id != port.value || is_renamed(index, id))
        splices_.replace(port.name, json_quote(name_of(index, id)));
    }
    if (next != ids->size()) return cannot("an inner graph gained an input or output");
  }
  return {};
}

Status Pt2ProgramEditor::edit_interface() {
  edit_placeholders();
  return edit_results();
}

/// Parameters, buffers and constants: changed types and bytes, dropped ones, and new ones in front of the
/// user's inputs.
void Pt2ProgramEditor::edit_placeholders() {
  const Graph& before = original_.graphs[0];
  const Graph& after = edited_.graphs[0];
  std::unordered_set<ValueId> was_read;
  for (const NodeId id : before.order)
    was_read.insert(before.node(id).inputs.begin(), before.node(id).inputs.end());
  was_read.insert(before.outputs.begin(), before.outputs.end());
  std::vector<std::string> ports, specs, new_ports, new_specs;
  std::size_t first_user = 0;
  bool rebuilt = false;
  for (std::size_t i = 0; i < layout_.input_specs.size(); ++i) {
    const Pt2Spec& spec = layout_.input_specs[i];
    const ValueId id = layout_.graphs[0].input_ports[i].value;
    const bool stored = spec.kind == Pt2PortKind::parameter || spec.kind == Pt2PortKind::buffer ||
                        spec.kind == Pt2PortKind::constant;
    if (stored && id != none_id && was_read.count(id) && !is_live(0, id)) {
      dropped_.insert(spec.target);
      rebuilt = true;
      continue;
    }
    if (stored && id != none_id && before.value(id).constant && after.value(id).constant) {
      const Value &was = before.value(id), &now = after.value(id);
      if (was.constant->bytes.data() != now.constant->bytes.data() ||
          was.constant->bytes.size() != now.constant->bytes.size() || !same_type(was, now))
        changed_.push_back({id, false, spec.kind, spec.target});
    }
    ports.push_back(splices_.text_of(layout_.graphs[0].input_ports[i].whole));
    if (spec.kind == Pt2PortKind::constant && is_mutated(after, id)) {
      // Its bytes stay where they are: buffers that a state dict does not hold are stored as constants are.
      specs.push_back(fmt::format(
          "{{\"buffer\": {{\"arg\": {{\"name\": {}}}, \"buffer_name\": {}, \"persistent\": false}}}}",
          json_quote(name_of(0, id)), json_quote(spec.target)));
      rebuilt = true;
    } else {
      specs.push_back(splices_.text_of(spec.whole));
    }
    if (stored) first_user = ports.size();
  }
  for (std::size_t i = before.values.size(); i < after.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!after.values[i].is_constant() || !is_live(0, id)) continue;
    const std::string name = name_of(0, id);
    Pt2PortKind kind = shared_kind_(*after.values[i].constant);
    if (kind == Pt2PortKind::other)
      kind = is_float(after.values[i].dtype) ? Pt2PortKind::parameter : Pt2PortKind::buffer;
    changed_.push_back({id, true, kind, name});
    new_ports.push_back(render_value(after.values[i], name));
    const std::string quoted = json_quote(name), argument = "{\"name\": " + quoted + "}";
    if (kind == Pt2PortKind::parameter)
      new_specs.push_back(
          fmt::format("{{\"parameter\": {{\"arg\": {}, \"parameter_name\": {}}}}}", argument, quoted));
    else if (kind == Pt2PortKind::buffer)
      new_specs.push_back(fmt::format(
          "{{\"buffer\": {{\"arg\": {}, \"buffer_name\": {}, \"persistent\": true}}}}", argument, quoted));
    else
      new_specs.push_back(fmt::format(
          "{{\"tensor_constant\": {{\"arg\": {}, \"tensor_constant_name\": {}}}}}", argument, quoted));
  }
  if (!rebuilt && new_ports.empty()) return;
  const auto place = [&](std::vector<std::string>& list, std::vector<std::string>& added) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(first_user),
                std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  };
  place(ports, new_ports), place(specs, new_specs);
  splices_.replace_elements(layout_.graphs[0].inputs, ports);
  splices_.replace_elements(layout_.input_specs_at, specs);
}

/// Outputs from position `first` on, which the file's program does not have: behind the others, and in the
/// tree of what a call gives.
Status Pt2ProgramEditor::add_results(std::size_t first, std::vector<std::string>& ports,
                                     std::vector<std::string>& specs) {
  const Graph& after = edited_.graphs[0];
  if (first >= after.outputs.size()) return {};
  for (std::size_t i = first; i < after.outputs.size(); ++i) {
    const ValueId id = after.outputs[i];
    ports.push_back(render_value(after.value(id), name_of(0, id)));
    specs.push_back(fmt::format("{{\"user_output\": {{\"arg\": {}}}}}", ports.back()));
  }
  if (layout_.result_tree.kind() != Json::Kind::string) return {};
  const auto tree = result_tree_with(layout_.result_tree.text(), after.outputs.size() - first);
  if (!tree) return cannot("an output was added, and the program does not say what a call of it gives");
  splices_.replace(layout_.result_tree.span(), json_quote(*tree));
  return {};
}

/// graph.outputs and output_specs: changed names, and buffer mutations that came or went (torch wants them
/// first).
Status Pt2ProgramEditor::edit_results() {
  const Graph& before = original_.graphs[0];
  const Graph& after = edited_.graphs[0];
  const Pt2GraphLayout& at = layout_.graphs[0];
  std::vector<std::string> ports, specs;
  bool rebuilt = false;
  const auto buffer_name = [&](ValueId buffer) -> std::string {
    for (std::size_t i = 0; i < layout_.input_specs.size(); ++i)
      if (at.input_ports[i].value == buffer && (layout_.input_specs[i].kind == Pt2PortKind::buffer ||
                                                layout_.input_specs[i].kind == Pt2PortKind::constant))
        return layout_.input_specs[i].target;
    return {};
  };
  for (const NodeId id : after.order) {
    const Node& node = after.node(id);
    if (node.op != "buffer_mutation") continue;
    const bool known = static_cast<std::size_t>(id) < before.nodes.size();
    if (!known || node.inputs != before.node(id).inputs) rebuilt = true;
    const std::string target = buffer_name(node.inputs.at(0));
    if (target.empty()) return cannot("a mutation names a value that is not a buffer");
    const std::string name = json_quote(name_of(0, node.inputs.at(1)));
    ports.push_back("{\"as_tensor\": {\"name\": " + name + "}}");
    specs.push_back(fmt::format("{{\"buffer_mutation\": {{\"arg\": {{\"name\": {}}}, \"buffer_name\": {}}}}}",
                                name, json_quote(target)));
  }
  const auto shown_as_node = [&](const Pt2Spec& spec) {
    return spec.kind == Pt2PortKind::mutation &&
           std::any_of(layout_.input_specs.begin(), layout_.input_specs.end(), [&](const Pt2Spec& input) {
             return input.kind != Pt2PortKind::user && input.target == spec.target;
           });
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < layout_.output_specs.size(); ++i) {
    const Pt2Spec& spec = layout_.output_specs[i];
    if (shown_as_node(spec)) continue;
    if (at.output_ports[i].value != none_id) {
      if (next >= after.outputs.size()) return cannot("an output was taken away");
      const ValueId id = after.outputs[next++];
      if (id != at.output_ports[i].value || is_renamed(0, id)) {
        const std::string name = json_quote(name_of(0, id));
        splices_.replace(at.output_ports[i].name, name);
        splices_.replace(spec.name, name);
      }
    }
    ports.push_back(splices_.text_of(at.output_ports[i].whole));
    specs.push_back(splices_.text_of(spec.whole));
  }
  if (auto ok = add_results(next, ports, specs); !ok) return ok;
  rebuilt = rebuilt || specs.size() != layout_.output_specs.size();
  if (!rebuilt) return {};
  splices_.replace_elements(at.outputs, ports);
  splices_.replace_elements(layout_.output_specs_at, specs);
  return {};
}

}  // namespace md

#include "lib/format/onnx/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "lib/edit/changes.h"
#include "lib/format/onnx/encode.h"
#include "lib/format/onnx/graph_reader.h"
#include "lib/format/onnx/pieces.h"

namespace md::onnx {
namespace {

constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 31) - 1;  // what a protobuf may have
constexpr std::size_t smallest_outside = 1024;  // bytes of a tensor that is worth an entry of external data

/// Attributes that hold graphs.
bool is_body(std::string_view attribute) {
  return attribute == "then_branch" || attribute == "else_branch" || attribute == "body" ||
         attribute == "graph";
}

class Writer {
 public:
  Writer(const OnnxFile& file, const Model& edited, bool outside, bool everything)
      : file_(file), before_(file.model), after_(edited), outside_(outside) {
    for (const Repair& repair : before_.repairs)
      if (std::find(after_.repairs.begin(), after_.repairs.end(), repair) == after_.repairs.end())
        wanted_.push_back(repair);
    changed_.assign(after_.graphs.size(), everything);
    for (const GraphChanges& change : list_changes(before_, after_).graphs)
      changed_[static_cast<std::size_t>(change.graph)] = true;
    for (const Repair& repair : wanted_) changed_[static_cast<std::size_t>(repair.graph)] = true;
    name_values();
    mark_around();
  }

  Result<Pieces> model();

 private:
  // --- names
  void name_values();
  void name_graph(int g);
  std::string unique(const std::string& hint);
  std::string file_name(int g, ValueId v) const;
  const std::string& out_name(int g, ValueId v) const {
    return names_[static_cast<std::size_t>(g)][static_cast<std::size_t>(v)];
  }
  void mark_around();
  bool wants(std::string_view kind, int g, ValueId value = none_id, NodeId node = none_id) const;

  // --- graphs
  struct Plan;
  Result<Pieces> graph(int g);
  Result<Pieces> function(int g);
  Plan plan_of(int g) const;
  Status node_field(int g, Plan& plan, NodeId k, Pieces& out);
  Status flush_nodes(int g, Plan& plan, Pieces& out);
  Status emit_node(int g, const Plan& plan, NodeId after_id, Pieces& out);
  Result<Pieces> node(int g, NodeId after_id);
  Status attributes(int g, const Node& node, const NodePlace* place, const Node* original, Pieces& out);
  Status initializer_field(int g, const Plan& plan, const Field& field, Pieces& out);
  Status value_fields(int g, const Plan& plan, const Field& field, Pieces& out);
  Status output_fields(int g, Plan& plan, const Field& field, Pieces& out);
  Status new_constants(int g, const Plan& plan, Pieces& out);
  Pieces tensor(int g, ValueId v);
  std::optional<Pieces> tensor_outside(Bytes message) const;
  Result<Pieces> info(int g, ValueId v);
  bool same_info(int g, ValueId v) const;
  bool alive(int g, ValueId v) const;
  std::uint32_t node_number(int g) const { return place(g).function ? 7 : 1; }

  const GraphPlace& place(int g) const { return file_.graphs[static_cast<std::size_t>(g)]; }
  const Graph& before(int g) const { return before_.graphs[static_cast<std::size_t>(g)]; }
  const Graph& after(int g) const { return after_.graphs[static_cast<std::size_t>(g)]; }
  const ValuePlace* value_place(int g, ValueId v) const {
    const auto& values = place(g).values;
    return static_cast<std::size_t>(v) < values.size() ? &values[static_cast<std::size_t>(v)] : nullptr;
  }
  bool is_old(int g, ValueId v) const { return static_cast<std::size_t>(v) < before(g).values.size(); }

  const OnnxFile& file_;
  const Model &before_, &after_;
  bool outside_;
  std::vector<Repair> wanted_;
  std::vector<bool> changed_;  ///< by graph: it, or one inside it, is written anew
  std::vector<std::vector<std::string>> names_;
  std::unordered_set<std::string> taken_;
};

/// What becomes of a graph's fields.
struct Writer::Plan {
  std::vector<NodeId> kept;      ///< by node of the file: its id in the edited graph; none_id: it goes
  std::vector<NodeId> sequence;  ///< nodes of the edited graph in the order of writing; ~k: Constant node k
  std::size_t next = 0;          ///< of the sequence
  bool in_place = true;          ///< the file's nodes keep their order
  std::size_t nodes_left = 0;
  std::unordered_map<const std::uint8_t*, ValueId> initializers, infos, inputs, outputs;
  std::uint32_t last_initializer = 0, last_info = 0, last_input = 0, last_output = 0;
  bool outputs_written = false;
};

bool Writer::wants(std::string_view kind, int g, ValueId value, NodeId node) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const Repair& repair) {
    return repair.kind == kind && repair.graph == g && (value == none_id || repair.value == value) &&
           (node == none_id || repair.node == node);
  });
}

std::string Writer::file_name(int g, ValueId v) const {
  const ValuePlace* at = value_place(g, v);
  return at && !at->name.empty() ? at->name : before(g).value(v).name;
}

std::string Writer::unique(const std::string& hint) {
  const std::string base = hint.empty() ? "fixed" : hint;
  std::string name = base;
  for (int n = 1; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
  return name;
}

void Writer::name_values() {
  for (std::size_t g = 0; g < before_.graphs.size(); ++g)
    for (std::size_t v = 0; v < before_.graphs[g].values.size(); ++v) {
      taken_.insert(file_name(static_cast<int>(g), static_cast<ValueId>(v)));
      taken_.insert(before_.graphs[g].values[v].name);
    }
  names_.resize(after_.graphs.size());
  for (std::size_t g = 0; g < after_.graphs.size(); ++g) name_graph(static_cast<int>(g));
  // What a body reads from outside is called what it is called there. Outer graphs have lower numbers but for
  // functions, which capture nothing.
  for (std::size_t g = 0; g < after_.graphs.size(); ++g)
    for (const NodeId id : after_.graphs[g].order) {
      const Node& node = after_.graphs[g].node(id);
      const auto captured =
          static_cast<std::size_t>(std::max<std::int64_t>(node.attrs.integer("#captured"), 0));
      for (const std::int32_t body : node.subgraphs) {
        const std::vector<ValueId>& inputs = after_.graphs[static_cast<std::size_t>(body)].inputs;
        for (std::size_t k = 1; k <= captured && k <= inputs.size() && k <= node.inputs.size(); ++k) {
          const ValueId inside = inputs[inputs.size() - k], outer = node.inputs[node.inputs.size() - k];
          if (outer == none_id) continue;
          std::string& name = names_[static_cast<std::size_t>(body)][static_cast<std::size_t>(inside)];
          if (name == names_[g][static_cast<std::size_t>(outer)]) continue;
          name = names_[g][static_cast<std::size_t>(outer)];
          changed_[static_cast<std::size_t>(body)] = true;
        }
      }
    }
}

void Writer::name_graph(int g) {
  std::vector<std::string>& names = names_[static_cast<std::size_t>(g)];
  for (std::size_t i = 0; i < after(g).values.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    const Value& value = after(g).value(v);
    if (!is_old(g, v)) {
      names.push_back(unique(value.name));
    } else if (value.name != before(g).value(v).name) {
      names.push_back(unique(value.name));
    } else {
      const bool repaired = wants(repair_duplicate_value, g, v) || wants(repair_dangling_output, g, v);
      names.push_back(repaired ? value.name : file_name(g, v));
    }
  }
}

/// A graph around a changed one changes too.
void Writer::mark_around() {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t g = 0; g < after_.graphs.size(); ++g) {
      if (changed_[g]) continue;
      for (const NodeId id : after_.graphs[g].order)
        for (const std::int32_t body : after_.graphs[g].node(id).subgraphs)
          if (!place(body).function && changed_[static_cast<std::size_t>(body)]) changed_[g] = more = true;
    }
  }
}

bool Writer::alive(int g, ValueId v) const {
  const Graph& graph = after(g);
  if (!graph.uses(v).empty() || graph.is_output(v)) return true;
  // Bodies that hold a copy of an outer constant read it by name.
  for (std::size_t other = 0; other < after_.graphs.size(); ++other) {
    if (static_cast<int>(other) == g) continue;
    const auto& values = file_.graphs[other].values;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i].captured && after_.graphs[other].values[i].constant &&
          after_.graphs[other].values[i].name == graph.value(v).name)
        return true;
  }
  return is_old(g, v) && before(g).uses(v).empty() &&
         !before(g).is_output(v);  // nobody read it before either
}

Writer::Plan Writer::plan_of(int g) const {
  Plan plan;
  const GraphPlace& at = place(g);
  plan.kept.assign(at.nodes.size(), none_id);
  NodeId last = none_id;
  for (const NodeId id : after(g).order) {
    const NodeId origin = after(g).node(id).origin;
    if (origin == none_id || static_cast<std::size_t>(origin) >= at.nodes.size()) continue;
    plan.kept[static_cast<std::size_t>(origin)] = id;
    plan.in_place = plan.in_place && origin > last;
    last = origin;
  }
  std::vector<char> constant_stays(at.nodes.size(), 0);
  for (std::size_t i = 0; i < at.values.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    const NodeId node = at.values[i].constant_node;
    if (node == none_id) continue;
    const bool same = same_constant(before(g).value(v), after(g).value(v)) &&
                      same_type(before(g).value(v), after(g).value(v));
    if (same && alive(g, v)) constant_stays[static_cast<std::size_t>(node)] = 1;
  }
  std::size_t next_constant = 0;
  const auto constants_before = [&](std::size_t node) {
    for (; next_constant < node; ++next_constant)
      if (constant_stays[next_constant]) plan.sequence.push_back(~static_cast<NodeId>(next_constant));
  };
  if (!plan.in_place) constants_before(at.nodes.size());
  for (const NodeId id : after(g).order) {
    const NodeId origin = after(g).node(id).origin;
    if (plan.in_place && origin != none_id) constants_before(static_cast<std::size_t>(origin));
    plan.sequence.push_back(id);
  }
  constants_before(at.nodes.size());
  for (std::size_t n = 0; n < at.nodes.size(); ++n)
    if (constant_stays[n]) plan.kept[n] = ~static_cast<NodeId>(n);
  plan.nodes_left = at.nodes.size();
  for (std::size_t i = 0; i < at.values.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    const ValuePlace& value = at.values[i];
    const auto note = [&](Bytes part, auto& map) {
      if (!part.empty()) map[part.data()] = v;
    };
    note(value.initializer, plan.initializers), note(value.info, plan.infos);
    note(value.input, plan.inputs), note(value.output, plan.outputs);
  }
  return plan;
}

Status Writer::emit_node(int g, const Plan&, NodeId id, Pieces& out) {
  if (id < 0) {
    out.add(place(g).nodes[static_cast<std::size_t>(~id)].whole);
    return {};
  }
  const Node& node = after(g).node(id);
  if (node.origin != none_id) {
    const Node& original = before(g).node(node.origin);
    bool clean = same_node(original, node) && !wants(repair_duplicate_node, g, none_id, node.origin);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId v : *list)
        if (clean && v != none_id && is_old(g, v)) clean = out_name(g, v) == file_name(g, v);
    for (const std::int32_t body : node.subgraphs)
      clean = clean && (place(body).function || !changed_[static_cast<std::size_t>(body)]);
    if (clean) {
      out.add(place(g).nodes[static_cast<std::size_t>(node.origin)].whole);
      return {};
    }
  }
  auto made = this->node(g, id);
  if (!made) return tl::make_unexpected(made.error());
  out.add_field(node_number(g), std::move(*made));
  return {};
}

Status Writer::node_field(int g, Plan& plan, NodeId k, Pieces& out) {
  --plan.nodes_left;
  const NodeId kept = plan.kept[static_cast<std::size_t>(k)];
  if (!plan.in_place) {
    while (plan.next < plan.sequence.size())
      if (auto done = emit_node(g, plan, plan.sequence[plan.next++], out); !done) return done;
  } else if (kept != none_id) {
    while (plan.next < plan.sequence.size()) {
      const NodeId now = plan.sequence[plan.next++];
      if (auto done = emit_node(g, plan, now, out); !done) return done;
      if (now == kept) break;
    }
  }
  return plan.nodes_left == 0 ? flush_nodes(g, plan, out) : Status();
}

Status Writer::flush_nodes(int g, Plan& plan, Pieces& out) {
  while (plan.next < plan.sequence.size())
    if (auto done = emit_node(g, plan, plan.sequence[plan.next++], out); !done) return done;
  return {};
}

Result<Pieces> Writer::node(int g, NodeId id) {
  const Node& node = after(g).node(id);
  const NodePlace* old =
      node.origin == none_id ? nullptr : &place(g).nodes[static_cast<std::size_t>(node.origin)];
  Pieces out;
  std::size_t inputs = node.inputs.size();
  inputs -=
      std::min(inputs, static_cast<std::size_t>(std::max<std::int64_t>(node.attrs.integer("#captured"), 0)));
  while (inputs > 0 && node.inputs[inputs - 1] == none_id) --inputs;
  for (std::size_t i = 0; i < inputs; ++i)
    out.add_field(1, node.inputs[i] == none_id ? std::string_view() : out_name(g, node.inputs[i]));
  for (const ValueId v : node.outputs) out.add_field(2, v == none_id ? std::string_view() : out_name(g, v));
  const bool named = old && !wants(repair_duplicate_node, g, none_id, node.origin);
  const std::string name = !old && node.name.empty() && !node.outputs.empty() && node.outputs[0] != none_id
                               ? out_name(g, node.outputs[0]) + "_node"
                               : node.name;
  if (!name.empty() && !named) out.add_field(3, name);
  if (named) {
    FieldWalk walk(old->content);
    while (const Field* field = walk.next())
      if (field->number == 3) out.add(field->whole);
  }
  std::string_view type = node.op;
  if (!node.custom.empty()) type.remove_prefix(std::min(type.size(), node.custom.size() + 1));
  out.add_field(4, type);
  const Node* original = old ? &before(g).node(node.origin) : nullptr;
  if (auto done = attributes(g, node, old, original, out); !done) return tl::make_unexpected(done.error());
  bool domain = false;
  if (old) {
    FieldWalk walk(old->content);
    while (const Field* field = walk.next()) {
      if (field->number <= 5) continue;
      if (field->number == 7 && plain_domain(field->text()) != node.custom) continue;
      domain = domain || field->number == 7;
      out.add(field->whole);
    }
  }
  if (!domain && !node.custom.empty()) out.add_field(7, node.custom);
  return out;
}

Status Writer::attributes(int g, const Node& node, const NodePlace* old, const Node* original, Pieces& out) {
  std::map<std::string, Bytes, std::less<>> in_file;
  if (old) {
    FieldWalk walk(old->content);
    while (const Field* field = walk.next()) {
      if (field->number != 5) continue;
      FieldWalk inner(field->content);
      while (const Field* part = inner.next())
        if (part->number == 1) in_file.emplace(part->text(), field->whole);
    }
  }
  (void)g;
  for (const auto& [key, value] : node.attrs) {
    if (key.starts_with('#')) continue;
    const std::string_view plain = key.starts_with('@') ? std::string_view(key).substr(1) : key;
    const auto at = in_file.find(plain);
    const AttrValue* was = original ? original->attrs.find(key) : nullptr;
    const bool body = is_body(key) && !node.subgraphs.empty();
    std::vector<std::int64_t> bodies;
    if (body) {
      if (const auto* one = std::get_if<std::int64_t>(&value)) bodies = {*one};
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) bodies = *list;
    }
    const bool inside = std::any_of(bodies.begin(), bodies.end(), [&](std::int64_t index) {
      return changed_[static_cast<std::size_t>(index)];
    });
    if (at != in_file.end() && was && *was == value && !inside) {
      out.add(at->second);
      continue;
    }
    if (key.starts_with('@'))
      return fail(Error::Kind::unsupported,
                  fmt::format("a reference to an attribute ({}) cannot be made anew", plain));
    Pieces made;
    if (!bodies.empty()) {
      made.add_field(1, key);
      const bool list = std::holds_alternative<std::vector<std::int64_t>>(value);
      for (const std::int64_t index : bodies) {
        auto content = graph(static_cast<int>(index));
        if (!content) return tl::make_unexpected(content.error());
        made.add_field(list ? 11 : 6, std::move(*content));
      }
      std::string kind;
      put_integer(kind, 20, list ? 10 : 5);
      made.add(std::move(kind));
    } else {
      auto content = encode_attribute(key, value, node.attrs);
      if (!content) return tl::make_unexpected(content.error());
      made.add(std::move(*content));
    }
    out.add_field(5, std::move(made));
  }
  return {};
}

/// The tensor without its elements, which stay in the old file.
std::optional<Pieces> Writer::tensor_outside(Bytes message) const {
  const auto parts = read_tensor(message);
  if (!parts || !parts->raw || parts->raw->size() < smallest_outside) return std::nullopt;
  Pieces out;
  FieldWalk walk(message);
  while (const Field* field = walk.next())
    if (field->number != 9 && field->number != 13 && field->number != 14) out.add(field->whole);
  out.add(encode_external(std::filesystem::path(file_.file->path()).filename().string(),
                          static_cast<std::uint64_t>(parts->raw->data() - file_.message.data()),
                          parts->raw->size()));
  return out;
}

Pieces Writer::tensor(int g, ValueId v) {
  const Value& value = after(g).value(v);
  Pieces out;
  out.add(encode_tensor_head(value, out_name(g, v)));
  const Bytes bytes = value.constant->bytes;
  const Bytes all = file_.message;
  const bool in_file = bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size();
  std::string head;
  put_tag(head, 9, Wire::bytes);
  put_varint(head, bytes.size());
  out.add(std::move(head));
  if (in_file)
    out.add(bytes);
  else
    out.add(std::string(view_of(bytes)));
  return out;
}

Status Writer::initializer_field(int g, const Plan& plan, const Field& field, Pieces& out) {
  const auto at = plan.initializers.find(field.whole.data());
  if (at == plan.initializers.end()) {  // an earlier one of the same name, which the last replaces
    const auto tensor = read_tensor(field.content);
    const bool drop = tensor && std::any_of(wanted_.begin(), wanted_.end(), [&](const Repair& repair) {
                        return repair.kind == repair_duplicate_initializer && repair.graph == g &&
                               before(g).value(repair.value).name == tensor->name;
                      });
    if (!drop) out.add(field.whole);
    return {};
  }
  const ValueId v = at->second;
  const Value &was = before(g).value(v), &now = after(g).value(v);
  if (!was.constant) {  // sparse: never looked into
    out.add(field.whole);
    return {};
  }
  if (!alive(g, v) || !now.constant) return {};
  const bool same = same_type(was, now) && same_constant(was, now) && out_name(g, v) == file_name(g, v);
  if (same) {
    if (auto made = outside_ ? tensor_outside(field.content) : std::nullopt)
      out.add_field(5, std::move(*made));
    else
      out.add(field.whole);
    return {};
  }
  // Elements that lie outside the file, under another name alone.
  if (same_constant(was, now) && was.dtype == now.dtype && was.shape == now.shape) {
    Pieces renamed;
    FieldWalk walk(field.content);
    while (const Field* part = walk.next())
      if (part->number != 8) renamed.add(part->whole);
    renamed.add_field(8, out_name(g, v));
    out.add_field(5, std::move(renamed));
    return {};
  }
  out.add_field(5, tensor(g, v));
  return {};
}

/// Constants that the file has not, or not as initializers.
Status Writer::new_constants(int g, const Plan& plan, Pieces& out) {
  (void)plan;
  for (std::size_t i = 0; i < after(g).values.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    const Value& value = after(g).value(v);
    if (!value.constant || !alive(g, v)) continue;
    if (const ValuePlace* at = value_place(g, v)) {
      const Value& was = before(g).value(v);
      const bool stays = at->constant_node != none_id && same_constant(was, value) && same_type(was, value);
      if (at->captured || !at->initializer.empty() || stays) continue;
    }
    if (after(g).uses(v).empty() && !after(g).is_output(v)) continue;
    if (place(g).function) {  // has no initializers: a node holds it
      Pieces attribute, node;
      attribute.add_field(1, "value");
      attribute.add_field(5, tensor(g, v));
      std::string kind;
      put_integer(kind, 20, 4);
      attribute.add(std::move(kind));
      node.add_field(2, out_name(g, v));
      node.add_field(4, "Constant");
      node.add_field(5, std::move(attribute));
      out.add_field(7, std::move(node));
    } else {
      out.add_field(5, tensor(g, v));
    }
  }
  return {};
}

bool Writer::same_info(int g, ValueId v) const {
  if (!is_old(g, v)) return false;
  const bool stale = wants(repair_stale_shape, g, v) || wants(repair_stale_type, g, v);
  const Value &was = before(g).value(v), &now = after(g).value(v);
  return !stale && was.dtype == now.dtype && was.shape == now.shape && was.dim_names == now.dim_names &&
         was.unranked == now.unranked && out_name(g, v) == file_name(g, v);
}

Result<Pieces> Writer::info(int g, ValueId v) {
  Value named = after(g).value(v);
  named.name = out_name(g, v);
  std::string made = encode_value_info(named);
  if (made.empty())
    return fail(Error::Kind::unsupported,
                fmt::format("the type of \"{}\" cannot be written anew", named.name));
  Pieces out;
  out.add(std::move(made));
  return out;
}

/// value_info and inputs.
Status Writer::value_fields(int g, const Plan& plan, const Field& field, Pieces& out) {
  const bool input = field.number == 11;
  const auto& known = input ? plan.inputs : plan.infos;
  const auto at = known.find(field.whole.data());
  if (at == known.end()) {
    out.add(field.whole);
    return {};
  }
  const ValueId v = at->second;
  const Graph& graph = after(g);
  if (input) {
    const bool constant = before(g).value(v).is_constant();
    const bool listed = std::find(graph.inputs.begin(), graph.inputs.end(), v) != graph.inputs.end();
    if (constant ? !alive(g, v) || wants(repair_initializer_is_input, g, v) : !listed) return {};
  } else {
    const bool gone = graph.producer(v) == none_id && !graph.is_input(v) && before(g).producer(v) != none_id;
    if (gone) return {};
  }
  if (same_info(g, v)) {
    out.add(field.whole);
    return {};
  }
  auto made = info(g, v);
  if (!made) return tl::make_unexpected(made.error());
  out.add_field(field.number, std::move(*made));
  return {};
}

Status Writer::output_fields(int g, Plan& plan, const Field& field, Pieces& out) {
  if (plan.outputs_written) return {};
  const Graph& graph = after(g);
  const bool same_list = graph.outputs == before(g).outputs;
  if (same_list) {
    const auto at = plan.outputs.find(field.whole.data());
    if (at == plan.outputs.end() || same_info(g, at->second) ||
        wants(repair_dangling_output, g, at->second)) {
      out.add(field.whole);
      return {};
    }
    auto made = info(g, at->second);
    if (!made) return tl::make_unexpected(made.error());
    out.add_field(12, std::move(*made));
    return {};
  }
  plan.outputs_written = true;
  for (const ValueId v : graph.outputs) {
    const ValuePlace* at = value_place(g, v);
    if (at && !at->output.empty() && same_info(g, v)) {
      out.add(at->output);
      continue;
    }
    auto made = info(g, v);
    if (!made) return tl::make_unexpected(made.error());
    out.add_field(12, std::move(*made));
  }
  return {};
}

Result<Pieces> Writer::graph(int g) {
  Pieces out;
  if (!changed_[static_cast<std::size_t>(g)] && !outside_) {
    out.add(place(g).message);
    return out;
  }
  Plan plan = plan_of(g);
  bool any_info = false, any_input = false, named = false;
  std::map<std::uint32_t, int> left;
  {
    FieldWalk walk(place(g).message);
    while (const Field* field = walk.next()) ++left[field->number];
  }
  const bool needs_inputs =
      before_.format_version > 0 && before_.format_version < 4 && after_.format_version < 4 && g == 0;
  any_info = left[13] > 0, any_input = left[11] > 0;
  (void)any_input;
  const auto behind = [&](std::uint32_t number) -> Status {  // what is added behind the last field of a kind
    if (number == 5) return new_constants(g, plan, out);
    if (number == 13 || number == 11)
      for (std::size_t i = before(g).values.size(); i < after(g).values.size(); ++i) {
        const auto v = static_cast<ValueId>(i);
        const Value& value = after(g).value(v);
        const bool input =
            after(g).is_input(v) || (needs_inputs && value.constant && !after(g).uses(v).empty());
        if (number == 11 ? !input
                         : value.constant || input || after(g).producer(v) == none_id ||
                               after(g).is_output(v) || value.dtype == DType::unknown)
          continue;
        auto made = info(g, v);
        if (!made) {
          if (number == 13) continue;  // says more than anybody needs
          return tl::make_unexpected(made.error());
        }
        out.add_field(number, std::move(*made));
      }
    return {};
  };
  NodeId k = 0;
  FieldWalk walk(place(g).message);
  while (const Field* field = walk.next()) {
    Status done;
    switch (field->number) {
      case 1:
        done = node_field(g, plan, k++, out);
        break;
      case 2:
        named = true;
        if (wants(repair_graph_name, g))
          out.add_field(2, "main_graph");
        else
          out.add(field->whole);
        break;
      case 5:
        done = initializer_field(g, plan, *field, out);
        break;
      case 11:
      case 13:
        done = value_fields(g, plan, *field, out);
        break;
      case 12:
        done = output_fields(g, plan, *field, out);
        break;
      default:
        out.add(field->whole);
        break;
    }
    if (done && --left[field->number] == 0) done = behind(field->number);
    if (!done) return tl::make_unexpected(done.error());
  }
  if (auto done = flush_nodes(g, plan, out); !done) return tl::make_unexpected(done.error());
  FieldWalk again(place(g).message);
  std::set<std::uint32_t> seen;
  while (const Field* field = again.next()) seen.insert(field->number);
  for (const std::uint32_t number : {5u, 11u})
    if (!seen.contains(number))
      if (auto done = behind(number); !done) return tl::make_unexpected(done.error());
  (void)any_info;
  if (!named && wants(repair_graph_name, g)) out.add_field(2, "main_graph");
  for (std::size_t i = 0; i < before(g).values.size();
       ++i)  // constants that this IR version wants among the inputs
    if (const auto v = static_cast<ValueId>(i); wants(repair_initializer_not_input, g, v)) {
      auto made = info(g, v);
      if (!made) return tl::make_unexpected(made.error());
      out.add_field(11, std::move(*made));
    }
  return out;
}

Result<Pieces> Writer::function(int g) {
  Pieces out;
  if (!changed_[static_cast<std::size_t>(g)]) {
    out.add(place(g).message);
    return out;
  }
  Plan plan = plan_of(g);
  bool constants = false;
  NodeId k = 0;
  FieldWalk walk(place(g).message);
  while (const Field* field = walk.next()) {
    if (field->number != 7) {
      out.add(field->whole);
      continue;
    }
    if (!constants)
      if (auto done = new_constants(g, plan, out); !done) return tl::make_unexpected(done.error());
    constants = true;
    if (auto done = node_field(g, plan, k++, out); !done) return tl::make_unexpected(done.error());
  }
  if (auto done = flush_nodes(g, plan, out); !done) return tl::make_unexpected(done.error());
  return out;
}

Result<Pieces> Writer::model() {
  Pieces out;
  bool version = false;
  int function_index = 0;
  std::set<std::string, std::less<>> domains;
  const auto set_for = [&](std::string_view domain) -> const OperatorSet* {
    for (const OperatorSet& set : after_.operator_sets)
      if (set.domain == domain) return &set;
    return nullptr;
  };
  const auto encoded = [](std::string_view domain, int number) {
    std::string set;
    if (!domain.empty()) put_bytes(set, 1, domain);
    put_integer(set, 2, number);
    return set;
  };
  if (after_.format_version != before_.format_version) {
    std::string field;
    put_integer(field, 1, after_.format_version);
    out.add(std::move(field));
    version = true;
  }
  FieldWalk walk(file_.message);
  while (const Field* field = walk.next()) {
    if (field->number == 1 && version) continue;
    if (field->number == 7 || field->number == 25) {
      auto content = field->number == 7 ? graph(0) : function(++function_index);
      if (!content) return tl::make_unexpected(content.error());
      const int g = field->number == 7 ? 0 : function_index;
      if (!changed_[static_cast<std::size_t>(g)] && !(outside_ && g == 0))
        out.add(field->whole);
      else
        out.add_field(field->number, std::move(*content));
      continue;
    }
    if (field->number == 8) {
      std::string domain;
      std::int64_t number = 0;
      FieldWalk inner(field->content);
      while (const Field* part = inner.next()) {
        if (part->number == 1) domain = part->text();
        if (part->number == 2) number = part->integer();
      }
      const std::string plain(plain_domain(domain));
      domains.insert(plain);
      const OperatorSet* set = set_for(plain);
      if (!set) continue;
      if (set->version == number)
        out.add(field->whole);
      else
        out.add_field(8, encoded(domain, set->version));
      continue;
    }
    out.add(field->whole);
  }
  for (const OperatorSet& set : after_.operator_sets) {
    if (domains.contains(set.domain)) continue;
    const bool guessed = std::find(before_.operator_sets.begin(), before_.operator_sets.end(), set) !=
                         before_.operator_sets.end();
    const bool asked = std::any_of(wanted_.begin(), wanted_.end(), [&](const Repair& repair) {
      return (repair.kind == repair_missing_opset && set.domain.empty()) ||
             (repair.kind == repair_missing_domain &&
              repair.text.find("\"" + set.domain + "\"") != std::string::npos);
    });
    if (!guessed || asked) out.add_field(8, encoded(set.domain, set.version));
  }
  return out;
}

}  // namespace

Status write_onnx(const OnnxFile& file, const Model& edited, ByteSink& sink, bool everything) {
  auto pieces = Writer(file, edited, false, everything).model();
  if (pieces && pieces->size() > most_bytes) pieces = Writer(file, edited, true, everything).model();
  if (!pieces) return tl::make_unexpected(pieces.error());
  return pieces->write(*file.file, sink);
}

}  // namespace md::onnx

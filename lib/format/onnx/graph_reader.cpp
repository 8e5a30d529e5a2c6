#include "lib/format/onnx/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "lib/format/onnx/dialect.h"
#include "lib/format/onnx/operators.h"
#include "lib/op/dialect.h"

namespace md::onnx {
namespace {

constexpr int most_depth = 64;  // of graphs in graphs: deeper nesting only comes from damaged files

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

}  // namespace

tl::unexpected<Error> ReadState::error(const std::uint8_t* place, std::string_view what) const {
  const Bytes bytes = file->bytes();
  const std::size_t at = place && !bytes.empty() ? static_cast<std::size_t>(place - bytes.data()) : 0;
  return input_error(fmt::format("{}: byte {}: {}", file->path(), at, what));
}

std::string operator_name(std::string_view domain, std::string_view op_type) {
  domain = plain_domain(domain);
  return domain.empty() ? std::string(op_type) : fmt::format("{}.{}", domain, op_type);
}

GraphReader::GraphReader(ReadState& state, int index, Bytes message, const std::vector<OperatorSet>& sets,
                         GraphReader* outer)
    : state_(state), index_(index), message_(message), sets_(sets), outer_(outer) {
  depth_ = outer ? outer->depth_ + 1 : 0;
  place().message = message;
  graph().dialect = &dialect_onnx;
}

void GraphReader::repair(std::string_view kind, std::string text, NodeId node, ValueId value) {
  state_.repairs.push_back(
      {.kind = std::string(kind), .graph = index_, .node = node, .value = value, .text = std::move(text)});
}

ValueId GraphReader::add_value(std::string_view name) {
  const auto id = static_cast<ValueId>(graph().values.size());
  Value made;
  made.name = name;
  made.origin = id;
  made.unranked = true;
  graph().values.push_back(std::move(made));
  place().values.emplace_back();
  producer_.push_back(none_id);
  return id;
}

ValueId GraphReader::define(std::string_view name, NodeId by) {
  const ValueId id = add_value(name);
  producer_[static_cast<std::size_t>(id)] = by;
  const auto [known, is_new] = names_.emplace(std::string(name), id);
  if (is_new) return id;
  later_[std::string(name)].emplace_back(by, id);
  value_place(id).name = name;
  std::string unique;
  for (int n = 2;; ++n)
    if (unique = fmt::format("{}_{}", name, n); !names_.contains(unique)) break;
  names_.emplace(unique, id);
  value(id).name = unique;
  repair(repair_duplicate_value, fmt::format("{} is written twice", quoted(name)), by, id);
  return id;
}

ValueId GraphReader::resolve(std::string_view name) {
  const auto at = names_.find(std::string(name));
  if (at == names_.end()) return capture(name);
  ValueId id = at->second;
  if (const auto later = later_.find(at->first); later != later_.end())
    for (const auto& [node, other] : later->second)
      if (node < current_) id = other;
  return id;
}

ValueId GraphReader::capture(std::string_view name) {
  const ValueId outside = outer_ ? outer_->resolve(name) : none_id;
  if (outside == none_id) return none_id;
  const Value shown = outer_->value(outside);
  const ValueId id = add_value(name);
  names_.emplace(std::string(name), id);
  Value& inside = value(id);
  inside.dtype = shown.dtype, inside.shape = shown.shape, inside.unranked = shown.unranked;
  inside.dim_names = shown.dim_names;
  inside.constant = shown.constant;
  value_place(id).captured = true;
  if (!inside.constant) captures_.emplace_back(name);
  return id;
}

Status GraphReader::scan_node(const Field& field) {
  RawNode node;
  node.whole = field.whole, node.content = field.content;
  FieldWalk walk(field.content);
  while (const Field* part = walk.next()) switch (part->number) {
      case 1:
        node.inputs.push_back(part->text());
        break;
      case 2:
        node.outputs.push_back(part->text());
        break;
      case 3:
        node.name = part->text();
        break;
      case 4:
        node.op = part->text();
        break;
      case 5:
        node.attributes.push_back(part->content);
        break;
      case 7:
        node.domain = plain_domain(part->text());
        break;
      case 9:
        node.metadata.push_back(part->content);
        break;
      default:
        break;
    }
  if (walk.broken()) return state_.error(field.content.data() + walk.at(), "expected the fields of a node");
  nodes_.push_back(std::move(node));
  return {};
}

Status GraphReader::scan_value(const Field& field, std::vector<RawValue>& values) {
  RawValue raw{.name = {}, .whole = field.whole, .content = field.content};
  FieldWalk walk(field.content);
  while (const Field* part = walk.next())
    if (part->number == 1) raw.name = part->text();
  if (walk.broken())
    return state_.error(field.content.data() + walk.at(), "expected a value's name and type");
  values.push_back(raw);
  return {};
}

Status GraphReader::scan_graph() {
  FieldWalk walk(message_);
  while (const Field* field = walk.next()) {
    Status done;
    switch (field->number) {
      case 1:
        done = scan_node(*field);
        break;
      case 2:
        name_ = field->text();
        break;
      case 5:
        initializers_.push_back(*field);
        break;
      case 11:
        done = scan_value(*field, inputs_);
        break;
      case 12:
        done = scan_value(*field, outputs_);
        break;
      case 13:
        done = scan_value(*field, infos_);
        break;
      case 15:
        sparse_.push_back(*field);
        break;
      default:
        break;
    }
    if (!done) return done;
  }
  if (walk.broken())
    return state_.error(message_.data() + walk.at(),
                        "expected a field of a graph: the file is cut off or damaged");
  return {};
}

Status GraphReader::scan_function() {
  FieldWalk walk(message_);
  while (const Field* field = walk.next()) {
    Status done;
    if (field->number == 1) name_ = field->text();
    if (field->number == 4) function_inputs_.push_back(field->text());
    if (field->number == 5) function_outputs_.push_back(field->text());
    if (field->number == 7) done = scan_node(*field);
    if (field->number == 12) done = scan_value(*field, infos_);
    if (!done) return done;
  }
  if (walk.broken()) return state_.error(message_.data() + walk.at(), "expected a field of a function");
  return {};
}

Status GraphReader::define_inputs() {
  for (const RawValue& raw : inputs_) {
    if (names_.contains(std::string(raw.name)))
      return state_.error(raw.content.data(),
                          fmt::format("expected inputs of different names, not two {}", quoted(raw.name)));
    const ValueId id = define(raw.name, none_id);
    value_place(id).input = raw.whole;
    graph().inputs.push_back(id);
  }
  for (const std::string_view name : function_inputs_) {
    if (names_.contains(std::string(name)))
      return state_.error(message_.data(), "expected inputs of different names");
    graph().inputs.push_back(define(name, none_id));
  }
  return {};
}

Status GraphReader::define_initializers() {
  std::set<ValueId> constants;
  for (const Field& field : initializers_) {
    const auto tensor = read_tensor(field.content);
    if (!tensor) return state_.error(field.content.data(), "expected a tensor");
    auto constant = constant_of(*tensor, state_.file, state_.external);
    if (!constant)
      return state_.error(field.content.data(),
                          fmt::format("initializer {}: {}", quoted(tensor->name), constant.error().message));
    const auto known = names_.find(tensor->name);
    const bool is_input = known != names_.end() && !constants.contains(known->second);
    const bool again = known != names_.end() && !is_input;
    const ValueId id = known == names_.end() ? define(tensor->name, none_id) : known->second;
    if (again)
      repair(repair_duplicate_initializer,
             fmt::format("the initializer {} is there twice; runtimes take the last", quoted(tensor->name)),
             none_id, id);
    constants.insert(id);
    Value& made = value(id);
    made.dtype = dtype_of_onnx(tensor->data_type).value_or(DType::unknown);
    made.shape = tensor->shape, made.unranked = false, made.dim_names.clear();
    made.constant = std::move(*constant);
    value_place(id).initializer = field.whole;
    if (is_input) std::erase(graph().inputs, id);
    if (is_input && state_.format_version >= 4 && index_ == 0)
      repair(repair_initializer_is_input,
             fmt::format("the constant {} is listed as an input, so that runtimes may not fold it",
                         quoted(tensor->name)),
             none_id, id);
    if (!is_input && !again && state_.format_version > 0 && state_.format_version < 4 && index_ == 0)
      repair(repair_initializer_not_input,
             fmt::format("the constant {} is not listed as an input, which IR version {} asks for",
                         quoted(tensor->name), state_.format_version),
             none_id, id);
  }
  return {};
}

/// Their elements stay as they are; the view knows type and shape.
void GraphReader::define_sparse_initializers() {
  for (const Field& field : sparse_) {
    std::optional<TensorParts> values;
    Shape dims;
    FieldWalk walk(field.content);
    while (const Field* part = walk.next()) {
      if (part->number == 1) values = read_tensor(part->content);
      if (part->number == 3 && part->wire == Wire::varint) dims.push_back(part->integer());
      if (part->number == 3)
        for (Bytes rest = part->content; !rest.empty();) {
          const auto dim = take_varint(rest);
          if (!dim) break;
          dims.push_back(static_cast<std::int64_t>(*dim));
        }
    }
    if (!values || names_.contains(values->name)) continue;
    const ValueId id = define(values->name, none_id);
    value(id).dtype = dtype_of_onnx(values->data_type).value_or(DType::unknown);
    value(id).shape = std::move(dims), value(id).unranked = false;
    value_place(id).initializer = field.whole;
    graph().inputs.push_back(id);  // nobody computes it, and its elements are not looked at
    value_place(id).captured = true;
  }
}

Status GraphReader::define_results() {
  graph().nodes.reserve(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const RawNode& raw = nodes_[n];
    const auto id = static_cast<NodeId>(n);
    Node node;
    node.op = operator_name(raw.domain, raw.op);
    node.custom = raw.domain;
    node.name = raw.name;
    node.origin = id;
    if (!raw.name.empty() && !taken_.insert(std::string(raw.name)).second) {
      repair(repair_duplicate_node, fmt::format("two nodes are called {}", quoted(raw.name)), id);
      for (int k = 2;; ++k)
        if (node.name = fmt::format("{}_{}", raw.name, k); taken_.insert(node.name).second) break;
    }
    if (const auto slash = raw.name.rfind('/'); slash != std::string_view::npos && slash > 0)
      node.layer = raw.name.substr(0, slash);
    graph().nodes.push_back(std::move(node));
    place().nodes.push_back({.whole = raw.whole, .content = raw.content});
    for (const std::string_view name : raw.outputs) {
      const ValueId made = name.empty() ? none_id : define(name, id);
      graph().nodes.back().outputs.push_back(made);
    }
  }
  return {};
}

Status GraphReader::type_values() {
  const auto type = [&](const RawValue& raw, ValueId id, Bytes ValuePlace::*part) -> Status {
    if (id == none_id) return {};
    if (part) value_place(id).*part = raw.whole;
    if (value(id).constant) return {};
    Value typed;
    typed.unranked = true;
    FieldWalk walk(raw.content);
    while (const Field* field = walk.next())
      if (field->number == 2 && !read_type(field->content, typed))
        return state_.error(field->content.data(), fmt::format("expected the type of {}", quoted(raw.name)));
    Value& known = value(id);
    known.dtype = typed.dtype, known.shape = std::move(typed.shape), known.unranked = typed.unranked;
    known.dim_names = std::move(typed.dim_names);
    return {};
  };
  const auto own = [&](std::string_view name) {
    const auto at = names_.find(std::string(name));
    return at == names_.end() ? none_id : at->second;
  };
  for (const RawValue& raw : infos_)
    if (auto done = type(raw, own(raw.name), &ValuePlace::info); !done) return done;
  for (const RawValue& raw : inputs_)
    if (auto done = type(raw, own(raw.name), nullptr); !done) return done;
  for (const RawValue& raw : outputs_) {
    const ValueId id = own(raw.name);
    if (id != none_id && value_place(id).input.empty())
      if (auto done = type(raw, id, nullptr); !done) return done;
  }
  return {};
}

void GraphReader::set_version(Node& node) {
  const auto set = std::find_if(sets_.begin(), sets_.end(),
                                [&](const OperatorSet& known) { return known.domain == node.custom; });
  const bool local = state_.functions.contains(node.op);
  int version = set == sets_.end() ? 0 : set->version;
  if (set == sets_.end() && !local) {
    state_.missing_domains.insert(node.custom);
    version = 1;
  }
  node.version = version_in_set(dialect_onnx, node.op, version).value_or(version);
}

Status GraphReader::connect() {
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (auto done = connect_node(static_cast<NodeId>(n)); !done) return done;
  current_ = static_cast<NodeId>(nodes_.size());
  return {};
}

Status GraphReader::connect_node(NodeId id) {
  const RawNode& raw = nodes_[static_cast<std::size_t>(id)];
  current_ = id;
  if (raw.op == "Constant" && raw.domain.empty()) {
    if (auto done = read_constant_node(id); !done) return done;
    if (place().nodes[static_cast<std::size_t>(id)].constant) return {};
  }
  Node node = graph().node(id);
  for (const std::string_view name : raw.inputs) {
    const ValueId from = name.empty() ? none_id : resolve(name);
    if (from == none_id && !name.empty())
      return state_.error(
          raw.content.data(),
          fmt::format("node {} ({}): its input {} is no input of the graph, no initializer, and "
                      "no output of a node: the graph was cut or renamed by hand",
                      quoted(raw.name), raw.op, quoted(name)));
    node.inputs.push_back(from);
  }
  std::vector<std::unique_ptr<GraphReader>> bodies;
  for (const Bytes attribute : raw.attributes)
    if (auto done = read_attribute(attribute, node, bodies); !done) return done;
  if (!bodies.empty()) share_captures(node, bodies);
  set_version(node);
  if (const auto function = state_.functions.find(node.op); function != state_.functions.end())
    node.subgraphs.push_back(function->second);
  graph().nodes[static_cast<std::size_t>(id)] = std::move(node);
  graph().order.push_back(id);
  return {};
}

Status GraphReader::read_body(Bytes message, Node& node, std::vector<std::unique_ptr<GraphReader>>& bodies,
                              std::int32_t& index) {
  if (depth_ + 1 > most_depth)
    return state_.error(message.data(), fmt::format("graphs nest deeper than {} levels", most_depth));
  index = static_cast<std::int32_t>(state_.graphs.size());
  state_.graphs.emplace_back();
  state_.places.emplace_back();
  bodies.push_back(std::make_unique<GraphReader>(state_, index, message, sets_, this));
  node.subgraphs.push_back(index);
  return bodies.back()->read_graph();
}

void GraphReader::share_captures(Node& node, const std::vector<std::unique_ptr<GraphReader>>& bodies) {
  std::vector<std::string> all;
  std::set<std::string> known;
  for (const auto& body : bodies)
    for (const std::string& name : body->captures())
      if (known.insert(name).second) all.push_back(name);
  if (all.empty()) return;
  for (const auto& body : bodies)
    for (const std::string& name : all) {
      const bool has =
          std::find(body->captures().begin(), body->captures().end(), name) != body->captures().end();
      ValueId id = has ? body->names_.at(name) : body->add_value(name);
      if (!has) {
        const Value shown = value(resolve(name));
        body->value(id).dtype = shown.dtype, body->value(id).shape = shown.shape;
        body->value(id).unranked = shown.unranked;
        body->value_place(id).captured = true;
      }
      body->graph().inputs.push_back(id);
    }
  for (const auto& body : bodies) body->graph().index();
  for (const std::string& name : all) node.inputs.push_back(resolve(name));
  node.attrs.set("#captured", static_cast<std::int64_t>(all.size()));
}

Status GraphReader::define_outputs() {
  const auto add = [&](std::string_view name, const std::uint8_t* where, Bytes whole) -> Status {
    ValueId id = resolve(name);
    if (id == none_id) {
      std::vector<ValueId> sinks;
      graph().index();
      for (const NodeId n : graph().order)
        for (const ValueId v : graph().node(n).outputs)
          if (v != none_id && graph().uses(v).empty() && !names_.empty()) {
            const bool listed = std::any_of(outputs_.begin(), outputs_.end(), [&](const RawValue& o) {
              return o.name == graph().value(v).name;
            });
            if (!listed) sinks.push_back(v);
          }
      if (sinks.size() != 1)
        return state_.error(where, fmt::format("output {}: no node writes it", quoted(name)));
      id = sinks.front();
      repair(repair_dangling_output,
             fmt::format("the output {} is written by no node; {} is the only value that nobody reads",
                         quoted(name), quoted(value(id).name)),
             none_id, id);
      value_place(id).name = value(id).name;
      names_.emplace(std::string(name), id);
      value(id).name = name;
    }
    value_place(id).output = whole;
    graph().outputs.push_back(id);
    return {};
  };
  for (const RawValue& raw : outputs_)
    if (auto done = add(raw.name, raw.content.data(), raw.whole); !done) return done;
  for (const std::string_view name : function_outputs_)
    if (auto done = add(name, message_.data(), {}); !done) return done;
  return {};
}

Status GraphReader::sort_nodes() {
  Graph& g = graph();
  std::vector<int> waiting(g.nodes.size(), 0);
  std::vector<std::vector<NodeId>> readers(g.nodes.size());
  bool sorted = true;
  for (const NodeId id : g.order)
    for (const ValueId v : g.node(id).inputs) {
      const NodeId from = v == none_id ? none_id : producer_[static_cast<std::size_t>(v)];
      if (from == none_id || value(v).constant) continue;
      sorted = sorted && from < id;
      readers[static_cast<std::size_t>(from)].push_back(id);
      ++waiting[static_cast<std::size_t>(id)];
    }
  if (sorted) return {};
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const NodeId id : g.order)
    if (waiting[static_cast<std::size_t>(id)] == 0) ready.push(id);
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (const NodeId reader : readers[static_cast<std::size_t>(id)])
      if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  if (order.size() != g.order.size()) {
    const auto stuck = std::find_if(g.order.begin(), g.order.end(),
                                    [&](NodeId id) { return waiting[static_cast<std::size_t>(id)] > 0; });
    return state_.error(nodes_[static_cast<std::size_t>(*stuck)].content.data(),
                        fmt::format("node {} ({}) needs its own result: the graph has a cycle",
                                    quoted(g.node(*stuck).name), g.node(*stuck).op));
  }
  g.order = std::move(order);
  repair(repair_node_order, "nodes stand before the nodes whose results they read");
  return {};
}

Status GraphReader::read_graph() {
  for (const auto step :
       {&GraphReader::scan_graph, &GraphReader::define_inputs, &GraphReader::define_initializers})
    if (auto done = (this->*step)(); !done) return done;
  define_sparse_initializers();
  for (const auto step : {&GraphReader::define_results, &GraphReader::type_values, &GraphReader::connect,
                          &GraphReader::define_outputs, &GraphReader::sort_nodes})
    if (auto done = (this->*step)(); !done) return done;
  graph().name = name_;
  if (name_.empty() && index_ == 0) repair(repair_graph_name, "the graph has no name");
  graph().index();
  return {};
}

Status GraphReader::read_function() {
  place().function = true;
  for (const auto step : {&GraphReader::scan_function, &GraphReader::define_inputs,
                          &GraphReader::define_results, &GraphReader::type_values, &GraphReader::connect,
                          &GraphReader::define_outputs, &GraphReader::sort_nodes})
    if (auto done = (this->*step)(); !done) return done;
  graph().name = name_;
  graph().index();
  return {};
}

}  // namespace md::onnx

#include "lib/format/torch/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "lib/format/torch/metadata.h"
#include "lib/format/torch/schema.h"
#include "lib/format/torch/types.h"

namespace md {
namespace {

constexpr int deepest_graph = 16;
constexpr std::size_t highest_rank = 64;
constexpr std::size_t most_arguments = 4096;  ///< of one node that are no tensors

/// torch._export.serde.schema.ScalarType.
constexpr std::array<std::pair<int, DType>, 20> scalar_types = {{
    {1, DType::u8},      {2, DType::i8},       {3, DType::i16},   {4, DType::i32},     {5, DType::i64},
    {6, DType::f16},     {7, DType::f32},      {8, DType::f64},   {9, DType::c32},     {10, DType::c64},
    {11, DType::c128},   {12, DType::boolean}, {13, DType::bf16}, {28, DType::u16},    {29, DType::f8e4m3fn},
    {30, DType::f8e5m2}, {34, DType::u32},     {35, DType::u64},  {0, DType::unknown}, {0, DType::unknown},
}};

std::string memory_format_name(std::int64_t n) {
  constexpr std::array<std::string_view, 5> names = {"unknown", "contiguous_format", "channels_last",
                                                     "channels_last_3d", "preserve_format"};
  return std::string(n >= 0 && n < 5 ? names[static_cast<std::size_t>(n)] : "unknown");
}

class GraphReader {
 public:
  GraphReader(Json json, const std::string& where, Model& model, Pt2Layout& layout, int depth)
      : json_(json), where_(where), model_(model), layout_(layout), depth_(depth) {}

  Result<int> run(const std::string& name) {
    if (depth_ > deepest_graph)
      return input_error(fmt::format("{}: graphs nest deeper than {} levels", where_, deepest_graph));
    const auto index = static_cast<int>(model_.graphs.size());
    model_.graphs.emplace_back();
    layout_.graphs.emplace_back();
    graph_.dialect = model_.dialect;
    graph_.name = name;
    for (const auto* table : {"inputs", "outputs", "nodes"})
      if (json_.at(table).kind() != Json::Kind::array)
        return bad(json_, fmt::format("a list \"{}\" in the graph", table));
    if (auto ok = read_values(); !ok) return tl::make_unexpected(ok.error());
    defined_.assign(graph_.values.size(), 0);
    if (auto ok = ports(json_.at("inputs"), at_.input_ports, graph_.inputs, true); !ok)
      return tl::make_unexpected(ok.error());
    for (Json node = json_.at("nodes").first(); node; node = node.next())
      if (auto ok = read_node(node); !ok) return tl::make_unexpected(ok.error());
    if (auto ok = ports(json_.at("outputs"), at_.output_ports, graph_.outputs, false); !ok)
      return tl::make_unexpected(ok.error());
    at_.inputs = json_.at("inputs").span(), at_.outputs = json_.at("outputs").span(),
    at_.nodes = json_.at("nodes").span();
    model_.graphs[static_cast<std::size_t>(index)] = std::move(graph_);
    layout_.graphs[static_cast<std::size_t>(index)] = std::move(at_);
    return index;
  }

 private:
  /// On one line: names in a damaged file may hold anything.
  tl::unexpected<Error> bad(Json at, std::string expected) const {
    constexpr std::size_t longest = 300;
    std::erase_if(expected, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (expected.size() > longest) expected.resize(longest), expected += "...";
    return input_error(
        fmt::format("{}: byte {} of the JSON text: expected {}", where_, at.span().begin, expected));
  }

  ValueId add_value(const std::string& name, DType dtype) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    const auto [it, fresh] = ids_.emplace(name, id);
    if (!fresh) return it->second;
    Value value;
    value.name = name, value.dtype = dtype, value.origin = id;
    graph_.values.push_back(std::move(value));
    at_.value_entries.emplace_back();
    at_.value_meta.emplace_back();
    return id;
  }

  /// Sizes of one tensor: numbers that fit together, or symbols.
  Status read_sizes(Json sizes, Value& value) {
    value.shape.clear();
    bool named = false;
    std::vector<std::string> names;
    for (Json size = sizes.first(); size; size = size.next()) {
      const Json known = size.at("as_int"), symbol = size.at("as_expr").at("expr_str");
      if (!symbol && (!known.is_integer() || known.integer() < 0))
        return bad(size, fmt::format("a size of 0 or more for \"{}\", or a symbol", value.name));
      if (value.shape.size() == highest_rank)
        return bad(size, fmt::format("at most {} sizes for \"{}\"", highest_rank, value.name));
      value.shape.push_back(known.is_integer() && known.integer() >= 0 ? known.integer() : dynamic_dim);
      names.push_back(symbol ? pt2_symbol_text(symbol.text()) : std::string());
      named = named || symbol;
    }
    const bool fixed = std::find(value.shape.begin(), value.shape.end(), dynamic_dim) == value.shape.end();
    if (fixed && !element_count(value.shape))
      return bad(sizes, fmt::format("sizes of \"{}\" that multiply to less than 2^62 elements", value.name));
    if (named) value.dim_names = std::move(names);
    return {};
  }

  Status read_values() {
    at_.tensor_meta = json_.at("tensor_values");
    at_.tensor_values = at_.tensor_meta.span();
    for (Json meta = at_.tensor_meta.first(); meta; meta = meta.next()) {
      const std::size_t count = graph_.values.size();
      const ValueId id = add_value(meta.key(), dtype_of_pt2(meta.at("dtype").integer()));
      if (graph_.values.size() == count)
        return bad(meta,
                   fmt::format("one entry of tensor_values for \"{}\", found a second one", meta.key()));
      Value& value = graph_.value(id);
      at_.value_entries[static_cast<std::size_t>(id)] = {meta.key_span().begin, meta.span().end};
      at_.value_meta[static_cast<std::size_t>(id)] = meta;
      if (auto ok = read_sizes(meta.at("sizes"), value); !ok) return ok;
    }
    for (const auto& [table, dtype] : {std::pair<const char*, DType>{"sym_int_values", DType::symint},
                                       {"sym_float_values", DType::symfloat},
                                       {"sym_bool_values", DType::symbool},
                                       {"custom_obj_values", DType::resource}})
      for (Json symbol = json_.at(table).first(); symbol; symbol = symbol.next()) {
        const ValueId id = add_value(symbol.key(), dtype);
        const Json expression = symbol.at("as_expr").at("expr_str");
        if (expression) graph_.value(id).dim_names = {pt2_symbol_text(expression.text())};
      }
    return {};
  }

  Result<ValueId> known(Json name) const {
    const auto it = ids_.find(name.text());
    if (it == ids_.end())
      return bad(name, fmt::format("the name of a value, found \"{}\", which no table of the graph holds",
                                   name.text()));
    return it->second;
  }

  /// A value that an input of the graph or an earlier node gives.
  Result<ValueId> defined(Json name) const {
    const auto id = known(name);
    if (id && !defined_[static_cast<std::size_t>(*id)])
      return bad(
          name,
          fmt::format(
              "a value that is there already, found \"{}\", which a later node makes, or none (a cycle?)",
              name.text()));
    return id;
  }

  /// A value that this place gives, for the first time.
  Result<ValueId> define(Json name) {
    const auto id = known(name);
    if (!id) return id;
    char& mark = defined_[static_cast<std::size_t>(*id)];
    if (mark)
      return bad(name, fmt::format("a value of its own, found \"{}\", which is made earlier", name.text()));
    mark = 1;
    return id;
  }

  /// The name object inside an argument: {"as_tensor": {"name": ..}} and {"as_sym_int": {"as_name": ..}};
  /// absent for literals.
  static Json name_of(Json argument) {
    const Json inner = argument.first();
    if (const Json n = inner.at("name"); n && inner.key() != "as_graph") return n;
    return inner.at("as_name");
  }

  Status ports(Json list, std::vector<Pt2Port>& ports, std::vector<ValueId>& ids, bool inputs) {
    for (Json argument = list.first(); argument; argument = argument.next()) {
      const Json name = name_of(argument);
      Pt2Port port{argument.span(), name.span(), none_id};
      if (name) {
        const auto id = inputs ? define(name) : defined(name);
        if (!id) return tl::make_unexpected(id.error());
        port.value = *id;
        ids.push_back(*id);
      }
      ports.push_back(port);
    }
    return {};
  }

  Status read_node(Json json) {
    Node node;
    Pt2NodeLayout at;
    at.whole = json.span(), at.metadata = json.at("metadata").span(), at.inputs = json.at("inputs");
    if (!layout_.dialect_seen && at.inputs.count()) {
      layout_.dialect = {bool(at.inputs.first().at("kind")), bool(json.at("name")),
                         bool(json.at("is_hop_single_tensor_return"))};
      layout_.dialect_seen = true;
    }
    node.op = json.at("target").text();
    if (node.op.empty()) return bad(json, "a node with a \"target\"");
    if (node.op.starts_with("torch.ops.")) node.op.erase(0, 10);
    node.name = json.at("name").text();
    node.origin = static_cast<std::int32_t>(graph_.nodes.size());
    std::size_t position = 0;
    for (Json input = at.inputs.first(); input; input = input.next(), ++position) {
      std::string name = input.at("name").text();
      if (name.empty()) name = fmt::format("{}", position);
      if (auto ok = read_argument(name, input.at("arg"), node, at); !ok) return ok;
    }
    for (Json output = json.at("outputs").first(); output; output = output.next())
      if (auto ok = read_output(output, node, at); !ok) return ok;
    // Rules and kernels rest on the schema and on types that follow from each other.
    if (const auto wanted = schema_misfit(graph_, node)) return bad(json, *wanted);
    if (const auto wanted = aten_type_misfit(graph_, node)) return bad(json, *wanted);
    read_pt2_metadata(json.at("metadata"), node);
    graph_.order.push_back(static_cast<NodeId>(graph_.nodes.size()));
    graph_.nodes.push_back(std::move(node));
    at_.nodes_at.push_back(std::move(at));
    return {};
  }

  Status operand(const std::string& name, Json value_name, JsonSpan absent, Node& node, Pt2NodeLayout& at) {
    ValueId id = none_id;
    if (value_name) {
      const auto found = defined(value_name);
      if (!found) return tl::make_unexpected(found.error());
      id = *found;
    }
    node.inputs.push_back(id);
    node.input_names.push_back(name);
    at.input_names.push_back(value_name ? value_name.span() : absent);
    return {};
  }

  Status read_argument(const std::string& name, Json argument, Node& node, Pt2NodeLayout& at) {
    const Json inner = argument.first();
    const std::string kind = inner.key();
    if (!inner) return bad(argument, fmt::format("a value for argument \"{}\"", name));
    if (kind == "as_tensor" || kind == "as_custom_obj") return operand(name, inner.at("name"), {}, node, at);
    if ((kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float") && inner.at("as_name"))
      return operand(name, inner.at("as_name"), {}, node, at);
    if (kind == "as_graph") {
      const auto sub =
          read_pt2_graph(inner.at("graph"), inner.at("name").text(), where_, model_, layout_, depth_ + 1);
      if (!sub) return tl::make_unexpected(sub.error());
      node.subgraphs.push_back(*sub);
      node.attrs.set(name, inner.at("name").text());
      return {};
    }
    if (kind == "as_tensors" || kind == "as_optional_tensors" || kind == "as_nested_tensors" ||
        kind == "as_sym_ints" || kind == "as_sym_bools" || kind == "as_sym_floats")
      return read_list(name, kind, argument, inner, node, at);
    if (at.attrs.size() == most_arguments)
      return bad(argument, fmt::format("at most {} arguments of a node", most_arguments));
    if (const std::string_view wanted = misfit(kind, inner); !wanted.empty())
      return bad(inner, fmt::format("{} for argument \"{}\"", wanted, name));
    at.attrs.emplace_back(name, argument.span());
    node.attrs.set(name, literal(kind, inner));
    return {};
  }

  /// What a number should have been, "" when it is that.
  static std::string_view misfit(const std::string& kind, Json inner) {
    const auto whole = [](Json item) { return item.is_integer() || item.kind() == Json::Kind::boolean; };
    if (kind == "as_int" && !whole(inner)) return "an integer of 64 bits";
    if (kind == "as_float" && !inner.number()) return "a number";
    for (Json item = inner.first(); item; item = item.next()) {
      if (kind == "as_ints" && !whole(item)) return "integers of 64 bits";
      if (kind == "as_floats" && !item.number()) return "numbers";
    }
    return {};
  }

  Status read_list(const std::string& name, const std::string& kind, Json argument, Json list, Node& node,
                   Pt2NodeLayout& at) {
    std::size_t i = 0;
    std::vector<std::string> texts;  // symbolic lists: the mixed list as an attribute too
    for (Json item = list.first(); item; item = item.next(), ++i) {
      const std::string entry = fmt::format("{}[{}]", name, i);
      if (kind == "as_nested_tensors") {
        std::size_t k = 0;
        for (Json tensor = item.first(); tensor; tensor = tensor.next(), ++k)
          if (auto ok = operand(fmt::format("{}[{}]", entry, k), tensor.at("name"), {}, node, at); !ok)
            return ok;
        continue;
      }
      Json value_name = kind == "as_tensors"            ? item.at("name")
                        : kind == "as_optional_tensors" ? item.at("as_tensor").at("name")
                                                        : item.at("as_name");
      const bool symbols = kind.starts_with("as_sym");
      if (value_name || !symbols)
        if (auto ok = operand(entry, value_name, item.span(), node, at); !ok) return ok;
      if (symbols) texts.push_back(value_name ? "%" + value_name.text() : std::string(item.first().raw()));
    }
    if (!kind.starts_with("as_sym")) return {};
    at.attrs.emplace_back(name, argument.span());
    node.attrs.set(name, std::move(texts));
    return {};
  }

  static AttrValue literal(const std::string& kind, Json inner) {
    if (kind == "as_none") return std::monostate{};
    if (kind == "as_bool") return inner.boolean();
    if (kind == "as_int" || kind == "as_sym_int" || kind == "as_sym_bool")
      return kind == "as_int" ? inner.integer() : inner.first().integer(inner.first().boolean() ? 1 : 0);
    if (kind == "as_float") return inner.number().value_or(0);
    if (kind == "as_sym_float") return inner.first().number().value_or(0);
    if (kind == "as_scalar_type")
      return EnumValue{inner.integer(), std::string(md::name(dtype_of_pt2(inner.integer())))};
    if (kind == "as_memory_format") return EnumValue{inner.integer(), memory_format_name(inner.integer())};
    if (kind == "as_layout") return EnumValue{inner.integer(), inner.integer() == 7 ? "strided" : "sparse"};
    if (kind == "as_device") {
      const Json index = inner.at("index");
      return inner.at("type").text() +
             (index.is_integer() ? ":" + std::to_string(index.integer()) : std::string());
    }
    if (inner.kind() == Json::Kind::array) return literal_list(inner);
    if (inner.kind() == Json::Kind::string) return inner.text();
    return std::string(inner.raw());
  }

  static AttrValue literal_list(Json list) {
    bool integers = true, numbers = true;
    for (Json item = list.first(); item; item = item.next()) {
      integers = integers && (item.is_integer() || item.kind() == Json::Kind::boolean);
      numbers = numbers && item.number().has_value();
    }
    std::vector<std::int64_t> i;
    std::vector<double> d;
    std::vector<std::string> s;
    for (Json item = list.first(); item; item = item.next()) {
      if (integers)
        i.push_back(item.integer(item.boolean() ? 1 : 0));
      else if (numbers)
        d.push_back(*item.number());
      else
        s.push_back(item.kind() == Json::Kind::string ? item.text() : std::string(item.raw()));
    }
    if (integers) return i;
    if (numbers) return d;
    return s;
  }

  Status read_output(Json output, Node& node, Pt2NodeLayout& at) {
    const Json inner = output.first();
    const auto add = [&](Json name) -> Status {
      if (!name) return {};
      const auto id = define(name);
      if (!id) return tl::make_unexpected(id.error());
      node.outputs.push_back(*id);
      at.output_names.push_back(name.span());
      return {};
    };
    if (inner.kind() != Json::Kind::array)
      return add(inner.at("name") ? inner.at("name") : inner.at("as_name"));
    for (Json item = inner.first(); item; item = item.next()) {
      const Json name = item.at("name") ? item.at("name") : item.at("as_tensor").at("name");
      if (auto ok = add(name ? name : item.at("as_name")); !ok) return ok;
    }
    return {};
  }

  Json json_;
  const std::string& where_;
  Model& model_;
  Pt2Layout& layout_;
  int depth_;
  Graph graph_;
  Pt2GraphLayout at_;
  std::vector<char> defined_;  ///< by ValueId: an input or an earlier node gives it
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

int pt2_scalar_type(DType type) {
  for (const auto& [number, known] : scalar_types)
    if (known == type) return number;
  return 0;
}

DType dtype_of_pt2(std::int64_t scalar_type) {
  for (const auto& [number, known] : scalar_types)
    if (number == scalar_type) return known;
  return DType::unknown;
}

std::string pt2_symbol_text(std::string_view expression) {
  std::string out;
  while (!expression.empty()) {
    const std::size_t at = expression.find("Symbol('");
    out += expression.substr(0, at);
    if (at == std::string_view::npos) break;
    expression.remove_prefix(at + 8);
    out += expression.substr(0, expression.find('\''));
    const std::size_t close = expression.find(')');
    expression.remove_prefix(close == std::string_view::npos ? expression.size() : close + 1);
  }
  return out;
}

Result<int> read_pt2_graph(Json graph, const std::string& name, const std::string& where, Model& model,
                           Pt2Layout& layout, int depth) {
  if (graph.kind() != Json::Kind::object)
    return input_error(
        fmt::format("{}: byte {} of the JSON text: expected a graph", where, graph.span().begin));
  return GraphReader(graph, where, model, layout, depth).run(name);
}

}  // namespace md

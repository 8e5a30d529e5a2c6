#include "lib/format/onnx/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/onnx/dialect.h"
#include "lib/format/onnx/graph_reader.h"
#include "lib/format/onnx/operators.h"
#include "lib/op/dialect.h"

namespace md::onnx {
namespace {

constexpr std::size_t most_protobuf = std::size_t{1}
                                      << 31;  // the size that no protobuf parser takes any more

// Fields of ModelProto.
constexpr std::uint32_t field_ir_version = 1, field_producer = 2, field_graph = 7, field_opset = 8,
                        field_metadata = 14, field_functions = 25;

Wire wire_of_model_field(std::uint32_t number) {
  return number == field_ir_version || number == 5 ? Wire::varint : Wire::bytes;
}

bool is_model_field(std::uint32_t number) {
  return (number >= 1 && number <= 8) || number == field_metadata || number == 20 || number == 25 ||
         number == 26;
}

OperatorSet set_of(Bytes message) {
  OperatorSet set;
  FieldWalk walk(message);
  while (const Field* field = walk.next()) {
    if (field->number == 1) set.domain = plain_domain(field->text());
    if (field->number == 2)
      set.version = static_cast<int>(std::clamp<std::int64_t>(field->integer(), 0, 1'000'000));
  }
  return set;
}

struct Function {
  std::string op;
  Bytes message;
  std::vector<OperatorSet> sets;
};

Function function_of(Bytes message) {
  Function function;
  function.message = message;
  std::string_view name, domain;
  FieldWalk walk(message);
  while (const Field* field = walk.next()) {
    if (field->number == 1) name = field->text();
    if (field->number == 10) domain = field->text();
    if (field->number == 9) function.sets.push_back(set_of(field->content));
  }
  function.op = operator_name(domain, name);
  return function;
}

class Reader {
 public:
  explicit Reader(std::shared_ptr<const MappedFile> file)
      : state_{.file = file, .external = ExternalFiles(file->path())} {
    out_.file = std::move(file);
    out_.message = out_.file->bytes();
  }

  Result<OnnxFile> read() {
    if (auto done = scan(); !done) return tl::make_unexpected(done.error());
    if (auto done = read_graphs(); !done) return tl::make_unexpected(done.error());
    Model& model = out_.model;
    model.dialect = &dialect_onnx;
    model.format_version = state_.format_version;
    model.operator_sets = sets_;
    model.graphs.assign(std::make_move_iterator(state_.graphs.begin()),
                        std::make_move_iterator(state_.graphs.end()));
    out_.graphs.assign(std::make_move_iterator(state_.places.begin()),
                       std::make_move_iterator(state_.places.end()));
    repair_sets();
    repair_types();
    if (out_.message.size() >= most_protobuf)
      repair(repair_too_large, fmt::format("the file has {} bytes, and no tool reads a protobuf of 2 GiB",
                                           out_.message.size()));
    model.repairs = std::move(state_.repairs);
    out_.external_files = state_.external.names();
    return std::move(out_);
  }

 private:
  Status scan() {
    FieldWalk walk(out_.message);
    while (const Field* field = walk.next()) {
      if (!is_model_field(field->number)) continue;
      if (field->wire != wire_of_model_field(field->number))
        return state_.error(
            field->whole.data(),
            fmt::format("expected another kind of content in field {} of the model", field->number));
      if (field->number == field_ir_version)
        state_.format_version = static_cast<int>(std::clamp<std::int64_t>(field->integer(), 0, 1'000'000));
      if (field->number == field_producer) out_.model.producer = field->text();
      if (field->number == 3 && !field->text().empty())
        out_.model.producer += fmt::format(" {}", field->text());
      if (field->number == field_graph) graph_ = field->content;
      if (field->number == field_opset) sets_.push_back(set_of(field->content));
      if (field->number == field_functions) functions_.push_back(function_of(field->content));
      if (field->number == field_metadata) metadata(field->content);
    }
    if (walk.broken())
      return state_.error(out_.message.data() + walk.at(),
                          "expected a field of the model that ends inside the file: it is cut off, or "
                          "damaged; copy or export it again");
    if (!graph_) return state_.error(out_.message.data(), "expected a graph in the model, and found none");
    return {};
  }

  void metadata(Bytes message) {
    std::pair<std::string, std::string> entry;
    FieldWalk walk(message);
    while (const Field* field = walk.next()) {
      if (field->number == 1) entry.first = field->text();
      if (field->number == 2) entry.second = field->text().substr(0, 200);
    }
    out_.model.metadata.push_back(std::move(entry));
  }

  Status read_graphs() {
    state_.graphs.resize(1 + functions_.size());
    state_.places.resize(1 + functions_.size());
    for (std::size_t f = 0; f < functions_.size(); ++f)
      state_.functions.emplace(functions_[f].op, static_cast<int>(f + 1));
    guess_ = sets_.empty();
    if (guess_) sets_.push_back({.domain = "", .version = usual_set});
    for (std::size_t f = 0; f < functions_.size(); ++f) {
      if (functions_[f].sets.empty()) functions_[f].sets = sets_;
      GraphReader reader(state_, static_cast<int>(f + 1), functions_[f].message, functions_[f].sets, nullptr);
      if (auto done = reader.read_function(); !done) return done;
    }
    GraphReader reader(state_, 0, *graph_, sets_, nullptr);
    return reader.read_graph();
  }

  /// A file without a set: the one of the newest form that an operator of it has.
  void repair_sets() {
    Model& model = out_.model;
    if (guess_) {
      const int version = newest_form(model);
      model.operator_sets.front().version = version;
      for (Graph& graph : model.graphs)
        for (const NodeId id : graph.order)
          if (Node& node = graph.node(id); node.custom.empty())
            node.version = version_in_set(dialect_onnx, node.op, version).value_or(version);
      repair(repair_missing_opset, fmt::format("the file does not say against which operator set it is "
                                               "written; the forms of its operators fit version {}",
                                               version));
    }
    for (const std::string& domain : state_.missing_domains) {
      if (domain.empty() && guess_) continue;
      model.operator_sets.push_back({.domain = domain, .version = 1});
      repair(repair_missing_domain,
             fmt::format("operators of \"{}\" are used, and no version of it is imported", domain));
    }
  }

  static int newest_form(const Model& model) {
    int newest = 7;  // the oldest that runtimes of today read
    for (const Graph& graph : model.graphs)
      for (const NodeId id : graph.order) {
        const Node& node = graph.node(id);
        if (!node.custom.empty()) continue;
        for (int set = 1; set <= usual_set; ++set) {
          const OpSpec* row = onnx_row(node.op, set);
          if (!row || row->since != set) continue;
          const bool attributes = std::all_of(node.attrs.begin(), node.attrs.end(), [&](const auto& entry) {
            return entry.first.starts_with('#') || row->find(entry.first);
          });
          const bool operands = row->variadic || node.inputs.size() <= row->operands.size();
          if (!attributes || !operands) continue;
          newest = std::max(newest, set);
          break;
        }
      }
    return newest;
  }

  void repair_types() {
    for (const StaleType& stale : complete_onnx_types(out_.model)) {
      const Value& value = out_.model.graphs[static_cast<std::size_t>(stale.graph)].value(stale.value);
      const bool type = stale.dtype != value.dtype;
      state_.repairs.push_back(
          {.kind = std::string(type ? repair_stale_type : repair_stale_shape),
           .graph = stale.graph,
           .node = none_id,
           .value = stale.value,
           .text = fmt::format("\"{}\" is declared {}[{}], and its operator gives {}[{}]", value.name,
                               name(stale.dtype), shape_text(stale.shape), name(value.dtype),
                               shape_text(value.shape))});
    }
    for (Graph& graph : out_.model.graphs) graph.index();
  }

  void repair(std::string_view kind, std::string text) {
    state_.repairs.push_back(
        {.kind = std::string(kind), .graph = 0, .node = none_id, .value = none_id, .text = std::move(text)});
  }

  static constexpr int usual_set = 17;  // what a file without one is at most taken for

  OnnxFile out_;
  ReadState state_;
  std::optional<Bytes> graph_;
  std::vector<OperatorSet> sets_;
  std::vector<Function> functions_;
  bool guess_ = false;
};

}  // namespace

bool looks_like_model(Bytes bytes) {
  FieldWalk walk(bytes);
  int seen = 0;
  bool graph = false;
  while (const Field* field = walk.next()) {
    if (!is_model_field(field->number)) {
      if (seen < 2 || field->number > 1000) return false;
      continue;
    }
    if (field->wire != wire_of_model_field(field->number)) return false;
    ++seen;
    graph = graph || field->number == field_graph;
  }
  if (!walk.broken()) return graph || seen > 1;
  // A file that was cut off in its graph: what stands before it tells. The version is not 0, nor is what
  // follows it: a flatbuffer's offset of its root is (08 00 00 00).
  return seen >= 1 && bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] != 0 && bytes[2] != 0;
}

Result<OnnxFile> read_onnx(std::shared_ptr<const MappedFile> file) { return Reader(std::move(file)).read(); }

}  // namespace md::onnx

// inspect and diff: what is in a model, and what changed between two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/graph_diff.h"
#include "app/inputs.h"
#include "app/terminal.h"
#include "lib/base/escape.h"
#include "lib/base/stream.h"
#include "lib/graph/document.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"

namespace md::app {
namespace {

using Json = nlohmann::json;

std::map<std::string, std::size_t> histogram(const Model& model) {
  std::map<std::string, std::size_t> counts;
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order) ++counts[shown_name(graph, graph.node(id))];
  return counts;
}

struct Totals {
  std::size_t nodes = 0, constants = 0;
  std::uint64_t constant_bytes = 0;
  int highest_rank = 0;
};

Totals totals(const Model& model) {
  Totals sum;
  for (const Graph& graph : model.graphs) {
    sum.nodes += graph.order.size();
    for (const Value& value : graph.values) {
      sum.highest_rank = std::max(sum.highest_rank, value.rank());
      if (!value.is_constant()) continue;
      ++sum.constants;
      sum.constant_bytes += value.constant->bytes.size();
    }
  }
  return sum;
}

std::string value_names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids)
    if (id >= 0) names.push_back(fmt::format("{}: {}", graph.value(id).name, print_type(graph.value(id))));
  return fmt::format("{}", fmt::join(names, "; "));
}

void add_graph(std::string& out, const Model& model, std::size_t g, bool verbose) {
  const Graph& graph = model.graphs[g];
  const auto line = [&](std::string_view words) { out += escape_terminal(words) + '\n'; };
  line(fmt::format("graph s{} {}: {} operators", g, graph.name, graph.order.size()));
  line("  inputs:  " + value_names(graph, graph.inputs));
  line("  outputs: " + value_names(graph, graph.outputs));
  if (!verbose) return;
  for (const NodeId id : graph.order) {
    line(fmt::format("  n{} {}", id, print_node(graph, id, *model.dialect)));
    if (!graph.node(id).layer.empty()) line("       layer " + graph.node(id).layer);
  }
}

std::string inspect_text(const Document& document, const std::string& path, bool verbose) {
  const Model& model = document.model();
  const Totals sum = totals(model);
  std::string out;
  const auto line = [&](std::string_view words) { out += escape_terminal(words) + '\n'; };
  line(fmt::format("{}: {}, {} bytes, {} graph{}, {} operators, {} constants of {} bytes, highest rank {}",
                   path, model.dialect->name, document.file().bytes().size(), model.graphs.size(),
                   model.graphs.size() == 1 ? "" : "s", sum.nodes, sum.constants, sum.constant_bytes,
                   sum.highest_rank));
  if (!model.producer.empty()) line("written by " + model.producer);
  if (const WriteCapability capability = document.capability(); !capability.can_write)
    line("cannot be rewritten: " + capability.reason);
  for (const auto& [key, text] : model.metadata) line(fmt::format("metadata {}: {}", key, text));
  for (const ModelSignature& signature : model.signatures) {
    std::vector<std::string> in, to;
    for (const auto& [external, id] : signature.inputs) in.push_back(external);
    for (const auto& [external, id] : signature.outputs) to.push_back(external);
    line(fmt::format("signature {}: ({}) -> ({})", signature.key, fmt::join(in, ", "), fmt::join(to, ", ")));
  }
  line("operators:");
  for (const auto& [op, count] : histogram(model)) line(fmt::format("  {:>6}  {}", count, op));
  for (std::size_t g = 0; g < model.graphs.size(); ++g) add_graph(out, model, g, verbose);
  if (!verbose) line("(-v lists every operator)");
  return out;
}

Json value_json(const Graph& graph, ValueId id) {
  if (id < 0) return nullptr;
  const Value& value = graph.value(id);
  Json json = {{"id", id},
               {"name", value.name},
               {"dtype", name(value.dtype)},
               {"shape", value.shape},
               {"rank", value.rank()},
               {"constant", value.is_constant()}};
  if (value.is_constant()) json["bytes"] = value.constant->bytes.size();
  if (value.quantization && !value.quantization->scale.empty())
    json["quantization"] = {{"scales", value.quantization->scale.size()}, {"axis", value.quantization->axis}};
  return json;
}

Json values_json(const Graph& graph, const std::vector<ValueId>& ids) {
  Json json = Json::array();
  for (const ValueId id : ids) json.push_back(value_json(graph, id));
  return json;
}

Json graph_json(const Graph& graph, const Dialect& dialect) {
  Json nodes = Json::array();
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    Json attributes = Json::object();
    for (const auto& [key, value] : node.attrs) attributes[key] = print_attribute(value);
    nodes.push_back({{"id", id},
                     {"op", shown_name(graph, node)},
                     {"name", node.name},
                     {"layer", node.layer},
                     {"version", node.version},
                     {"inputs", values_json(graph, node.inputs)},
                     {"outputs", values_json(graph, node.outputs)},
                     {"attributes", attributes},
                     {"text", print_node(graph, id, dialect)}});
  }
  return {{"name", graph.name},
          {"inputs", values_json(graph, graph.inputs)},
          {"outputs", values_json(graph, graph.outputs)},
          {"nodes", nodes}};
}

std::string inspect_json(const Document& document, const std::string& path) {
  const Model& model = document.model();
  const Totals sum = totals(model);
  const WriteCapability capability = document.capability();
  Json graphs = Json::array(), signatures = Json::array(), metadata = Json::array();
  for (const Graph& graph : model.graphs) graphs.push_back(graph_json(graph, *model.dialect));
  for (const ModelSignature& signature : model.signatures) {
    Json in = Json::object(), to = Json::object();
    for (const auto& [external, id] : signature.inputs) in[external] = id;
    for (const auto& [external, id] : signature.outputs) to[external] = id;
    signatures.push_back(
        {{"key", signature.key}, {"graph", signature.graph}, {"inputs", in}, {"outputs", to}});
  }
  for (const auto& [key, text] : model.metadata) metadata.push_back({{"name", key}, {"text", text}});
  const Json json = {{"path", path},
                     {"format", model.dialect->name},
                     {"bytes", document.file().bytes().size()},
                     {"producer", model.producer},
                     {"operators", histogram(model)},
                     {"nodes", sum.nodes},
                     {"constants", sum.constants},
                     {"constant_bytes", sum.constant_bytes},
                     {"highest_rank", sum.highest_rank},
                     {"can_write", capability.can_write},
                     {"write_reason", capability.reason},
                     {"signatures", signatures},
                     {"metadata", metadata},
                     {"graphs", graphs}};
  return escape_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Result<std::unique_ptr<Document>> open_model(const std::string& path) {
  auto file = open_input(path);
  if (!file) return tl::make_unexpected(file.error());
  return open_document(*file);
}

Status check_format(const std::string& format) {
  if (format == "text" || format == "json") return {};
  return usage_error(fmt::format("--output-format {}: expected text or json", format));
}

}  // namespace

int run_inspect(const Options& options, const std::string& model, const std::string& format) {
  if (auto status = check_format(format); !status) return report(status.error());
  auto document = open_model(model);
  if (!document) return report(document.error());
  return print_data(format == "json" ? inspect_json(**document, model)
                                     : inspect_text(**document, model, options.verbose))
             ? 0
             : 4;
}

int run_diff(const std::string& before, const std::string& after, const std::string& format) {
  if (auto status = check_format(format); !status) return report(status.error());
  auto a = open_model(before), b = open_model(after);
  if (!a) return report(a.error());
  if (!b) return report(b.error());
  const Model &old = (*a)->model(), &now = (*b)->model();
  const std::string text = graph_diff_text(old, now, before, after);
  if (!print_data(format == "json" ? graph_diff_json(old, now, before, after) : text)) return 4;
  return text.empty() ? 0 : 1;
}

}  // namespace md::app

#include "lib/rewrite/onnx/forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/onnx/operators.h"
#include "lib/op/constants.h"
#include "lib/op/ops.h"
#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

/// Versions from which on a node of the same form computes something else.
struct Meaning {
  std::string_view op;
  int since;
};
constexpr Meaning changes[] = {{"Softmax", 13},
                               {"LogSoftmax", 13},
                               {"Hardmax", 13},
                               {"GroupNormalization", 21},
                               {"Resize", 11},
                               {"DFT", 20},
                               {"BatchNormalization", 7},
                               {"BatchNormalization", 9},
                               {"Dropout", 7},
                               {"Upsample", 9},
                               {"TopK", 10},
                               {"Cast", 6},
                               {"Gemm", 7},
                               {"Add", 7},
                               {"Sub", 7},
                               {"Mul", 7},
                               {"Div", 7},
                               {"Pow", 7},
                               {"And", 7},
                               {"Or", 7},
                               {"Xor", 7},
                               {"Equal", 7},
                               {"Greater", 7},
                               {"Less", 7},
                               {"PRelu", 7},
                               {"Split", 2},
                               {"Loop", 8},
                               {"Scan", 9},
                               {"Reshape", 5},
                               {"Concat", 4},
                               {"RNN", 7},
                               {"LSTM", 7},
                               {"GRU", 7},
                               {"Upsample", 7},
                               {"QuantizeLinear", 13},
                               {"DequantizeLinear", 13}};

/// An absent attribute with different usual values; the ones that decide nothing here are equal.
bool equal_usual(const AttributeSpec& a, const AttributeSpec& b) { return a.usual == b.usual; }

bool set_differently(const Node& node, const AttributeSpec& spec) {
  const AttrValue* own = node.attrs.find(spec.name);
  return own && *own != spec.usual;
}

bool is_metadata(std::string_view attribute) {
  return attribute.starts_with('#') || attribute.starts_with('@');
}

}  // namespace

bool changes_meaning(std::string_view op, int since, int set) {
  return std::any_of(std::begin(changes), std::end(changes), [&](const Meaning& change) {
    return change.op == op && (since < change.since) != (set < change.since);
  });
}

std::optional<std::string> misshapen(const Node& node, const OpSpec& row) {
  for (const auto& [name, value] : node.attrs)
    if (!is_metadata(name) && !row.find(name)) return fmt::format("it has no attribute {} there", name);
  std::size_t given = node.inputs.size();
  while (given > 0 && node.inputs[given - 1] < 0) --given;
  if (const std::int64_t captured = node.attrs.integer("#captured", 0); captured > 0)
    given -= std::min(given, static_cast<std::size_t>(captured));
  if (!row.variadic && given > row.operands.size())
    return fmt::format("it takes {} operands there", row.operands.size());
  if (given < static_cast<std::size_t>(std::max(row.required, 0)))
    return fmt::format("it needs {} operands there", row.required);
  if (static_cast<int>(node.outputs.size()) > row.most_results)
    return fmt::format("it has {} results there", row.most_results);
  for (std::size_t i = 0; i < given; ++i)
    if (node.inputs[i] < 0 && i < row.operand_specs.size() && !row.operand_specs[i].optional)
      return fmt::format("it needs its operand {} there", row.operands[i]);
  if (node.op == "Split" && row.since >= 18 && given < 2 && !node.attrs.find("num_outputs"))
    return "neither its sizes nor their number is given";
  return std::nullopt;
}

std::optional<std::string> misfit_in(const Graph& graph, const Node& node, const OpSpec& row) {
  if (auto why = misshapen(node, row)) return why;
  std::size_t given = node.inputs.size();
  if (const std::int64_t captured = node.attrs.integer("#captured", 0); captured > 0)
    given -= std::min(given, static_cast<std::size_t>(captured));
  for (std::size_t i = 0; i < given; ++i) {
    if (node.inputs[i] < 0 || row.operand_specs.empty()) continue;
    const OperandSpec& spec = row.operand_specs[std::min(i, row.operand_specs.size() - 1)];
    const DType dtype = graph.value(node.inputs[i]).dtype;
    if (dtype != DType::unknown && !spec.types.empty() &&
        std::find(spec.types.begin(), spec.types.end(), dtype) == spec.types.end())
      return fmt::format("it does not take {} there", name(dtype));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0 || row.result_specs.empty()) continue;
    const OperandSpec& spec = row.result_specs[std::min(i, row.result_specs.size() - 1)];
    const DType dtype = graph.value(node.outputs[i]).dtype;
    if (dtype != DType::unknown && !spec.types.empty() &&
        std::find(spec.types.begin(), spec.types.end(), dtype) == spec.types.end())
      return fmt::format("it does not make {} there", name(dtype));
  }
  return std::nullopt;
}

bool same_in(const Graph& graph, const Node& node, const OpSpec& from, const OpSpec& to) {
  if (from.since == to.since) return true;
  const int low = std::min(from.since, to.since), high = std::max(from.since, to.since);
  for (const Meaning& change : changes)
    if (change.op == node.op && low < change.since && change.since <= high) {
      const bool last_axis = (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax") &&
                             !graph.value(node.inputs[0]).unranked && node.attrs.find("axis") &&
                             (node.attrs.integer("axis") == -1 ||
                              node.attrs.integer("axis") == graph.value(node.inputs[0]).rank() - 1) &&
                             (node.attrs.integer("axis") >= 0 || low >= 11);
      const bool per_tensor = node.op.ends_with("tizeLinear") && node.inputs.size() > 1 &&
                              graph.value(node.inputs[1]).rank() == 0 && !node.attrs.find("axis");
      if (!last_axis && !per_tensor) return false;
    }
  for (const AttributeSpec& attribute : from.attributes) {
    const AttributeSpec* other = to.find(attribute.name);
    if (!other ? set_differently(node, attribute)
               : !node.attrs.find(attribute.name) && !equal_usual(attribute, *other))
      return false;
  }
  if (node.op == "GridSample" && low < 20 && 20 <= high && node.attrs.find("mode")) return false;
  if (node.op == "GridSample" && low < 20 && 20 <= high) return false;  // the usual mode got another name
  if (node.op == "Split" && high >= 18 && low < 18 && operand(node, 1) < 0) return false;
  if (node.op == "Cast" && low < 19 && node.attrs.find("saturate")) return false;
  if ((node.op == "Reshape" || node.op == "MaxPool" || node.op == "AveragePool") &&
      misfit_in(graph, node, to))
    return false;
  return !misfit_in(graph, node, to);
}

std::optional<Patch> restamped(const Model& model, int set, std::string& reason) {
  const int meaning = working_set(model);
  if (model.graphs.empty()) return std::nullopt;
  PatchBuilder patch(model.graphs[0], 0, fmt::format("written against opset {}", set));
  OnnxBuilder b(patch, set);
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    const Graph& graph = model.graphs[g];
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      if (!default_domain(node)) continue;
      const OpSpec* from = onnx_row(node.op, meaning);
      const OpSpec* to = onnx_row(node.op, set);
      if (from && to && same_in(graph, node, *from, *to)) continue;
      std::string why;
      if (g == 0 ? !write_form(b, graph, id, meaning, why) : true) {
        reason = fmt::format("\"{}\" ({}) has no form in opset {}: {}", node.name, node.op, set,
                             g == 0 ? why : "it lies in the body of another node");
        return std::nullopt;
      }
    }
  }
  for (const Node& added : patch.patch().new_nodes)
    if (added.custom.empty() && !b.has(added.op)) {
      reason = fmt::format("it takes {}, which opset {} lacks", added.op, set);
      return std::nullopt;
    }
  Patch done = patch.take();
  done.operator_sets.push_back({"", set});
  return done;
}

int fitting_set(const Model& model) {
  const int own = working_set(model);
  const auto fits = [&](int set) {
    for (const Graph& graph : model.graphs)
      for (const NodeId id : graph.order) {
        const Node& node = graph.node(id);
        if (!default_domain(node)) continue;
        const OpSpec *from = onnx_row(node.op, own), *to = onnx_row(node.op, set);
        if (!to || misfit_in(graph, node, *to)) return false;
        // what has no form in the file's own set was meant for the other one
        if (from && !misfit_in(graph, node, *from) && !same_in(graph, node, *from, *to)) return false;
      }
    return true;
  };
  constexpr int newest = 28;
  for (int away = 1; away <= newest; ++away) {
    if (own + away <= newest && fits(own + away)) return own + away;
    if (own - away >= 7 && fits(own - away)) return own - away;
  }
  return 0;
}

}  // namespace md::onnx

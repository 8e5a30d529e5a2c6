// Checks of an .onnx file as a whole: its format version, its operator sets, and what the reader had to put
// right.
#include <fmt/format.h>

#include "lib/runtime/onnxruntime/onnx_types.h"

namespace md {
namespace {

using Faults = std::vector<ModelFault>;

std::string number(std::int64_t value) { return fmt::format("{}", value); }

bool has_repair(const Model& model, std::string_view kind) {
  for (const Repair& repair : model.repairs)
    if (repair.kind == kind) return true;
  return false;
}

/// The newest ir_version is "max".
Faults format_version(const Model& model, const CheckSpec& spec) {
  const std::int64_t max = spec.parameters.integer("max");
  if (model.format_version <= max) return {};
  return {{filled(spec.text("text"), {{"got", number(model.format_version)}, {"max", number(max)}})}};
}

Faults no_operator_set(const Model& model, const CheckSpec& spec) {
  if (!model.operator_sets.empty() && !has_repair(model, "missing-opset")) return {};
  return {{spec.text("text")}};
}

/// The newest set of "domain" is "max".
Faults operator_set(const Model& model, const CheckSpec& spec) {
  const std::int64_t max = spec.parameters.integer("max");
  for (const OperatorSet& set : model.operator_sets)
    if (set.domain == spec.text("domain") && set.version > max)
      return {{filled(spec.text("text"), {{"got", number(set.version)}, {"max", number(max)}})}};
  return {};
}

/// What stands between `before` and `after` in a repair's clause; "" where they are not there.
std::string between(std::string_view text, std::string_view before, char after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end));
}

/// A repair of "kind": what the tool says of a file that was not repaired.
Faults repaired(const Model& model, const CheckSpec& spec) {
  Faults faults;
  for (const Repair& repair : model.repairs) {
    if (repair.kind != spec.text("kind") || repair.graph < 0 ||
        repair.graph >= static_cast<int>(model.graphs.size()))
      continue;
    const Graph& graph = model.graphs[static_cast<std::size_t>(repair.graph)];
    // The view has the names that the repair gave; the file's own stands in the clause.
    const std::string stated = between(repair.text, "\"", '"');
    const auto was = dtype_from_name(between(repair.text, "declared ", '['));
    std::string value, node, op, expected;
    NodeId at = repair.node;
    if (repair.value >= 0) {
      value = graph.value(repair.value).name;
      expected = onnx_type_text(graph.value(repair.value).dtype);
      if (at == none_id) at = graph.producer(repair.value);
    }
    if (at != none_id) node = graph.node(at).name, op = name_in_domain(graph.node(at));
    faults.push_back({filled(spec.text("text"), {{"value", value},
                                                 {"node", node},
                                                 {"op", op},
                                                 {"expected", expected},
                                                 {"name", !stated.empty() ? stated
                                                          : value.empty() ? node
                                                                          : value},
                                                 {"declared", was ? onnx_type_text(*was) : ""},
                                                 {"what", repair.text}}),
                      repair.graph, at, repair.value});
  }
  return faults;
}

}  // namespace

const std::vector<ModelCheckEntry>& onnx_model_checks() {
  static const std::vector<ModelCheckEntry> checks = {
      {"format version", format_version},
      {"no operator set", no_operator_set},
      {"operator set", operator_set},
      {"repaired", repaired},
  };
  return checks;
}

}  // namespace md

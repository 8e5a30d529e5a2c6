#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Bytes other than zero. A float of -0.0 counts: it is rare, and reading it as zero is harmless.
bool starts_elsewhere(const Value& value) {
  return value.constant && std::any_of(value.constant->bytes.begin(), value.constant->bytes.end(),
                                       [](std::uint8_t byte) { return byte != 0; });
}

bool writes_all(const Node& node) {
  const std::string base = aten_base(node.op);
  return aten_in_place(node.op) && (base == "aten.copy" || base == "aten.zero" || base == "aten.fill");
}

struct Access {
  bool written = false;
  NodeId first_read = none_id;  ///< the first node that sees what the buffer holds at first
};

/// Who reads the buffer before all of it was written. A view that is made before the write and read behind it
/// shows the new values: only nodes that compute from a view count as readers.
Access access_to(const Graph& graph, ValueId buffer) {
  Access access;
  std::vector<ValueId> names{buffer};  // the buffer, its views, and what in-place nodes call it
  bool overwritten = false;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const auto is_name = [&](ValueId v) { return std::find(names.begin(), names.end(), v) != names.end(); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_name)) continue;
    if (node.op == "buffer_mutation") {
      access.written = access.written || node.inputs[0] == buffer;
      continue;
    }
    const bool view = aten_view(node.op) && !node.inputs.empty() && is_name(node.inputs[0]);
    const bool write = aten_in_place(node.op) && !node.inputs.empty() && is_name(node.inputs[0]) &&
                       aten_base(node.op) != "aten.detach";
    if (view || write) names.insert(names.end(), node.outputs.begin(), node.outputs.end());
    access.written = access.written || write;
    const bool fresh = write && writes_all(node);
    if (!view && !fresh && !overwritten && access.first_read == none_id && !aten_is_check(node.op))
      access.first_read = id;
    overwritten = overwritten || (fresh && node.inputs[0] == buffer);
  }
  return access;
}

}  // namespace

/// Buffers whose first values are read, and lost when the program is lowered.
std::vector<DetectResult> ETX154(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  if (context.graph_index != 0) return results;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const Value& value = graph.values[v];
    if (!value.is_constant() || value.name.starts_with("p_") || !starts_elsewhere(value)) continue;
    const Access access = access_to(graph, id);
    if (!access.written || access.first_read == none_id) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {access.first_read};
    result.value = id;
    result.message = fmt::format(
        "{} is read before it is written, and the lowered program starts with zeros instead of its values",
        value.name);
    result.reason = fmt::format(
        "store them: to_executorch(ExecutorchBackendConfig(passes=[InitializedMutableBufferPass([\"{}\"])]))",
        value.name.substr(2));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

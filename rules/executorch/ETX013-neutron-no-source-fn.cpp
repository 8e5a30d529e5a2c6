#include <algorithm>

#include "lib/edit/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/shared_constants.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// The function that strict export would have recorded, from the metadata that non-strict export writes: the
/// module class of torch.nn, or the function behind "relu_1;function.relu".
std::string source_function(const Node& node) {
  const std::string module(node.attrs.text("#module"));
  if (module.starts_with("torch.nn.modules.")) return module;
  const std::string fn(node.attrs.text("#torch_fn"));
  const std::size_t dot = fn.rfind('.');
  std::string name = dot == std::string::npos ? aten_base(node.op).substr(5) : fn.substr(dot + 1);
  if (name.starts_with("__") && name.ends_with("__") && name.size() > 4)
    return "_operator." + name.substr(2, name.size() - 4);
  if (fn.find(";function.") != std::string::npos) return "torch.nn.functional." + name;
  if (fn.find(";method_descriptor.") == std::string::npos) return "torch." + name;
  const bool arithmetic =
      name == "add" || name == "sub" || name == "mul" || name == "neg" || name == "truediv";
  return (arithmetic ? "_operator." : "torch.") + name;
}

}  // namespace

std::vector<DetectResult> ETX013(const DetectContext& context) {
  // Every program of today's export lacks it: only who lowers for Neutron needs it.
  const bool asked = (context.target && context.target->name().starts_with("executorch-neutron")) ||
                     log_says(context, "source_fn_stack");
  if (!asked) return {};
  PatchBuilder b(context.graph, context.graph_index, "add source_fn_stack to every node");
  DetectResult result;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (!node.op.starts_with("aten.") || node.outputs.empty() || node.origin == none_id ||
        node.attrs.find("#source_fn_stack"))
      continue;
    NodeChange change;
    change.node = id;
    const std::string& name = node.name.empty() ? context.graph.value(node.outputs[0]).name : node.name;
    change.set_attrs.set("#source_fn_stack", name + "," + source_function(node));
    b.change(std::move(change));
    result.nodes.push_back(id);
  }
  if (result.nodes.empty()) return {};
  result.message =
      "nodes without source_fn_stack, which the Neutron quantizer reads (the program was exported without "
      "strict=True)";
  result.fixes.emplace_back(b.take());
  return {std::move(result)};
}

}  // namespace md

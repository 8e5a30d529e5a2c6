#include "lib/rewrite/aten/complex_sites.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/fourier.h"

namespace md {

std::optional<std::pair<double, double>> complex_number(const AttrValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (!text) return std::nullopt;
  const auto number = [&](std::string_view key) -> std::optional<double> {
    const std::size_t at = text->find(key), colon = text->find(':', at);
    if (at == std::string::npos || colon == std::string::npos) return std::nullopt;
    return std::strtod(text->c_str() + colon + 1, nullptr);
  };
  const auto re = number("\"real\""), im = number("\"imag\"");
  if (!re || !im || !std::isfinite(*re) || !std::isfinite(*im)) return std::nullopt;
  return std::pair(*re, *im);
}

bool acts_on_parts(const std::string& base) {
  constexpr std::string_view names[] = {
      "aten.view",      "aten.reshape",      "aten._unsafe_view",    "aten.flatten",
      "aten.unflatten", "aten.permute",      "aten.transpose",       "aten.t",
      "aten.unsqueeze", "aten.squeeze",      "aten.expand",          "aten.slice",
      "aten.select",    "aten.narrow",       "aten.clone",           "aten.contiguous",
      "aten.detach",    "aten.alias",        "aten.lift_fresh_copy", "aten.flip",
      "aten.roll",      "aten.repeat",       "aten.index_select",    "aten.index",
      "aten.gather",    "aten.cat",          "aten.concat",          "aten.stack",
      "aten.sum",       "aten.mean",         "aten.cumsum",          "aten.neg",
      "aten.where",     "aten.resolve_conj", "aten.resolve_neg",     "aten.movedim",
      "aten.mT",        "aten.numpy_T",      "aten.split",           "aten.split_with_sizes",
      "aten.chunk",     "aten.unbind",       "aten.slice_scatter",   "aten.select_scatter",
      "aten.index_put", "aten.swapaxes"};
  return std::find(std::begin(names), std::end(names), base) != std::end(names);
}

std::vector<std::set<NodeId>> complex_node_sets(const Graph& graph) {
  std::vector<std::set<NodeId>> regions;
  std::set<NodeId> seen;
  const auto touches = [&](NodeId id) {
    const Node& node = graph.node(id);
    const auto complex = [&](ValueId v) { return v >= 0 && is_complex(graph.value(v).dtype); };
    return is_fourier(node.op) || std::any_of(node.inputs.begin(), node.inputs.end(), complex) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), complex);
  };
  for (const NodeId start : graph.order) {
    if (!touches(start) || !seen.insert(start).second) continue;
    std::set<NodeId> region;
    std::vector<NodeId> pending{start};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      region.insert(id);
      const Node& node = graph.node(id);
      std::vector<NodeId> around;
      for (const auto* list : {&node.inputs, &node.outputs})
        for (const ValueId v : *list) {
          if (v < 0 || !is_complex(graph.value(v).dtype)) continue;
          if (graph.producer(v) != none_id) around.push_back(graph.producer(v));
          for (const Use& use : graph.uses(v)) around.push_back(use.node);
        }
      for (const NodeId n : around)
        if (seen.insert(n).second) pending.push_back(n);
      if (aten_base(node.op) == "aten.stft") {  // its centring: pad, behind views
        ValueId v = node.inputs.empty() ? none_id : node.inputs[0];
        for (int step = 0; step < 3 && v >= 0 && graph.producer(v) != none_id; ++step) {
          const NodeId maker = graph.producer(v);
          const std::string base = aten_base(graph.node(maker).op);
          if (base == "aten.pad" || base == "aten.reflection_pad1d") region.insert(maker);
          if (!aten_view(graph.node(maker).op)) break;
          v = graph.node(maker).inputs[0];
        }
      }
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

}  // namespace md

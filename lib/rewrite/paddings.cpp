// Padding written with other operators.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/families.h"

namespace md::rewrites {
namespace {

constexpr std::int64_t most_border_elements = std::int64_t{1} << 20;  ///< of a stored border: 4 MB of int32

/// `count` entries of an axis from `begin` on, backwards.
ValueId mirrored_part(PatchBuilder& patch, TfliteBuilder& ops, ValueId x, std::size_t axis,
                      std::int64_t begin, std::int64_t count) {
  std::vector<std::int64_t> from(ops.shape(x).size(), 0);
  Shape size = ops.shape(x);
  from[axis] = begin;
  size[axis] = count;
  const ValueId part = ops.slice(x, from, size);
  if (count == 1) return part;
  const ValueId flipped = ops.value_like(part, size);
  patch.add_node("REVERSE_V2", {part, ops.int32s(std::vector<std::int64_t>{static_cast<std::int64_t>(axis)})},
                 {flipped});
  return flipped;
}

/// MIRROR_PAD as slices of the border, turned around and joined on.
std::vector<DetectResult> mirrored_slices(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const Node& node = graph.node(site.root);
  const Value& input = graph.value(node.inputs[0]);
  const auto widths = integer_values(graph, node.inputs[1]);
  if (!widths || !is_static(input) || widths->size() != 2 * input.shape.size() || input.rank() > 4)
    return declined("the paddings or the shape are not known before run time");
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "mirrored slices and CONCATENATION"));
  TfliteBuilder ops(patch);
  const std::int64_t skip = node.attrs.text("mode", "REFLECT") == "SYMMETRIC" ? 0 : 1;
  ValueId x = node.inputs[0];
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const std::int64_t before = (*widths)[2 * axis], after = (*widths)[2 * axis + 1],
                       size = input.shape[axis];
    if (before == 0 && after == 0) continue;
    std::vector<ValueId> parts;
    if (before > 0) parts.push_back(mirrored_part(patch, ops, x, axis, skip, before));
    parts.push_back(x);
    if (after > 0) parts.push_back(mirrored_part(patch, ops, x, axis, size - after - skip, after));
    x = ops.concatenation(parts, static_cast<int>(axis));
  }
  if (patch.patch().new_nodes.empty())
    ops.reshape(x, ops.shape(node.outputs[0]), node.outputs[0]);
  else
    patch.patch().new_nodes.back().outputs[0] = node.outputs[0];
  patch.remove(site.root);
  return fixed_by(patch.take());
}

/// A constant of this shape with `fill` everywhere, of the type of `like`.
ValueId border_of(PatchBuilder& patch, ValueId like, const Shape& shape, double fill) {
  const auto count = element_count(shape);
  if (!count || *count > most_border_elements) return none_id;
  const std::vector<double> numbers(static_cast<std::size_t>(*count), fill);
  const Value& v = patch.value(like);
  return patch.add_constant("border", v.dtype, shape, numbers, v.quantization);
}

/// The number that a PAD or PADV2 pads with; nullopt: not known before run time.
std::optional<double> padding_value(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] < 0) return 0.0;
  return scalar_value(graph, node.inputs[2]);
}

/// PAD and PADV2 as a CONCATENATION with constants, axis by axis.
std::vector<DetectResult> joined_border(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const Node& node = graph.node(site.root);
  if ((node.op != "PAD" && node.op != "PADV2") || node.inputs.size() < 2) return {};
  const Value& input = graph.value(node.inputs[0]);
  const auto widths = integer_values(graph, node.inputs[1]);
  const auto fill = padding_value(graph, node);
  if (!widths || !fill || !is_static(input) || widths->size() != 2 * input.shape.size() || input.rank() > 4 ||
      std::any_of(widths->begin(), widths->end(), [](std::int64_t w) { return w < 0; }))
    return declined("the paddings, their value or the shape are not known before run time");
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "CONCATENATION with the border"));
  TfliteBuilder ops(patch);
  ValueId x = node.inputs[0];
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    std::vector<ValueId> parts;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (side == 1) parts.push_back(x);
      Shape border = ops.shape(x);
      border[axis] = (*widths)[2 * axis + side];
      if (border[axis] == 0) continue;
      parts.push_back(border_of(patch, node.inputs[0], border, *fill));
      if (parts.back() == none_id)
        return declined("the border would be a constant of more than 2^20 elements");
    }
    if (parts.size() > 1) x = ops.concatenation(parts, static_cast<int>(axis));
  }
  if (patch.patch().new_nodes.empty())
    ops.reshape(x, ops.shape(node.outputs[0]), node.outputs[0]);
  else
    patch.patch().new_nodes.back().outputs[0] = node.outputs[0];
  patch.remove(site.root);
  return fixed_by(patch.take());
}

constexpr NamedRewrite table[] = {
    {"joined_border", 0, 0, "", "PAD and PADV2: CONCATENATION with constants that hold the padding value",
     joined_border},
    {"mirrored_slices", 0, 0, "", "MIRROR_PAD: slices of the border, REVERSE_V2, CONCATENATION",
     mirrored_slices, "MIRROR_PAD"},
};

}  // namespace

std::span<const NamedRewrite> padding_rewrites() { return table; }

}  // namespace md::rewrites

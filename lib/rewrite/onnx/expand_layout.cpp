// Operators that move elements, written with ones that every runtime has.
#include <algorithm>

#include "lib/op/constants.h"
#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

using Numbers = OnnxBuilder::Numbers;

/// The kept triangle as a mask of 0 and 1; nullopt: sizes or the diagonal are not known.
std::optional<std::vector<double>> triangle(const Graph& graph, const Node& node, Shape& shape) {
  const Value& x = graph.value(node.inputs[0]);
  if (x.unranked || x.rank() < 2) return std::nullopt;
  const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  std::int64_t diagonal = 0;
  if (operand(node, 1) >= 0) {
    const auto k = constant_integers(graph, node.inputs[1]);
    if (!k || k->size() != 1) return std::nullopt;
    diagonal = (*k)[0];
  }
  if (rows < 1 || columns < 1 || rows > (std::int64_t{1} << 24) / columns) return std::nullopt;
  const bool upper = node.attrs.integer("upper", 1) != 0;
  std::vector<double> mask;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      mask.push_back((upper ? j - i >= diagonal : j - i <= diagonal) ? 1 : 0);
  shape = {rows, columns};
  return mask;
}

bool trilu(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  Shape shape;
  const auto mask = triangle(graph, node, shape);
  const DType dtype = graph.value(node.inputs[0]).dtype;
  if (!mask) {
    reason = "its sizes are known at run time only";
    return false;
  }
  if (dtype == DType::boolean)
    b.binary("And", node.inputs[0], b.constant("triangle", DType::boolean, shape, *mask), node.outputs[0]);
  else  // the factor 0 keeps what is not finite from turning into 0: a mask of -inf is not multiplied here
    b.binary("Mul", node.inputs[0], b.constant("triangle", dtype, shape, *mask), node.outputs[0]);
  return true;
}

bool scatter(OnnxBuilder& b, const Graph&, const Node& node, std::string&) {
  b.add("ScatterElements", node.inputs, node.attrs, node.outputs[0]);
  return true;
}

/// Nearest neighbours and lines of Upsample are Resize's asymmetric ones.
bool upsample(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Attributes attrs;
  const bool nearest = node.attrs.text("mode", "nearest") == "nearest";
  attrs.set("mode", std::string(nearest ? "nearest" : "linear"));
  ValueId scales = operand(node, 1);
  if (scales < 0) {
    const AttrValue* given = node.attrs.find("scales");
    const auto* list = given ? std::get_if<std::vector<double>>(given) : nullptr;
    if (!list || static_cast<int>(list->size()) != graph.value(node.inputs[0]).rank()) return false;
    scales = b.constant("scales", DType::f32, {static_cast<std::int64_t>(list->size())}, *list);
  }
  if (b.set() >= 11) {
    attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
    if (nearest) attrs.set("nearest_mode", std::string("floor"));
  }
  std::vector<ValueId> operands = {node.inputs[0]};
  if (b.set() >= 13)
    operands.push_back(none_id);
  else if (b.set() >= 11)
    operands.push_back(b.constant("roi", DType::f32, {0}, {}));
  operands.push_back(scales);
  b.add("Resize", std::move(operands), std::move(attrs), node.outputs[0]);
  return true;
}

/// DepthToSpace and SpaceToDepth as Reshape, Transpose, Reshape.
bool depth_to_space(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const Shape s = graph.value(node.inputs[0]).shape;
  const std::int64_t block = node.attrs.integer("blocksize", 0);
  if (s.size() != 4 || block < 1 || s[1] < 1 || s[2] < 1 || s[3] < 1) {
    reason = "its sizes are known at run time only";
    return false;
  }
  const std::int64_t n = s[0] < 0 ? 0 : s[0], depth = s[1] / (block * block);
  const bool crd = node.attrs.text("mode", "DCR") == "CRD";
  const ValueId apart = b.reshape(node.inputs[0], crd ? Shape{n, depth, block, block, s[2], s[3]}
                                                      : Shape{n, block, block, depth, s[2], s[3]});
  const ValueId moved = b.transpose(apart, crd ? Numbers{0, 1, 4, 2, 5, 3} : Numbers{0, 3, 4, 1, 5, 2});
  b.reshape(moved, {n, depth, s[2] * block, s[3] * block}, node.outputs[0]);
  return true;
}
bool space_to_depth(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const Shape s = graph.value(node.inputs[0]).shape;
  const std::int64_t block = node.attrs.integer("blocksize", 0);
  if (s.size() != 4 || block < 1 || s[1] < 1 || s[2] < 1 || s[3] < 1) {
    reason = "its sizes are known at run time only";
    return false;
  }
  const std::int64_t n = s[0] < 0 ? 0 : s[0];
  const ValueId apart = b.reshape(node.inputs[0], {n, s[1], s[2] / block, block, s[3] / block, block});
  b.reshape(b.transpose(apart, {0, 3, 5, 1, 2, 4}), {n, s[1] * block * block, s[2] / block, s[3] / block},
            node.outputs[0]);
  return true;
}

/// Copies joined: every runtime that tiles wrongly or not at all joins.
bool tile(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const auto repeats = integers_of(graph, node, "repeats", 1);
  std::int64_t copies = 1;
  if (repeats)
    for (const std::int64_t r : *repeats) copies = r < 1 || copies > 64 ? 1000 : copies * r;
  if (!repeats || copies > 64) {
    reason = "the number of copies is not known, or above 64";
    return false;
  }
  ValueId x = node.inputs[0];
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < repeats->size(); ++axis)
    if ((*repeats)[axis] > 1) axes.push_back(axis);
  for (std::size_t i = 0; i < axes.size(); ++i)
    x = b.concat(std::vector<ValueId>(static_cast<std::size_t>((*repeats)[axes[i]]), x),
                 static_cast<std::int64_t>(axes[i]), i + 1 == axes.size() ? node.outputs[0] : none_id);
  if (axes.empty()) b.identity(x, node.outputs[0]);
  return true;
}

/// A shape that is 1 everywhere, or the identity matrix of static size.
bool eye_like(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const Value& out = graph.value(node.outputs[0]);
  if (out.rank() != 2 || out.shape[0] < 1 || out.shape[1] < 1 ||
      out.shape[0] > (std::int64_t{1} << 22) / out.shape[1]) {
    reason = "its sizes are known at run time only";
    return false;
  }
  const std::int64_t k = node.attrs.integer("k", 0);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < out.shape[0]; ++i)
    for (std::int64_t j = 0; j < out.shape[1]; ++j) numbers.push_back(j - i == k ? 1 : 0);
  b.identity(b.constant("eye", out.dtype, out.shape, numbers), node.outputs[0]);
  return true;
}

/// The element of a sequence that SplitToSequence makes, as a slice of its operand.
bool sequence_at(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const NodeId maker = graph.producer(node.inputs[0]);
  const auto position = node.inputs.size() > 1 ? constant_integers(graph, node.inputs[1]) : std::nullopt;
  reason = "the sequence is not made by SplitToSequence with known sizes";
  if (maker == none_id || graph.node(maker).op != "SplitToSequence" || !position || position->size() != 1)
    return false;
  const Node& split = graph.node(maker);
  const Shape shape = graph.value(split.inputs[0]).shape;
  std::int64_t axis = split.attrs.integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return false;
  const std::int64_t length = shape[static_cast<std::size_t>(axis)];
  if (length < 1) return false;
  Numbers sizes;
  bool squeezed = false;
  if (operand(split, 1) < 0) {
    sizes.assign(static_cast<std::size_t>(length), 1);
    squeezed = split.attrs.integer("keepdims", 1) == 0;
  } else {
    const auto given = constant_integers(graph, split.inputs[1]);
    if (!given || given->empty()) return false;
    if (graph.value(split.inputs[1]).rank() == 0) {
      if ((*given)[0] < 1) return false;
      for (std::int64_t left = length; left > 0; left -= (*given)[0])
        sizes.push_back(std::min(left, (*given)[0]));
    } else {
      sizes = *given;
    }
  }
  std::int64_t index = (*position)[0];
  if (index < 0) index += static_cast<std::int64_t>(sizes.size());
  if (index < 0 || index >= static_cast<std::int64_t>(sizes.size())) return false;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < index; ++i) start += sizes[static_cast<std::size_t>(i)];
  const std::int64_t end = start + sizes[static_cast<std::size_t>(index)];
  const ValueId part =
      b.slice(split.inputs[0], {start}, {end}, {axis}, {}, squeezed ? none_id : node.outputs[0]);
  if (squeezed) b.squeeze(part, {axis}, node.outputs[0]);
  reason.clear();
  return true;
}

/// Negative pads cut.
bool pad(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  auto pads = integers_of(graph, node, node.attrs.find("paddings") ? "paddings" : "pads", 1);
  const Value& x = graph.value(node.inputs[0]);
  const std::string mode(node.attrs.text("mode", "constant"));
  if (!pads || x.unranked || operand(node, 3) >= 0 || pads->size() != 2 * x.shape.size()) {
    reason = "its pads are not constant";
    return false;
  }
  Numbers starts, ends, axes, rest = *pads;
  const std::size_t rank = x.shape.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t front = (*pads)[axis], back = (*pads)[axis + rank];
    if (front >= 0 && back >= 0) continue;
    axes.push_back(static_cast<std::int64_t>(axis));
    starts.push_back(front < 0 ? -front : 0);
    ends.push_back(back < 0 ? back : std::int64_t{1} << 31);
    rest[axis] = std::max<std::int64_t>(front, 0);
    rest[axis + rank] = std::max<std::int64_t>(back, 0);
  }
  if (axes.empty() || mode != "constant") {
    reason = "no pad is negative";
    return false;
  }
  const bool pads_left = std::any_of(rest.begin(), rest.end(), [](std::int64_t p) { return p != 0; });
  const ValueId cut = b.slice(node.inputs[0], starts, ends, axes, {}, pads_left ? none_id : node.outputs[0]);
  const auto value = number_of(graph, node, "value", 2);
  if (pads_left && operand(node, 2) >= 0 && !value) return false;
  if (pads_left) b.pad(cut, rest, value.value_or(0), mode, node.outputs[0]);
  return true;
}

constexpr NamedFormula table[] = {
    {"Trilu", trilu},
    {"Scatter", scatter},
    {"Upsample", upsample},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", space_to_depth},
    {"Tile", tile},
    {"EyeLike", eye_like},
    {"SequenceAt", sequence_at},
    {"Pad", pad},
};

}  // namespace

std::span<const NamedFormula> layout_formulas() { return table; }

}  // namespace md::onnx

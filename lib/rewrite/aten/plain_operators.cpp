#include "lib/rewrite/aten/plain_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// One node to rewrite. A function of the table returns why it cannot; empty: the builder holds the rewrite.
struct Site {
  const Graph& graph;
  NodeId id;
  const Node& node;
  AtenBuilder& b;
  Exactness exactness = Exactness::exact;

  ValueId out() const { return node.outputs[0]; }
  const Value& result() const { return graph.value(node.outputs[0]); }
};

// More indices than these would be a constant of some 100 MB.
constexpr std::int64_t most_indices = std::int64_t{1} << 22;

/// x >> k and x << k of integers: the floor of x / 2^k, and x * 2^k, which wraps as a shift does.
std::string shift(Site& site, bool right) {
  const Node& node = site.node;
  const ValueId x = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
  const AttrValue* given = node.attrs.find("other");
  const auto* bits = given ? std::get_if<std::int64_t>(given) : nullptr;
  if (!bits) return "the number of bits is computed in the graph";
  const DType type = site.b.dtype(x);
  const int width = bit_width(type) - (type == DType::u8 ? 0 : 1);
  if (!is_integer(type) || site.result().dtype != type || *bits < 0 || *bits >= width)
    return "it shifts by more bits than the type has";
  Attributes attrs;
  attrs.set("other", std::int64_t{1} << *bits);
  if (right) attrs.set("rounding_mode", std::string("floor"));
  site.b.write(right ? "aten.div.Tensor_mode" : "aten.mul.Tensor", {{"self", x}}, std::move(attrs),
               site.out());
  return {};
}
std::string shift_right(Site& site) { return shift(site, true); }
std::string shift_left(Site& site) { return shift(site, false); }

/// The places below (above) a diagonal, row by row: numbers known beforehand.
std::string triangle(Site& site, bool lower) {
  const Attributes& attrs = site.node.attrs;
  const std::int64_t rows = attrs.integer("row", -1), columns = attrs.integer("col", -1),
                     offset = attrs.integer("offset", 0);
  const Shape shape = site.result().shape;
  if (rows < 0 || columns < 0 || rows > most_indices || columns > most_indices || !element_count(shape) ||
      shape.size() != 2 || shape[0] != 2 || shape[1] > most_indices || rows * columns > most_indices * 4)
    return "its sizes are not known";
  if (site.graph.is_output(site.out())) return "it is an output of the program";
  std::vector<double> row, column;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      if (lower ? c - r <= offset : c - r >= offset)
        row.push_back(static_cast<double>(r)), column.push_back(static_cast<double>(c));
  if (static_cast<std::int64_t>(row.size()) != shape[1]) return "its declared size is another";
  row.insert(row.end(), column.begin(), column.end());
  const ValueId constant =
      site.b.add_constant(site.result().name + "_indices", site.result().dtype, shape, row);
  site.b.replace_uses(site.out(), constant);
  return {};
}
std::string lower_triangle(Site& site) { return triangle(site, true); }
std::string upper_triangle(Site& site) { return triangle(site, false); }

/// Positions between -1 and 1 as torch's linspace gives them, in float32 from both ends.
std::vector<double> positions(std::int64_t count, bool align_corners) {
  std::vector<double> out(static_cast<std::size_t>(count), 0);
  if (count <= 1) return out;
  const float step = 2.0F / static_cast<float>(count - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const float at = i < count / 2 ? -1.0F + step * static_cast<float>(i)
                                   : 1.0F - step * static_cast<float>(count - 1 - i);
    out[static_cast<std::size_t>(i)] =
        align_corners ? at : at * (static_cast<float>(count - 1) / static_cast<float>(count));
  }
  return out;
}

/// The grid of an affine map: the homogeneous coordinates of every pixel, times the map.
std::string affine_grid(Site& site) {
  const Node& node = site.node;
  const ValueId theta = aten_operand(node, "theta") >= 0 ? aten_operand(node, "theta")
                        : node.inputs.empty()            ? none_id
                                                         : node.inputs[0];
  const auto* size = node.attrs.integers("size");
  if (theta < 0 || !size || (size->size() != 4 && size->size() != 5))
    return "its size is computed in the graph";
  if (!element_count(*size) || !element_count(site.b.shape(theta)) || site.b.dtype(theta) != DType::f32)
    return "its sizes are not known, or it is no float32";
  const bool align = node.attrs.flag("align_corners");
  const std::vector<std::int64_t> space(size->begin() + 2, size->end());
  const auto axes = static_cast<std::int64_t>(space.size());
  if (site.b.shape(theta) != Shape{(*size)[0], axes, axes + 1}) return "its map has another shape";
  const std::int64_t points = element_count(space).value_or(most_indices);
  if (points >= most_indices) return "its grid has too many points to be stored";
  std::vector<std::vector<double>> along;
  for (const std::int64_t n : space) along.push_back(positions(n, align));
  std::vector<double> base;
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t rest = p;
    std::vector<double> place;  // the last axis first: x, y, z, 1
    for (std::size_t a = space.size(); a-- > 0; rest /= space[a])
      place.push_back(along[a][static_cast<std::size_t>(rest % space[a])]);
    base.insert(base.end(), place.begin(), place.end());
    base.push_back(1);
  }
  AtenBuilder& b = site.b;
  const ValueId grid = b.add_constant("affine_base", DType::f32, {points, axes + 1}, base);
  const ValueId product = b.matmul(grid, b.transpose(theta, 1, 2));
  b.result_into(site.out());
  b.reshape(product, site.result().shape);
  site.exactness = Exactness::rounding;
  return {};
}

/// Which of the listed rows belong to which bag: 1 from the bag's offset to the next one's.
ValueId membership(AtenBuilder& b, ValueId offsets, std::int64_t bags, std::int64_t rows, bool last_given,
                   DType type) {
  const DType index = b.dtype(offsets);
  const ValueId begin = b.reshape(last_given ? b.slice(offsets, 0, 0, bags) : offsets, {bags, 1});
  ValueId end = none_id;
  if (last_given) {
    end = b.slice(offsets, 0, 1, bags + 1);
  } else {
    const ValueId behind = b.add_constant("bag_end", index, {1}, std::vector{static_cast<double>(rows)});
    end = bags == 1 ? behind : b.cat({b.slice(offsets, 0, 1, bags), behind}, 0);
  }
  const ValueId position = b.reshape(b.arange(rows, index), {1, rows});
  const ValueId inside = b.binary("aten.logical_and.default", b.binary("aten.ge.Tensor", position, begin),
                                  b.binary("aten.lt.Tensor", position, b.reshape(end, {bags, 1})));
  return b.to(inside, type);
}

/// Sums (means) of embedded rows, bag by bag: a product with the membership of rows in bags.
std::string embedding_bag(Site& site) {
  const Node& node = site.node;
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0 &&
        (!site.graph.uses(node.outputs[i]).empty() || site.graph.is_output(node.outputs[i])))
      return "what it says of its bags is read";
  const ValueId weight = aten_operand(node, "weight"), indices = aten_operand(node, "indices"),
                offsets = aten_operand(node, "offsets");
  if (weight < 0 || indices < 0 || offsets < 0) return "an operand is missing";
  const std::int64_t mode = node.attrs.integer("mode", 0);
  if (mode != 0 && mode != 1) return "it takes the largest of each bag";
  if (aten_operand(node, "per_sample_weights") >= 0) return "its rows are weighted";
  if (node.attrs.integer("padding_idx", -1) >= 0) return "it skips the padding row";
  AtenBuilder& b = site.b;
  const bool last_given = node.attrs.flag("include_last_offset");
  const Shape rows = b.shape(indices), starts = b.shape(offsets), table = b.shape(weight);
  if (rows.size() != 1 || starts.size() != 1 || table.size() != 2 || !element_count(rows) ||
      !element_count(starts) || !element_count(table))
    return "its sizes are not known";
  const std::int64_t bags = starts[0] - (last_given ? 1 : 0);
  if (bags < 1 || rows[0] < 1 || site.result().shape != Shape{bags, table[1]})
    return "its bags are empty, or its declared shape is another";
  const DType type = b.dtype(weight);
  const ValueId embedded = b.make("aten.embedding.default", {{"weight", weight}, {"indices", indices}}, {},
                                  type, {rows[0], table[1]});
  const ValueId member = membership(b, offsets, bags, rows[0], last_given, type);
  if (mode == 0) {
    b.result_into(site.out());
    b.matmul(member, embedded);
  } else {
    const ValueId sums = b.matmul(member, embedded);
    Attributes least;
    least.set("min", 1.0);
    const ValueId count =
        b.make("aten.clamp.default", {{"self", b.sum(member, 1, type)}}, std::move(least), type, {bags});
    b.result_into(site.out());
    b.binary("aten.div.Tensor", sums, b.reshape(count, {bags, 1}));
  }
  site.exactness = Exactness::rounding;
  return {};
}

/// Places of values in a sorted list: how many of its numbers lie below. NaN is behind all, as in torch.
std::string count_below(Site& site, ValueId x, ValueId sorted, bool right) {
  AtenBuilder& b = site.b;
  if (x < 0 || sorted < 0) return "an operand is a number";
  if (b.rank(sorted) != 1 || !element_count(b.shape(sorted)) || !element_count(b.shape(x)))
    return "its list has several rows, or no known size";
  if (b.dtype(x) != b.dtype(sorted)) return "values and list have different types";
  if (element_count(b.shape(x)).value_or(most_indices) * b.shape(sorted)[0] >= most_indices)
    return "comparing each value with each number of the list would take too much";
  Shape column = b.shape(x);
  column.push_back(1);
  const ValueId above =
      b.binary(right ? "aten.gt.Tensor" : "aten.ge.Tensor", sorted, b.reshape(x, std::move(column)));
  const DType type = site.result().dtype;
  const ValueId below = b.to(b.unary("aten.logical_not.default", above), type);
  b.result_into(site.out());
  b.sum(below, b.rank(below) - 1, type);
  return {};
}
std::string bucketize(Site& site) {
  return count_below(site, aten_operand(site.node, "self"), aten_operand(site.node, "boundaries"),
                     site.node.attrs.flag("right"));
}
std::string searchsorted(Site& site) {
  if (aten_operand(site.node, "sorter") >= 0) return "its list is sorted by indices of its own";
  return count_below(site, aten_operand(site.node, "self"), aten_operand(site.node, "sorted_sequence"),
                     site.node.attrs.flag("right") || site.node.attrs.text("side") == "right");
}

/// Largest values of windows that tile the image.
std::string tiled_maxima(Site& site) {
  const Node& node = site.node;
  const ValueId x = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
  const auto* size = node.attrs.integers("output_size");
  const Shape shape = site.b.shape(x);
  if (!size || size->size() != 2 || shape.size() < 3 || node.outputs.size() != 2)
    return "its size is computed in the graph";
  std::vector<std::int64_t> window;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t from = shape[shape.size() - 2 + d], to = (*size)[d];
    if (from < 1 || to < 1 || from % to != 0) return "its windows have different sizes";
    window.push_back(from / to);
  }
  Node pool;
  pool.op = "aten.max_pool2d_with_indices.default";
  pool.inputs = {x}, pool.input_names = {"self"}, pool.outputs = node.outputs;
  pool.attrs.set("kernel_size", window), pool.attrs.set("stride", window);
  site.b.add_node(std::move(pool));
  return {};
}

/// The k-th smallest value along an axis, as the last of the k smallest; which of equal values it was is not
/// said.
std::string among_smallest(Site& site, std::int64_t k) {
  const Node& node = site.node;
  AtenBuilder& b = site.b;
  const ValueId x = aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0];
  const auto dim = aten_dim(node, "dim", b.rank(x), -1);
  if (!dim || b.rank(x) == 0) return "its axis is outside the tensor";
  const std::int64_t size = b.shape(x)[static_cast<std::size_t>(*dim)];
  if (k == 0) k = (size + 1) / 2;  // the median: the lower of two in the middle
  if (size < 1 || k < 1 || k > size) return "the length of its axis is not known";
  if (node.outputs.size() != 2 || (node.outputs[1] >= 0 && (!site.graph.uses(node.outputs[1]).empty() ||
                                                            site.graph.is_output(node.outputs[1]))))
    return "the position of the value is read";
  Shape some = b.shape(x);
  some[static_cast<std::size_t>(*dim)] = k;
  const DType type = b.dtype(x);
  const ValueId values = b.add_value(site.result().name + "_smallest", type, some),
                places = b.add_value(site.result().name + "_places", DType::i64, some);
  Node topk;
  topk.op = "aten.topk.default";
  topk.inputs = {x}, topk.input_names = {"self"}, topk.outputs = {values, places};
  topk.attrs.set("k", k), topk.attrs.set("dim", std::int64_t{*dim});
  topk.attrs.set("largest", false), topk.attrs.set("sorted", true);
  b.add_node(std::move(topk));
  b.result_into(site.out());
  if (node.attrs.flag("keepdim"))
    b.slice(values, *dim, k - 1, k);
  else
    b.select(values, *dim, k - 1);
  return {};
}
std::string kth_value(Site& site) {
  const std::int64_t k = site.node.attrs.integer("k", -1);
  return k < 1 ? "its k is computed in the graph" : among_smallest(site, k);
}
std::string median(Site& site) {
  return site.node.op == "aten.median.dim" ? among_smallest(site, 0) : "it is taken over all elements";
}

/// bias + x y, as a product and a sum.
std::string product_and_sum(Site& site) {
  const Node& node = site.node;
  const ValueId bias = aten_operand(node, "self"), x = aten_operand(node, "mat1"),
                y = aten_operand(node, "mat2");
  if (bias < 0 || x < 0 || y < 0) return "an operand is missing";
  if (node.attrs.number("alpha", 1) != 1 || node.attrs.number("beta", 1) != 1) return "its terms are scaled";
  const ValueId product = site.b.make("aten.mm.default", {{"self", x}, {"mat2", y}}, {}, site.result().dtype,
                                      site.result().shape);
  site.b.result_into(site.out());
  site.b.binary("aten.add.Tensor", product, bias);
  site.exactness = Exactness::rounding;
  return {};
}

/// An axis counted from the end, from the front.
std::string axis_from_front(Site& site) {
  const ValueId x =
      aten_operand(site.node, "self") >= 0 ? aten_operand(site.node, "self") : site.node.inputs[0];
  const auto dim = aten_dim(site.node, "dim", site.b.rank(x), 0);
  if (!dim) return "its axis is outside the tensor";
  NodeChange change;
  change.node = site.id;
  change.set_attrs.set("dim", std::int64_t{*dim});
  site.b.change(std::move(change));
  return {};
}

/// The largest elements in some order, in falling order.
std::string sorted_largest(Site& site) {
  NodeChange change;
  change.node = site.id;
  change.set_attrs.set("sorted", true);
  site.b.change(std::move(change));
  return {};
}

/// Sums divided by a number of one's own: averages of whole windows, times the ratio.
std::string plain_average(Site& site) {
  const Node& node = site.node;
  const auto* kernel = node.attrs.integers("kernel_size");
  const std::int64_t divisor = node.attrs.integer("divisor_override", 0);
  if (!kernel || kernel->empty() || kernel->size() > 2 || divisor == 0) return "its window is not known";
  if (node.attrs.flag("ceil_mode")) return "it has windows that reach over the edge";
  const std::int64_t area = (*kernel)[0] * kernel->back();
  const DType type = site.b.dtype(site.out());
  if (area <= 0 || !is_float(type)) return "its window is not known";
  Attributes attrs = node.attrs;
  attrs.erase("divisor_override");
  attrs.set("count_include_pad", true);
  const ValueId average =
      site.b.make(node.op, {{"self", node.inputs[0]}}, std::move(attrs), type, site.b.shape(site.out()));
  site.b.result_into(site.out());
  site.b.scalar("aten.mul.Tensor", average, static_cast<double>(area) / static_cast<double>(divisor));
  site.exactness = Exactness::rounding;
  return {};
}

struct PlainForm {
  std::string_view base;
  std::string (*rewrite)(Site&);
  std::string_view title;
  bool (*concerns)(const Node&) = nullptr;  ///< null: every node of the operator
  bool stays = false;                       ///< the node stays, with another attribute
};

bool counts_from_end(const Node& node) { return node.attrs.integer("dim", 0) < -1; }
bool is_unsorted(const Node& node) { return !node.attrs.flag("sorted", true); }
bool has_divisor(const Node& node) { return node.attrs.find("divisor_override") != nullptr; }

constexpr PlainForm forms[] = {
    {"aten.__lshift__", shift_left, "times a power of two"},
    {"aten.__rshift__", shift_right, "divided by a power of two, rounded down"},
    {"aten._embedding_bag", embedding_bag, "embedded rows times their membership in bags"},
    {"aten._embedding_bag_forward_only", embedding_bag, "embedded rows times their membership in bags"},
    {"aten.adaptive_max_pool2d", tiled_maxima, "a max pool with windows that tile the image"},
    {"aten.addmm", product_and_sum, "a product and a sum"},
    {"aten.affine_grid_generator", affine_grid, "stored coordinates times the map"},
    {"aten.avg_pool2d", plain_average, "averages of whole windows, times the ratio of the divisors",
     has_divisor},
    {"aten.bitwise_left_shift", shift_left, "times a power of two"},
    {"aten.bitwise_right_shift", shift_right, "divided by a power of two, rounded down"},
    {"aten.bucketize", bucketize, "compared with the sorted list, and counted"},
    {"aten.cumsum", axis_from_front, "the axis counted from the front", counts_from_end, true},
    {"aten.embedding_bag", embedding_bag, "embedded rows times their membership in bags"},
    {"aten.kthvalue", kth_value, "the last of the k smallest"},
    {"aten.median", median, "the last of the smaller half"},
    {"aten.searchsorted", searchsorted, "compared with the sorted list, and counted"},
    {"aten.topk", sorted_largest, "the same elements, sorted", is_unsorted, true},
    {"aten.tril_indices", lower_triangle, "the indices stored"},
    {"aten.triu_indices", upper_triangle, "the indices stored"},
};

const PlainForm* form_of(const std::string& base) {
  const auto* found = std::find_if(std::begin(forms), std::end(forms),
                                   [&](const PlainForm& form) { return form.base == base; });
  return found == std::end(forms) ? nullptr : found;
}

}  // namespace

bool has_plain_form(const std::string& base) { return form_of(base) != nullptr; }

std::vector<DetectResult> plain_operators(const DetectContext& context,
                                          const std::function<bool(const std::string& base)>& wanted) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    const PlainForm* form = form_of(base);
    if (!form || !wanted(base) || aten_in_place(node.op) || node.outputs.empty() || node.outputs[0] < 0)
      continue;
    if (form->concerns && !form->concerns(node)) continue;
    AtenBuilder b(graph, context.graph_index, std::string(form->title));
    if (!form->stays) b.remove(id);
    Site site{graph, id, node, b};
    DetectResult result;
    result.nodes = {id};
    result.words["op"] = node.op;
    result.reason = form->rewrite(site);
    if (result.reason.empty()) {
      ProposedFix fix(b.take(), site.exactness);
      result.fixes.push_back(std::move(fix));
    } else {
      result.state = DetectResult::State::declined;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

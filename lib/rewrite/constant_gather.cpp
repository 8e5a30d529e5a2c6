#include "lib/rewrite/constant_gather.h"

#include <algorithm>

#include "lib/eval/fold.h"

namespace md {

namespace {

/// Entries that run through all combinations: the indices of axis j vary along some dimensions of the index
/// tensor only, and the dimensions of different axes follow each other.
std::vector<std::vector<std::int64_t>> combinations(const std::vector<std::int64_t>& entries,
                                                    std::size_t axes, const Shape& dims) {
  std::vector<std::vector<std::int64_t>> result(axes);
  const std::size_t count = entries.size() / axes;
  std::size_t first = 0;  // of the dimensions not yet given to an axis
  for (std::size_t axis = 0; axis < axes; ++axis) {
    // The dimensions up to `last` belong to this axis: as few as explain all its entries.
    bool found = false;
    for (std::size_t last = first; last <= dims.size() && !found; ++last) {
      if (axis + 1 == axes && last != dims.size()) continue;
      std::int64_t inner = 1, size = 1;
      for (std::size_t d = last; d < dims.size(); ++d) inner *= dims[d];
      for (std::size_t d = first; d < last; ++d) size *= dims[d];
      std::vector<std::int64_t> list;
      for (std::int64_t i = 0; i < size; ++i)
        list.push_back(entries[static_cast<std::size_t>(i * inner) * axes + axis]);
      found = true;
      for (std::size_t i = 0; i < count && found; ++i) {
        const auto place = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % size);
        found = entries[i * axes + axis] == list[place];
      }
      if (found) {
        result[axis] = std::move(list);
        first = last;
      }
    }
    if (!found) return {};
  }
  return result;
}

}  // namespace

std::optional<ConstantGather> constant_gather(const Model& model, int graph_index, NodeId node,
                                              std::string& reason) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  const Node& n = graph.node(node);
  ConstantGather gather;
  gather.node = node;
  gather.data = n.inputs[0];
  gather.out = n.outputs[0];
  const Shape& data = graph.value(gather.data).shape;
  if (!element_count(data) || !element_count(graph.value(gather.out).shape)) {
    reason = "its shape is not known before run time";
    return std::nullopt;
  }
  const auto indices = fold_value(model, graph_index, n.inputs[1]);
  if (!indices) {
    reason = "its indices cannot be computed beforehand: " + indices.error().message;
    return std::nullopt;
  }
  Shape dims = indices->shape;
  if (dims.empty() || dims.back() < 1 || dims.back() > static_cast<std::int64_t>(data.size())) {
    reason = "its indices have no valid shape";
    return std::nullopt;
  }
  const auto axes = static_cast<std::size_t>(dims.back());
  dims.pop_back();
  const std::vector<std::int64_t> entries = indices->integers();
  gather.sizes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axes));
  for (std::size_t d = 0; d < data.size(); ++d) (d < axes ? gather.rows : gather.row_size) *= data[d];
  for (std::size_t i = 0; i < entries.size(); i += axes) {
    std::int64_t row = 0;
    for (std::size_t a = 0; a < axes; ++a) {
      if (entries[i + a] < 0 || entries[i + a] >= data[a]) {
        reason = "an index is out of range";
        return std::nullopt;
      }
      row = row * data[a] + entries[i + a];
    }
    gather.list.push_back(row);
  }
  if (gather.list.empty()) {
    reason = "it picks nothing";
    return std::nullopt;
  }
  gather.per_axis = combinations(entries, axes, dims);
  return gather;
}

bool write_gather(TfliteBuilder& build, const ConstantGather& gather, RowPicker picker) {
  const Shape out = build.shape(gather.out);
  const Shape data = build.shape(gather.data);
  const auto count = static_cast<std::int64_t>(gather.list.size());
  if (gather.sizes.size() == 1 && data.size() >= 3 && data.size() <= 4) {
    // Rows of the first axis, in the tensor's own shape.
    Shape picked = data;
    picked.front() = count;
    const ValueId into = picked == out ? gather.out : none_id;
    const ValueId y = select_rows(build, gather.data, 0, gather.list, picker, into);
    if (y != none_id && into == none_id) build.reshape(y, out, gather.out);
    return y != none_id;
  }
  if (gather.per_axis.size() > 1 && picker != RowPicker::gather) {
    // One axis after the other, the first one last: (outer, axis, inner) is always a reshape away.
    ValueId x = gather.data;
    std::int64_t inner = gather.row_size;
    for (std::size_t a = gather.sizes.size(); a-- > 0;) {
      std::int64_t outer = 1;
      for (std::size_t b = 0; b < a; ++b) outer *= gather.sizes[b];
      const Shape shaped =
          inner == 1 ? Shape{1, 1, outer, gather.sizes[a]} : Shape{1, outer, gather.sizes[a], inner};
      x = build.shape(x) == shaped ? x : build.reshape(x, shaped);
      x = select_rows(build, x, inner == 1 ? 3 : 2, gather.per_axis[a], picker);
      if (x == none_id) return false;
      inner *= static_cast<std::int64_t>(gather.per_axis[a].size());
    }
    build.reshape(x, out, gather.out);
    return true;
  }
  const int axis = gather.row_size == 1 ? 3 : 2;
  const Shape shaped = axis == 3 ? Shape{1, 1, 1, gather.rows} : Shape{1, 1, gather.rows, gather.row_size};
  ValueId x = data == shaped ? gather.data : build.reshape(gather.data, shaped);
  x = select_rows(build, x, axis, gather.list, picker);
  if (x == none_id) return false;
  build.reshape(x, out, gather.out);
  return true;
}

}  // namespace md

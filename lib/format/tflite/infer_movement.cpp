// Types of the operators that move elements.
#include <algorithm>

#include "lib/format/tflite/infer_rules.h"

namespace md::infer {
namespace {

Inferred reshape(const Site& site) {
  const Value& x = site.at(0);
  Shape shape;
  if (site.has(1)) {
    auto wanted = constant_integers(site, 1, "shape");
    if (!wanted) return no(wanted.error());
    shape = *wanted;
  } else if (const auto* wanted = site.node.attrs.integers("new_shape")) {
    shape = *wanted;
  }
  const auto count = element_count(x.shape);
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end() && count) {
    *open = 1;
    const auto rest = element_count(shape);
    if (std::count(shape.begin(), shape.end(), -1) || !rest || *rest == 0 || *count % *rest)
      return no("the shape does not fit " + shape_text(x.shape));
    *open = *count / *rest;
  }
  if (count && element_count(shape) != count)
    return no("the shape " + shape_text(shape) + " does not fit " + shape_text(x.shape));
  return moved(x, std::move(shape));
}

Inferred transpose(const Site& site) {
  const Value& x = site.at(0);
  const auto perm = constant_integers(site, 1, "perm");
  if (!perm) return no(perm.error());
  if (perm->size() != x.shape.size()) return no("perm has another length than the operand's rank");
  Shape shape;
  std::vector<char> seen(perm->size(), 0);
  for (const std::int64_t p : *perm) {
    const auto axis = axis_in(p, x.shape.size());
    if (!axis || seen[*axis]) return no("perm is no permutation");
    seen[*axis] = 1;
    shape.push_back(x.shape[*axis]);
  }
  return moved(x, std::move(shape));
}

Inferred slice(const Site& site) {
  const Value& x = site.at(0);
  const auto begin = constant_integers(site, 1, "begin"), size = constant_integers(site, 2, "size");
  if (!begin) return no(begin.error());
  if (!size) return no(size.error());
  if (begin->size() != x.shape.size() || size->size() != x.shape.size())
    return no("begin and size need one number a dimension");
  Shape shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const std::int64_t b = (*begin)[d], n = (*size)[d];
    const std::int64_t length = n == -1 ? (x.shape[d] < 0 ? dynamic_dim : x.shape[d] - b) : n;
    if (b < 0 || (x.shape[d] >= 0 && (length < 0 || b > x.shape[d] - length)))
      return no("the slice leaves " + shape_text(x.shape));
    shape.push_back(length);
  }
  return moved(x, std::move(shape));
}

bool bit(std::int64_t mask, std::size_t i) { return i < 32 && ((mask >> i) & 1) != 0; }

Inferred strided_slice(const Site& site) {
  const Value& x = site.at(0);
  const auto begin = constant_integers(site, 1, "begin"), end = constant_integers(site, 2, "end"),
             stride = constant_integers(site, 3, "strides");
  if (!begin) return no(begin.error());
  if (!end) return no(end.error());
  if (!stride) return no(stride.error());
  const Attributes& attrs = site.node.attrs;
  const std::int64_t begin_mask = attrs.integer("begin_mask"), end_mask = attrs.integer("end_mask"),
                     new_axis = attrs.integer("new_axis_mask"), shrink = attrs.integer("shrink_axis_mask"),
                     ellipsis = attrs.integer("ellipsis_mask");
  const std::size_t specs = begin->size();
  if (end->size() != specs || stride->size() != specs) return no("begin, end and strides differ in length");
  std::size_t consumed = 0;  // dimensions of x that the entries besides the ellipsis take
  for (std::size_t i = 0; i < specs; ++i)
    if (!bit(ellipsis, i) && !bit(new_axis, i)) ++consumed;
  if (consumed > x.shape.size()) return no("more slices than dimensions");
  Shape shape;
  std::size_t d = 0;
  for (std::size_t i = 0; i < specs; ++i) {
    if (bit(ellipsis, i)) {
      for (std::size_t k = consumed; k < x.shape.size(); ++k) shape.push_back(x.shape[d++]);
      consumed = x.shape.size();
    } else if (bit(new_axis, i)) {
      shape.push_back(1);
    } else {
      const std::int64_t n = x.shape[d++], s = (*stride)[i];
      if (s == 0) return no("a stride is 0");
      if (bit(shrink, i)) continue;
      if (n < 0) {
        shape.push_back(dynamic_dim);
        continue;
      }
      const auto bound = [&](std::int64_t v) {
        if (v < 0) v += n;
        return s > 0 ? std::clamp<std::int64_t>(v, 0, n) : std::clamp<std::int64_t>(v, -1, n - 1);
      };
      const std::int64_t first = bit(begin_mask, i) ? (s > 0 ? 0 : n - 1) : bound((*begin)[i]);
      const std::int64_t stop = (*end)[i] + (attrs.flag("offset") ? (*begin)[i] : 0);
      const std::int64_t last = bit(end_mask, i) ? (s > 0 ? n : -1) : bound(stop);
      const std::int64_t length = s > 0 ? (last - first + s - 1) / s : (first - last - s - 1) / -s;
      shape.push_back(std::max<std::int64_t>(length, 0));
    }
  }
  while (d < x.shape.size()) shape.push_back(x.shape[d++]);
  return moved(x, std::move(shape));
}

Inferred concatenation(const Site& site) {
  const Value& x = site.at(0);
  const auto axis = axis_in(site.node.attrs.integer("axis"), x.shape.size());
  if (!axis) return no("the axis is out of range");
  Shape shape = x.shape;
  shape[*axis] = 0;
  for (const Value* part : site.operands) {
    if (!part || part->shape.size() != shape.size() || part->dtype != x.dtype)
      return no("the operands differ in rank or type");
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d == *axis)
        shape[d] = shape[d] < 0 || part->shape[d] < 0 ? dynamic_dim : shape[d] + part->shape[d];
      else if (shape[d] != part->shape[d])
        return no("the operands differ beside the axis");
  }
  return moved(x, std::move(shape));
}

Inferred pack(const Site& site) {
  const Value& x = site.at(0);
  const auto axis = axis_in(site.node.attrs.integer("axis"), x.shape.size() + 1);
  if (!axis) return no("the axis is out of range");
  for (const Value* part : site.operands)
    if (!part || part->shape != x.shape || part->dtype != x.dtype) return no("the operands differ");
  Shape shape = x.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis),
               static_cast<std::int64_t>(site.operands.size()));
  return moved(x, std::move(shape));
}

Inferred unpack(const Site& site) {
  const Value& x = site.at(0);
  const auto axis = axis_in(site.node.attrs.integer("axis"), x.shape.size());
  if (!axis) return no("the axis is out of range");
  Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return Types(site.outputs, {x.dtype, shape, x.quantization});
}

Inferred split_equally(const Site& site) {
  const Value& x = site.at(1);
  const auto where = constant_integers(site, 0, "axis");
  if (!where) return no(where.error());
  const auto axis = where->size() == 1 ? axis_in(where->front(), x.shape.size()) : std::nullopt;
  const auto parts = static_cast<std::int64_t>(site.outputs);
  if (!axis || (x.shape[*axis] >= 0 && x.shape[*axis] % parts))
    return no("the axis cannot be split into that many parts");
  Shape shape = x.shape;
  if (shape[*axis] >= 0) shape[*axis] /= parts;
  return Types(site.outputs, {x.dtype, shape, x.quantization});
}

Inferred split_by_sizes(const Site& site) {
  const Value& x = site.at(0);
  auto sizes = constant_integers(site, 1, "sizes");
  const auto where = constant_integers(site, 2, "axis");
  if (!sizes) return no(sizes.error());
  if (!where) return no(where.error());
  const auto axis = where->size() == 1 ? axis_in(where->front(), x.shape.size()) : std::nullopt;
  if (!axis || sizes->size() != site.outputs) return no("the sizes do not fit the outputs");
  std::int64_t rest = x.shape[*axis];
  for (const std::int64_t s : *sizes) rest -= s < 0 ? 0 : s;
  Types types;
  for (const std::int64_t s : *sizes) {
    Shape shape = x.shape;
    shape[*axis] = s < 0 ? rest : s;
    types.push_back({x.dtype, std::move(shape), x.quantization});
  }
  return types;
}

Inferred tile(const Site& site) {
  const auto times = constant_integers(site, 1, "multiples");
  if (!times) return no(times.error());
  Shape shape = site.at(0).shape;
  if (times->size() != shape.size()) return no("multiples need one number a dimension");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] >= 0 && __builtin_mul_overflow(shape[d], (*times)[d], &shape[d]))
      return unknown("the result is too large");
  return moved(site.at(0), std::move(shape));
}

Inferred pad(const Site& site) {
  const auto paddings = constant_integers(site, 1, "paddings");
  if (!paddings) return no(paddings.error());
  Shape shape = site.at(0).shape;
  if (paddings->size() != 2 * shape.size()) return no("paddings need two numbers a dimension");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] >= 0) shape[d] += (*paddings)[2 * d] + (*paddings)[2 * d + 1];
  return moved(site.at(0), std::move(shape));
}

Inferred gather(const Site& site) {
  const Value &x = site.at(0), &indices = site.at(1);
  const auto axis = axis_in(site.node.attrs.integer("axis"), x.shape.size());
  std::int64_t batch = site.node.attrs.integer("batch_dims");
  if (batch < 0) batch += indices.rank();
  if (!axis || batch < 0 || batch > indices.rank() || static_cast<std::size_t>(batch) > *axis)
    return no("axis or batch_dims is out of range");
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), indices.shape.begin() + batch, indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.shape.end());
  return moved(x, std::move(shape));
}

Inferred gather_nd(const Site& site) {
  const Value &x = site.at(0), &indices = site.at(1);
  if (indices.shape.empty() || indices.shape.back() < 0 || indices.shape.back() > x.rank())
    return no("the last dimension of the indices does not fit the operand");
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + indices.shape.back(), x.shape.end());
  return moved(x, std::move(shape));
}

Inferred broadcast_to(const Site& site) {
  const auto wanted = constant_integers(site, 1, "shape");
  if (!wanted) return no(wanted.error());
  if (broadcast_shape(site.at(0).shape, *wanted) != *wanted)
    return no("the operand does not broadcast to " + shape_text(*wanted));
  return moved(site.at(0), *wanted);
}

Inferred squeeze(const Site& site) {
  const Value& x = site.at(0);
  std::vector<char> drop(x.shape.size(), 0);
  const auto* dims = site.node.attrs.integers("squeeze_dims");
  if (dims && !dims->empty()) {
    for (const std::int64_t d : *dims) {
      const auto axis = axis_in(d, x.shape.size());
      if (!axis || x.shape[*axis] != 1) return no("squeeze_dims names a dimension that is not 1");
      drop[*axis] = 1;
    }
  } else {
    for (std::size_t d = 0; d < drop.size(); ++d) drop[d] = x.shape[d] == 1;
  }
  Shape shape;
  for (std::size_t d = 0; d < drop.size(); ++d)
    if (!drop[d]) shape.push_back(x.shape[d]);
  return moved(x, std::move(shape));
}

Inferred expand_dims(const Site& site) {
  const auto where = constant_integers(site, 1, "axis");
  if (!where) return no(where.error());
  Shape shape = site.at(0).shape;
  const auto axis = where->size() == 1 ? axis_in(where->front(), shape.size() + 1) : std::nullopt;
  if (!axis) return no("the axis is out of range");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  return moved(site.at(0), std::move(shape));
}

Inferred same(const Site& site) { return Types{type_of(site.at(0))}; }

Inferred blocks(const Site& site, bool to_depth) {
  const std::int64_t block = site.node.attrs.integer("block_size");
  Shape shape = site.at(0).shape;
  if (shape.size() != 4 || block < 1 || block > 4096 || !element_count(shape))
    return no("expected a rank-4 operand and a block size");
  if (to_depth) {
    if (shape[1] % block || shape[2] % block) return no("the block size does not divide height and width");
    return moved(site.at(0), {shape[0], shape[1] / block, shape[2] / block, shape[3] * block * block});
  }
  if (shape[3] % (block * block)) return no("the block size does not divide the channels");
  return moved(site.at(0), {shape[0], shape[1] * block, shape[2] * block, shape[3] / (block * block)});
}
Inferred space_to_depth(const Site& site) { return blocks(site, true); }
Inferred depth_to_space(const Site& site) { return blocks(site, false); }

Inferred resize(const Site& site) {
  const auto size = constant_integers(site, 1, "size");
  if (!size) return no(size.error());
  Shape shape = site.at(0).shape;
  if (shape.size() != 4 || size->size() != 2) return no("expected a rank-4 operand and two sizes");
  shape[1] = (*size)[0], shape[2] = (*size)[1];
  return moved(site.at(0), std::move(shape));
}

Inferred select(const Site& site) {
  const auto branches = broadcast_shape(site.at(1).shape, site.at(2).shape);
  // SELECT takes a condition with one entry a row; SELECT_V2 broadcasts it like any operand.
  if (branches && site.node.op == "SELECT" && site.at(0).rank() == 1 && site.at(1).rank() > 1)
    return moved(site.at(1), *branches);
  const auto shape = branches ? broadcast_shape(*branches, site.at(0).shape) : std::nullopt;
  if (!shape || site.at(1).dtype != site.at(2).dtype)
    return no("the operands do not broadcast, or differ in type");
  return moved(site.at(1), *shape);
}

Inferred fill(const Site& site) {
  const auto dims = constant_integers(site, 0, "dims");
  if (!dims) return no(dims.error());
  return moved(site.at(1), *dims);
}

Inferred scatter_nd(const Site& site) {
  const auto shape = constant_integers(site, 2, "shape");
  if (!shape) return no(shape.error());
  return moved(site.at(1), *shape);
}

constexpr Rule rules[] = {
    {"RESHAPE", reshape, 1},
    {"TRANSPOSE", transpose, 2},
    {"SLICE", slice, 3},
    {"STRIDED_SLICE", strided_slice, 4},
    {"CONCATENATION", concatenation, 1},
    {"PACK", pack, 1},
    {"UNPACK", unpack, 1},
    {"SPLIT", split_equally, 2},
    {"SPLIT_V", split_by_sizes, 3},
    {"TILE", tile, 2},
    {"PAD", pad, 2},
    {"PADV2", pad, 3},
    {"MIRROR_PAD", pad, 2},
    {"GATHER", gather, 2},
    {"GATHER_ND", gather_nd, 2},
    {"BROADCAST_TO", broadcast_to, 2},
    {"SQUEEZE", squeeze, 1},
    {"EXPAND_DIMS", expand_dims, 2},
    {"REVERSE_V2", same, 2},
    {"REVERSE_SEQUENCE", same, 2},
    {"DYNAMIC_UPDATE_SLICE", same, 3},
    {"SPACE_TO_DEPTH", space_to_depth, 1},
    {"DEPTH_TO_SPACE", depth_to_space, 1},
    {"RESIZE_BILINEAR", resize, 2},
    {"RESIZE_NEAREST_NEIGHBOR", resize, 2},
    {"SELECT", select, 3},
    {"SELECT_V2", select, 3},
    {"FILL", fill, 2},
    {"SCATTER_ND", scatter_nd, 3},
    {"DENSIFY", same, 1},
    {"ZEROS_LIKE", same, 1},
};

}  // namespace

std::span<const Rule> movement_rules() { return rules; }

}  // namespace md::infer

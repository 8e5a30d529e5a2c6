// Operators that move elements, with operands as converters write them.
#include <algorithm>
#include <numeric>

#include "test/generated_models.h"

namespace md::test {
namespace {

using M = ModelMaker;
using Ids = std::vector<ValueId>;
using Numbers = std::vector<std::int64_t>;

bool made(const Ids& ids) { return !ids.empty(); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t some_axis(M& m, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = m.below(rank);
  return m.chance(50) ? axis : axis - rank;
}

bool batch_space(M& m, const std::string& op) {
  const bool forth = op == "SPACE_TO_BATCH_ND";
  const ValueId x = m.operand(DType::f32, 4, 4);
  Shape shape = m.shape_of(x);
  Numbers block(2);
  std::vector<double> borders(4, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = shape[i + 1];
    block[i] = 1 + m.below(3);
    if (forth) {
      const std::int64_t border = (block[i] - size % block[i]) % block[i];
      borders[2 * i + 1] = static_cast<double>(border);
      size = (size + border) / block[i], shape[0] *= block[i];
    } else {
      if (shape[0] % block[i]) block[i] = 1;
      size *= block[i], shape[0] /= block[i];
    }
  }
  if (element_count(shape).value_or(1 << 20) > 8192) return false;
  return made(m.emit_as(op, {x, m.integers(block), m.constant(DType::i32, {2, 2}, borders)}, {},
                        {{DType::f32, shape, {}}}));
}

bool broadcast_to(M& m, const std::string& op) {
  Shape shape = m.shape(1, 5);
  const ValueId x = m.partner(m.chance(80) ? DType::f32 : DType::i32, shape);
  return made(m.emit(op, {x, m.integers(shape)}));
}

bool concat(M& m, const std::string& op) {
  const ValueId a = m.operand(m.type(), 1, 5);
  const DType dtype = m.value(a).dtype;
  Ids ids{a};
  Attributes attrs;
  const std::int64_t axis = some_axis(m, m.shape_of(a));
  attrs.set("axis", axis);
  for (std::int64_t i = m.below(4); i > 0; --i) {
    if (m.chance(30)) {
      ids.push_back(a);
      continue;
    }
    Shape shape = m.shape_of(a);
    shape[at(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)] = m.size(8);
    ids.push_back(m.chance(30) ? m.weights(dtype, shape) : m.operand(dtype, shape));
  }
  return made(m.emit(op, ids, attrs));
}

bool pack(M& m, const std::string& op) {
  const ValueId a = m.operand(m.type(), 0, 4);
  Ids ids{a};
  for (std::int64_t i = m.below(3); i > 0; --i)
    ids.push_back(m.chance(40) ? a : m.operand(m.value(a).dtype, m.shape_of(a)));
  Attributes attrs;
  attrs.set("axis", m.below(static_cast<std::int64_t>(m.shape_of(a).size()) + 1));
  return made(m.emit(op, ids, attrs));
}

bool depth_space(M& m, const std::string& op) {
  Attributes attrs;
  attrs.set("block_size", 1 + m.below(3));
  return made(m.emit(op, {m.operand(m.chance(80) ? DType::f32 : DType::i8, 4, 4)}, attrs));
}

bool expand_dims(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 0, 4);
  const auto rank = static_cast<std::int64_t>(m.shape_of(x).size());
  return made(m.emit(op, {x, m.number(DType::i32, static_cast<double>(m.below(2 * rank + 2) - rank - 1))}));
}

bool fill(M& m, const std::string& op) {
  const Shape shape = m.shape(0, 4);
  return made(m.emit_as(op, {m.integers(shape), m.number(DType::f32, 1.5)}, {}, {{DType::f32, shape, {}}}));
}

ValueId indices(M& m, const Shape& shape, std::int64_t limit) {
  if (m.chance(35)) return m.operand(DType::i32, shape);
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape).value_or(0)));
  for (double& v : numbers) v = static_cast<double>(m.below(limit));
  return m.constant(DType::i32, shape, numbers);
}

bool gather(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 4);
  const Shape shape = m.shape_of(x);
  const std::int64_t axis = some_axis(m, shape);
  Attributes attrs;
  attrs.set("axis", axis);
  const std::int64_t limit = shape[at(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)];
  return made(m.emit(op, {x, indices(m, m.shape(0, 2), limit)}, attrs));
}

bool gather_nd(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 4);
  const Shape shape = m.shape_of(x);
  const std::int64_t depth = 1 + m.below(static_cast<std::int64_t>(shape.size()));
  Shape where = m.shape(0, 2);
  where.push_back(depth);
  const std::int64_t limit = *std::min_element(shape.begin(), shape.begin() + depth);
  return made(m.emit(op, {x, indices(m, where, limit)}));
}

bool embedding(M& m, const std::string& op) {
  const Shape table = {m.size() + 1, m.size()};
  const std::int64_t n = m.size();
  return made(m.emit_as(op, {indices(m, {n}, table[0]), m.weights(DType::f32, table)}, {},
                        {{DType::f32, {n, table[1]}, {}}}));
}

bool pad(M& m, const std::string& op) {
  const ValueId x = m.operand(m.chance(80) ? DType::f32 : DType::i32, 1, 5);
  const Shape shape = m.shape_of(x);
  std::vector<double> pads(2 * shape.size(), 0);
  Attributes attrs;
  const bool mirror = op == "MIRROR_PAD";
  if (mirror) m.set_enum(attrs, op, "mode", m.below(2));
  for (std::size_t i = 0; i < pads.size(); ++i)
    if (m.chance(40))
      pads[i] = static_cast<double>(m.below(mirror ? std::max<std::int64_t>(1, shape[i / 2] - 1) : 3));
  Ids ids{x, m.constant(m.chance(90) ? DType::i32 : DType::i64, {static_cast<std::int64_t>(shape.size()), 2},
                        pads)};
  if (op == "PADV2") ids.push_back(m.number(m.value(x).dtype, m.chance(50) ? 0 : -3));
  return made(m.emit(op, ids, attrs));
}

bool one_hot(M& m, const std::string& op) {
  const Shape where = m.shape(0, 3);
  const std::int64_t depth = 1 + m.size(8);
  Attributes attrs;
  attrs.set("axis", std::int64_t{-1});
  return made(m.emit(op,
                     {indices(m, where, depth), m.number(DType::i32, static_cast<double>(depth)),
                      m.number(DType::f32, 1), m.number(DType::f32, 0)},
                     attrs));
}

bool reshape(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 0, 5);
  std::int64_t left = *element_count(m.shape_of(x));
  Numbers sizes;
  for (std::int64_t parts = 1 + m.below(5); parts > 1; --parts) {
    std::int64_t factor = 1 + m.below(4);
    while (left % factor) --factor;
    sizes.push_back(factor), left /= factor;
  }
  sizes.push_back(m.chance(30) ? -1 : left);
  return made(m.emit(op, {x, m.integers(sizes)}));
}

bool resize(M& m, const std::string& op) {
  Attributes attrs;
  const std::int64_t mode = m.below(3);
  attrs.set("align_corners", mode == 1), attrs.set("half_pixel_centers", mode == 2);
  return made(m.emit(op, {m.operand(DType::f32, 4, 4), m.integers({m.size(9), m.size(9)})}, attrs));
}

bool reverse(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  return made(m.emit(op, {x, m.integers({m.below(static_cast<std::int64_t>(m.shape_of(x).size()))})}));
}

bool reverse_sequence(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 2, 4);
  Attributes attrs;
  attrs.set("seq_dim", std::int64_t{1}), attrs.set("batch_dim", std::int64_t{0});
  std::vector<double> lengths(at(m.shape_of(x)[0]));
  for (double& v : lengths) v = static_cast<double>(1 + m.below(m.shape_of(x)[1]));
  const ValueId list = m.constant(DType::i32, {m.shape_of(x)[0]}, lengths);
  return made(m.emit_as(op, {x, list}, attrs, {{DType::f32, m.shape_of(x), {}}}));
}

bool scatter_nd(M& m, const std::string& op) {
  const Shape shape = m.shape(1, 3);
  const std::int64_t n = m.size(6), depth = 1 + m.below(static_cast<std::int64_t>(shape.size()));
  Shape updates = {n};
  updates.insert(updates.end(), shape.begin() + depth, shape.end());
  const std::int64_t limit = *std::min_element(shape.begin(), shape.begin() + depth);
  return made(m.emit_as(op,
                        {indices(m, {n, depth}, limit), m.operand(DType::f32, updates), m.integers(shape)},
                        {}, {{DType::f32, shape, {}}}));
}

bool select(M& m, const std::string& op) {
  const ValueId a = m.operand(m.type(), 0, 4);
  const DType dtype = m.value(a).dtype;
  const bool broadcasts = op == "SELECT_V2";
  const ValueId condition =
      broadcasts ? m.partner(DType::boolean, m.shape_of(a)) : m.operand(DType::boolean, m.shape_of(a));
  const ValueId b = m.chance(15) ? a
                    : broadcasts ? m.partner(dtype, m.shape_of(a))
                                 : m.operand(dtype, m.shape_of(a));
  return made(m.emit(op, {condition, a, b}));
}

bool shape_of(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 0, 5);
  const auto rank = static_cast<std::int64_t>(m.shape_of(x).size());
  const Shape result = op == "RANK" ? Shape{} : Shape{rank};
  return made(m.emit_as(op, {x}, {}, {{DType::i32, result, {}}}));
}

bool slice(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  Numbers begin, size;
  for (const std::int64_t d : m.shape_of(x)) {
    begin.push_back(m.chance(50) ? 0 : m.below(d));
    size.push_back(m.chance(40) ? -1 : 1 + m.below(d - begin.back()));
  }
  const DType dtype = m.chance(90) ? DType::i32 : DType::i64;
  return made(m.emit(op, {x, m.integers(begin, dtype), m.integers(size, dtype)}));
}

bool strided_slice(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  Numbers begin, end, strides;
  const Shape shape = m.shape_of(x);
  Attributes attrs;
  for (std::size_t d = 0; d < shape.size() && (d == 0 || m.chance(85)); ++d) {
    begin.push_back(m.below(shape[d])), end.push_back(begin.back() + 1 + m.below(shape[d] - begin.back()));
    strides.push_back(m.chance(75) ? 1 : 2);
    if (m.chance(15)) {  // backwards
      std::swap(begin.back(), end.back());
      --begin.back(), strides.back() = -1;
      end.back() = end.back() == 0 ? -shape[d] - 1 : end.back() - 1;
    }
  }
  for (const char* mask : {"begin_mask", "end_mask"}) attrs.set(mask, m.below(1 << begin.size()));
  if (m.chance(30)) attrs.set("shrink_axis_mask", m.below(1 << begin.size()));
  if (m.chance(10))
    attrs.set("new_axis_mask", std::int64_t{1} << m.below(static_cast<std::int64_t>(begin.size())));
  return made(m.emit(op, {x, m.integers(begin), m.integers(end), m.integers(strides)}, attrs));
}

bool split(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 4);
  const std::int64_t axis = some_axis(m, m.shape_of(x));
  const std::int64_t size =
      m.shape_of(x)[at(axis < 0 ? axis + static_cast<std::int64_t>(m.shape_of(x).size()) : axis)];
  const ValueId where = m.number(DType::i32, static_cast<double>(axis));
  if (op == "SPLIT") {
    std::int64_t parts = 1 + m.below(4);
    while (size % parts) --parts;
    return made(m.emit(op, {where, x}, {}, at(parts)));
  }
  const std::int64_t first = 1 + m.below(size);
  Numbers sizes{first};
  if (first < size) sizes.push_back(m.chance(30) ? -1 : size - first);
  return made(m.emit(op, {x, m.integers(sizes), where}, {}, sizes.size()));
}

bool squeeze(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  Numbers dims;
  for (std::size_t d = 0; d < m.shape_of(x).size(); ++d)
    if (m.shape_of(x)[d] == 1 && m.chance(60)) dims.push_back(static_cast<std::int64_t>(d));
  Attributes attrs;
  attrs.set("squeeze_dims", dims);
  return made(m.emit(op, {x}, attrs));
}

bool tile(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  Numbers times;
  for (std::size_t d = 0; d < m.shape_of(x).size(); ++d) times.push_back(m.chance(60) ? 1 : 1 + m.below(3));
  return made(m.emit(op, {x, m.integers(times)}));
}

bool topk(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 1, 3);
  const std::int64_t k = 1 + m.below(m.shape_of(x).back());
  Shape shape = m.shape_of(x);
  shape.back() = k;
  return made(m.emit_as(op, {x, m.number(DType::i32, static_cast<double>(k))}, {},
                        {{DType::f32, shape, {}}, {DType::i32, shape, {}}}));
}

bool transpose(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 5);
  Numbers order(m.shape_of(x).size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[at(m.below(static_cast<std::int64_t>(i)))]);
  return made(m.emit(op, {x, m.integers(order)}));
}

bool unpack(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 1, 4);
  Attributes attrs;
  const std::int64_t axis = m.below(static_cast<std::int64_t>(m.shape_of(x).size()));
  attrs.set("axis", axis);
  return made(m.emit(op, {x}, attrs, at(m.shape_of(x)[at(axis)])));
}

bool zeros_like(M& m, const std::string& op) {
  const ValueId x = m.operand(m.chance(80) ? DType::f32 : DType::i32, 0, 5);
  return made(m.emit_as(op, {x}, {}, {{m.value(x).dtype, m.shape_of(x), {}}}));
}

bool update_slice(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 1, 4);
  Shape part = m.shape_of(x);
  Numbers start;
  for (auto& d : part) {
    const std::int64_t whole = d;
    d = 1 + m.below(d);
    start.push_back(m.below(whole - d + 1));
  }
  return made(m.emit_as(op, {x, m.operand(DType::f32, part), m.integers(start)}, {},
                        {{DType::f32, m.shape_of(x), {}}}));
}

bool matrix_diag(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 1, 3);
  Shape shape = m.shape_of(x);
  if (op == "MATRIX_DIAG") {
    shape.push_back(shape.back());
    return made(m.emit_as(op, {x}, {}, {{DType::f32, shape, {}}}));
  }
  if (shape.size() < 2) return false;
  Shape diagonal(shape.begin(), shape.end() - 1);
  diagonal.back() = std::min(shape.back(), shape[shape.size() - 2]);
  return made(m.emit_as(op, {x, m.operand(DType::f32, diagonal)}, {}, {{DType::f32, shape, {}}}));
}

constexpr MadeOperator makers[] = {{"BATCH_TO_SPACE_ND", batch_space},
                                   {"SPACE_TO_BATCH_ND", batch_space},
                                   {"BROADCAST_TO", broadcast_to},
                                   {"CONCATENATION", concat},
                                   {"PACK", pack},
                                   {"DEPTH_TO_SPACE", depth_space},
                                   {"SPACE_TO_DEPTH", depth_space},
                                   {"EXPAND_DIMS", expand_dims},
                                   {"FILL", fill},
                                   {"GATHER", gather},
                                   {"GATHER_ND", gather_nd},
                                   {"EMBEDDING_LOOKUP", embedding},
                                   {"PAD", pad},
                                   {"PADV2", pad},
                                   {"MIRROR_PAD", pad},
                                   {"ONE_HOT", one_hot},
                                   {"RESHAPE", reshape},
                                   {"RESIZE_BILINEAR", resize},
                                   {"RESIZE_NEAREST_NEIGHBOR", resize},
                                   {"REVERSE_V2", reverse},
                                   {"REVERSE_SEQUENCE", reverse_sequence},
                                   {"SCATTER_ND", scatter_nd},
                                   {"SELECT", select},
                                   {"SELECT_V2", select},
                                   {"SHAPE", shape_of},
                                   {"RANK", shape_of},
                                   {"SLICE", slice},
                                   {"STRIDED_SLICE", strided_slice},
                                   {"SPLIT", split},
                                   {"SPLIT_V", split},
                                   {"SQUEEZE", squeeze},
                                   {"TILE", tile},
                                   {"TOPK_V2", topk},
                                   {"TRANSPOSE", transpose},
                                   {"UNPACK", unpack},
                                   {"ZEROS_LIKE", zeros_like},
                                   {"DYNAMIC_UPDATE_SLICE", update_slice},
                                   {"MATRIX_DIAG", matrix_diag},
                                   {"MATRIX_SET_DIAG", matrix_diag}};

}  // namespace

std::span<const MadeOperator> moving_operators() { return makers; }

}  // namespace md::test

// Kernels of aten operators that read or write through indices.
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// What scatter makes of an element and one more source.
template <class T>
T combined(char kind, T a, T b) {
  if constexpr (std::is_integral_v<T>)
    if (kind == '*') return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  if (kind == '*') return a * b;
  if (kind == '>') return std::max(a, b);
  if (kind == '<') return std::min(a, b);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return a + b;
}

template <class T>
void scatter_numbers(std::vector<T>& out, const std::vector<T>& src,
                     const std::vector<std::pair<std::size_t, std::size_t>>& moves, char kind,
                     bool include_self) {
  std::vector<char> fresh(out.size(), include_self ? 0 : 1);
  for (const auto& [to, from] : moves) {
    out[to] = fresh[to] ? src[from] : combined(kind, out[to], src[from]);
    fresh[to] = 0;
  }
}

/// scatter_add and scatter_reduce of sum, prod, amax and amin.
Status scatter_add(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *index = c.operand("index"), *src = c.operand("src");
  if (!x || !index || !src || x->rank() != index->rank() || x->rank() != src->rank())
    return c.bad("operands that do not fit");
  const bool reduces = aten_base(call.node.op) == "aten.scatter_reduce";
  const std::string_view name = reduces ? c.attrs().text("reduce") : std::string_view("sum");
  const char kind = name == "sum"    ? '+'
                    : name == "prod" ? '*'
                    : name == "amax" ? '>'
                    : name == "amin" ? '<'
                                     : '?';
  if (kind == '?') return call.unsupported("of this reduction");
  const int dim = x->rank() ? c.dim("dim", x->rank()) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  for (std::size_t d = 0; d < index->shape.size(); ++d)
    if (index->shape[d] > src->shape[d] || (static_cast<int>(d) != dim && index->shape[d] > x->shape[d]))
      return c.bad("more indices than elements");
  const auto at = index->integers();
  const auto x_strides = strides_of(x->shape), s_strides = strides_of(src->shape);
  const std::int64_t size = x->shape[static_cast<std::size_t>(dim)];
  std::vector<std::pair<std::size_t, std::size_t>> moves;
  std::size_t k = 0;
  bool good = true;
  for_each_index(index->shape, [&](const std::vector<std::int64_t>& i) {
    const std::int64_t target = at[k++];
    if (target < 0 || target >= size) return void(good = false);
    std::int64_t to = 0, from = 0;
    for (std::size_t d = 0; d < i.size(); ++d)
      to += (static_cast<int>(d) == dim ? target : i[d]) * x_strides[d], from += i[d] * s_strides[d];
    moves.emplace_back(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
  });
  if (!good) return c.bad("an index outside the tensor");
  const bool include_self = !reduces || c.attrs().flag("include_self", true);
  if (x->is_float()) {
    auto out = x->numbers();
    scatter_numbers(out, src->numbers(), moves, kind, include_self);
    return c.give(x->shape, out);
  }
  auto out = x->integers();
  scatter_numbers(out, src->integers(), moves, kind, include_self);
  return c.give_integers(x->shape, out);
}

/// Index tensors, one an axis; a boolean mask names the coordinates of its marked elements. Absent: the whole
/// axis.
struct Indices {
  std::vector<std::optional<Tensor>> axes;
  bool masked = false;
};

std::optional<Indices> indices_of(const Tensor& x, const std::vector<const Tensor*>& list) {
  Indices out;
  for (const Tensor* index : list) {
    if (!index) {
      out.axes.emplace_back();
      continue;
    }
    if (index->dtype != DType::boolean) {
      out.axes.emplace_back(*index);
      continue;
    }
    out.masked = true;
    const std::size_t first = out.axes.size();
    if (first + index->shape.size() > x.shape.size() || index->shape.empty() ||
        !std::equal(index->shape.begin(), index->shape.end(),
                    x.shape.begin() + static_cast<std::ptrdiff_t>(first)))
      return std::nullopt;
    const auto marks = index->integers();
    std::vector<std::vector<std::int64_t>> coordinates(index->shape.size());
    std::size_t k = 0;
    for_each_index(index->shape, [&](const std::vector<std::int64_t>& at) {
      if (!marks[k++]) return;
      for (std::size_t d = 0; d < at.size(); ++d) coordinates[d].push_back(at[d]);
    });
    for (const auto& c : coordinates)
      out.axes.emplace_back(Tensor::of_integers(DType::i64, {static_cast<std::int64_t>(c.size())}, c));
  }
  if (out.axes.size() > x.shape.size()) return std::nullopt;
  out.axes.resize(x.shape.size());
  return out;
}

/// Flat positions in x of the elements that the indices name, in the order of the result. The indexed axes
/// take one place when they are neighbours, else they come first.
std::optional<std::vector<std::int64_t>> places_of(const Tensor& x, const Indices& indices, Shape& result) {
  std::vector<std::size_t> used;
  std::vector<Shape> shapes;
  for (std::size_t d = 0; d < indices.axes.size(); ++d)
    if (indices.axes[d]) used.push_back(d), shapes.push_back(indices.axes[d]->shape);
  if (used.empty()) return std::nullopt;
  const auto common = aten_broadcast(shapes);
  if (!common) return std::nullopt;
  const bool neighbours = used.back() - used.front() + 1 == used.size();
  const std::size_t front = neighbours ? used.front() : 0;
  result.clear();
  std::vector<std::size_t> plain;  // axes that are kept whole, in order
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (!indices.axes[d]) plain.push_back(d);
  for (std::size_t d = 0; d < front; ++d) result.push_back(x.shape[d]);
  result.insert(result.end(), common->begin(), common->end());
  for (std::size_t p = front; p < plain.size(); ++p) result.push_back(x.shape[plain[p]]);
  const auto strides = strides_of(x.shape), turns = strides_of(*common);
  std::vector<std::vector<std::int64_t>> numbers;
  for (const std::size_t d : used) {
    const auto from = broadcast_positions(indices.axes[d]->shape, *common);
    const auto raw = indices.axes[d]->integers();
    std::vector<std::int64_t> column;
    for (const std::int64_t f : from) {
      std::int64_t n = raw[static_cast<std::size_t>(f)];
      if (n < 0) n += x.shape[d];
      if (n < 0 || n >= x.shape[d]) return std::nullopt;
      column.push_back(n);
    }
    numbers.push_back(std::move(column));
  }
  std::vector<std::int64_t> places;
  for_each_index(result, [&](const std::vector<std::int64_t>& at) {
    std::int64_t row = 0, place = 0;
    for (std::size_t d = 0; d < common->size(); ++d) row += at[front + d] * turns[d];
    for (std::size_t u = 0; u < used.size(); ++u)
      place += numbers[u][static_cast<std::size_t>(row)] * strides[used[u]];
    for (std::size_t p = 0; p < plain.size(); ++p)
      place += at[p < front ? p : p + common->size()] * strides[plain[p]];
    places.push_back(place);
  });
  return places;
}

Status index(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  Shape shape;
  const auto indices = x ? indices_of(*x, c.operands("indices")) : std::nullopt;
  const auto from = indices ? places_of(*x, *indices, shape) : std::nullopt;
  if (!from) return call.unsupported("with these indices");
  const Shape& expected = call.out_value().shape;
  if (indices->masked && !expected.empty() && expected[0] >= 0 && !shape.empty() && expected[0] != shape[0])
    return c.bad("a mask with another number of marks than the program asserts");
  return c.move(*x, shape, *from);
}

Status index_put(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *values = c.operand("values");
  Shape shape;
  const auto indices = x ? indices_of(*x, c.operands("indices")) : std::nullopt;
  const auto places = indices && values ? places_of(*x, *indices, shape) : std::nullopt;
  if (!places || x->lanes() != 1) return call.unsupported("with these operands");
  const auto fits = aten_broadcast({values->shape, shape});
  if (!fits || *fits != shape) return c.bad("values that do not fit the marked rows");
  const auto from = broadcast_positions(values->shape, shape);
  const bool adds = c.attrs().flag("accumulate");
  if (!x->is_float()) {
    auto out = x->integers();
    const auto written = values->integers();
    for (std::size_t k = 0; k < places->size(); ++k) {
      std::int64_t& to = out[static_cast<std::size_t>((*places)[k])];
      to = written[static_cast<std::size_t>(from[k])] + (adds ? to : 0);
    }
    return c.give_integers(x->shape, out);
  }
  std::vector<double> out = x->numbers();
  const auto written = values->numbers();
  for (std::size_t k = 0; k < places->size(); ++k) {
    double& to = out[static_cast<std::size_t>((*places)[k])];
    to = written[static_cast<std::size_t>(from[k])] + (adds ? to : 0);
  }
  return c.give(x->shape, out);
}

Status index_select(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *which = c.operand("index");
  const int dim = x && x->rank() ? c.dim("dim", x->rank()) : -1;
  if (!which || dim < 0) return c.bad("operands that do not fit");
  const auto rows = which->integers();
  Shape out = x->shape;
  out[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(rows.size());
  const auto strides = strides_of(x->shape);
  std::vector<std::int64_t> from;
  bool good = true;
  for_each_index(out, [&](const std::vector<std::int64_t>& i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < i.size(); ++d) {
      const std::int64_t place = static_cast<int>(d) == dim ? rows[static_cast<std::size_t>(i[d])] : i[d];
      good = good && place >= 0 && place < x->shape[d];
      at += place * strides[d];
    }
    from.push_back(at);
  });
  // Marks past the last row of values: the original would have refused such a mask.
  if (!good) return c.bad("an index outside the tensor");
  return c.move(*x, out, from);
}

constexpr KernelEntry entries[] = {
    {"aten.scatter_add.default", scatter_add},
    {"aten.scatter_add_.default", scatter_add},
    {"aten.scatter_reduce.two", scatter_add},
    {"aten.scatter_reduce_.two", scatter_add},
    {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put},
    {"aten.index_put_.default", index_put},
    {"aten.index_select.default", index_select},
};

}  // namespace

std::span<const KernelEntry> aten_index_kernels() { return entries; }

}  // namespace md

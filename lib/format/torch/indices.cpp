#include "lib/format/torch/indices.h"

#include "lib/format/torch/call.h"

namespace md {

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

std::optional<std::vector<std::int64_t>> places_of(const Tensor& x, const Indices& indices, Shape& result) {
  std::vector<std::size_t> used;
  std::vector<Shape> shapes;
  for (std::size_t d = 0; d < indices.axes.size(); ++d)
    if (indices.axes[d]) used.push_back(d), shapes.push_back(indices.axes[d]->shape);
  if (used.empty()) return std::nullopt;
  const auto common = broadcast_shapes(shapes);
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

Result<std::vector<std::int64_t>> element_places(KernelCall& call, const Tensor& x, const Tensor& index,
                                                 int dim) {
  if (dim < 0 || index.is_float()) return call.bad("an axis outside the tensor");
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (static_cast<int>(d) != dim && index.shape[d] > x.shape[d])
      return call.bad("more indices than elements");
  const auto which = index.integers();
  const auto strides = strides_of(x.shape);
  const std::int64_t size = x.shape[static_cast<std::size_t>(dim)];
  std::vector<std::int64_t> places;
  places.reserve(which.size());
  bool good = true;
  for_each_index(index.shape, [&](const std::vector<std::int64_t>& at) {
    const std::int64_t target = which[places.size()];
    good = good && target >= 0 && target < size;
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      place += (static_cast<int>(d) == dim ? target : at[d]) * strides[d];
    places.push_back(place);
  });
  if (!good) return call.bad("an index outside the tensor");
  return places;
}

}  // namespace md

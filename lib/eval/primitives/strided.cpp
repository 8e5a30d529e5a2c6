#include "lib/eval/primitives/strided.h"

#include <cstring>

namespace md {
namespace {

struct Row {
  Shape dims;                       // outer
  std::vector<std::int64_t> steps;  // outer
  std::int64_t inner = 1, inner_step = 1;
  bool empty = false;
};

/// Merges neighbouring dimensions that one step walks.
Row merged(const View& view) {
  Row row;
  Shape dims;
  std::vector<std::int64_t> steps;
  for (std::size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 0) row.empty = true;
    if (view.dims[d] == 1) continue;
    if (!dims.empty() && steps.back() == view.steps[d] * view.dims[d]) {
      dims.back() *= view.dims[d];
      steps.back() = view.steps[d];
    } else {
      dims.push_back(view.dims[d]);
      steps.push_back(view.steps[d]);
    }
  }
  if (!dims.empty()) {
    row.inner = dims.back(), row.inner_step = steps.back();
    dims.pop_back(), steps.pop_back();
  }
  row.dims = std::move(dims), row.steps = std::move(steps);
  return row;
}

/// f(offset of the row in the view, offset in the row-major block)
template <class F>
void each_row(const View& view, const Row& row, F&& f) {
  if (row.empty) return;
  std::vector<std::int64_t> index(row.dims.size(), 0);
  std::int64_t at = view.base, block = 0;
  for (;;) {
    f(at, block);
    block += row.inner;
    std::size_t d = row.dims.size();
    for (;;) {
      if (d == 0) return;
      --d;
      at += row.steps[d];
      if (++index[d] < row.dims[d]) break;
      at -= row.steps[d] * row.dims[d];
      index[d] = 0;
    }
  }
}

struct Wide {
  std::uint64_t a, b;
};

template <class T>
void read_rows(const std::byte* from, const View& view, std::byte* to) {
  const Row row = merged(view);
  each_row(view, row, [&](std::int64_t at, std::int64_t block) {
    const std::byte* in = from + at * static_cast<std::int64_t>(sizeof(T));
    std::byte* out = to + block * static_cast<std::int64_t>(sizeof(T));
    if (row.inner_step == 1) {
      std::memcpy(out, in, static_cast<std::size_t>(row.inner) * sizeof(T));
      return;
    }
    for (std::int64_t i = 0; i < row.inner; ++i)
      std::memcpy(out + i * static_cast<std::int64_t>(sizeof(T)),
                  in + i * row.inner_step * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  });
}

template <class T>
void write_rows(const std::byte* from, std::byte* to, const View& view) {
  const Row row = merged(view);
  each_row(view, row, [&](std::int64_t at, std::int64_t block) {
    std::byte* out = to + at * static_cast<std::int64_t>(sizeof(T));
    const std::byte* in = from + block * static_cast<std::int64_t>(sizeof(T));
    if (row.inner_step == 1) {
      std::memcpy(out, in, static_cast<std::size_t>(row.inner) * sizeof(T));
      return;
    }
    for (std::int64_t i = 0; i < row.inner; ++i)
      std::memcpy(out + i * row.inner_step * static_cast<std::int64_t>(sizeof(T)),
                  in + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  });
}

}  // namespace

View whole(const Shape& shape) { return {0, shape, strides_of(shape)}; }

void read_view(const Tensor& from, const View& view, Tensor& to) {
  switch (from.element_bytes()) {
    case 1:
      return read_rows<std::uint8_t>(from.raw(), view, to.mutable_raw());
    case 2:
      return read_rows<std::uint16_t>(from.raw(), view, to.mutable_raw());
    case 4:
      return read_rows<std::uint32_t>(from.raw(), view, to.mutable_raw());
    case 8:
      return read_rows<std::uint64_t>(from.raw(), view, to.mutable_raw());
    default:
      return read_rows<Wide>(from.raw(), view, to.mutable_raw());
  }
}

void write_view(const Tensor& from, Tensor& to, const View& view) {
  switch (from.element_bytes()) {
    case 1:
      return write_rows<std::uint8_t>(from.raw(), to.mutable_raw(), view);
    case 2:
      return write_rows<std::uint16_t>(from.raw(), to.mutable_raw(), view);
    case 4:
      return write_rows<std::uint32_t>(from.raw(), to.mutable_raw(), view);
    case 8:
      return write_rows<std::uint64_t>(from.raw(), to.mutable_raw(), view);
    default:
      return write_rows<Wide>(from.raw(), to.mutable_raw(), view);
  }
}

void fill(Tensor& to, const std::byte* value) {
  const std::size_t n = to.element_bytes();
  std::byte* out = to.mutable_raw();
  for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(out + i * n, value, n);
}

std::optional<std::vector<std::int64_t>> index_operand(const KernelCall& call, std::size_t i) {
  if (!call.has(i) || call.in(i).is_float()) return std::nullopt;
  return call.in(i).integers();
}

Result<Tensor> moved_output(KernelCall& call, std::size_t i, const Tensor& source, Shape shape) {
  auto out = call.make_output(i, std::move(shape));
  if (out && out->element_bytes() != source.element_bytes())
    return call.bad(fmt::format("moves {} into {}", name(source.dtype), name(out->dtype)));
  return out;
}

}  // namespace md

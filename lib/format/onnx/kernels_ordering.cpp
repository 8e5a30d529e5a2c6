// Kernels of operators along axes: softmax and its kin, sorting, picking the best.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/softmax.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

/// Before opset 13 all dimensions from the axis on are one row, from then on the axis alone.
Result<AxisRows> rows_of(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return tl::make_unexpected(ok.error());
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  const bool old = call.node.version < 13;
  if (x.rank() == 0) return AxisRows{};
  std::int64_t number = call.attrs().integer("axis", old ? 1 : -1);
  if (old && number == x.rank()) return AxisRows{x.size(), 1, 1};
  const auto axis = normal_axis(number, x.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  AxisRows rows = rows_along(x.shape, *axis);
  if (old) rows.length *= rows.inner, rows.inner = 1;
  return rows;
}

/// f(row in, row out, length) of neighbouring elements.
template <class F>
Status by_rows(KernelCall& call, F&& f) {
  const auto rows = rows_of(call);
  if (!rows) return tl::make_unexpected(rows.error());
  const Tensor& x = call.in(0);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      if (x.size() == 0) return;
      std::vector<T> in(rows->length), out(rows->length);
      each_row_along(*rows, [&](std::size_t, std::size_t first) {
        for (std::size_t k = 0; k < rows->length; ++k) in[k] = from[first + k * rows->inner];
        f(in.data(), out.data(), rows->length);
        for (std::size_t k = 0; k < rows->length; ++k) to[first + k * rows->inner] = out[k];
      });
    });
  });
}

Status softmax(KernelCall& call) {
  return by_rows(call, [](auto* in, auto* out, std::size_t n) {
    softmax_row(in, out, n, std::remove_pointer_t<decltype(out)>(1), false);
  });
}
Status log_softmax(KernelCall& call) {
  return by_rows(call, [](auto* in, auto* out, std::size_t n) {
    softmax_row(in, out, n, std::remove_pointer_t<decltype(out)>(1), true);
  });
}
Status hardmax(KernelCall& call) {
  return by_rows(call, [](auto* in, auto* out, std::size_t n) {
    using T = std::remove_pointer_t<decltype(out)>;
    const auto best = static_cast<std::size_t>(std::max_element(in, in + n) - in);
    for (std::size_t i = 0; i < n; ++i) out[i] = i == best ? T(1) : T(0);
  });
}

/// Larger (or smaller) before, NaN before everything; equal elements keep their order.
template <class T>
bool before(T a, T b, bool largest) {
  if (a != a || b != b) return a != a && !(b != b);
  return largest ? a > b : a < b;
}

Status topk(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axis = normal_axis(call.attrs().integer("axis", -1), x.shape.size());
  const auto wanted =
      call.node.version < 10 ? std::optional<double>(call.attrs().number("k")) : onnx::number_of(call, 1);
  if (!axis || x.lanes() != 1) return call.bad("an axis outside the tensor");
  const std::int64_t n = x.shape[*axis];
  if (!wanted || *wanted < 0 || *wanted > static_cast<double>(n))
    return call.bad(fmt::format("k is not 0 to {}", n));
  const auto k = static_cast<std::size_t>(*wanted);
  const bool largest = call.attrs().flag("largest", true);
  Shape shape = x.shape;
  shape[*axis] = static_cast<std::int64_t>(k);
  const AxisRows rows = rows_along(x.shape, *axis);
  Numbers places(rows.count() * k), values_from(rows.count() * k);
  with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<std::size_t> order(rows.length);
    for (std::size_t o = 0; o < rows.outer; ++o)
      for (std::size_t i = 0; i < rows.inner; ++i) {
        const std::size_t first = rows.first(o, i);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
          return before(from[first + a * rows.inner], from[first + b * rows.inner], largest);
        });
        for (std::size_t j = 0; j < k; ++j) {
          const std::size_t to = (o * k + j) * rows.inner + i;
          places[to] = static_cast<std::int64_t>(order[j]);
          values_from[to] = static_cast<std::int64_t>(first + order[j] * rows.inner);
        }
      }
  });
  if (onnx::wants(call, 0))
    if (auto ok = onnx::give_moved(call, 0, x, shape, values_from); !ok) return ok;
  return onnx::wants(call, 1) ? onnx::give_integers(call, 1, shape, places) : Status{};
}

/// Slices along an axis (or elements) that differ, with where each first is, what each slice became, and how
/// many there are.
Status unique(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const AttrValue* given = call.attrs().find("axis");
  const bool flat = !given || !std::holds_alternative<std::int64_t>(*given);
  const Tensor x = flat ? call.in(0).reshaped({static_cast<std::int64_t>(call.in(0).size())}) : call.in(0);
  const auto axis =
      flat ? std::optional<std::size_t>(0) : normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis || x.lanes() != 1) return call.bad("an axis outside the tensor");
  const AxisRows rows = rows_along(x.shape, *axis);
  const auto slice = [&](std::size_t k) {
    std::vector<double> numbers;
    for (std::size_t o = 0; o < rows.outer; ++o)
      for (std::size_t i = 0; i < rows.inner; ++i)
        numbers.push_back(x.number((o * rows.length + k) * rows.inner + i));
    return numbers;
  };
  std::vector<std::vector<double>> slices;
  for (std::size_t k = 0; k < rows.length; ++k) slices.push_back(slice(k));
  std::vector<std::size_t> order(rows.length);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slices[a] < slices[b]; });
  Numbers first, inverse(rows.length, 0), counts;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || slices[order[k]] != slices[order[k - 1]])
      first.push_back(static_cast<std::int64_t>(order[k])), counts.push_back(0);
    inverse[order[k]] = static_cast<std::int64_t>(first.size()) - 1;
    ++counts.back();
  }
  if (!call.attrs().flag("sorted", true)) {  // in the order in which they come
    std::vector<std::size_t> by_place(first.size());
    std::iota(by_place.begin(), by_place.end(), 0);
    std::sort(by_place.begin(), by_place.end(),
              [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
    Numbers new_first, new_counts, rank(first.size());
    for (std::size_t k = 0; k < by_place.size(); ++k) {
      new_first.push_back(first[by_place[k]]), new_counts.push_back(counts[by_place[k]]);
      rank[by_place[k]] = static_cast<std::int64_t>(k);
    }
    for (std::int64_t& i : inverse) i = rank[at(i)];
    first = std::move(new_first), counts = std::move(new_counts);
  }
  Shape shape = x.shape;
  shape[*axis] = static_cast<std::int64_t>(first.size());
  const auto strides = strides_of(x.shape);
  Numbers from;
  for_each_index(shape, [&](const Numbers& index) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      p += strides[d] * (d == *axis ? first[at(index[d])] : index[d]);
    from.push_back(p);
  });
  if (auto ok = onnx::give_moved(call, 0, x, shape, from); !ok) return ok;
  const auto n = static_cast<std::int64_t>(first.size());
  if (onnx::wants(call, 1))
    if (auto ok = onnx::give_integers(call, 1, {n}, first); !ok) return ok;
  if (onnx::wants(call, 2))
    if (auto ok = onnx::give_integers(call, 2, {static_cast<std::int64_t>(inverse.size())}, inverse); !ok)
      return ok;
  return onnx::wants(call, 3) ? onnx::give_integers(call, 3, {n}, counts) : Status{};
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

Box box_of(const Tensor& boxes, std::size_t first, bool centered) {
  const double a = boxes.number(first), b = boxes.number(first + 1), c = boxes.number(first + 2),
               d = boxes.number(first + 3);
  if (centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};  // x and y of the center, width, height
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

double overlap(const Box& a, const Box& b) {
  const double h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
               w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (h <= 0 || w <= 0) return 0;
  const double both = h * w, all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

Status non_max_suppression(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &boxes = call.in(0), &scores = call.in(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    return call.bad("boxes and scores that do not fit");
  const double most = onnx::number_of(call, 2).value_or(0), iou = onnx::number_of(call, 3).value_or(0);
  const auto least = onnx::number_of(call, 4);
  const bool centered = call.attrs().flag("center_point_box");
  const auto count = at(boxes.shape[1]);
  Numbers out;
  for (std::int64_t batch = 0; batch < scores.shape[0]; ++batch)
    for (std::int64_t c = 0; c < scores.shape[1]; ++c) {
      const std::size_t row = at(batch * scores.shape[1] + c) * count;
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < count; ++i)
        if (!least || scores.number(row + i) > *least) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return scores.number(row + a) > scores.number(row + b);
      });
      std::vector<Box> kept;
      for (const std::size_t i : order) {
        if (static_cast<double>(kept.size()) >= most) break;
        const Box box = box_of(boxes, (at(batch) * count + i) * 4, centered);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& other) { return overlap(box, other) > iou; }))
          continue;
        kept.push_back(box);
        out.insert(out.end(), {batch, c, static_cast<std::int64_t>(i)});
      }
    }
  return onnx::give_integers(call, 0, {static_cast<std::int64_t>(out.size()) / 3, 3}, out);
}

constexpr KernelEntry entries[] = {
    {"Hardmax", hardmax},
    {"LogSoftmax", log_softmax},
    {"NonMaxSuppression", non_max_suppression},
    {"Softmax", softmax},
    {"TopK", topk},
    {"Unique", unique},
};

}  // namespace

std::span<const KernelEntry> onnx_ordering_kernels() { return entries; }

}  // namespace md

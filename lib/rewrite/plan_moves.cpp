// Rebuilds a strided view from slices, transposes and tiles of rank 4 at most.
#include <algorithm>
#include <map>
#include <numeric>

#include "lib/graph/strided_view.h"

namespace md {

namespace {

using Order = std::vector<int>;

/// One axis of the source as the view needs it split: all `full` of it, or `size` from `begin` on.
struct Cut {
  std::int64_t full = 1, begin = 0, size = 1;
  bool whole() const { return size == full; }
};

std::int64_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Builds the list of steps, leaving out what changes nothing.
class StepList {
 public:
  explicit StepList(Shape source) : shape_(std::move(source)) {}
  const Shape& shape() const { return shape_; }

  void reshape(const Shape& shape) {
    if (shape == shape_) return;
    if (!steps_.empty() && steps_.back().kind == MoveStep::Kind::reshape) {
      steps_.pop_back();
      shape_ = steps_.empty() ? source_before_ : steps_.back().shape;
      if (shape == shape_) return;
    } else if (steps_.empty()) {
      source_before_ = shape_;
    }
    add(MoveStep::Kind::reshape, shape, {});
  }
  void add(MoveStep::Kind kind, Shape shape, std::vector<std::int64_t> numbers) {
    shape_ = shape;
    steps_.push_back({kind, std::move(shape), std::move(numbers)});
  }
  std::vector<MoveStep> take() { return std::move(steps_); }

 private:
  std::vector<MoveStep> steps_;
  Shape shape_, source_before_;
};

/// The source's axes from the strides of the view's digits, outermost first; nullopt when they do not nest.
std::optional<std::vector<Cut>> cuts_of(const std::vector<Digit>& sorted, std::int64_t offset,
                                        std::int64_t total) {
  std::vector<Cut> cuts;
  std::int64_t span = total;
  for (const Digit& d : sorted) {
    if (span % d.stride != 0) return std::nullopt;
    const Cut cut{span / d.stride, offset / d.stride, d.size};
    if (cut.begin + cut.size > cut.full) return std::nullopt;
    cuts.push_back(cut);
    offset %= d.stride;
    span = d.stride;
  }
  if (span > 1) cuts.push_back({span, offset, 1});
  return cuts;
}

/// The same box of elements as ranges along the axes of `shape`; nullopt when it is not a box there.
std::optional<std::vector<Cut>> along(const Shape& shape, const std::vector<Cut>& cuts) {
  std::vector<Cut> rest(cuts.rbegin(), cuts.rend());
  std::vector<Cut> result;
  for (const std::int64_t dim : shape) {
    Cut axis;
    while (axis.full < dim) {
      if (rest.empty()) return std::nullopt;
      Cut c = rest.back();
      rest.pop_back();
      const std::int64_t need = dim / axis.full;
      if (dim % axis.full != 0) return std::nullopt;
      if (c.full > need) {  // split it: the outer part belongs to this axis
        if (c.full % need != 0) return std::nullopt;
        const std::int64_t inner = c.full / need;
        if (c.begin % inner == 0 && c.size % inner == 0) {
          rest.push_back({inner, 0, inner});
          c = {need, c.begin / inner, c.size / inner};
        } else if (c.begin / inner == (c.begin + c.size - 1) / inner) {
          rest.push_back({inner, c.begin % inner, c.size});
          c = {need, c.begin / inner, 1};
        } else {
          return std::nullopt;
        }
      }
      if (axis.full > 1 && axis.size > 1 && !c.whole()) return std::nullopt;  // not one range
      axis = {axis.full * c.full, axis.begin * c.full + c.begin, axis.size * c.size};
    }
    result.push_back(axis);
  }
  return result;
}

/// Neighbouring axes that can be cut as one, joined.
std::vector<Cut> joined(const std::vector<Cut>& cuts) {
  std::vector<Cut> result;
  for (const Cut& c : cuts) {
    if (!result.empty() && (c.whole() || result.back().size == 1)) {
      Cut& last = result.back();
      last = {last.full * c.full, last.begin * c.full + c.begin, last.size * c.size};
    } else {
      result.push_back(c);
    }
  }
  return result;
}

void add_slice(StepList& steps, const std::vector<Cut>& axes) {
  Shape size;
  std::vector<std::int64_t> begin;
  for (const Cut& c : axes) size.push_back(c.size), begin.push_back(c.begin);
  steps.add(MoveStep::Kind::slice, size, begin);
}

/// Cuts the box out of the source: in the source's own shape where it is a box there, else in a shape that
/// has the cut axes as axes of their own, several of them one after the other when there are more than fit.
void plan_slices(StepList& steps, const std::vector<Cut>& cuts) {
  if (std::all_of(cuts.begin(), cuts.end(), [](const Cut& c) { return c.whole(); })) return;
  if (steps.shape().size() >= 3 && steps.shape().size() <= 4)
    if (const auto own = along(steps.shape(), cuts)) return add_slice(steps, *own);
  std::vector<Cut> axes = joined(cuts);
  while (std::any_of(axes.begin(), axes.end(), [](const Cut& c) { return !c.whole(); })) {
    // The last four axes are cut now, everything before them is one axis for now.
    const std::size_t from = axes.size() > 4 ? axes.size() - 3 : 0;
    std::vector<Cut> now;
    std::int64_t before = 1;
    for (std::size_t i = 0; i < from; ++i) before *= axes[i].full;
    if (from > 0) now.push_back({before, 0, before});
    now.insert(now.end(), axes.begin() + static_cast<std::ptrdiff_t>(from), axes.end());
    while (now.size() < 4) now.insert(now.begin(), Cut{});
    Shape full;
    for (const Cut& c : now) full.push_back(c.full);
    steps.reshape(full);
    add_slice(steps, now);
    std::int64_t inner = 1;
    for (std::size_t i = from; i < axes.size(); ++i) inner *= axes[i].size;
    axes.resize(from);
    axes.push_back({inner, 0, inner});
    axes = joined(axes);
  }
}

/// Every way to permute a sequence of `n` groups by cutting it into four runs and reordering these.
std::vector<Order> single_moves(int n) {
  std::map<Order, bool> seen;
  std::vector<Order> moves;
  for (int a = 0; a <= n; ++a)
    for (int b = a; b <= n; ++b)
      for (int c = b; c <= n; ++c) {
        const int start[] = {0, a, b, c, n};
        Order runs{0, 1, 2, 3};
        do {
          Order order;
          for (const int run : runs)
            for (int i = start[run]; i < start[run + 1]; ++i) order.push_back(i);
          if (!seen[order]) moves.push_back(order);
          seen[order] = true;
        } while (std::next_permutation(runs.begin(), runs.end()));
      }
  return moves;
}

/// The fewest moves found whose product is `wanted`: one, two, or else one block at a time.
std::vector<Order> moves_for(const Order& wanted) {
  const int n = static_cast<int>(wanted.size());
  const auto after = [](const Order& first, const Order& second) {
    Order order;
    for (const int i : second) order.push_back(first[static_cast<std::size_t>(i)]);
    return order;
  };
  const auto moves = single_moves(n);
  std::map<Order, Order> reach;
  for (const Order& m : moves) {
    if (m == wanted) return {m};
    reach.emplace(m, m);
  }
  // first * second = wanted: second is known once first is, and must be a single move itself.
  for (const Order& first : moves) {
    Order second;
    for (const int i : wanted)
      second.push_back(static_cast<int>(std::find(first.begin(), first.end(), i) - first.begin()));
    if (reach.count(second) != 0) return {first, second};
  }
  std::vector<Order> result;
  Order now(wanted.size());
  std::iota(now.begin(), now.end(), 0);
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    const auto from =
        static_cast<std::size_t>(std::find(now.begin(), now.end(), wanted[place]) - now.begin());
    if (from == place) continue;
    Order move(wanted.size());
    std::iota(move.begin(), move.end(), 0);
    std::rotate(move.begin() + static_cast<std::ptrdiff_t>(place),
                move.begin() + static_cast<std::ptrdiff_t>(from),
                move.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    result.push_back(move);
    now = after(now, move);
  }
  return result;
}

/// Appends one transposition, with neighbours that stay together merged and leading ones up to rank 4.
void add_transpose(StepList& steps, const Shape& sizes, const Order& order) {
  std::vector<std::pair<int, int>> runs;  // first group and length, in the order of the result
  for (const int i : order) {
    if (!runs.empty() && runs.back().first + runs.back().second == i)
      ++runs.back().second;
    else
      runs.push_back({i, 1});
  }
  std::vector<std::pair<int, int>> before = runs;
  std::sort(before.begin(), before.end());
  const std::size_t lead = runs.size() < 4 ? 4 - runs.size() : 0;
  Shape from(lead, 1), to(lead, 1);
  std::vector<std::int64_t> permutation(lead);
  std::iota(permutation.begin(), permutation.end(), std::int64_t{0});
  const auto size_of = [&](const std::pair<int, int>& run) {
    return std::accumulate(sizes.begin() + run.first, sizes.begin() + run.first + run.second, std::int64_t{1},
                           std::multiplies<>());
  };
  for (const auto& run : before) from.push_back(size_of(run));
  for (const auto& run : runs) {
    to.push_back(size_of(run));
    permutation.push_back(static_cast<std::int64_t>(lead) +
                          (std::find(before.begin(), before.end(), run) - before.begin()));
  }
  steps.reshape(from);
  steps.add(MoveStep::Kind::transpose, to, permutation);
}

/// `sizes` in the order of the source; `order[k]` is which of them comes at place k of the view.
void plan_transposes(StepList& steps, const Shape& sizes, const Order& order) {
  // Groups: runs that stay together are one.
  Shape group_sizes;
  std::vector<int> starts;
  for (std::size_t k = 0; k < order.size(); ++k)
    if (k == 0 || order[k] != order[k - 1] + 1) starts.push_back(order[k]);
  Order sorted = starts;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t g = 0; g < sorted.size(); ++g) {
    const int end = g + 1 < sorted.size() ? sorted[g + 1] : static_cast<int>(sizes.size());
    std::int64_t size = 1;
    for (int i = sorted[g]; i < end; ++i) size *= sizes[static_cast<std::size_t>(i)];
    group_sizes.push_back(size);
  }
  if (starts.size() < 2) return;
  Order wanted;
  for (const int start : starts)
    wanted.push_back(static_cast<int>(std::find(sorted.begin(), sorted.end(), start) - sorted.begin()));
  for (const Order& move : moves_for(wanted)) {
    add_transpose(steps, group_sizes, move);
    Shape next;
    for (const int i : move) next.push_back(group_sizes[static_cast<std::size_t>(i)]);
    group_sizes = next;
  }
}

/// What a TILE repeats: axis i, `repeat[i]` times.
struct Repeats {
  Shape axes{1};
  std::vector<std::int64_t> repeat{1};

  void pad_to_4() {
    while (axes.size() < 4) axes.insert(axes.begin(), 1), repeat.insert(repeat.begin(), 1);
  }
  Shape repeated() const {
    Shape shape = axes;
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] *= repeat[i];
    return shape;
  }
  /// One huge axis is slow to read as channels: the last one is split as `result` is. `through`: also when
  /// that leaves an axis of size 1 that is repeated.
  void split_as(const Shape& result, bool through) {
    const std::size_t outer = axes.size() - 1;  // what is left of the last axis
    for (auto dim = result.rbegin(); dim != result.rend() && axes.size() < 4; ++dim) {
      if (*dim == 1) continue;
      if (axes[outer] % *dim != 0 || (axes[outer] == *dim && (repeat[outer] == 1 || !through))) break;
      axes[outer] /= *dim;
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(outer) + 1, *dim);
      repeat.insert(repeat.begin() + static_cast<std::ptrdiff_t>(outer) + 1, 1);
    }
  }
};

/// A digit of stride 0 repeats all that comes after it.
Repeats repeats_of(const std::vector<Digit>& digits) {
  Repeats result;
  for (const Digit& d : digits) {
    if (d.stride != 0) {
      result.axes.back() *= d.size;
    } else if (result.axes.back() == 1) {
      result.repeat.back() *= d.size;  // nothing between two repeats: one
    } else {
      result.axes.push_back(1);
      result.repeat.push_back(d.size);
    }
  }
  return result;
}

/// `digits` are those of the view in order.
void plan_tiles(StepList& steps, const std::vector<Digit>& digits, const Shape& result) {
  Repeats all = repeats_of(digits);
  while (std::any_of(all.repeat.begin(), all.repeat.end(), [](std::int64_t r) { return r > 1; })) {
    // Innermost first, the last axes at once; everything before them is one axis for now.
    const std::size_t from = all.axes.size() > 4 ? all.axes.size() - 3 : 0;
    const auto cut = static_cast<std::ptrdiff_t>(from);
    Repeats now{Shape(all.axes.begin() + cut, all.axes.end()), {all.repeat.begin() + cut, all.repeat.end()}};
    if (from > 0) {
      now.axes.insert(now.axes.begin(), count(Shape(all.axes.begin(), all.axes.begin() + cut)));
      now.repeat.insert(now.repeat.begin(), 1);
    }
    Repeats other = now;
    now.split_as(result, false), other.split_as(result, true);
    now.pad_to_4(), other.pad_to_4();
    const auto reshapes = [&](const Repeats& r) {
      return (r.axes != steps.shape()) + (r.repeated() != result);
    };
    if (reshapes(other) < reshapes(now)) now = other;
    steps.reshape(now.axes);
    steps.add(MoveStep::Kind::tile, now.repeated(), now.repeat);
    std::int64_t inner = 1;
    for (std::size_t i = from; i < all.axes.size(); ++i) inner *= all.axes[i] * all.repeat[i];
    all.axes.resize(from), all.repeat.resize(from);
    if (from > 0)
      all.axes.back() *= inner;  // what was repeated belongs to the axis before it
    else
      all = Repeats{{inner}, {1}};
  }
}

}  // namespace

std::optional<std::vector<MoveStep>> plan_moves(const StridedView& view, const Shape& source,
                                                const Shape& result) {
  const std::vector<Digit> digits = view.digits();
  std::vector<Digit> moving;
  for (const Digit& d : digits) {
    if (d.stride < 0) return std::nullopt;
    if (d.stride > 0) moving.push_back(d);
  }
  std::vector<Digit> sorted = moving;
  std::sort(sorted.begin(), sorted.end(), [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  const auto cuts = cuts_of(sorted, view.offset, count(source));
  if (!cuts) return std::nullopt;
  StepList steps(source);
  plan_slices(steps, *cuts);
  Shape sizes;
  for (const Digit& d : sorted) sizes.push_back(d.size);
  Order order;
  for (const Digit& d : moving)
    order.push_back(static_cast<int>(std::find(sorted.begin(), sorted.end(), d) - sorted.begin()));
  plan_transposes(steps, sizes, order);
  plan_tiles(steps, digits, result);
  steps.reshape(result);
  return steps.take();
}

}  // namespace md

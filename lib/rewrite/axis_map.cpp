// A linear map as a product of matrices over groups of axes, and that product as operators.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "lib/rewrite/linear_site.h"

namespace md {

namespace {

constexpr double tolerance = 1e-6;  // of factors that are products of a few float constants

std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Looks at single elements of the result to find the groups and their matrices.
class Factoring {
 public:
  Factoring(const Model& model, int graph_index, const LinearSite& site, std::int64_t most_entries)
      : forms_(model, graph_index, site.source, {site.nodes.begin(), site.nodes.end()}),
        result_(site.result),
        from_(model.graphs[static_cast<std::size_t>(graph_index)].value(site.source).shape),
        to_(model.graphs[static_cast<std::size_t>(graph_index)].value(site.result).shape),
        from_strides_(strides_of(from_)),
        to_strides_(strides_of(to_)),
        most_entries_(most_entries) {}

  std::optional<std::vector<AxisMap>> run() {
    if (!find_base() || !find_groups()) return std::nullopt;
    if (auto maps = fill(); maps && check(*maps)) return maps;
    merge_groups();
    if (auto maps = fill(); maps && check(*maps)) return maps;
    return std::nullopt;
  }

 private:
  std::int64_t coordinate(std::int64_t element, std::size_t axis) const {
    return element / from_strides_[axis] % from_[axis];
  }
  double total(const Form& form) const {
    double sum = 0;
    for (const Term& t : form) sum += t.factor;
    return sum;
  }

  /// An element in the middle whose factors do not cancel out.
  bool find_base() {
    for (const int part : {2, 3, 5, 1}) {
      std::int64_t element = 0;
      for (std::size_t d = 0; d < to_.size(); ++d)
        element += std::min(to_[d] - 1, to_[d] / part) * to_strides_[d];
      const auto form = forms_.form(result_, element);
      if (!form) return false;
      if (std::abs(total(*form)) > 1e-3) {
        base_ = element;
        base_total_ = total(*form);
        return true;
      }
    }
    return false;
  }

  std::vector<double> marginal(const Form& form, std::size_t axis) const {
    std::vector<double> sums(static_cast<std::size_t>(from_[axis]), 0.0);
    for (const Term& t : form) sums[static_cast<std::size_t>(coordinate(t.element, axis))] += t.factor;
    return sums;
  }

  std::int64_t moved(std::int64_t element, std::size_t axis, std::int64_t index) const {
    return element + (index - element / to_strides_[axis] % to_[axis]) * to_strides_[axis];
  }

  /// Which axes of the source an axis of the result acts on; groups are what hangs together.
  bool find_groups() {
    const auto base = forms_.form(result_, base_);
    for (std::size_t b = 0; b < to_.size(); ++b) {
      if (to_[b] == 1) continue;
      AxisMap group;
      group.to = {b};
      for (std::int64_t i = 0; i < to_[b]; ++i) {
        const auto form = forms_.form(result_, moved(base_, b, i));
        if (!form) return false;
        for (std::size_t a = 0; a < from_.size(); ++a) {
          if (std::count(group.from.begin(), group.from.end(), a) != 0) continue;
          const auto was = marginal(*base, a), now = marginal(*form, a);
          // The sum may be another one at the border; what counts is how it is spread.
          const double scale = total(*form) / base_total_;
          for (std::size_t p = 0; p < was.size(); ++p)
            if (std::abs(now[p] - was[p] * scale) > tolerance) {
              group.from.push_back(a);
              break;
            }
        }
      }
      groups_.push_back(std::move(group));
    }
    join_overlapping();
    // What is left of the source must have size 1 or be picked at one place: then it has no group and no axis
    // of the result.
    for (AxisMap& group : groups_) std::sort(group.from.begin(), group.from.end());
    return true;
  }

  void join_overlapping() {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (std::size_t j = i + 1; j < groups_.size();) {
        const bool meet = std::any_of(groups_[i].from.begin(), groups_[i].from.end(), [&](std::size_t a) {
          return std::count(groups_[j].from.begin(), groups_[j].from.end(), a) != 0;
        });
        if (!meet) {
          ++j;
          continue;
        }
        join(i, j);
        j = i + 1;
      }
  }

  void join(std::size_t i, std::size_t j) {
    AxisMap& a = groups_[i];
    for (const std::size_t axis : groups_[j].from)
      if (std::count(a.from.begin(), a.from.end(), axis) == 0) a.from.push_back(axis);
    a.to.insert(a.to.end(), groups_[j].to.begin(), groups_[j].to.end());
    std::sort(a.from.begin(), a.from.end());
    std::sort(a.to.begin(), a.to.end());
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(j));
  }

  /// The groups that mix values become one.
  void merge_groups() {
    std::size_t first = groups_.size();
    for (std::size_t i = 0; i < groups_.size();) {
      if (groups_[i].identity) {
        ++i;
      } else if (first == groups_.size()) {
        first = i++;
      } else {
        join(first, i);
      }
    }
  }

  std::optional<std::vector<AxisMap>> fill() {
    bool scaled = false;
    for (AxisMap& group : groups_) {
      group.rows = group.columns = 1;
      for (const std::size_t b : group.to) group.rows *= to_[b];
      for (const std::size_t a : group.from) group.columns *= from_[a];
      if (group.from.empty()) return std::nullopt;
      group.identity = copies(group);
      if (group.identity) continue;
      if (group.rows > most_entries_ / group.columns || !fill_matrix(group)) return std::nullopt;
      if (!scaled) {
        scaled = true;  // the scale that all share stays with one of them
        for (double& x : group.matrix) x *= base_total_;
      }
    }
    return scaled ? std::optional(groups_) : std::nullopt;
  }

  /// True when the axis is only handed on.
  bool copies(const AxisMap& group) {
    if (group.from.size() != 1 || group.to.size() != 1 || group.rows != group.columns) return false;
    for (std::int64_t i = 0; i < group.rows; ++i) {
      const auto form = forms_.form(result_, moved(base_, group.to[0], i));
      if (!form || std::abs(total(*form) - base_total_) > tolerance) return false;
      for (const Term& t : *form)
        if (coordinate(t.element, group.from[0]) != i) return false;
    }
    return true;
  }

  bool fill_matrix(AxisMap& group) {
    group.matrix.assign(static_cast<std::size_t>(group.rows * group.columns), 0.0);
    for (std::int64_t row = 0; row < group.rows; ++row) {
      std::int64_t element = base_, rest = row;
      for (std::size_t k = group.to.size(); k-- > 0;) {
        element = moved(element, group.to[k], rest % to_[group.to[k]]);
        rest /= to_[group.to[k]];
      }
      const auto form = forms_.form(result_, element);
      if (!form) return false;
      for (const Term& t : *form)
        group.matrix[static_cast<std::size_t>(row * group.columns + column(group, t.element))] +=
            t.factor / base_total_;
    }
    return true;
  }

  std::int64_t column(const AxisMap& group, std::int64_t element) const {
    std::int64_t place = 0;
    for (const std::size_t a : group.from) place = place * from_[a] + coordinate(element, a);
    return place;
  }

  /// Some elements all over the result against the product of the matrices.
  bool check(const std::vector<AxisMap>& maps) {
    for (std::size_t a = 0; a < from_.size(); ++a) {
      const bool grouped = std::any_of(maps.begin(), maps.end(), [&](const AxisMap& m) {
        return std::count(m.from.begin(), m.from.end(), a) != 0;
      });
      if (!grouped && from_[a] != 1) return false;
    }
    std::mt19937 random(5);
    const std::int64_t count = product(to_);
    for (int probe = 0; probe < 96; ++probe) {
      const std::int64_t element = probe == 0   ? 0
                                   : probe == 1 ? count - 1
                                                : static_cast<std::int64_t>(random()) % count;
      const auto form = forms_.form(result_, element);
      if (!form) return false;
      double seen = 0, expected = 1;
      for (const Term& t : *form) {
        double factor = 1;
        for (const AxisMap& m : maps) factor *= m.at(row(m, element), column(m, t.element));
        if (std::abs(factor - t.factor) > tolerance) return false;
        seen += factor;
      }
      for (const AxisMap& m : maps) {
        if (m.identity) continue;
        const auto start = m.matrix.begin() + static_cast<std::ptrdiff_t>(row(m, element) * m.columns);
        expected *= std::accumulate(start, start + static_cast<std::ptrdiff_t>(m.columns), 0.0);
      }
      if (std::abs(seen - expected) > 1e-5)
        return false;  // the product has terms that the site does not have
    }
    return true;
  }

  std::int64_t row(const AxisMap& m, std::int64_t element) const {
    std::int64_t place = 0;
    for (const std::size_t b : m.to) place = place * to_[b] + element / to_strides_[b] % to_[b];
    return place;
  }

  LinearForms forms_;
  ValueId result_;
  Shape from_, to_;
  std::vector<std::int64_t> from_strides_, to_strides_;
  std::int64_t most_entries_;
  std::int64_t base_ = 0;
  double base_total_ = 1;
  std::vector<AxisMap> groups_;
};

}  // namespace

double AxisMap::at(std::int64_t row, std::int64_t column) const {
  if (identity) return row == column ? 1.0 : 0.0;
  return matrix[static_cast<std::size_t>(row * columns + column)];
}

std::optional<std::vector<AxisMap>> factor(const Model& model, int graph_index, const LinearSite& site,
                                           std::int64_t most_entries) {
  return Factoring(model, graph_index, site, most_entries).run();
}

std::int64_t work_of(const Graph& graph, const LinearSite& site, const std::vector<AxisMap>& maps) {
  std::int64_t elements = *element_count(graph.value(site.source).shape), work = 0;
  for (const AxisMap& map : maps) {
    if (map.identity) continue;
    work += elements * map.rows;
    elements = elements / map.columns * map.rows;
  }
  return work;
}

bool write_maps(TfliteBuilder& build, const LinearSite& site, const std::vector<AxisMap>& maps) {
  // The value as it is now: its axes in order, each still one of the source or, once its map was applied, one
  // of the result.
  struct Axis {
    std::size_t map = 0;
    std::int64_t size = 1;
    std::size_t target = 0;
    bool done = false;
  };
  const Shape from = build.shape(site.source), to = build.shape(site.result);
  if (to.size() > 4) return false;
  std::vector<Axis> axes;
  for (std::size_t a = 0; a < from.size(); ++a)
    for (std::size_t m = 0; m < maps.size(); ++m)
      if (std::count(maps[m].from.begin(), maps[m].from.end(), a) != 0)
        axes.push_back({m, from[a], maps[m].to.front(), maps[m].identity});
  ValueId x = site.source;
  const auto sizes = [&] {
    Shape shape;
    for (const Axis& axis : axes) shape.push_back(axis.size);
    return shape;
  };
  // Reorders so that the axes for which `last` holds come last, in their order.
  const auto permuted = [&](const std::vector<std::size_t>& order) {
    Shape permutation(order.begin(), order.end());
    const auto view = StridedView::whole(sizes()).transpose(permutation);
    std::vector<Axis> next;
    for (const std::size_t i : order) next.push_back(axes[i]);
    axes = std::move(next);
    return view;
  };
  for (std::size_t step = 0; step < maps.size(); ++step) {
    // The map whose axes are last already goes first; otherwise the one that makes the value smallest.
    std::size_t best = maps.size();
    for (std::size_t m = 0; m < maps.size(); ++m) {
      const bool open =
          std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.map == m && !a.done; });
      if (!open) continue;
      if (best == maps.size() || (!axes.empty() && axes.back().map == m)) best = m;
    }
    if (best == maps.size()) break;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].map != best) order.push_back(i);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].map == best) order.push_back(i);
    const auto view = permuted(order);
    const AxisMap& map = maps[best];
    Shape rows;
    for (const Axis& axis : axes)
      if (axis.map != best) rows.push_back(axis.size);
    rows = at_rank_4(rows);
    x = build.move(x, *view, {1, rows[1] * rows[0] * rows[2], rows[3], map.columns});
    if (x == none_id) return false;
    const ValueId weights = build.floats("interpolation", {map.rows, map.columns}, map.matrix);
    x = build.fully_connected(x, weights, none_id);
    std::erase_if(axes, [&](const Axis& axis) { return axis.map == best; });
    for (const std::size_t b : map.to) axes.push_back({best, to[b], b, true});
  }
  // Into the order of the result.
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return axes[i].target < axes[j].target; });
  const auto view = permuted(order);
  return build.move(x, *view, to, site.result) != none_id;
}

}  // namespace md

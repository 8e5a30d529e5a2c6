// Kernels of aten operators that reduce or scan axes. Sums are kept in double and rounded once.
#include <algorithm>
#include <limits>
#include <optional>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Groups of elements that are reduced to one: out[k] is made of the elements groups[k].
struct Groups {
  Shape shape;
  std::vector<std::vector<std::size_t>> members;
};

Groups group(const Shape& in, const std::vector<int>& dims, bool keep) {
  Groups g;
  Shape kept = in;
  for (const int d : dims) kept[static_cast<std::size_t>(d)] = 1;
  const auto strides = strides_of(kept);
  std::int64_t count = 1;
  for (const std::int64_t d : kept) count *= d;
  g.members.resize(static_cast<std::size_t>(count));
  std::size_t k = 0;
  for_each_index(in, [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (kept[d] != 1) at += index[d] * strides[d];
    g.members[static_cast<std::size_t>(at)].push_back(k++);
  });
  for (std::size_t d = 0; d < kept.size(); ++d)
    if (keep || std::find(dims.begin(), dims.end(), static_cast<int>(d)) == dims.end())
      g.shape.push_back(kept[d]);
  return g;
}

template <class F>
Status reduce(KernelCall& call, F&& f) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  const Groups g = group(x.shape, c.dims("dim", x.rank()), call.attrs().flag("keepdim"));
  const auto numbers = x.numbers();
  std::vector<double> out;
  for (const auto& members : g.members) out.push_back(f(numbers, members));
  return c.give(g.shape, out);
}

using Members = std::vector<std::size_t>;

Status sum(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (!x.is_float() && !is_float(call.out_value().dtype)) {  // integers: exact, wrapping
    const Groups g = group(x.shape, c.dims("dim", x.rank()), call.attrs().flag("keepdim"));
    const auto numbers = x.integers();
    std::vector<std::int64_t> out;
    for (const auto& members : g.members) {
      std::uint64_t total = 0;
      for (const std::size_t m : members) total += static_cast<std::uint64_t>(numbers[m]);
      out.push_back(static_cast<std::int64_t>(total));
    }
    return c.give_integers(g.shape, out);
  }
  if (x.lanes() == 2) {
    const Groups g = group(x.shape, c.dims("dim", x.rank()), call.attrs().flag("keepdim"));
    const auto numbers = x.numbers();
    std::vector<double> out;
    for (const auto& members : g.members) {
      double re = 0, im = 0;
      for (const std::size_t m : members) re += numbers[2 * m], im += numbers[2 * m + 1];
      out.push_back(re), out.push_back(im);
    }
    return c.give(g.shape, out);
  }
  return reduce(call, [](const auto& x_, const Members& m) {
    double total = 0;
    for (const std::size_t i : m) total += x_[i];
    return total;
  });
}

double mean_of(const std::vector<double>& x, const Members& m) {
  double total = 0;
  for (const std::size_t i : m) total += x[i];
  return total / static_cast<double>(m.size());
}
Status mean(KernelCall& call) { return reduce(call, mean_of); }

Status variance(KernelCall& call) {
  const AttrValue* correction = call.attrs().find("correction");
  const bool sample_form = call.attrs().flag("unbiased", true);
  const double less = correction && !std::holds_alternative<std::monostate>(*correction)
                          ? call.attrs().number("correction")
                      : sample_form ? 1
                                    : 0;
  return reduce(call, [less](const auto& x, const Members& m) {
    const double center = mean_of(x, m);
    double total = 0;
    for (const std::size_t i : m) total += (x[i] - center) * (x[i] - center);
    return total / std::max(static_cast<double>(m.size()) - less, 0.0);
  });
}

double largest(const std::vector<double>& x, const Members& m) {
  double most = -std::numeric_limits<double>::infinity();
  for (const std::size_t i : m) {
    if (std::isnan(x[i])) return x[i];
    most = std::max(most, x[i]);
  }
  return most;
}
/// f(a, b) over each group of integers, exact; nullopt: they are not integers.
template <class F>
std::optional<Status> reduce_integers(KernelCall& call, F&& f) {
  if (!call.has(0) || call.in(0).is_float() || is_float(call.out_value().dtype)) return std::nullopt;
  AtenCall c(call);
  const Tensor& x = call.in(0);
  const Groups g = group(x.shape, c.dims("dim", x.rank()), call.attrs().flag("keepdim"));
  const auto numbers = x.integers();
  std::vector<std::int64_t> out;
  for (const auto& members : g.members) {
    if (members.empty()) return call.unsupported("of no elements");
    std::int64_t total = numbers[members.front()];
    for (std::size_t i = 1; i < members.size(); ++i) total = f(total, numbers[members[i]]);
    out.push_back(total);
  }
  return c.give_integers(g.shape, out);
}

Status amax(KernelCall& call) {
  if (const auto done = reduce_integers(call, [](auto a, auto b) { return std::max(a, b); })) return *done;
  return reduce(call, largest);
}
Status amin(KernelCall& call) {
  if (const auto done = reduce_integers(call, [](auto a, auto b) { return std::min(a, b); })) return *done;
  return reduce(call, [](const auto& x, const Members& m) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : m) {
      if (std::isnan(x[i])) return x[i];
      least = std::min(least, x[i]);
    }
    return least;
  });
}
Status prod(KernelCall& call) {
  const auto wrapping = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  };
  if (const auto done = reduce_integers(call, wrapping)) return *done;
  return reduce(call, [](const auto& x, const Members& m) {
    double total = 1;
    for (const std::size_t i : m) total *= x[i];
    return total;
  });
}
Status deviation(KernelCall& call) {
  if (auto ok = variance(call); !ok) return ok;
  std::vector<double> roots = call.outputs[0].numbers();
  for (double& v : roots) v = std::sqrt(v);
  return AtenCall(call).give(call.outputs[0].shape, roots);
}
Status any(KernelCall& call) {
  return reduce(call, [](const auto& x, const Members& m) {
    return std::any_of(m.begin(), m.end(), [&](std::size_t i) { return x[i] != 0; }) ? 1.0 : 0.0;
  });
}
Status all(KernelCall& call) {
  return reduce(call, [](const auto& x, const Members& m) {
    return std::all_of(m.begin(), m.end(), [&](std::size_t i) { return x[i] != 0; }) ? 1.0 : 0.0;
  });
}

/// max.dim: the values, and where the first of them is.
Status max_dim(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank()) : -1;
  if (dim < 0 || call.outputs.size() != 2) return c.bad("an axis outside the tensor");
  const Groups g = group(x.shape, {dim}, call.attrs().flag("keepdim"));
  const auto numbers = x.numbers();
  std::vector<double> values;
  std::vector<std::int64_t> places;
  for (const auto& members : g.members) {
    const double most = largest(numbers, members);
    values.push_back(most);
    std::int64_t place = 0;
    while (static_cast<std::size_t>(place) + 1 < members.size() &&
           !(numbers[members[static_cast<std::size_t>(place)]] == most ||
             std::isnan(numbers[members[static_cast<std::size_t>(place)]])))
      ++place;
    places.push_back(place);
  }
  if (auto ok = c.give(g.shape, values, 0); !ok) return ok;
  return c.give_integers(g.shape, places, 1);
}

/// Runs `row(inputs, members, outputs)` over each row along the argument "dim"; the result has the input's
/// shape.
template <class Row>
Status along_dim(KernelCall& call, Row&& row) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank()) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  const auto numbers = x.numbers();
  const auto lanes = static_cast<std::size_t>(x.lanes());
  std::vector<double> out(numbers.size());
  const Groups rows = group(x.shape, {dim}, true);
  for (const auto& members : rows.members)
    for (std::size_t lane = 0; lane < lanes; ++lane) {  // a complex number has two
      Members places = members;
      for (std::size_t& m : places) m = m * lanes + lane;
      row(numbers, places, out);
    }
  return c.give(x.shape, out);
}

Status cumsum(KernelCall& call) {
  return along_dim(call, [](const auto& in, const auto& members, auto& out) {
    double total = 0;
    for (const std::size_t i : members) out[i] = total += in[i];
  });
}

Status softmax(KernelCall& call) {
  return along_dim(call, [](const auto& in, const auto& members, auto& out) {
    const double most = largest(in, members);
    double total = 0;
    for (const std::size_t i : members) total += out[i] = std::exp(in[i] - most);
    for (const std::size_t i : members) out[i] /= total;
  });
}

constexpr KernelEntry entries[] = {
    {"aten.sum.dim_IntList", sum},      {"aten.sum.default", sum},       {"aten.mean.dim", mean},
    {"aten.mean.default", mean},        {"aten.var.dim", variance},      {"aten.var.correction", variance},
    {"aten.var.default", variance},     {"aten.amax.default", amax},     {"aten.amin.default", amin},
    {"aten.all.default", all},          {"aten.all.dim", all},           {"aten._is_all_true.default", all},
    {"aten.prod.dim_int", prod},        {"aten.any.default", any},       {"aten.any.dim", any},
    {"aten._is_any_true.default", any}, {"aten.max.default", amax},      {"aten.min.default", amin},
    {"aten.std.correction", deviation}, {"aten.std.dim", deviation},     {"aten.std.default", deviation},
    {"aten.max.dim", max_dim},          {"aten.cumsum.default", cumsum}, {"aten.softmax.int", softmax},
    {"aten._softmax.default", softmax},
};

}  // namespace

std::span<const KernelEntry> aten_reduction_kernels() { return entries; }

}  // namespace md

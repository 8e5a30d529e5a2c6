#include "lib/eval/limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/kernel.h"
#include "lib/eval/node_place.h"
#include "lib/op/dialect.h"

namespace md {
namespace {

constexpr std::int64_t base_bytes = std::int64_t{384} << 20, most_bytes = std::int64_t{4} << 30;
constexpr std::int64_t bytes_each_weight = 64;  // bytes of tensors for each byte of constants
/// A product of two 1024 x 1024 matrices, looked at sum by sum, takes 4.3e9 and some seconds.
constexpr double base_work = 6e9, work_each_weight = 2000;
constexpr double element_cost = 10, watched_cost = 4;

/// Half of the machine's memory, once.
std::int64_t half_of_memory() {
  static const std::int64_t half = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<std::int64_t>(pages) / 2 * page : most_bytes;
  }();
  return half;
}

double size(const KernelCall& call, std::size_t i) {
  return call.has(i) ? static_cast<double>(call.in(i).size()) : 0;
}

}  // namespace

std::uint64_t constant_bytes(const Model& model) {
  std::uint64_t bytes = 0;
  for (const Graph& graph : model.graphs)
    for (const Value& value : graph.values)
      if (value.constant) bytes += value.constant->bytes.size();
  return bytes;
}

Budget default_limits(const Model& model) {
  const auto weights = static_cast<std::int64_t>(
      std::min<std::uint64_t>(constant_bytes(model), static_cast<std::uint64_t>(most_bytes)));
  return {.work = base_work + work_each_weight * static_cast<double>(weights),
          .bytes = std::min({base_bytes + bytes_each_weight * weights, most_bytes, half_of_memory()})};
}

Status inputs_fit(const Model& model, int graph_index, std::int64_t bytes) {
  const std::int64_t most = (bytes > 0 ? bytes : default_limits(model).bytes) / 2;
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  double wanted = 0;
  for (const ValueId id : graph.inputs) {
    double count = 1;
    for (const std::int64_t d : graph.value(id).shape)
      count *= static_cast<double>(std::max<std::int64_t>(d, d < 0 ? 1 : 0));
    wanted += count * sizeof(double);
  }
  if (wanted <= static_cast<double>(most)) return {};
  return fail(
      Error::Kind::unsupported,
      fmt::format("its inputs take {:.0f} MB, more than the limit of {} MB for a model of this size; give a "
                  "smaller size where the model is made",
                  wanted / (1 << 20), most >> 20));
}

double work_of_result(const KernelCall& call, std::int64_t count) {
  const auto n = static_cast<double>(std::max<std::int64_t>(count, 1));
  double read = 0;
  for (std::size_t i = 0; i < call.count(); ++i) read += size(call, i);
  const Dialect* dialect = call.graph.dialect;
  const double terms = dialect && dialect->evaluated_terms ? dialect->evaluated_terms(call, n) : 0;
  const bool watched = call.options.watch_sums || call.mode().is_f16() || call.wide();
  return n * (element_cost + terms * (watched ? watched_cost : 1)) + read;
}

Status charge(const KernelCall& call, double multiply_adds) {
  if (!call.work) return {};
  *call.work += multiply_adds;
  if (call.options.max_work <= 0 || *call.work <= call.options.max_work) return {};
  return fail(
      Error::Kind::unsupported,
      fmt::format("{}: the run takes more than {:.1e} multiply-adds up to here, the limit for a model of "
                  "this size",
                  node_place(call.node, call.node.op), call.options.max_work));
}

}  // namespace md

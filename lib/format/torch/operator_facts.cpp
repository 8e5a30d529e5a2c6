// What follows from the meaning of torch's operators beside their primitive: lengths of sums, multiply-adds,
// and which operands are indices or masks.
#include <algorithm>

#include "lib/eval/kernel.h"
#include "lib/format/torch/operators.h"
#include "lib/format/torch/view.h"
#include "lib/op/work.h"

namespace md {
namespace {

// --- sums
// ----------------------------------------------------------------------------------------------------

using Count = std::int64_t (*)(const Graph&, const Node&);

std::int64_t result_elements(const Graph& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] < 0) return 1;
  return bounded_elements(graph.value(node.outputs[0]).shape);
}

std::int64_t no_work(const Graph&, const Node&) { return 0; }

/// The last axis of the operand: of a left matrix, of what is summed along it.
template <std::size_t operand>
std::int64_t last_axis(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, operand);
  return shape ? dimension_from_end(*shape, 1) : 1;
}

/// A filter of [filters, ...].
std::int64_t terms_of_filter(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  if (!filter || filter->empty()) return 1;
  return bounded_elements(*filter) / std::max<std::int64_t>((*filter)[0], 1);
}

/// Along one axis whose length is an argument, or the last one.
std::int64_t terms_of_transform(const Graph& graph, const Node& node) {
  return std::max(node.attrs.integer("n_fft"), last_axis<0>(graph, node));
}

template <Count terms>
std::int64_t each_result(const Graph& graph, const Node& node) {
  return bounded_product(result_elements(graph, node), terms(graph, node));
}

struct Sums {
  std::string_view names;  ///< of "aten.", with blanks between them
  Count terms, multiply_adds;
};

constexpr Sums sums[] = {
    {"mm bmm matmul dot linear", last_axis<0>, each_result<last_axis<0>>},
    {"addmm", last_axis<1>, each_result<last_axis<1>>},
    {"convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", terms_of_filter,
     each_result<terms_of_filter>},
    {"sum mean var fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_irfft fft_irfft2 fft_irfftn "
     "fft_rfft fft_rfft2 fft_rfftn _fft_c2c _fft_c2r _fft_r2c stft istft",
     terms_of_transform, nullptr},
    {"to _to_copy _assert_scalar", nullptr, no_work},
};

// --- indices
// -------------------------------------------------------------------------------------------------

using Uses = std::vector<IndexUse>;

Uses of_axis(const Graph& graph, const Node& node) {
  const int at = aten_operand_position(node, "index");
  const Shape* data = operand_shape(graph, node, 0);
  const auto axis = data ? normal_axis(node.attrs.integer("dim"), data->size()) : std::nullopt;
  if (at < 0 || !axis) return {};
  return {{.operand = static_cast<std::size_t>(at), .size = (*data)[*axis]}};
}

Uses of_table(const Graph& graph, const Node& node) {
  const int at = aten_operand_position(node, "indices");
  const ValueId table = aten_operand(node, "weight");
  if (at < 0 || table < 0 || graph.value(table).shape.empty()) return {};
  return {{.operand = static_cast<std::size_t>(at), .size = graph.value(table).shape[0]}};
}

/// How many rows a mask selects, where the program says so: of the result, or (index_put) of the values.
std::optional<std::int64_t> rows_selected(const Graph& graph, const Node& node, bool writes,
                                          std::size_t whole_axes) {
  if (node.outputs.empty()) return std::nullopt;
  const Shape& rows = graph.value(writes ? node.inputs.back() : node.outputs[0]).shape;
  if (rows.size() <= whole_axes) return std::nullopt;
  if (rows[whole_axes] > 1) return rows[whole_axes];
  return rows[whole_axes] < 0 && writes ? std::optional(dynamic_dim) : std::nullopt;
}

template <bool writes>
Uses of_leading_axes(const Graph& graph, const Node& node) {
  const Shape* data = operand_shape(graph, node, 0);
  const std::vector<ValueId> given = aten_operands(node, "indices");
  const auto whole_axes = static_cast<std::size_t>(std::count(given.begin(), given.end(), none_id));
  Uses uses;
  for (std::size_t d = 0; data && d < given.size(); ++d) {
    const auto at = std::find(node.inputs.begin(), node.inputs.end(), given[d]);
    if (given[d] < 0 || at == node.inputs.end()) continue;
    const auto operand = static_cast<std::size_t>(at - node.inputs.begin());
    if (graph.value(given[d]).dtype != DType::boolean) {
      if (d < data->size()) uses.push_back({.operand = operand, .size = (*data)[d]});
    } else if (const auto marks = rows_selected(graph, node, writes, whole_axes)) {
      uses.push_back({.operand = operand, .marks = marks});
    }
  }
  return uses;
}

constexpr std::pair<std::string_view, Uses (*)(const Graph&, const Node&)> indices[] = {
    {"scatter_add scatter_reduce index_select gather", of_axis},
    {"embedding", of_table},
    {"index", of_leading_axes<false>},
    {"index_put", of_leading_axes<true>},
};

/// Whether `name` is one of `names`, which have blanks between them.
bool is_among(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

void add_torch_facts(OpSpec& row) {
  constexpr std::string_view library = "aten.";
  row.chooses = row.name == "higher_order.cond";
  if (!row.name.starts_with(library)) return;
  const std::string_view name = std::string_view(row.name).substr(library.size());
  for (const Sums& each : sums)
    if (is_among(each.names, name)) row.terms = each.terms, row.multiply_adds = each.multiply_adds;
  for (const auto& [names, rule] : indices)
    if (is_among(names, name)) row.indices = rule;
}

}  // namespace md

// STABLEHLO_GATHER, and STABLEHLO_SCATTER with a body: what converters make of scatter_add and index_add.
#include <array>
#include <cstring>

#include "lib/eval/primitives/scatter.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

const std::vector<std::int64_t>& list(const KernelCall& call, std::string_view name) {
  static const std::vector<std::int64_t> none;
  const auto* numbers = call.attrs().integers(name);
  return numbers ? *numbers : none;
}

bool holds(const std::vector<std::int64_t>& numbers, std::size_t n) {
  return std::find(numbers.begin(), numbers.end(), static_cast<std::int64_t>(n)) != numbers.end();
}

bool all_below(const std::vector<std::int64_t>& numbers, std::size_t limit) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](std::int64_t n) { return n >= 0 && n < static_cast<std::int64_t>(limit); });
}

/// The tensor of index vectors: one vector a batch position.
struct IndexVectors {
  Shape batch;                        ///< its shape without the vector dimension
  std::vector<std::int64_t> steps;    ///< of the batch dimensions, in elements
  std::int64_t step = 0, length = 1;  ///< along a vector
};
std::optional<IndexVectors> index_vectors(const Tensor& indices, std::int64_t vector_dim) {
  const auto rank = static_cast<std::int64_t>(indices.shape.size());
  if (indices.is_float() || vector_dim < 0 || vector_dim > rank) return std::nullopt;
  IndexVectors vectors;
  const auto strides = strides_of(indices.shape);
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d == vector_dim) {
      vectors.step = strides[at], vectors.length = indices.shape[at];
    } else {
      vectors.batch.push_back(indices.shape[at]), vectors.steps.push_back(strides[at]);
    }
  }
  return vectors;
}

/// Calls f(multi-index, position) for every element of a shape.
template <class F>
void each_index(const Shape& shape, F&& f) {
  std::vector<std::int64_t> index(shape.size(), 0);
  const std::int64_t count = product(shape);
  for (std::int64_t n = 0; n < count; ++n) {
    f(index, static_cast<std::size_t>(n));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// Where the index vector at a batch position begins in `indices`: `dims` are the batch dimensions of
/// `index`.
std::int64_t vector_start(const IndexVectors& vectors, const std::vector<std::int64_t>& index,
                          const std::vector<std::size_t>& dims) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) at += index[dims[k]] * vectors.steps[k];
  return at;
}

/// Dimensions below `rank` that are not in the list, in order.
std::vector<std::size_t> others(const std::vector<std::int64_t>& numbers, std::size_t rank) {
  std::vector<std::size_t> rest;
  for (std::size_t d = 0; d < rank; ++d)
    if (!holds(numbers, d)) rest.push_back(d);
  return rest;
}

Status gather(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1);
  const auto &offsets = list(call, "offset_dims"), &collapsed = list(call, "collapsed_slice_dims"),
             &map = list(call, "start_index_map"), &sizes = list(call, "slice_sizes");
  const auto vectors = index_vectors(indices, call.attrs().integer("index_vector_dim"));
  const std::size_t rank = x.shape.size();
  if (!vectors || sizes.size() != rank || map.size() != static_cast<std::size_t>(vectors->length) ||
      !all_below(map, rank) || !all_below(collapsed, rank))
    return call.bad("the dimension numbers do not fit the operands");
  for (std::size_t d = 0; d < rank; ++d)
    if (sizes[d] < 0 || sizes[d] > x.shape[d]) return call.bad("a slice is larger than the operand");
  const std::vector<std::size_t> window = others(collapsed, rank);
  const std::size_t out_rank = vectors->batch.size() + offsets.size();
  const std::vector<std::size_t> batch = others(offsets, out_rank);
  if (window.size() != offsets.size() || batch.size() != vectors->batch.size() ||
      !all_below(offsets, out_rank))
    return call.bad("the dimension numbers do not fit the operands");
  Shape shape(out_rank);
  for (std::size_t k = 0; k < batch.size(); ++k) shape[batch[k]] = vectors->batch[k];
  for (std::size_t k = 0; k < window.size(); ++k)
    shape[static_cast<std::size_t>(offsets[k])] = sizes[window[k]];
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  const auto strides = strides_of(x.shape);
  const std::size_t bytes = x.element_bytes();
  each_index(shape, [&](const std::vector<std::int64_t>& index, std::size_t n) {
    const std::int64_t vector = vector_start(*vectors, index, batch);
    std::int64_t from = 0;
    for (std::size_t k = 0; k < map.size(); ++k) {
      const auto d = static_cast<std::size_t>(map[k]);
      const std::int64_t start =
          indices.integer(static_cast<std::size_t>(vector + static_cast<std::int64_t>(k) * vectors->step));
      from += std::clamp<std::int64_t>(start, 0, x.shape[d] - sizes[d]) * strides[d];
    }
    for (std::size_t k = 0; k < window.size(); ++k)
      from += index[static_cast<std::size_t>(offsets[k])] * strides[window[k]];
    std::memcpy(out->mutable_raw() + n * bytes, x.raw() + static_cast<std::size_t>(from) * bytes, bytes);
  });
  call.outputs[0] = std::move(*out);
  return {};
}

enum class Combine { replace, keep, add, multiply, maximum, minimum };

/// What the body graph of a scatter does with the old number and the new one.
std::optional<Combine> combine_of(const KernelCall& call) {
  if (call.node.subgraphs.size() != 1) return std::nullopt;
  const Graph& body = call.model.graphs[static_cast<std::size_t>(call.node.subgraphs[0])];
  if (body.inputs.size() != 2 || body.outputs.size() != 1) return std::nullopt;
  if (body.order.empty())
    return body.outputs[0] == body.inputs[1]   ? std::optional(Combine::replace)
           : body.outputs[0] == body.inputs[0] ? std::optional(Combine::keep)
                                               : std::nullopt;
  const Node& node = body.node(body.order[0]);
  if (body.order.size() != 1 || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1])
    return std::nullopt;
  for (const ValueId v : node.inputs)
    if (v != body.inputs[0] && v != body.inputs[1]) return std::nullopt;
  std::string_view op = node.op;
  if (op.starts_with("STABLEHLO_")) op.remove_prefix(10);
  if (op == "ADD") return Combine::add;
  if (op == "MUL" || op == "MULTIPLY") return Combine::multiply;
  if (op == "MAXIMUM") return Combine::maximum;
  if (op == "MINIMUM") return Combine::minimum;
  return std::nullopt;
}

template <class T>
T combined(Combine how, T old, T fresh) {
  switch (how) {
    case Combine::replace:
      return fresh;
    case Combine::keep:
      return old;
    case Combine::add:
      return plus(old, fresh);
    case Combine::multiply:
      return times(old, fresh);
    case Combine::maximum:
      return std::max(old, fresh);
    case Combine::minimum:
      break;
  }
  return std::min(old, fresh);
}

}  // namespace

Status scatter_computed(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &updates = call.in(2);
  const auto how = combine_of(call);
  if (!how) return call.unsupported("with that body");
  const auto index = index_operand(call, 1);
  if (!index) return call.bad("the indices are not integers");
  if (x.store() != updates.store()) return call.bad("the updates' type is not the operand's");
  const auto targets = scatter_targets(call.attrs(), x.shape, call.in(1).shape, updates.shape, *index);
  if (!targets) return call.bad("its windows and indices do not fit the operand");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  if (x.size() > 0) std::memcpy(out->mutable_raw(), x.raw(), x.bytes());
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto fresh = updates.data<T>();
    auto to = out->mutable_data<T>();
    for (std::size_t n = 0; n < targets->size(); ++n) {
      if ((*targets)[n] < 0) continue;
      T& target = to[static_cast<std::size_t>((*targets)[n])];
      target = combined<T>(*how, target, fresh[n]);
    }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

std::span<const KernelEntry> stablehlo_indexed_kernels() {
  static const std::array rows = {
      KernelEntry{"STABLEHLO_GATHER", gather, 1},
  };
  return rows;
}

}  // namespace md

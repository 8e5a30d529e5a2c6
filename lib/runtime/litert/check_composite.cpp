// STABLEHLO operators and composites, LSTM.
#include <set>

#include <fmt/format.h>

#include "lib/graph/encode.h"
#include "lib/runtime/litert/bhwc.h"
#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

/// BROADCAST_IN_DIM: where each input dimension goes.
Result_ broadcast_in_dim(const CheckContext& c, const CheckSpec&) {
  const Value *input = c.input(0), *indices = c.input(1), *output = c.output(0);
  if (!input || !indices || !output) return {};
  if (input->rank() < 1 || input->rank() > 4) return Fault{"Only supports 1D-4D input tensor.", none_id};
  if (output->rank() < 1 || output->rank() > 4) return Fault{"Only supports 1D-4D output tensor.", none_id};
  const auto numbers = decode_integers(*indices);
  if (!numbers) return {};
  for (std::size_t d = 0; d < numbers->size() && d < input->shape.size(); ++d) {
    const std::int64_t at = (*numbers)[d];
    if (at < 0 || at >= output->rank()) return Fault{"Require 0 <= index val < rank(result)", none_id};
    if (input->shape[d] != 1 && input->shape[d] != output->shape[static_cast<std::size_t>(at)])
      return Fault{"Requires dim(input, d) = 1 || dim(input, d) = dim(output, index[d])", none_id};
  }
  if (std::set<std::int64_t>(numbers->begin(), numbers->end()).size() != numbers->size())
    return Fault{"Index values must be unique", none_id};
  return {};
}

/// CLAMP: bounds of the input's shape, or scalars.
Result_ clamp_shapes(const CheckContext& c, const CheckSpec&) {
  const Value *low = c.input(0), *input = c.input(1), *high = c.input(2);
  if (!low || !input || !high) return {};
  if (low->dtype != input->dtype || input->dtype != high->dtype)
    return Fault{"Clamp tensors must all be the same type", none_id};
  if (low->shape != input->shape && elements(low->shape) != 1)
    return Fault{"Min tensor must be the same shape as the input, or a scalar", none_id};
  if (high->shape != input->shape && elements(high->shape) != 1)
    return Fault{"Max tensor must be the same shape as the input, or a scalar", none_id};
  return {};
}

/// Norms: scale and bias have one value a channel. `layout`: channels as the delegate lays the input out (a
/// rank-1 input has one), else the last dimension.
Result_ norm_vectors(const CheckContext& c, const CheckSpec& spec) {
  const Value* input = c.input(0);
  if (!input || input->shape.empty()) return {};
  const std::int64_t channels = spec.parameters.flag("layout") ? bhwc(input->shape).c : input->shape.back();
  for (std::size_t i = 1; i <= 2; ++i) {
    const Value* vector = c.input(i);
    if (!vector || vector->shape.empty() || vector->shape.back() == channels) continue;
    return Fault{
        fmt::format("{} tensor channels don't match input tensor channels.", i == 1 ? "Scale" : "Bias"),
        none_id};
  }
  return {};
}

/// LSTM: the two kernels' operands and activations (TANH is 4, the runtime's SIGMOID has no number in the
/// schema).
Result_ lstm(const CheckContext& c, const CheckSpec&) {
  const std::int64_t activation = c.node.attrs.integer("fused_activation_function");
  if (c.node.attrs.integer("kernel_type") == 0) {
    if (c.input_count() != 20 && c.input_count() != 24)
      return Fault{fmt::format("Expected 20 or 24 input tensors, but node has {} input(s).", c.input_count()),
                   none_id};
    if (c.node.outputs.size() != 1)
      return Fault{fmt::format("Expected 1 output tensor, but node has {} output(s).", c.node.outputs.size()),
                   none_id};
    if (activation != 4)
      return Fault{fmt::format("Only sigmoid or tanh activation is supported, but node has {}", activation),
                   none_id};
    return {};
  }
  if (activation != 4)
    return Fault{fmt::format("Only TANH activation is supported. but node has {}", activation), none_id};
  if (c.node.attrs.number("cell_clip") != 0) return Fault{"cell_clip is not supported.", none_id};
  if (c.node.attrs.number("proj_clip") != 0) return Fault{"proj_clip is not supported.", none_id};
  return {};
}

/// Attention: channels of query, key and value agree; key and value have one shape.
Result_ attention_shapes(const CheckContext& c, const CheckSpec&) {
  const Value *q = c.input(0), *k = c.input(1), *v = c.input(2), *mask = c.input(3);
  if (!q || !k || !v) return {};
  const Bhwc qs = bhwc(q->shape), ks = bhwc(k->shape), vs = bhwc(v->shape);
  if (qs.c != ks.c || qs.c != vs.c)
    return Fault{
        fmt::format(
            "Q, K and V tensors' channels must match, but they are: Q.c = {}, K.c = {}, and V.c = {}.", qs.c,
            ks.c, vs.c),
        none_id};
  if (ks != vs)
    return Fault{fmt::format("K and V tensors' shapes must identical, but they are: K = {}, V = {}.",
                             ks.text(), vs.text()),
                 none_id};
  if (mask && bhwc(mask->shape).c != ks.h)
    return Fault{
        fmt::format("K tensor's height must match Mask tensor's channels, but they are: K = {}, Mask = {}.",
                    ks.text(), bhwc(mask->shape).text()),
        none_id};
  return {};
}

}  // namespace

const std::vector<CheckEntry>& composite_checks() {
  static const std::vector<CheckEntry> checks = {
      {"broadcast in dim", broadcast_in_dim}, {"clamp shapes", clamp_shapes},
      {"norm vectors", norm_vectors},         {"lstm", lstm},
      {"attention shapes", attention_shapes},
  };
  return checks;
}

}  // namespace md

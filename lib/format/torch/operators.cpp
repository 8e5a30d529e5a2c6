#include "lib/format/torch/operators.h"

#include <algorithm>

#include "lib/format/torch/view.h"

namespace md {
namespace {

struct Kind {
  Primitive primitive;
  std::string_view names;  ///< with blanks between them; of "aten." where no other library is named
};

// The overloads of a name are one operator. An operator of this table that takes a number in place of a
// tensor (add.Scalar) is still what its tensor form is.
constexpr Kind kinds[] = {
    {Primitive::map,
     "abs angle bitwise_not ceil clamp clamp_max clamp_min conj_physical _conj_physical cos elu "
     "erf exp exp2 fill fill_value floor full_like gelu hardsigmoid hardswish hardtanh imag "
     "isfinite isnan leaky_relu log log1p logical_not nan_to_num neg ones_like real reciprocal "
     "relu relu6 round rsqrt sigmoid sign silu sin softplus sqrt square tan tanh to _to_copy trunc "
     "type_as zero zeros_like dropout quantized_decomposed.dequantize_per_tensor "
     "quantized_decomposed.quantize_per_tensor quantized_decomposed.dequantize_per_channel acos "
     "acosh asin asinh atan atanh celu cosh erfc expm1 fix frac hardshrink isinf log10 log2 "
     "log_sigmoid logit mish selu sgn signbit sinh threshold "
     "quantized_decomposed.quantize_per_channel"},
    {Primitive::zip,
     "add atan2 bitwise_and bitwise_or bitwise_xor __and__ __rshift__ complex copy div eq "
     "floor_divide ge gt le logical_and logical_or logical_xor lt maximum minimum mul ne polar pow "
     "rsub sub _operator.add _operator.eq _operator.ge _operator.gt _operator.le _operator.lt "
     "_operator.mul _operator.ne _operator.sub __lshift__ __or__ __xor__ addcdiv addcmul "
     "bitwise_left_shift bitwise_right_shift copysign fmod hypot lerp remainder true_divide "
     "_operator.floordiv _operator.mod"},
    {Primitive::select, "masked_fill where"},
    {Primitive::reduce,
     "all amax amin any argmax argmin batch_norm _native_batch_norm_legit_no_training cumsum diff "
     "group_norm histc instance_norm _is_all_true _is_any_true item layer_norm log_softmax "
     "_log_softmax max mean min native_layer_norm prod rms_norm softmax _softmax std sum var "
     "var_mean cumprod linalg_vector_norm logsumexp native_group_norm norm"},
    {Primitive::contract,
     "addmm bmm dot einsum fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_irfft "
     "fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn _fft_c2c _fft_c2r _fft_r2c istft linear "
     "matmul mm scaled_dot_product_attention stft addmv baddbmm mv"},
    {Primitive::window,
     "adaptive_avg_pool2d _adaptive_avg_pool2d avg_pool2d conv1d conv2d conv3d conv_transpose1d "
     "conv_transpose2d conv_transpose3d convolution max_pool2d max_pool3d _adaptive_avg_pool3d "
     "adaptive_avg_pool1d adaptive_avg_pool3d adaptive_max_pool2d avg_pool1d avg_pool3d "
     "grid_sampler grid_sampler_2d max_pool1d max_pool2d_with_indices max_pool3d_with_indices "
     "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_trilinear3d"},
    {Primitive::move,
     "alias alias_copy arange blackman_window cat chunk clone concat _conj conj constant_pad_nd "
     "contiguous detach detach_copy diagonal empty empty_like empty_strided expand expand_as eye "
     "fft_fftshift fft_ifftshift flatten flip full hamming_window hann_window lift_fresh_copy "
     "linspace movedim mT narrow new_empty new_full new_ones new_zeros numpy_T ones pad permute "
     "reflection_pad1d repeat repeat_interleave reshape resolve_conj resolve_neg roll "
     "scalar_tensor select select_scatter slice slice_scatter split split_with_sizes squeeze stack "
     "swapaxes t transpose tril tril_indices triu unbind unflatten _unsafe_view unsqueeze view "
     "view_as view_as_complex view_as_real view_copy zeros diagonal_copy expand_copy permute_copy "
     "pixel_shuffle pixel_unshuffle reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d select_copy slice_copy split_copy split_with_sizes_copy "
     "squeeze_copy tile transpose_copy triu_indices unbind_copy unfold unsqueeze_copy "
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact2d"},
    {Primitive::gather, "embedding embedding_bag gather index index_select masked_select"},
    {Primitive::scatter,
     "index_put scatter_add scatter_reduce index_add index_copy index_fill masked_scatter scatter"},
    {Primitive::sort, "sort topk argsort"},
    {Primitive::random,
     "bernoulli multinomial normal rand rand_like randint randn randn_like randperm uniform"},
    {Primitive::control,
     "higher_order.cond higher_order.wrap_with_autocast higher_order.wrap_with_set_grad_enabled"},
    {Primitive::state, "buffer_mutation"},
    {Primitive::opaque,
     "affine_grid_generator _assert_async _assert_scalar _assert_tensor_metadata "
     "_functional_assert_scalar sym_constrain_range sym_constrain_range_for_size sym_size nonzero "
     "torch.sym_ite"},
};

std::string full_name(std::string_view name) {
  const bool of_another =
      name.find('.') != std::string_view::npos || name == "buffer_mutation" || name == "fill_value";
  return of_another ? std::string(name) : "aten." + std::string(name);
}

/// "aten.add" of "aten.add.Tensor", "aten.add_" of "aten.add_.Tensor".
std::string_view without_overload(std::string_view op) {
  const std::size_t library = op.find('.');
  if (library == std::string_view::npos) return op;
  return op.substr(0, op.find('.', library + 1));
}

/// The in-place form of an operator is written as a row of its own; of one that has no row it is known only
/// that it writes.
const OpSpec* by_form(std::string_view op) {
  static const OpSpec writes = [] {
    OpSpec row;
    row.writes_operand = true;
    return row;
  }();
  const std::string_view name = without_overload(op);
  const auto& rows = torch_ops().ops;
  const auto at = std::lower_bound(rows.begin(), rows.end(), name,
                                   [](const OpSpec& row, std::string_view text) { return row.name < text; });
  if (at != rows.end() && at->name == name) return &*at;
  return aten_in_place(op) ? &writes : nullptr;
}

OpTable make_table() {
  OpTable table;
  table.complete = false;
  table.by_form = by_form;
  for (const Kind& kind : kinds)
    for (std::string_view rest = kind.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      OpSpec row;
      row.name = full_name(rest.substr(0, end));
      row.primitive = kind.primitive;
      row.views_operand = aten_view(row.name);
      add_torch_facts(row);
      OpSpec in_place = row;
      in_place.name += "_";
      in_place.writes_operand = true, in_place.views_operand = false;
      table.ops.push_back(std::move(row));
      table.ops.push_back(std::move(in_place));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  std::sort(table.ops.begin(), table.ops.end(),
            [](const OpSpec& a, const OpSpec& b) { return a.name < b.name; });
  return table;
}

}  // namespace

const OpTable& torch_ops() {
  static const OpTable table = make_table();
  return table;
}

}  // namespace md

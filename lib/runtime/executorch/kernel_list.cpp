#include "lib/runtime/executorch/kernel_list.h"

#include <fmt/format.h>

#include <utility>

namespace md {
namespace {

// Words between blanks. Source: executorch.runtime of the wheel 1.5.1 (operator_registry.operator_names),
// before and after executorch.kernels.quantized and the llama operators were loaded, and torch.Tag.core of
// torch 2.13.
constexpr std::string_view kernels =
    " aten::_adaptive_avg_pool2d.out aten::_cdist_forward.out aten::_conj_physical.out "
    " aten::_fft_c2r.out aten::_fft_r2c.out aten::_local_scalar_dense aten::_log_softmax.out "
    " aten::_native_batch_norm_legit.no_stats_out aten::_native_batch_norm_legit.out "
    " aten::_native_batch_norm_legit_no_training.out aten::_pdist_forward.out aten::_softmax.out "
    " aten::_to_copy.out aten::_upsample_bilinear2d_aa.out aten::abs.out aten::acos.out aten::acosh.out "
    " aten::add.Scalar_out aten::add.out aten::addmm.out aten::alias_copy.out aten::amax.out "
    " aten::amin.out aten::any.all_out aten::any.dims_out aten::any.out aten::arange.out "
    " aten::arange.start_out aten::argmax.out aten::argmin.out aten::as_strided_copy.out aten::asin.out "
    " aten::asinh.out aten::atan.out aten::atan2.out aten::atanh.out aten::avg_pool2d.out "
    " aten::bitwise_and.Scalar_out aten::bitwise_and.Tensor_out "
    " aten::bitwise_left_shift.Tensor_Scalar_out aten::bitwise_left_shift.Tensor_out "
    " aten::bitwise_not.out aten::bitwise_or.Scalar_out aten::bitwise_or.Tensor_out "
    " aten::bitwise_right_shift.Tensor_Scalar_out aten::bitwise_right_shift.Tensor_out "
    " aten::bitwise_xor.Scalar_out aten::bitwise_xor.Tensor_out aten::bmm.out aten::cat.out "
    " aten::ceil.out aten::clamp.Tensor_out aten::clamp.out aten::clone.out aten::constant_pad_nd.out "
    " aten::convolution.out aten::convolution_backward.out aten::copy.out aten::copy_ aten::cos.out "
    " aten::cosh.out aten::cumsum.out aten::detach_copy.out aten::diagonal_copy.out "
    " aten::div.Scalar_mode_out aten::div.Scalar_out aten::div.out aten::div.out_mode aten::elu.out "
    " aten::embedding.out aten::empty.out aten::eq.Scalar_out aten::eq.Tensor_out aten::erf.out "
    " aten::exp.out aten::expand_copy.out aten::expm1.out aten::fill.Scalar_out aten::fill.Tensor_out "
    " aten::flip.out aten::floor.out aten::floor_divide.out aten::fmod.Scalar_out aten::fmod.Tensor_out "
    " aten::full.out aten::full_like.out aten::gather.out aten::ge.Scalar_out aten::ge.Tensor_out "
    " aten::gelu.out aten::glu.out aten::grid_sampler_2d.out aten::gt.Scalar_out aten::gt.Tensor_out "
    " aten::hardtanh.out aten::index.Tensor_out aten::index_put.out aten::index_put_ "
    " aten::index_select.out aten::isinf.out aten::isnan.out aten::le.Scalar_out aten::le.Tensor_out "
    " aten::leaky_relu.out aten::lift_fresh_copy.out aten::linear.out aten::log.out aten::log10.out "
    " aten::log1p.out aten::log2.out aten::logical_and.out aten::logical_not.out aten::logical_or.out "
    " aten::logical_xor.out aten::logit.out aten::lt.Scalar_out aten::lt.Tensor_out "
    " aten::masked_fill.Scalar_out aten::masked_scatter.out aten::masked_select.out aten::max.dim_max "
    " aten::max.unary_out aten::max_pool2d_with_indices.out "
    " aten::max_pool2d_with_indices_backward.grad_input aten::maximum.out aten::mean.dtype_out "
    " aten::mean.out aten::min.dim_min aten::min.unary_out aten::minimum.out aten::mm.out "
    " aten::mul.Scalar_out aten::mul.out aten::narrow_copy.out aten::native_dropout.out "
    " aten::native_group_norm.out aten::native_layer_norm.out aten::ne.Scalar_out aten::ne.Tensor_out "
    " aten::neg.out aten::nonzero.out aten::ones.out aten::permute_copy.out aten::pixel_shuffle.out "
    " aten::pixel_unshuffle.out aten::pow.Scalar_out aten::pow.Tensor_Scalar_out "
    " aten::pow.Tensor_Tensor_out aten::prod.int_out aten::prod.out aten::rand.out aten::randn.out "
    " aten::reciprocal.out aten::reflection_pad1d.out aten::reflection_pad2d.out "
    " aten::reflection_pad3d.out aten::relu.out aten::remainder.Scalar_out aten::remainder.Tensor_out "
    " aten::repeat.out aten::repeat_interleave.Tensor_out aten::replication_pad1d.out "
    " aten::replication_pad2d.out aten::replication_pad3d.out aten::roll.out aten::round.out "
    " aten::rsqrt.out aten::rsub.Scalar_out aten::scalar_tensor.out aten::scatter.src_out "
    " aten::scatter.value_out aten::scatter_add.out aten::select_copy.int_out aten::select_scatter.out "
    " aten::sigmoid.out aten::sign.out aten::sin.out aten::sinh.out aten::slice_copy.Tensor_out "
    " aten::slice_scatter.out aten::split_copy.Tensor_out aten::split_with_sizes_copy.out "
    " aten::sqrt.out aten::squeeze_copy.dim_out aten::squeeze_copy.dims_out aten::stack.out "
    " aten::sub.Scalar_out aten::sub.out aten::sum.IntList_out aten::sym_numel aten::sym_size.int "
    " aten::t_copy.out aten::tan.out aten::tanh.out aten::topk.values aten::transpose_copy.int_out "
    " aten::tril.out aten::trunc.out aten::unbind_copy.int_out aten::unfold_copy.out "
    " aten::unsqueeze_copy.out aten::upsample_bilinear2d.vec_out aten::upsample_nearest2d.vec_out "
    " aten::var.correction_out aten::var.out aten::var_mean.correction_out aten::view_as_real_copy.out "
    " aten::view_copy.out aten::where.self_out aten::zeros.out dim_order_ops::_clone_dim_order.out "
    " dim_order_ops::_empty_dim_order.out dim_order_ops::_to_dim_order_copy.out et_copy::_d2h_copy.out "
    " et_copy::_h2d_copy.out executorch_prim::add.Scalar executorch_prim::ceil.Scalar "
    " executorch_prim::eq.Scalar executorch_prim::et_copy_index.tensor executorch_prim::et_view.default "
    " executorch_prim::floordiv.Scalar executorch_prim::floordiv.int executorch_prim::ge.Scalar "
    " executorch_prim::gt.Scalar executorch_prim::le.Scalar executorch_prim::lt.Scalar "
    " executorch_prim::mod.Scalar executorch_prim::mod.int executorch_prim::mul.Scalar "
    " executorch_prim::neg.Scalar executorch_prim::round.Scalar executorch_prim::sub.Scalar "
    " executorch_prim::sym_float.Scalar executorch_prim::sym_int.Scalar executorch_prim::sym_ite.Scalar "
    " executorch_prim::sym_max.Scalar executorch_prim::sym_min.Scalar executorch_prim::sym_not.Scalar "
    " executorch_prim::truediv.Scalar executorch_prim::trunc.Scalar ";

constexpr std::string_view quantized_kernels =
    " quantized_decomposed::add.out quantized_decomposed::choose_qparams.Tensor_out "
    " quantized_decomposed::choose_qparams_per_token_asymmetric.out "
    " quantized_decomposed::dequantize_per_channel.out "
    " quantized_decomposed::dequantize_per_tensor.Tensor_out "
    " quantized_decomposed::dequantize_per_tensor.out quantized_decomposed::dequantize_per_token.out "
    " quantized_decomposed::embedding_2bit.dtype_out quantized_decomposed::embedding_2bit.out "
    " quantized_decomposed::embedding_4bit.dtype_out quantized_decomposed::embedding_4bit.out "
    " quantized_decomposed::embedding_byte.dtype_out quantized_decomposed::embedding_byte.out "
    " quantized_decomposed::mixed_linear.out quantized_decomposed::mixed_mm.out "
    " quantized_decomposed::quantize_per_channel.out "
    " quantized_decomposed::quantize_per_tensor.Tensor_out "
    " quantized_decomposed::quantize_per_tensor.out quantized_decomposed::quantize_per_token.out ";

constexpr std::string_view llm_kernels =
    " llama::channelwise_gated_delta_rule.out llama::custom_quantized_sdpa.out llama::custom_sdpa.out "
    " llama::fallback.out llama::fast_hadamard_transform.out llama::gated_delta_rule.out "
    " llama::quantized_moe_ffn.out llama::sdpa_with_kv_cache.out llama::update_cache.out "
    " llama::update_cache_with_indices.out ";

constexpr std::string_view core_aten =
    " _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward "
    " _embedding_bag _fft_c2r _fft_r2c _local_scalar_dense _log_softmax _native_batch_norm_legit "
    " _native_batch_norm_legit_no_training _pdist_forward _softmax _to_copy abs acos acosh "
    " adaptive_avg_pool1d add addmm alias amax amin any arange argmax argmin as_strided asin asinh atan "
    " atan2 atanh avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d bitwise_and bitwise_not "
    " bitwise_or bitwise_xor bmm cat ceil clamp clone col2im constant_pad_nd convolution "
    " convolution_backward copy cos cosh cumsum diagonal div elu embedding embedding_dense_backward "
    " empty empty_strided eq erf exp expand expm1 fill flip floor fmod full full_like gather ge gelu "
    " grid_sampler_2d gt hardtanh index index_put index_select isinf isnan le leaky_relu log log10 "
    " log1p log2 logical_and logical_not logical_or logical_xor lt masked_scatter max "
    " max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices maximum mean min "
    " minimum mm mul native_dropout native_group_norm native_group_norm_backward native_layer_norm "
    " native_layer_norm_backward ne neg nonzero permute pow prod rand randn randperm reciprocal "
    " reflection_pad1d reflection_pad2d reflection_pad3d relu remainder repeat replication_pad2d "
    " replication_pad3d resize_ round rsqrt scalar_tensor scatter scatter_add scatter_reduce select "
    " select_scatter sigmoid sign sin sinh slice slice_scatter sort split_with_sizes sqrt squeeze sub "
    " sum sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride tan tanh topk trunc "
    " unsqueeze upsample_bilinear2d upsample_nearest2d var view where ";

constexpr std::string_view wheel_backends = " OpenvinoBackend QnnBackend XnnpackBackend ";

/// Backends of release 1.5.1 and the build target that registers each, where its name is known.
constexpr std::pair<std::string_view, std::string_view> backend_libraries[] = {
    {"CoreMLBackend", "coremldelegate"},
    {"CudaBackend", ""},
    {"EnnBackend", ""},
    {"EthosUBackend", "executorch_delegate_ethos_u"},
    {"MLXBackend", ""},
    {"MPSBackend", "mpsdelegate"},
    {"MetalBackend", ""},
    {"NeuropilotBackend", "neuron_backend"},
    {"NeutronBackend", "executorch_delegate_neutron"},
    {"OpenvinoBackend", "openvino_backend"},
    {"QnnBackend", "qnn_executorch_backend"},
    {"VgfBackend", ""},
    {"VulkanBackend", "vulkan_backend"},
    {"XnnpackBackend", "xnnpack_backend"}};

bool holds(std::string_view list, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         list.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

}  // namespace

bool executorch_has_kernel(std::string_view op) { return holds(kernels, op); }

std::string_view executorch_kernel_library(std::string_view op) {
  if (holds(quantized_kernels, op)) return "quantized_ops_lib";
  return holds(llm_kernels, op) ? "custom_ops (extension/llm)" : "";
}

bool is_core_aten(std::string_view op) {
  const std::size_t skip = op.starts_with("aten::")  ? 6
                           : op.starts_with("aten.") ? 5
                                                     : std::string_view::npos;
  if (skip == std::string_view::npos) return false;
  op.remove_prefix(skip);
  op = op.substr(0, op.find('.'));
  constexpr std::string_view copy = "_copy";  // edge programs and the runtime name the copying forms of views
  return holds(core_aten, op) ||
         (op.ends_with(copy) && holds(core_aten, op.substr(0, op.size() - copy.size())));
}

bool executorch_has_backend(std::string_view backend) { return holds(wheel_backends, backend); }

std::optional<std::string_view> executorch_backend_library(std::string_view backend) {
  for (const auto& [name, library] : backend_libraries)
    if (name == backend) return library;
  return std::nullopt;
}

}  // namespace md

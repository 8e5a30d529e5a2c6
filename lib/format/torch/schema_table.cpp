// One line an operator: its schema in torch 2.13 (torch.ops.aten.NAME.OVERLOAD._schema) without the marks for
// aliases and with int for SymInt. Ordered by name. Operators that write in place have the schema of those
// that do not.
#include "lib/format/torch/schema.h"

namespace md {

std::string_view aten_schema_table() {
  return R"(aten.__and__.Scalar(Tensor self, Scalar other) -> Tensor
aten.__and__.Tensor(Tensor self, Tensor other) -> Tensor
aten.__rshift__.Scalar(Tensor self, Scalar other) -> Tensor
aten.__rshift__.Tensor(Tensor self, Tensor other) -> Tensor
aten._adaptive_avg_pool2d.default(Tensor self, int[] output_size) -> Tensor
aten._assert_async.default(Tensor self) -> ()
aten._assert_async.msg(Tensor self, str assert_msg) -> ()
aten._assert_scalar.default(Scalar self, str assert_msg) -> ()
aten._assert_tensor_metadata.default(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()
aten._conj.default(Tensor self) -> Tensor
aten._conj_physical.default(Tensor self) -> Tensor
aten._fft_c2c.default(Tensor self, int[] dim, int normalization, bool forward) -> Tensor
aten._fft_c2r.default(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor
aten._fft_r2c.default(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor
aten._functional_assert_scalar.default(Scalar self, str assert_msg, Tensor dep_token) -> Tensor
aten._is_all_true.default(Tensor self) -> Tensor
aten._is_any_true.default(Tensor self) -> Tensor
aten._log_softmax.default(Tensor self, int dim, bool half_to_float) -> Tensor
aten._native_batch_norm_legit_no_training.default(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
aten._softmax.default(Tensor self, int dim, bool half_to_float) -> Tensor
aten._to_copy.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
aten._unsafe_view.default(Tensor self, int[] size) -> Tensor
aten.abs.default(Tensor self) -> Tensor
aten.adaptive_avg_pool2d.default(Tensor self, int[] output_size) -> Tensor
aten.add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten.addmm.default(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
aten.addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor
aten.affine_grid_generator.default(Tensor theta, int[] size, bool align_corners) -> Tensor
aten.alias.default(Tensor self) -> Tensor
aten.alias_copy.default(Tensor self) -> Tensor
aten.all.default(Tensor self) -> Tensor
aten.all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
aten.all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
aten.amax.default(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor
aten.amin.default(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor
aten.angle.default(Tensor self) -> Tensor
aten.any.default(Tensor self) -> Tensor
aten.any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
aten.any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
aten.arange.default(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.atan2.default(Tensor self, Tensor other) -> Tensor
aten.avg_pool2d.default(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
aten.batch_norm.default(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor
aten.bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor
aten.bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten.bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
aten.bitwise_not.default(Tensor self) -> Tensor
aten.bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor
aten.bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten.bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
aten.bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor
aten.bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
aten.bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
aten.blackman_window.default(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.bmm.default(Tensor self, Tensor mat2) -> Tensor
aten.bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor
aten.cat.default(Tensor[] tensors, int dim=0) -> Tensor
aten.ceil.default(Tensor self) -> Tensor
aten.chunk.default(Tensor self, int chunks, int dim=0) -> Tensor[]
aten.clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
aten.clamp.default(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
aten.clamp_max.Tensor(Tensor self, Tensor max) -> Tensor
aten.clamp_max.default(Tensor self, Scalar max) -> Tensor
aten.clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
aten.clamp_min.default(Tensor self, Scalar min) -> Tensor
aten.clone.default(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
aten.complex.default(Tensor real, Tensor imag) -> Tensor
aten.concat.default(Tensor[] tensors, int dim=0) -> Tensor
aten.conj.default(Tensor self) -> Tensor
aten.conj_physical.default(Tensor self) -> Tensor
aten.constant_pad_nd.default(Tensor self, int[] pad, Scalar value=0) -> Tensor
aten.contiguous.default(Tensor self, *, MemoryFormat memory_format=0) -> Tensor
aten.conv1d.default(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] dilation=[], int groups=1) -> Tensor
aten.conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], str padding="valid", int[] dilation=[], int groups=1) -> Tensor
aten.conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] dilation=[], int groups=1) -> Tensor
aten.conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], str padding="valid", int[] dilation=[], int groups=1) -> Tensor
aten.conv3d.default(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] dilation=[], int groups=1) -> Tensor
aten.conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], str padding="valid", int[] dilation=[], int groups=1) -> Tensor
aten.conv_transpose1d.default(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] output_padding=[], int groups=1, int[] dilation=[]) -> Tensor
aten.conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] output_padding=[], int groups=1, int[] dilation=[]) -> Tensor
aten.conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[], int[] padding=[], int[] output_padding=[], int groups=1, int[] dilation=[]) -> Tensor
aten.convolution.default(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor
aten.copy.Dict_Tensor(Dict(Tensor, t) self) -> Dict(Tensor, t)
aten.copy.default(Tensor self, Tensor src, bool non_blocking=False) -> Tensor
aten.copy_.Tensor(Tensor self, Tensor other) -> Tensor
aten.copy_.float(Tensor self, float other) -> Tensor
aten.copy_.int(Tensor self, int other) -> Tensor
aten.cos.default(Tensor self) -> Tensor
aten.cumsum.default(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
aten.detach.default(Tensor self) -> Tensor
aten.detach_copy.default(Tensor self) -> Tensor
aten.diagonal.default(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
aten.diff.default(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor
aten.div.Scalar(Tensor self, Scalar other) -> Tensor
aten.div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
aten.div.Tensor(Tensor self, Tensor other) -> Tensor
aten.div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
aten.dot.default(Tensor self, Tensor tensor) -> Tensor
aten.dropout.default(Tensor input, float p, bool train) -> Tensor
aten.einsum.default(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
aten.einsum.sublist(Tensor a, ...) -> Tensor
aten.elu.default(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
aten.embedding.default(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
aten.embedding_bag.default(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)
aten.embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)
aten.empty.memory_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.empty_like.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.empty_strided.default(int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.eq.Scalar(Tensor self, Scalar other) -> Tensor
aten.eq.Tensor(Tensor self, Tensor other) -> Tensor
aten.eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool
aten.erf.default(Tensor self) -> Tensor
aten.exp.default(Tensor self) -> Tensor
aten.exp2.default(Tensor self) -> Tensor
aten.expand.default(Tensor self, int[] size, *, bool implicit=False) -> Tensor
aten.expand_as.default(Tensor self, Tensor other) -> Tensor
aten.eye.default(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.eye.m(int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.fft_fft.default(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor
aten.fft_fft2.default(Tensor self, int[]? s=None, int[] dim=[], str? norm=None) -> Tensor
aten.fft_fftn.default(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor
aten.fft_fftshift.default(Tensor self, int[]? dim=None) -> Tensor
aten.fft_ifft.default(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor
aten.fft_ifft2.default(Tensor self, int[]? s=None, int[] dim=[], str? norm=None) -> Tensor
aten.fft_ifftn.default(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor
aten.fft_ifftshift.default(Tensor self, int[]? dim=None) -> Tensor
aten.fft_irfft.default(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor
aten.fft_irfft2.default(Tensor self, int[]? s=None, int[] dim=[], str? norm=None) -> Tensor
aten.fft_irfftn.default(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor
aten.fft_rfft.default(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor
aten.fft_rfft2.default(Tensor self, int[]? s=None, int[] dim=[], str? norm=None) -> Tensor
aten.fft_rfftn.default(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor
aten.fill.Scalar(Tensor self, Scalar value) -> Tensor
aten.fill.Tensor(Tensor self, Tensor value) -> Tensor
aten.flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor
aten.flip.default(Tensor self, int[] dims) -> Tensor
aten.floor.default(Tensor self) -> Tensor
aten.floor_divide.Scalar(Tensor self, Scalar other) -> Tensor
aten.floor_divide.default(Tensor self, Tensor other) -> Tensor
aten.full.default(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.full_like.default(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.gather.default(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
aten.ge.Scalar(Tensor self, Scalar other) -> Tensor
aten.ge.Tensor(Tensor self, Tensor other) -> Tensor
aten.gelu.default(Tensor self, *, str approximate="none") -> Tensor
aten.group_norm.default(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor
aten.gt.Scalar(Tensor self, Scalar other) -> Tensor
aten.gt.Tensor(Tensor self, Tensor other) -> Tensor
aten.hamming_window.default(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hann_window.default(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.hardsigmoid.default(Tensor self) -> Tensor
aten.hardswish.default(Tensor self) -> Tensor
aten.hardtanh.default(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
aten.histc.default(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor
aten.imag.default(Tensor self) -> Tensor
aten.index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
aten.index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor
aten.index.list_Tensor(Tensor[] self, Tensor el) -> int
aten.index_put.default(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
aten.index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor
aten.index_select.default(Tensor self, int dim, Tensor index) -> Tensor
aten.instance_norm.default(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor
aten.isfinite.default(Tensor self) -> Tensor
aten.isnan.default(Tensor self) -> Tensor
aten.istft.default(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor
aten.item.default(Tensor self) -> Scalar
aten.layer_norm.default(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor
aten.le.Scalar(Tensor self, Scalar other) -> Tensor
aten.le.Tensor(Tensor self, Tensor other) -> Tensor
aten.leaky_relu.default(Tensor self, Scalar negative_slope=0.01) -> Tensor
aten.lift_fresh_copy.default(Tensor self) -> Tensor
aten.linear.default(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
aten.linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.linspace.default(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.log.default(Tensor self) -> Tensor
aten.log1p.default(Tensor self) -> Tensor
aten.log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten.logical_and.default(Tensor self, Tensor other) -> Tensor
aten.logical_not.default(Tensor self) -> Tensor
aten.logical_or.default(Tensor self, Tensor other) -> Tensor
aten.logical_xor.default(Tensor self, Tensor other) -> Tensor
aten.lt.Scalar(Tensor self, Scalar other) -> Tensor
aten.lt.Tensor(Tensor self, Tensor other) -> Tensor
aten.mT.a(Tensor self) -> Tensor
aten.mT.default(Tensor self) -> Tensor
aten.masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
aten.masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
aten.matmul.default(Tensor self, Tensor other) -> Tensor
aten.max.default(Tensor self) -> Tensor
aten.max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten.max.other(Tensor self, Tensor other) -> Tensor
aten.max_pool2d.default(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False) -> Tensor
aten.max_pool3d.default(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False) -> Tensor
aten.maximum.default(Tensor self, Tensor other) -> Tensor
aten.mean.default(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten.mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten.min.default(Tensor self) -> Tensor
aten.min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
aten.min.other(Tensor self, Tensor other) -> Tensor
aten.minimum.default(Tensor self, Tensor other) -> Tensor
aten.mm.default(Tensor self, Tensor mat2) -> Tensor
aten.mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor
aten.movedim.int(Tensor self, int source, int destination) -> Tensor
aten.movedim.intlist(Tensor self, int[] source, int[] destination) -> Tensor
aten.mul.Scalar(Tensor self, Scalar other) -> Tensor
aten.mul.Tensor(Tensor self, Tensor other) -> Tensor
aten.nan_to_num.default(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
aten.narrow.Tensor(Tensor self, int dim, Tensor start, int length) -> Tensor
aten.narrow.default(Tensor self, int dim, int start, int length) -> Tensor
aten.native_layer_norm.default(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)
aten.ne.Scalar(Tensor self, Scalar other) -> Tensor
aten.ne.Tensor(Tensor self, Tensor other) -> Tensor
aten.ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool
aten.neg.default(Tensor self) -> Tensor
aten.new_empty.default(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.new_full.default(Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.new_ones.default(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.new_zeros.default(Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.numpy_T.a(Tensor self) -> Tensor
aten.numpy_T.default(Tensor self) -> Tensor
aten.ones.default(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.ones_like.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.pad.default(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor
aten.permute.default(Tensor self, int[] dims) -> Tensor
aten.polar.default(Tensor abs, Tensor angle) -> Tensor
aten.pow.Scalar(Scalar self, Tensor exponent) -> Tensor
aten.pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
aten.pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
aten.prod.default(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten.prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten.randn_like.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
aten.real.default(Tensor self) -> Tensor
aten.reciprocal.default(Tensor self) -> Tensor
aten.reflection_pad1d.default(Tensor self, int[] padding) -> Tensor
aten.relu.default(Tensor self) -> Tensor
aten.relu6.default(Tensor self) -> Tensor
aten.repeat.default(Tensor self, int[] repeats) -> Tensor
aten.repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor
aten.repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor
aten.repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor
aten.reshape.default(Tensor self, int[] shape) -> Tensor
aten.resolve_conj.default(Tensor self) -> Tensor
aten.resolve_neg.default(Tensor self) -> Tensor
aten.rms_norm.default(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
aten.roll.default(Tensor self, int[] shifts, int[] dims=[]) -> Tensor
aten.round.decimals(Tensor self, *, int decimals) -> Tensor
aten.round.default(Tensor self) -> Tensor
aten.rsqrt.default(Tensor self) -> Tensor
aten.rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten.rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten.scalar_tensor.default(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.scaled_dot_product_attention.default(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
aten.scatter_add.default(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
aten.scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor
aten.select.int(Tensor self, int dim, int index) -> Tensor
aten.select_scatter.default(Tensor self, Tensor src, int dim, int index) -> Tensor
aten.sigmoid.default(Tensor self) -> Tensor
aten.sign.default(Tensor self) -> Tensor
aten.silu.default(Tensor self) -> Tensor
aten.sin.default(Tensor self) -> Tensor
aten.slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor
aten.slice_scatter.default(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor
aten.softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
aten.softplus.default(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
aten.sort.Tensor(Tensor[] self, bool reverse=False) -> ()
aten.sort.default(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
aten.sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
aten.split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]
aten.split.default(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]
aten.split.sizes(Tensor self, int[] split_size, int dim=0) -> Tensor[]
aten.split_with_sizes.default(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]
aten.sqrt.default(Tensor self) -> Tensor
aten.square.default(Tensor self) -> Tensor
aten.squeeze.default(Tensor self) -> Tensor
aten.squeeze.dim(Tensor self, int dim) -> Tensor
aten.squeeze.dims(Tensor self, int[] dim) -> Tensor
aten.stack.default(Tensor[] tensors, int dim=0) -> Tensor
aten.std.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
aten.std.default(Tensor self, bool unbiased=True) -> Tensor
aten.std.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
aten.stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor
aten.stft.default(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor
aten.sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
aten.sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
aten.sum.default(Tensor self, *, ScalarType? dtype=None) -> Tensor
aten.sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
aten.swapaxes.default(Tensor self, int axis0, int axis1) -> Tensor
aten.sym_constrain_range.default(Scalar size, *, int? min=None, int? max=None) -> ()
aten.sym_constrain_range_for_size.default(Scalar size, *, int? min=None, int? max=None) -> ()
aten.sym_size.default(Tensor self) -> int[]
aten.sym_size.int(Tensor self, int dim) -> int
aten.t.default(Tensor self) -> Tensor
aten.tan.default(Tensor self) -> Tensor
aten.tanh.default(Tensor self) -> Tensor
aten.to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor
aten.to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor
aten.to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor
aten.to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor
aten.to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)
aten.to.prim_dtype(Tensor self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)
aten.to.prim_other(Tensor self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)
aten.topk.default(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
aten.transpose.int(Tensor self, int dim0, int dim1) -> Tensor
aten.tril.default(Tensor self, int diagonal=0) -> Tensor
aten.tril_indices.default(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.triu.default(Tensor self, int diagonal=0) -> Tensor
aten.trunc.default(Tensor self) -> Tensor
aten.type_as.default(Tensor self, Tensor other) -> Tensor
aten.unbind.int(Tensor self, int dim=0) -> Tensor[]
aten.unflatten.int(Tensor self, int dim, int[] sizes) -> Tensor
aten.uniform.default(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor
aten.unsqueeze.default(Tensor self, int dim) -> Tensor
aten.var.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
aten.var.default(Tensor self, bool unbiased=True) -> Tensor
aten.var.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
aten.var_mean.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
aten.var_mean.default(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
aten.var_mean.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
aten.view.default(Tensor self, int[] size) -> Tensor
aten.view.dtype(Tensor self, ScalarType dtype) -> Tensor
aten.view_as.default(Tensor self, Tensor other) -> Tensor
aten.view_as_complex.default(Tensor self) -> Tensor
aten.view_as_real.default(Tensor self) -> Tensor
aten.view_copy.default(Tensor self, int[] size) -> Tensor
aten.view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor
aten.where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor
aten.where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor
aten.where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor
aten.where.default(Tensor condition) -> Tensor[]
aten.where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
aten.zero.default(Tensor self) -> Tensor
aten.zeros.default(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
aten.zeros_like.default(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
)";
}

}  // namespace md

#include "lib/graph/aten_schema.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace md {
namespace {

using K = AtenKind;

// From the operators' schemas in torch 2.13 (torch.ops.aten.NAME.OVERLOAD._schema), with the arguments that patches set.
constexpr AtenArgument arguments[] = {
    {"self", K::tensor, false}, {"dtype", K::scalar_type, true}, {"layout", K::layout, true},
    {"device", K::device, true}, {"pin_memory", K::flag, true}, {"non_blocking", K::flag, true},
    {"memory_format", K::memory_format, true}, {"self", K::tensor, false}, {"self", K::tensor, false},
    {"other", K::tensor, false}, {"alpha", K::number, true}, {"self", K::tensor, false},
    {"self", K::tensor, false}, {"dim", K::integers, false}, {"keepdim", K::flag, false},
    {"end", K::number, false}, {"dtype", K::scalar_type, true}, {"layout", K::layout, true},
    {"device", K::device, true}, {"pin_memory", K::flag, true}, {"start", K::number, false},
    {"end", K::number, false}, {"step", K::number, false}, {"dtype", K::scalar_type, true},
    {"layout", K::layout, true}, {"device", K::device, true}, {"pin_memory", K::flag, true},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"kernel_size", K::integers, false}, {"stride", K::integers, false}, {"padding", K::integers, false},
    {"ceil_mode", K::flag, false}, {"count_include_pad", K::flag, false}, {"divisor_override", K::integer, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"mat2", K::tensor, false}, {"tensors", K::tensors, false}, {"dim", K::integer, false},
    {"self", K::tensor, false}, {"min", K::number, false}, {"max", K::number, false}, {"self", K::tensor, false},
    {"memory_format", K::memory_format, true}, {"self", K::tensor, false}, {"pad", K::integers, false},
    {"value", K::number, false}, {"self", K::tensor, false}, {"memory_format", K::memory_format, true},
    {"input", K::tensor, false}, {"weight", K::tensor, false}, {"bias", K::optional_tensor, false},
    {"stride", K::integers, false}, {"padding", K::integers, false}, {"dilation", K::integers, false},
    {"groups", K::integer, false}, {"input", K::tensor, false}, {"weight", K::tensor, false},
    {"bias", K::optional_tensor, false}, {"stride", K::integers, false}, {"padding", K::integers, false},
    {"dilation", K::integers, false}, {"groups", K::integer, false}, {"input", K::tensor, false},
    {"weight", K::tensor, false}, {"bias", K::optional_tensor, false}, {"stride", K::integers, false},
    {"padding", K::integers, false}, {"output_padding", K::integers, false}, {"groups", K::integer, false},
    {"dilation", K::integers, false}, {"self", K::tensor, false}, {"src", K::tensor, false},
    {"non_blocking", K::flag, false}, {"self", K::tensor, false}, {"self", K::tensor, false},
    {"dim", K::integer, false}, {"dtype", K::scalar_type, true}, {"self", K::tensor, false},
    {"other", K::tensor, false}, {"self", K::tensor, false}, {"other", K::tensor, false},
    {"rounding_mode", K::text, true}, {"self", K::tensor, false}, {"other", K::number, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"self", K::tensor, false}, {"size", K::integers, false}, {"implicit", K::flag, true},
    {"self", K::tensor, false}, {"start_dim", K::integer, false}, {"end_dim", K::integer, false},
    {"self", K::tensor, false}, {"dims", K::integers, false}, {"self", K::tensor, false},
    {"other", K::tensor, false}, {"size", K::integers, false}, {"fill_value", K::number, false},
    {"dtype", K::scalar_type, true}, {"layout", K::layout, true}, {"device", K::device, true},
    {"pin_memory", K::flag, true}, {"self", K::tensor, false}, {"other", K::number, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"other", K::number, false}, {"self", K::tensor, false}, {"indices", K::optional_tensors, false},
    {"self", K::tensor, false}, {"indices", K::optional_tensors, false}, {"values", K::tensor, false},
    {"accumulate", K::flag, false}, {"self", K::tensor, false}, {"dim", K::integer, false},
    {"index", K::tensor, false}, {"self", K::tensor, false}, {"other", K::number, false},
    {"input", K::tensor, false}, {"weight", K::tensor, false}, {"bias", K::optional_tensor, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"self", K::tensor, false}, {"other", K::number, false}, {"self", K::tensor, false},
    {"other", K::tensor, false}, {"self", K::tensor, false}, {"other", K::tensor, false},
    {"self", K::tensor, false}, {"dim", K::integer, false}, {"keepdim", K::flag, false},
    {"self", K::tensor, false}, {"kernel_size", K::integers, false}, {"stride", K::integers, false},
    {"padding", K::integers, false}, {"dilation", K::integers, false}, {"ceil_mode", K::flag, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"dim", K::integers, false}, {"keepdim", K::flag, false}, {"dtype", K::scalar_type, true},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"self", K::tensor, false},
    {"mat2", K::tensor, false}, {"self", K::tensor, false}, {"other", K::tensor, false},
    {"self", K::tensor, false}, {"other", K::number, false}, {"self", K::tensor, false},
    {"size", K::integers, false}, {"dtype", K::scalar_type, true}, {"layout", K::layout, true},
    {"device", K::device, true}, {"pin_memory", K::flag, true}, {"self", K::tensor, false},
    {"dims", K::integers, false}, {"self", K::tensor, false}, {"exponent", K::number, false},
    {"self", K::tensor, false}, {"self", K::tensor, false}, {"self", K::tensor, false},
    {"repeats", K::integers, false}, {"self", K::tensor, false}, {"shape", K::integers, false},
    {"self", K::tensor, false}, {"self", K::tensor, false}, {"dim", K::integer, false},
    {"index", K::integer, false}, {"self", K::tensor, false}, {"src", K::tensor, false},
    {"dim", K::integer, false}, {"index", K::integer, false}, {"self", K::tensor, false},
    {"self", K::tensor, false}, {"dim", K::integer, false}, {"start", K::integer, false},
    {"end", K::integer, false}, {"step", K::integer, false}, {"self", K::tensor, false}, {"src", K::tensor, false},
    {"dim", K::integer, false}, {"start", K::integer, false}, {"end", K::integer, false},
    {"step", K::integer, false}, {"self", K::tensor, false}, {"dim", K::integer, false},
    {"dtype", K::scalar_type, false}, {"self", K::tensor, false}, {"split_sizes", K::integers, false},
    {"dim", K::integer, false}, {"self", K::tensor, false}, {"self", K::tensor, false}, {"dim", K::integer, false},
    {"self", K::tensor, false}, {"dim", K::integers, false}, {"tensors", K::tensors, false},
    {"dim", K::integer, false}, {"self", K::tensor, false}, {"other", K::tensor, false},
    {"alpha", K::number, true}, {"self", K::tensor, false}, {"dtype", K::scalar_type, true},
    {"self", K::tensor, false}, {"dim", K::integers, false}, {"keepdim", K::flag, false},
    {"dtype", K::scalar_type, true}, {"self", K::tensor, false}, {"dtype", K::scalar_type, false},
    {"non_blocking", K::flag, false}, {"copy", K::flag, false}, {"memory_format", K::memory_format, false},
    {"self", K::tensor, false}, {"k", K::integer, false}, {"dim", K::integer, false}, {"largest", K::flag, false},
    {"sorted", K::flag, false}, {"self", K::tensor, false}, {"dim0", K::integer, false},
    {"dim1", K::integer, false}, {"self", K::tensor, false}, {"dim", K::integer, false},
    {"self", K::tensor, false}, {"size", K::integers, false}, {"condition", K::tensor, false},
    {"self", K::tensor, false}, {"other", K::number, false}, {"condition", K::tensor, false},
    {"self", K::tensor, false}, {"other", K::tensor, false}, {"size", K::integers, false},
    {"dtype", K::scalar_type, true}, {"layout", K::layout, true}, {"device", K::device, true},
    {"pin_memory", K::flag, true},
};

struct Row {
  std::string_view op;
  std::size_t first, count;  ///< in `arguments`
  bool returns_list;
};

/// Ordered by name.
constexpr Row rows[] = {
    {"aten._to_copy.default", 0, 7, false},
    {"aten.abs.default", 7, 1, false},
    {"aten.add.Tensor", 8, 3, false},
    {"aten.all.default", 11, 1, false},
    {"aten.amax.default", 12, 3, false},
    {"aten.arange.default", 15, 5, false},
    {"aten.arange.start_step", 20, 7, false},
    {"aten.atan2.default", 27, 2, false},
    {"aten.avg_pool2d.default", 29, 7, false},
    {"aten.bitwise_and.Tensor", 36, 2, false},
    {"aten.bmm.default", 38, 2, false},
    {"aten.cat.default", 40, 2, false},
    {"aten.clamp.default", 42, 3, false},
    {"aten.clone.default", 45, 2, false},
    {"aten.constant_pad_nd.default", 47, 3, false},
    {"aten.contiguous.default", 50, 2, false},
    {"aten.conv1d.default", 52, 7, false},
    {"aten.conv2d.default", 59, 7, false},
    {"aten.conv_transpose1d.default", 66, 8, false},
    {"aten.copy.default", 74, 3, false},
    {"aten.cos.default", 77, 1, false},
    {"aten.cumsum.default", 78, 3, false},
    {"aten.div.Tensor", 81, 2, false},
    {"aten.div.Tensor_mode", 83, 3, false},
    {"aten.eq.Scalar", 86, 2, false},
    {"aten.eq.Tensor", 88, 2, false},
    {"aten.exp.default", 90, 1, false},
    {"aten.expand.default", 91, 3, false},
    {"aten.flatten.using_ints", 94, 3, false},
    {"aten.flip.default", 97, 2, false},
    {"aten.floor_divide.default", 99, 2, false},
    {"aten.full.default", 101, 6, false},
    {"aten.ge.Scalar", 107, 2, false},
    {"aten.ge.Tensor", 109, 2, false},
    {"aten.gt.Scalar", 111, 2, false},
    {"aten.index.Tensor", 113, 2, false},
    {"aten.index_put.default", 115, 4, false},
    {"aten.index_select.default", 119, 3, false},
    {"aten.le.Scalar", 122, 2, false},
    {"aten.linear.default", 124, 3, false},
    {"aten.logical_and.default", 127, 2, false},
    {"aten.logical_not.default", 129, 1, false},
    {"aten.lt.Scalar", 130, 2, false},
    {"aten.lt.Tensor", 132, 2, false},
    {"aten.matmul.default", 134, 2, false},
    {"aten.max.dim", 136, 3, false},
    {"aten.max_pool2d.default", 139, 6, false},
    {"aten.maximum.default", 145, 2, false},
    {"aten.mean.dim", 147, 4, false},
    {"aten.minimum.default", 151, 2, false},
    {"aten.mm.default", 153, 2, false},
    {"aten.mul.Tensor", 155, 2, false},
    {"aten.ne.Scalar", 157, 2, false},
    {"aten.neg.default", 159, 1, false},
    {"aten.ones.default", 160, 5, false},
    {"aten.permute.default", 165, 2, false},
    {"aten.pow.Tensor_Scalar", 167, 2, false},
    {"aten.reciprocal.default", 169, 1, false},
    {"aten.relu.default", 170, 1, false},
    {"aten.repeat.default", 171, 2, false},
    {"aten.reshape.default", 173, 2, false},
    {"aten.rsqrt.default", 175, 1, false},
    {"aten.select.int", 176, 3, false},
    {"aten.select_scatter.default", 179, 4, false},
    {"aten.sin.default", 183, 1, false},
    {"aten.slice.Tensor", 184, 5, false},
    {"aten.slice_scatter.default", 189, 6, false},
    {"aten.softmax.int", 195, 3, false},
    {"aten.split_with_sizes.default", 198, 3, true},
    {"aten.sqrt.default", 201, 1, false},
    {"aten.squeeze.dim", 202, 2, false},
    {"aten.squeeze.dims", 204, 2, false},
    {"aten.stack.default", 206, 2, false},
    {"aten.sub.Tensor", 208, 3, false},
    {"aten.sum.default", 211, 2, false},
    {"aten.sum.dim_IntList", 213, 4, false},
    {"aten.to.dtype", 217, 5, false},
    {"aten.topk.default", 222, 5, false},
    {"aten.transpose.int", 227, 3, false},
    {"aten.unsqueeze.default", 230, 2, false},
    {"aten.view.default", 232, 2, false},
    {"aten.where.ScalarOther", 234, 3, false},
    {"aten.where.self", 237, 3, false},
    {"aten.zeros.default", 240, 5, false},
};
constexpr std::size_t row_count = std::size(rows);

constexpr auto schemas = [] {
  std::array<AtenSchema, row_count> out{};
  for (std::size_t i = 0; i < row_count; ++i)
    out[i] = {rows[i].op, std::span<const AtenArgument>(arguments + rows[i].first, rows[i].count), rows[i].returns_list};
  return out;
}();

}  // namespace

const AtenSchema* aten_schema(std::string_view op) {
  const auto it = std::lower_bound(schemas.begin(), schemas.end(), op, [](const AtenSchema& s, std::string_view name) { return s.op < name; });
  return it != schemas.end() && it->op == op ? &*it : nullptr;
}

}  // namespace md

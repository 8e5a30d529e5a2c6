#include "lib/format/onnx/operators.h"

namespace md {

tl::expected<std::vector<ValueType>, NoType> infer_onnx_types(const Node&, std::span<const Value* const>,
                                                              std::size_t) {
  return tl::make_unexpected(NoType{"no type is known for this operator", false});
}

std::vector<StaleType> complete_onnx_types(Model&) { return {}; }

}  // namespace md

#include "lib/op/infer.h"

#include <algorithm>

#include "lib/op/dialect.h"

namespace md {

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) return std::nullopt;
    // An unknown dimension meets a known one above 1: it must be that one.
    out[out.size() - 1 - i] = x == 1 ? y : y == 1 ? x : std::max(x, y);
  }
  return out;
}

tl::expected<std::vector<ValueType>, NoType> infer_types_or_why(const Dialect& dialect, const Node& node,
                                                                std::span<const Value* const> operands,
                                                                std::size_t outputs) {
  if (!dialect.infer) return tl::make_unexpected(NoType{"no type is known for this operator", false});
  return dialect.infer(node, operands, outputs);
}

tl::expected<std::vector<ValueType>, std::string> infer_types(const Dialect& dialect, const Node& node,
                                                              std::span<const Value* const> operands,
                                                              std::size_t outputs) {
  auto types = infer_types_or_why(dialect, node, operands, outputs);
  if (!types) return tl::make_unexpected(std::move(types.error().why));
  return std::move(*types);
}

}  // namespace md

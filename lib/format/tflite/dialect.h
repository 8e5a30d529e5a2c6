// The TFLite format (.tflite).
#pragma once
#include "lib/op/dialect.h"

namespace md {

extern const Dialect dialect_tflite;

Result<std::unique_ptr<Document>> open_tflite(std::shared_ptr<const MappedFile> file);

/// See Dialect::infer, Dialect::complete_attributes.
tl::expected<std::vector<ValueType>, NoType> infer_tflite_types(const Node& node,
                                                                std::span<const Value* const> operands,
                                                                std::size_t outputs);
/// See Dialect::first_unsized.
UnsizedValue first_unsized_value(const Graph& graph);
void set_derived_attributes(Node& node, std::span<const Value* const> operands,
                            std::span<const ValueType> outputs);

}  // namespace md

// Parts of an .onnx file made anew.
#pragma once
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md::onnx {

/// The content of a ValueInfoProto. Types that are not tensors cannot be made anew: an empty text.
std::string encode_value_info(const Value& value);

/// The content of a TensorProto without its elements: dims, type and name.
std::string encode_tensor_head(const Value& value, std::string_view name);

/// The content of an AttributeProto. Graphs (numbers of Model::graphs) and bytes that were kept as they are
/// in the file are the writer's business; an error for what else no attribute can hold.
Result<std::string> encode_attribute(std::string_view name, const AttrValue& value, const Attributes& all);

/// An entry of external_data, and the mark that the elements lie there.
std::string encode_external(std::string_view location, std::uint64_t offset, std::uint64_t length);

}  // namespace md::onnx

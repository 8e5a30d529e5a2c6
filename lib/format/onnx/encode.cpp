#include "lib/format/onnx/encode.h"

#include <fmt/format.h>

#include "lib/format/onnx/operators.h"
#include "lib/format/onnx/wire.h"
#include "lib/graph/encode.h"

namespace md::onnx {

std::string encode_value_info(const Value& value) {
  const auto type = onnx_data_type(value.dtype);
  if (!type) return "";
  std::string tensor;
  put_integer(tensor, 1, *type);
  if (!value.unranked) {
    std::string shape;
    for (std::size_t d = 0; d < value.shape.size(); ++d) {
      std::string dim;
      if (value.shape[d] >= 0)
        put_integer(dim, 1, value.shape[d]);
      else if (d < value.dim_names.size() && !value.dim_names[d].empty())
        put_bytes(dim, 2, value.dim_names[d]);
      put_bytes(shape, 1, dim);
    }
    put_bytes(tensor, 2, shape);
  }
  std::string holder, out;
  put_bytes(holder, 1, tensor);
  put_bytes(out, 1, value.name);
  put_bytes(out, 2, holder);
  return out;
}

std::string encode_tensor_head(const Value& value, std::string_view name) {
  std::string out, dims;
  for (const std::int64_t dim : value.shape) put_varint(dims, static_cast<std::uint64_t>(dim));
  if (!dims.empty()) put_bytes(out, 1, dims);
  put_integer(out, 2, onnx_data_type(value.dtype).value_or(0));
  put_bytes(out, 8, name);
  return out;
}

std::string encode_external(std::string_view location, std::uint64_t offset, std::uint64_t length) {
  std::string out;
  const auto entry = [&](std::string_view key, std::string_view text) {
    std::string pair;
    put_bytes(pair, 1, key);
    put_bytes(pair, 2, text);
    put_bytes(out, 13, pair);
  };
  entry("location", location);
  entry("offset", fmt::format("{}", offset));
  entry("length", fmt::format("{}", length));
  put_integer(out, 14, 1);
  return out;
}

Result<std::string> encode_attribute(std::string_view name, const AttrValue& value, const Attributes& all) {
  std::string out;
  put_bytes(out, 1, name);
  if (const auto* type = all.find("#value_dtype"); type && name == "value") {  // of ConstantOfShape
    const auto* word = std::get_if<std::string>(type);
    Value held;
    held.dtype = word ? dtype_from_name(*word).value_or(DType::f32) : DType::f32;
    held.shape = {1};
    const double number = all.number("value");
    std::string tensor = encode_tensor_head(held, "");
    put_bytes(tensor, 9, view_of(encode(held.dtype, held.shape, std::span(&number, 1))));
    put_bytes(out, 5, tensor);
    put_integer(out, 20, 4);
    return out;
  }
  struct Visitor {
    std::string& out;
    bool operator()(std::monostate) const { return false; }
    bool operator()(bool v) const { return (*this)(static_cast<std::int64_t>(v)); }
    bool operator()(std::int64_t v) const {
      put_integer(out, 3, v);
      put_integer(out, 20, 2);
      return true;
    }
    bool operator()(double v) const {
      put_float(out, 2, static_cast<float>(v));
      put_integer(out, 20, 1);
      return true;
    }
    bool operator()(const std::string& v) const {
      put_bytes(out, 4, v);
      put_integer(out, 20, 3);
      return true;
    }
    bool operator()(const EnumValue&) const { return false; }
    bool operator()(const std::vector<std::int64_t>& v) const {
      for (const std::int64_t number : v) put_integer(out, 8, number);
      put_integer(out, 20, 7);
      return true;
    }
    bool operator()(const std::vector<double>& v) const {
      for (const double number : v) put_float(out, 7, static_cast<float>(number));
      put_integer(out, 20, 6);
      return true;
    }
    bool operator()(const std::vector<std::string>& v) const {
      for (const std::string& text : v) put_bytes(out, 9, text);
      put_integer(out, 20, 8);
      return true;
    }
    bool operator()(const Blob& v) const {  // a tensor that the reader kept
      put_bytes(out, 5, view_of(v.bytes));
      put_integer(out, 20, 4);
      return true;
    }
  };
  if (!std::visit(Visitor{out}, value))
    return fail(Error::Kind::unsupported, fmt::format("no attribute of an .onnx node can hold {}", name));
  return out;
}

}  // namespace md::onnx

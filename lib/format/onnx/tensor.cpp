#include "lib/format/onnx/tensor.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "lib/format/onnx/operators.h"

namespace md::onnx {
namespace {

constexpr std::uint32_t float_data = 4, int32_data = 5, int64_data = 7, double_data = 10, uint64_data = 11;

std::pair<std::string, std::string> entry_of(Bytes message) {
  std::pair<std::string, std::string> entry;
  FieldWalk walk(message);
  while (const Field* field = walk.next()) {
    if (field->number == 1) entry.first = field->text();
    if (field->number == 2) entry.second = field->text();
  }
  return entry;
}

/// Integers of a varint field, packed or one by one, as elements of `width` bytes.
Result<std::vector<std::uint8_t>> integers(const std::vector<Field>& fields, std::size_t width) {
  std::vector<std::uint8_t> out;
  const auto put = [&](std::uint64_t value) {
    for (std::size_t b = 0; b < width; ++b) out.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
  };
  for (const Field& field : fields) {
    if (field.wire == Wire::varint) {
      put(field.value);
      continue;
    }
    for (Bytes rest = field.content; !rest.empty();) {
      const auto value = take_varint(rest);
      if (!value) return input_error("expected packed integers");
      put(*value);
    }
  }
  return out;
}

/// Fixed-width numbers, packed or one by one.
std::vector<std::uint8_t> fixed(const std::vector<Field>& fields) {
  std::vector<std::uint8_t> out;
  for (const Field& field : fields) {
    if (field.wire == Wire::bytes) {
      out.insert(out.end(), field.content.begin(), field.content.end());
    } else {
      const std::size_t width = field.wire == Wire::fixed64 ? 8 : 4;
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&field.value);
      out.insert(out.end(), bytes, bytes + width);
    }
  }
  return out;
}

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Constant> external_constant(const TensorParts& tensor, std::size_t size, ExternalFiles& external) {
  const auto entry = [&](const char* key) {
    const auto at = tensor.where.find(key);
    return at == tensor.where.end() ? std::string() : at->second;
  };
  auto file = external.open(entry("location"));
  if (!file) return tl::make_unexpected(file.error());
  const Bytes bytes = (*file)->bytes();
  const std::string offset_text = entry("offset"), length_text = entry("length");
  const auto offset = offset_text.empty() ? std::optional<std::uint64_t>(0) : number_in(offset_text);
  const auto length = length_text.empty() ? std::optional<std::uint64_t>(size) : number_in(length_text);
  if (!offset || !length)
    return input_error(
        fmt::format("expected numbers as its offset and length in \"{}\", not \"{}\" and \"{}\"",
                    entry("location"), offset_text, length_text));
  if (*offset > bytes.size() || *length > bytes.size() - *offset)
    return input_error(
        fmt::format("its {} bytes at {} lie outside \"{}\", which has {}: the file is cut off, or "
                    "another one than the exporter wrote",
                    *length, *offset, entry("location"), bytes.size()));
  if (*length != size)
    return input_error(fmt::format("expected {} bytes for its shape, but {} are in \"{}\"", size, *length,
                                   entry("location")));
  return Constant{.bytes = bytes.subspan(static_cast<std::size_t>(*offset), size), .owner = *file};
}

}  // namespace

std::optional<TensorParts> read_tensor(Bytes message) {
  TensorParts parts;
  parts.message = message;
  FieldWalk walk(message);
  while (const Field* field = walk.next()) switch (field->number) {
      case 1:
        if (field->wire == Wire::varint) parts.shape.push_back(field->integer());
        for (Bytes rest = field->content; !rest.empty();) {
          const auto dim = take_varint(rest);
          if (!dim) return std::nullopt;
          parts.shape.push_back(static_cast<std::int64_t>(*dim));
        }
        break;
      case 2:
        parts.data_type = field->integer();
        break;
      case float_data:
      case int32_data:
      case int64_data:
      case double_data:
      case uint64_data:
        parts.numbers.push_back(*field);
        break;
      case 6:
        parts.texts = true;
        break;
      case 8:
        parts.name = field->text();
        break;
      case 9:
        parts.raw = field->content;
        break;
      case 13:
        parts.where.insert(entry_of(field->content));
        break;
      case 14:
        parts.external = field->value == 1;
        break;
      default:
        break;
    }
  return walk.broken() ? std::nullopt : std::optional(std::move(parts));
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::open(const std::string& location) {
  if (const auto at = open_.find(location); at != open_.end()) return at->second;
  const std::filesystem::path path(location);
  bool leaves = path.is_absolute() || location.empty();
  for (const auto& part : path) leaves = leaves || part == "..";
  if (leaves)
    return input_error(fmt::format(
        "expected its data in a file beside the model, not in \"{}\": no runtime follows such a path",
        location));
  auto file = MappedFile::open((std::filesystem::path(model_).parent_path() / path).string());
  if (!file)
    return input_error(
        fmt::format("its data lies in \"{}\", which cannot be opened ({}): put that file beside the "
                    "model, or export again with the weights inside",
                    location, file.error().message));
  open_[location] = *file;
  return *file;
}

std::vector<std::string> ExternalFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : open_) names.push_back(name);
  return names;
}

Result<Constant> constant_of(const TensorParts& tensor, const std::shared_ptr<const MappedFile>& file,
                             ExternalFiles& external) {
  const auto dtype = dtype_of_onnx(tensor.data_type);
  if (!dtype) return input_error(fmt::format("expected an element type, not number {}", tensor.data_type));
  if (*dtype == DType::string) return Constant::own({});  // texts stay where they are
  const auto count = element_count(tensor.shape);
  const int bits = bit_width(*dtype);
  if (!count || bits == 0) return input_error("expected a shape of known, sane dimensions");
  const std::size_t size = (static_cast<std::size_t>(*count) * static_cast<std::size_t>(bits) + 7) / 8;
  if (tensor.external) return external_constant(tensor, size, external);
  if (tensor.raw) {
    if (tensor.raw->size() != size)
      return input_error(
          fmt::format("expected {} bytes for its shape, but raw_data has {}", size, tensor.raw->size()));
    return Constant{.bytes = *tensor.raw, .owner = file};
  }
  if (tensor.numbers.empty() && size == 0) return Constant::own({});
  if (tensor.numbers.empty())
    return input_error(fmt::format("expected the {} bytes of its elements, and found none", size));
  const std::uint32_t kind = tensor.numbers.front().number;
  if (kind == float_data || kind == double_data) {
    if (tensor.numbers.size() == 1 && tensor.numbers[0].wire == Wire::bytes &&
        tensor.numbers[0].content.size() == size)
      return Constant{.bytes = tensor.numbers[0].content, .owner = file};
    std::vector<std::uint8_t> bytes = fixed(tensor.numbers);
    if (bytes.size() != size)
      return input_error(
          fmt::format("expected {} bytes for its shape, but {} are there", size, bytes.size()));
    return Constant::own(std::move(bytes));
  }
  const std::size_t width = bits >= 8 ? static_cast<std::size_t>(bits) / 8 : 1;
  auto bytes = integers(tensor.numbers, width);
  if (!bytes) return tl::make_unexpected(bytes.error());
  if (bytes->size() != size)
    return input_error(fmt::format("expected {} bytes for its shape, but {} are there", size, bytes->size()));
  return Constant::own(std::move(*bytes));
}

namespace {

bool read_shape(Bytes message, Value& value) {
  FieldWalk dims(message);
  while (const Field* dim = dims.next()) {
    if (dim->number != 1) continue;
    std::int64_t size = dynamic_dim;
    std::string name;
    FieldWalk walk(dim->content);
    while (const Field* field = walk.next()) {
      if (field->number == 1) size = field->integer();
      if (field->number == 2) name = field->text();
    }
    if (walk.broken()) return false;
    value.shape.push_back(size < 0 ? dynamic_dim : size);
    value.dim_names.push_back(size < 0 ? name : "");
  }
  return !dims.broken();
}

}  // namespace

bool read_type(Bytes message, Value& value) {
  FieldWalk walk(message);
  while (const Field* field = walk.next()) {
    if (field->number == 4 || field->number == 5 || field->number == 9 || field->number == 7)
      value.dtype = DType::variant;
    if (field->number != 1 && field->number != 8) continue;
    value.unranked = true;
    FieldWalk tensor(field->content);
    while (const Field* part = tensor.next()) {
      if (part->number == 1) value.dtype = dtype_of_onnx(part->integer()).value_or(DType::unknown);
      if (part->number != 2) continue;
      value.unranked = false;
      if (!read_shape(part->content, value)) return false;
    }
    if (tensor.broken()) return false;
  }
  bool named = false;
  for (const std::string& name : value.dim_names) named = named || !name.empty();
  if (!named) value.dim_names.clear();
  return !walk.broken();
}

}  // namespace md::onnx

#include "lib/format/tflite/options.h"

#include <cstring>

namespace md::tfl {
namespace {

using flatbuffers::Table;

constexpr flatbuffers::voffset_t vtable_offset(int slot) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * slot);
}

/// memcpy instead of a cast: vectors of 64-bit numbers may lie at any multiple of 4 in files that are
/// otherwise good.
template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::int64_t load_integer(const std::uint8_t* at, int bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? std::int64_t{load<std::int8_t>(at)} : std::int64_t{load<std::uint8_t>(at)};
    case 2:
      return is_signed ? std::int64_t{load<std::int16_t>(at)} : std::int64_t{load<std::uint16_t>(at)};
    case 4:
      return is_signed ? std::int64_t{load<std::int32_t>(at)} : std::int64_t{load<std::uint32_t>(at)};
    default:
      return load<std::int64_t>(at);
  }
}

const std::uint8_t* inline_address(const FieldInfo& field, const Table* table) {
  return table ? table->GetAddressOf(vtable_offset(field.slot)) : nullptr;
}

/// The vector or string behind an offset field: its first element and its length.
struct Run {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
};

Run run_of(const FieldInfo& field, const Table* table) {
  const std::uint8_t* at = inline_address(field, table);
  if (!at) return {};
  at += load<std::uint32_t>(at);
  return {at + 4, load<std::uint32_t>(at)};
}

AttrValue read_vector(const FieldInfo& field, const Table* table) {
  const Run run = run_of(field, table);
  const auto step = static_cast<std::size_t>(field.element_bytes);
  if (field.element == Storage::real) {
    std::vector<double> out(run.size);
    for (std::size_t i = 0; i < run.size; ++i)
      out[i] =
          step == 8 ? load<double>(run.data + i * 8) : static_cast<double>(load<float>(run.data + i * 4));
    return out;
  }
  if (field.element == Storage::string) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < run.size; ++i) {
      const std::uint8_t* at = run.data + i * 4;
      at += load<std::uint32_t>(at);
      out.emplace_back(reinterpret_cast<const char*>(at + 4), load<std::uint32_t>(at));
    }
    return out;
  }
  if (field.element != Storage::scalar) return std::monostate{};
  if (step == 1 && !field.element_is_signed && !field.element_is_bool && !field.enumeration)
    return run.size ? Blob{std::vector<std::uint8_t>(run.data, run.data + run.size)} : Blob{};
  std::vector<std::int64_t> out(run.size);
  for (std::size_t i = 0; i < run.size; ++i)
    out[i] = load_integer(run.data + i * step, field.element_bytes, field.element_is_signed);
  return out;
}

}  // namespace

std::size_t field_payload(const FieldInfo& field, const Table* table) {
  if (field.storage != Storage::vector && field.storage != Storage::string) return 0;
  return run_of(field, table).size *
         (field.storage == Storage::string ? 1 : static_cast<std::size_t>(field.element_bytes));
}

AttrValue read_field(const FieldInfo& field, const Table* table) {
  const std::uint8_t* at = inline_address(field, table);
  switch (field.storage) {
    case Storage::real:
      if (!at) return field.default_real;
      return field.bytes == 8 ? load<double>(at) : static_cast<double>(load<float>(at));
    case Storage::string: {
      const Run run = run_of(field, table);
      return run.data ? std::string(reinterpret_cast<const char*>(run.data), run.size) : std::string();
    }
    case Storage::vector:
      return read_vector(field, table);
    case Storage::scalar: {
      const std::int64_t number = at ? load_integer(at, field.bytes, field.is_signed) : field.default_integer;
      if (field.is_bool) return number != 0;
      if (field.enumeration) {
        const std::string_view known = field.enumeration->name_of(number);
        return EnumValue{number, known.empty() ? std::to_string(number) : std::string(known)};
      }
      return number;
    }
    default:
      return std::monostate{};  // no options table of the format nests tables
  }
}

}  // namespace md::tfl

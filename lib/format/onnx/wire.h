// The wire format of protocol buffers, as far as an .onnx file needs it: fields of a message in their order,
// without reading what lies in them, and fields to write. Every length in a file is checked against the
// message that it lies in. Source: the encoding that protobuf.dev documents.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/mapped_file.h"

namespace md::onnx {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// A field of a message. `whole` has its tag and length; `content` is what a length-delimited one holds.
struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  ///< of a varint, or the bits of a fixed one
  Bytes whole, content;

  std::string_view text() const { return {reinterpret_cast<const char*>(content.data()), content.size()}; }
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

/// Walks the fields of one message:
///     for (FieldWalk walk(message); const Field* field = walk.next();) ...
///     if (walk.broken()) ...
class FieldWalk {
 public:
  explicit FieldWalk(Bytes message) : message_(message) {}
  /// Null at the end, and where the bytes are no field.
  const Field* next();
  bool broken() const { return broken_; }
  std::size_t at() const { return at_; }  ///< position in the message: of the broken field, when there is one

 private:
  bool varint(std::size_t& at, std::uint64_t& value) const;
  Bytes message_;
  std::size_t at_ = 0;
  bool broken_ = false;
  Field field_;
};

/// One varint of a packed list; nullopt at a broken one.
std::optional<std::uint64_t> take_varint(Bytes& bytes);

// Fields as bytes.
void put_varint(std::string& out, std::uint64_t value);
void put_tag(std::string& out, std::uint32_t number, Wire wire);
void put_integer(std::string& out, std::uint32_t number, std::int64_t value);
void put_float(std::string& out, std::uint32_t number, float value);
void put_bytes(std::string& out, std::uint32_t number, std::string_view bytes);
inline std::string_view view_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace md::onnx

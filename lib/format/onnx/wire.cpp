#include "lib/format/onnx/wire.h"

#include <cstring>

namespace md::onnx {

bool FieldWalk::varint(std::size_t& at, std::uint64_t& value) const {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= message_.size()) return false;
    const std::uint8_t byte = message_[at++];
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

const Field* FieldWalk::next() {
  if (broken_ || at_ >= message_.size()) return nullptr;
  std::size_t at = at_;
  std::uint64_t tag = 0;
  broken_ = true;  // until the whole field is seen
  if (!varint(at, tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return nullptr;
  field_ = Field{};
  field_.number = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      field_.wire = Wire::varint;
      if (!varint(at, field_.value)) return nullptr;
      break;
    case 1:
    case 5: {
      const std::size_t width = (tag & 7) == 1 ? 8 : 4;
      field_.wire = (tag & 7) == 1 ? Wire::fixed64 : Wire::fixed32;
      if (message_.size() - at < width) return nullptr;
      std::memcpy(&field_.value, message_.data() + at, width);
      at += width;
      break;
    }
    case 2: {
      std::uint64_t length = 0;
      field_.wire = Wire::bytes;
      if (!varint(at, length) || length > message_.size() - at) return nullptr;
      field_.content = message_.subspan(at, static_cast<std::size_t>(length));
      at += static_cast<std::size_t>(length);
      break;
    }
    default:
      return nullptr;
  }
  field_.whole = message_.subspan(at_, at - at_);
  at_ = at;
  broken_ = false;
  return &field_;
}

std::optional<std::uint64_t> take_varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    value |= static_cast<std::uint64_t>(bytes[i] & 0x7f) << (7 * i);
    if ((bytes[i] & 0x80) != 0) continue;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_tag(std::string& out, std::uint32_t number, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(wire));
}

void put_integer(std::string& out, std::uint32_t number, std::int64_t value) {
  put_tag(out, number, Wire::varint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_float(std::string& out, std::uint32_t number, float value) {
  put_tag(out, number, Wire::fixed32);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_bytes(std::string& out, std::uint32_t number, std::string_view bytes) {
  put_tag(out, number, Wire::bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace md::onnx

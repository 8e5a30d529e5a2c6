#include "lib/format/pte_flat.h"

namespace md {
namespace {

std::uint32_t word(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at <= bytes.size() && bytes.size() - at >= 4) std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

std::string text_at(Bytes bytes, std::uint64_t at) {
  if (at == 0 || at + 4 > bytes.size()) return {};
  const std::size_t size = word(bytes, at);
  if (size > bytes.size() - at - 4) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + at + 4, size};
}

}  // namespace

FlatTable FlatTable::checked(Bytes bytes, std::uint64_t at) {
  if (at < 4 || at + 4 > bytes.size()) return {};
  return FlatTable(bytes, at);
}

FlatTable FlatTable::root(Bytes bytes) { return checked(bytes, word(bytes, 0)); }

std::size_t FlatTable::field_at(int field) const {
  if (bytes_.empty()) return 0;
  std::int32_t back = 0;
  std::memcpy(&back, bytes_.data() + at_, 4);
  const std::int64_t vtable = static_cast<std::int64_t>(at_) - back;
  if (vtable < 0 || static_cast<std::uint64_t>(vtable) + 4 > bytes_.size()) return 0;
  std::uint16_t size = 0, offset = 0;
  std::memcpy(&size, bytes_.data() + vtable, 2);
  const std::size_t entry = 4 + 2 * static_cast<std::size_t>(field);
  if (entry + 2 > size || static_cast<std::uint64_t>(vtable) + entry + 2 > bytes_.size()) return 0;
  std::memcpy(&offset, bytes_.data() + static_cast<std::size_t>(vtable) + entry, 2);
  return offset == 0 || at_ + offset >= bytes_.size() ? 0 : at_ + offset;
}

FlatTable FlatTable::table(int field) const {
  const std::size_t at = field_at(field);
  return at == 0 || word(bytes_, at) == 0
             ? FlatTable()
             : checked(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at));
}

std::string FlatTable::text(int field) const {
  const std::size_t at = field_at(field);
  return at == 0 ? std::string() : text_at(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at));
}

FlatVector FlatTable::vector(int field) const {
  FlatVector out;
  const std::size_t at = field_at(field);
  if (at == 0) return out;
  const std::uint64_t start = static_cast<std::uint64_t>(at) + word(bytes_, at);
  if (start < 4 || start + 4 > bytes_.size()) return out;
  out.bytes_ = bytes_, out.first_ = start + 4, out.count_ = word(bytes_, start);
  if (out.count_ > bytes_.size() - out.first_) out.count_ = 0;  // even one byte an element does not fit
  return out;
}

FlatTable FlatVector::table(std::size_t i) const {
  const std::size_t at = first_ + 4 * i;
  if (i >= count_ || at + 4 > bytes_.size()) return {};
  return FlatTable::checked(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at));
}

std::string FlatVector::text(std::size_t i) const {
  const std::size_t at = first_ + 4 * i;
  return i < count_ && at + 4 <= bytes_.size()
             ? text_at(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at))
             : std::string();
}

}  // namespace md

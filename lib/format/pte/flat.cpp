#include "lib/format/pte/flat.h"

#include <fmt/format.h>

namespace md {
namespace {

constexpr std::size_t longest_text = 1024;  ///< names of operators, backends, plans and weights are far below

void damaged(FlatDamage* damage, std::uint64_t at, std::string expected) {
  if (damage) damage->note(at, std::move(expected));
}

template <class T>
T number_at(Bytes bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T)) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

std::uint32_t word(Bytes bytes, std::size_t at) { return number_at<std::uint32_t>(bytes, at); }

std::string text_at(Bytes bytes, std::size_t from, FlatDamage* damage) {
  const std::uint64_t at = static_cast<std::uint64_t>(from) + word(bytes, from);
  if (at + 4 > bytes.size())
    return damaged(damage, from, "the offset of a text inside the program"), std::string();
  const std::size_t size = word(bytes, at);
  if (size > bytes.size() - at - 4)
    return damaged(damage, at, fmt::format("a text that ends inside the program, not {} bytes", size)),
           std::string();
  if (size > longest_text)
    return damaged(damage, at, fmt::format("a name of at most {} bytes, not {}", longest_text, size)),
           std::string();
  return {reinterpret_cast<const char*>(bytes.data()) + at + 4, size};
}

}  // namespace

FlatTable FlatTable::checked(Bytes bytes, std::uint64_t at, FlatDamage* damage) {
  if (at < 4 || at + 4 > bytes.size()) return damaged(damage, at, "a table inside the program"), FlatTable();
  FlatTable table;
  const std::int64_t vtable = static_cast<std::int64_t>(at) - number_at<std::int32_t>(bytes, at);
  if (vtable < 0 || static_cast<std::uint64_t>(vtable) + 4 > bytes.size())
    return damaged(damage, at, "a table whose vtable lies inside the program"), FlatTable();
  table.vtable_ = static_cast<std::size_t>(vtable);
  table.vtable_size_ = number_at<std::uint16_t>(bytes, table.vtable_);
  if (table.vtable_size_ < 4 || table.vtable_size_ % 2 != 0 ||
      table.vtable_size_ > bytes.size() - table.vtable_)
    return damaged(
               damage, table.vtable_,
               fmt::format("a vtable of an even size inside the program, not {} bytes", table.vtable_size_)),
           FlatTable();
  table.bytes_ = bytes, table.at_ = at, table.damage_ = damage;
  return table;
}

FlatTable FlatTable::root(Bytes bytes, FlatDamage* damage) { return checked(bytes, word(bytes, 0), damage); }

std::size_t FlatTable::field_at(int field, std::size_t width) const {
  if (bytes_.empty()) return 0;
  const std::size_t entry = 4 + 2 * static_cast<std::size_t>(field);
  if (entry + 2 > vtable_size_) return 0;
  const std::size_t offset = number_at<std::uint16_t>(bytes_, vtable_ + entry);
  if (offset == 0) return 0;
  // The size of the table, the vtable's second number, proves nothing: Python's writer shares vtables between
  // tables of different sizes.
  if (offset < 4 || offset + width > bytes_.size() - at_)
    return damaged(damage_, vtable_ + entry,
                   fmt::format("field {} of the table at {} inside the program, not {} bytes behind", field,
                               at_, offset)),
           0;
  return at_ + offset;
}

FlatTable FlatTable::table(int field) const {
  const std::size_t at = field_at(field, 4);
  return at == 0 ? FlatTable() : checked(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at), damage_);
}

std::string FlatTable::text(int field) const {
  const std::size_t at = field_at(field, 4);
  return at == 0 ? std::string() : text_at(bytes_, at, damage_);
}

FlatVector FlatTable::vector(int field, std::size_t width) const {
  FlatVector out;
  const std::size_t at = field_at(field, 4);
  if (at == 0) return out;
  const std::uint64_t start = static_cast<std::uint64_t>(at) + word(bytes_, at);
  if (start + 4 > bytes_.size()) return damaged(damage_, at, "the offset of a list inside the program"), out;
  const std::size_t count = word(bytes_, start);
  if (count > (bytes_.size() - start - 4) / width)
    return damaged(
               damage_, start,
               fmt::format("a list that ends inside the program, not {} elements of {} bytes", count, width)),
           out;
  out.bytes_ = bytes_, out.first_ = start + 4, out.count_ = count, out.width_ = width, out.damage_ = damage_;
  return out;
}

FlatTable FlatVector::table(std::size_t i) const {
  if (i >= count_ || width_ != 4) return {};
  const std::size_t at = first_ + 4 * i;
  return FlatTable::checked(bytes_, static_cast<std::uint64_t>(at) + word(bytes_, at), damage_);
}

std::string FlatVector::text(std::size_t i) const {
  return i < count_ && width_ == 4 ? text_at(bytes_, first_ + 4 * i, damage_) : std::string();
}

}  // namespace md

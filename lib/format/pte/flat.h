// FlatBuffers read by field number with every offset checked: for the programs and delegate blobs inside a
// .pte, whose schemas change from release to release by appending fields.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/base/mapped_file.h"

namespace md {

class FlatVector;

/// The first place that did not hold what the schema promises. A field that is absent is no damage; one that
/// is there and leaves the buffer is. Readers look at it when they are done: what they were given in between
/// were defaults.
struct FlatDamage {
  bool seen = false;
  std::uint64_t at = 0;  ///< from the start of the buffer
  std::string expected;
  void note(std::uint64_t where, std::string what) {
    if (!seen) seen = true, at = where, expected = std::move(what);
  }
};

/// One table. A default one is "absent": all its fields read as their defaults.
class FlatTable {
 public:
  FlatTable() = default;
  /// `damage`, when given, must outlive everything that is read from the table.
  static FlatTable root(Bytes bytes, FlatDamage* damage = nullptr);
  explicit operator bool() const { return !bytes_.empty(); }

  template <class T>
  T number(int field, T otherwise = 0) const {
    const std::size_t at = field_at(field, sizeof(T));
    if (at == 0) return otherwise;
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  FlatTable table(int field) const;
  /// `width`: bytes of an element; 4 for tables and texts.
  FlatVector vector(int field, std::size_t width) const;
  std::string text(int field) const;
  std::size_t place() const { return at_; }  ///< from the start of the buffer

 private:
  friend class FlatVector;
  static FlatTable checked(Bytes bytes, std::uint64_t at, FlatDamage* damage);
  std::size_t field_at(int field, std::size_t width) const;  ///< 0: not there
  Bytes bytes_;
  std::size_t at_ = 0, vtable_ = 0, vtable_size_ = 0;
  FlatDamage* damage_ = nullptr;
};

/// A vector; all its elements lie in the buffer.
class FlatVector {
 public:
  FlatVector() = default;
  std::size_t size() const { return count_; }
  FlatTable table(std::size_t i) const;
  std::string text(std::size_t i) const;
  template <class T>
  T number(std::size_t i) const {
    T value{};
    if (i < count_ && sizeof(T) == width_)
      std::memcpy(&value, bytes_.data() + first_ + i * sizeof(T), sizeof(T));
    return value;
  }
  /// Elements of one byte.
  Bytes bytes() const { return width_ == 1 ? bytes_.subspan(first_, count_) : Bytes(); }

 private:
  friend class FlatTable;
  Bytes bytes_;
  std::size_t first_ = 0, count_ = 0, width_ = 0;
  FlatDamage* damage_ = nullptr;
};

}  // namespace md

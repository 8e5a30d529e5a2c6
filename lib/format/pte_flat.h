// FlatBuffers read by field number with every offset checked: for the programs and delegate blobs inside a
// .pte, whose schemas change from release to release by appending fields.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "lib/base/mapped_file.h"

namespace md {

class FlatVector;

/// One table. A default one is "absent": all its fields read as their defaults.
class FlatTable {
 public:
  FlatTable() = default;
  static FlatTable root(Bytes bytes);
  explicit operator bool() const { return !bytes_.empty(); }

  template <class T>
  T number(int field, T otherwise = 0) const {
    const std::size_t at = field_at(field);
    if (at == 0 || bytes_.size() - at < sizeof(T)) return otherwise;
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  FlatTable table(int field) const;
  FlatVector vector(int field) const;
  std::string text(int field) const;

 private:
  friend class FlatVector;
  FlatTable(Bytes bytes, std::size_t at) : bytes_(bytes), at_(at) {}
  static FlatTable checked(Bytes bytes, std::uint64_t at);
  std::size_t field_at(int field) const;  ///< 0: not there
  Bytes bytes_;
  std::size_t at_ = 0;
};

/// A vector; its length is what fits the file.
class FlatVector {
 public:
  FlatVector() = default;
  std::size_t size() const { return count_; }
  FlatTable table(std::size_t i) const;
  std::string text(std::size_t i) const;
  template <class T>
  T number(std::size_t i) const {
    T value{};
    const std::size_t at = first_ + i * sizeof(T);
    if (i < count_ && at <= bytes_.size() && bytes_.size() - at >= sizeof(T))
      std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  /// Elements of one byte.
  Bytes bytes() const { return count_ <= bytes_.size() - first_ ? bytes_.subspan(first_, count_) : Bytes(); }

 private:
  friend class FlatTable;
  Bytes bytes_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace md

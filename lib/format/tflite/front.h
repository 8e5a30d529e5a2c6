// Lays out new flatbuffer tables in front of an old file that follows verbatim. New tables may point to
// anything in the old file: flatbuffer offsets only point forward, and everything old lies behind everything
// new.
#pragma once
#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/result.h"
#include "lib/format/tflite/schema.h"

namespace md::tfl {

using ObjectId = std::int32_t;  ///< a new table, vector or string

/// What an offset field points to: something new, or a position in the old file.
struct Target {
  ObjectId object = -1;
  std::uint64_t old_position = 0;
};

/// A table to be written: the fields that are present, by slot.
class Draft {
 public:
  explicit Draft(const TableInfo& info) : info_(&info), slots_(info.fields.size()) {}
  /// A shallow copy: scalars are copied, offsets point to what the old table points to. Fails (unsupported)
  /// when the table has a field newer than the schema, since nobody can tell what to do with it.
  static Result<Draft> copy_of(const flatbuffers::Table* table, const TableInfo& info, Bytes file);

  void set_scalar(std::string_view field, std::uint64_t bits);
  /// A scalar that counts bytes from the start of the file: it grows by the size of the front.
  void mark_as_position(std::string_view field);
  void set(std::string_view field, Target target);
  void clear(std::string_view field);
  bool has(std::string_view field) const;
  const TableInfo& info() const { return *info_; }

 private:
  friend class Front;
  struct Slot {
    enum class Kind : std::uint8_t { absent, scalar, position, target } kind = Kind::absent;
    std::uint64_t bits = 0;
    Target target;
  };
  Slot& slot(std::string_view field);
  const TableInfo* info_;
  std::vector<Slot> slots_;
};

class Front {
 public:
  /// Every object is pointed to by exactly one other, made later, except the root.
  ObjectId add_table(Draft draft);
  ObjectId add_targets(std::vector<Target> targets);  ///< a vector of tables or strings
  ObjectId add_string(std::string_view text);
  /// A vector of scalars; `element_bytes` of 16 aligns a constant for the kernels that read it in place.
  ObjectId add_vector(Bytes bytes, std::size_t count, std::size_t alignment);
  template <class T>
  ObjectId add_numbers(const std::vector<T>& values) {
    return add_vector({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)},
                      values.size(), sizeof(T));
  }

  /// The bytes in front of the old file; a multiple of 64, so that what was aligned stays aligned.
  Result<std::vector<std::uint8_t>> finish(ObjectId root, std::string_view identifier);

 private:
  struct Object {
    enum class Kind : std::uint8_t { table, targets, vector } kind = Kind::vector;
    std::optional<Draft> draft;
    std::vector<Target> targets;
    std::vector<std::uint8_t> bytes;
    std::size_t count = 0, alignment = 4;
    bool terminated = false;  ///< a string: a zero byte behind it
    std::uint64_t position = 0;
    std::vector<std::uint16_t> vtable;  ///< tables: inline position of each slot
  };
  void place(ObjectId id);
  void place_table(Object& object);
  Status write(const Object& object);
  Status write_offset(std::uint64_t at, const Target& target);
  template <class T>
  void store(std::uint64_t at, T value);
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t bias = 0);

  std::vector<Object> objects_;
  std::map<std::vector<std::uint16_t>, std::uint64_t> vtables_;
  std::uint64_t size_ = 0;
  std::vector<std::uint8_t> out_;
};

}  // namespace md::tfl

// The .tflite schema at run time: which options table an operator takes, and the fields of a table by number.
// Comes from tflite.fbs, which the program carries in binary form, so that 150 options tables need no
// hand-written code.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/attribute.h"
#include "lib/graph/dtype.h"

namespace md::tfl {

/// How a field is stored inline in its table.
enum class Storage : std::uint8_t { scalar, real, string, vector, table, union_type, union_value };

struct EnumTable {
  std::string_view name;
  std::vector<std::pair<std::int64_t, std::string_view>> values;  ///< ascending
  std::string_view name_of(std::int64_t number) const;  ///< "" when the number is newer than the schema
  std::optional<std::int64_t> number_of(std::string_view name) const;
};

struct FieldInfo {
  std::string_view name;
  int slot = 0;
  Storage storage = Storage::scalar;
  int bytes = 0;  ///< inline size: 1, 2, 4 or 8
  bool is_bool = false, is_signed = false, deprecated = false;
  std::int64_t default_integer = 0;
  double default_real = 0;
  const EnumTable* enumeration = nullptr;  ///< also of a vector's elements
  // Vectors only:
  Storage element = Storage::scalar;
  int element_bytes = 0;
  bool element_is_bool = false, element_is_signed = false;
};

struct TableInfo {
  std::string_view name;
  std::vector<FieldInfo> fields;  ///< by slot; `name` is empty where the schema has none
  const FieldInfo* find(std::string_view field) const;
};

const TableInfo* table_info(std::string_view name);  ///< nullptr: no such table
const EnumTable& enum_table(std::string_view name);  ///< asserts that it exists

/// A member of one of the two unions of operator options.
struct OptionsKind {
  int which = 0;       ///< 1: builtin_options, 2: builtin_options_2, 0: none
  int union_type = 0;  ///< the member's number
  const TableInfo* table = nullptr;
};
/// The options table an operator usually takes; which == 0 when it takes none.
OptionsKind options_of(std::string_view op);
/// The table of a union member that a file names; nullptr when it is NONE or newer than the schema.
const TableInfo* options_table(int which, int union_type);

/// The schema's operator name ("GATHER_ND"), or "BUILTIN_<n>" for one that is newer than the schema.
std::string operator_name(std::int32_t builtin_code);
std::optional<std::int32_t> operator_code(std::string_view name);

DType dtype_of(int tensor_type);  ///< DType::unknown when newer than the schema
std::optional<int> tensor_type_of(DType dtype);

}  // namespace md::tfl

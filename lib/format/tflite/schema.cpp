#include "lib/format/tflite/schema.h"

#include <flatbuffers/reflection_generated.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <unordered_map>

#include "tflite_bfbs_generated.h"

namespace md::tfl {
namespace {

std::string_view text(const flatbuffers::String* s) { return {s->c_str(), s->size()}; }

int scalar_bytes(reflection::BaseType type) {
  switch (type) {
    case reflection::Bool:
    case reflection::Byte:
    case reflection::UByte:
    case reflection::UType:
      return 1;
    case reflection::Short:
    case reflection::UShort:
      return 2;
    case reflection::Long:
    case reflection::ULong:
    case reflection::Double:
      return 8;
    default:
      return 4;  // int, uint, float, and the offsets of strings, vectors, tables and unions
  }
}

bool is_signed_type(reflection::BaseType type) {
  return type == reflection::Byte || type == reflection::Short || type == reflection::Int ||
         type == reflection::Long;
}

Storage storage_of(reflection::BaseType type) {
  switch (type) {
    case reflection::Float:
    case reflection::Double:
      return Storage::real;
    case reflection::String:
      return Storage::string;
    case reflection::Vector:
      return Storage::vector;
    case reflection::Obj:
      return Storage::table;
    case reflection::UType:
      return Storage::union_type;
    case reflection::Union:
      return Storage::union_value;
    default:
      return Storage::scalar;
  }
}

struct Schema {
  std::vector<EnumTable> enums;
  std::vector<TableInfo> tables;
  std::unordered_map<std::string_view, const TableInfo*> by_name;
  std::vector<const TableInfo*> options[2];  ///< by union member number
  std::unordered_map<std::string, OptionsKind> by_operator;
  Schema();
  void add_table(const reflection::Object& object);
  void add_options(int which, const reflection::Enum& members);
  void assign_operators();
};

FieldInfo field_info(const reflection::Field& field, const std::vector<EnumTable>& enums) {
  FieldInfo info;
  const reflection::Type& type = *field.type();
  info.name = text(field.name());
  info.slot = field.id();
  info.storage = storage_of(type.base_type());
  info.bytes = scalar_bytes(type.base_type());
  info.is_bool = type.base_type() == reflection::Bool;
  info.is_signed = is_signed_type(type.base_type());
  info.deprecated = field.deprecated();
  info.default_integer = field.default_integer();
  info.default_real = field.default_real();
  reflection::BaseType named = type.base_type();
  if (info.storage == Storage::vector) {
    named = type.element();
    info.element = storage_of(named);
    info.element_bytes = scalar_bytes(named);
    info.element_is_bool = named == reflection::Bool;
    info.element_is_signed = is_signed_type(named);
  }
  if (type.index() >= 0 && storage_of(named) == Storage::scalar)
    info.enumeration = &enums[static_cast<std::size_t>(type.index())];
  return info;
}

void Schema::add_table(const reflection::Object& object) {
  TableInfo info;
  info.name = text(object.name());
  info.name.remove_prefix(info.name.rfind('.') + 1);
  for (const reflection::Field* field : *object.fields()) {
    if (info.fields.size() <= field->id()) info.fields.resize(static_cast<std::size_t>(field->id()) + 1);
    info.fields[field->id()] = field_info(*field, enums);
  }
  tables.push_back(std::move(info));
}

void Schema::add_options(int which, const reflection::Enum& members) {
  auto& list = options[which - 1];
  for (const reflection::EnumVal* member : *members.values()) {
    const auto number = static_cast<std::size_t>(member->value());
    if (list.size() <= number) list.resize(number + 1, nullptr);
    std::string_view table = text(member->name());
    if (const auto found = by_name.find(table); found != by_name.end()) list[number] = found->second;
  }
}

/// "Conv2DOptions" and "CONV_2D" both become "conv2d".
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (out.size() > 7 && out.compare(out.size() - 7, 7, "options") == 0) out.resize(out.size() - 7);
  return out;
}

/// Operators whose options table is not named after them.
constexpr std::pair<std::string_view, std::string_view> shared_options[] = {
    {"AVERAGE_POOL_2D", "Pool2DOptions"},
    {"MAX_POOL_2D", "Pool2DOptions"},
    {"L2_POOL_2D", "Pool2DOptions"},
    {"L2_NORMALIZATION", "L2NormOptions"},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNNOptions"},
    {"MEAN", "ReducerOptions"},
    {"SUM", "ReducerOptions"},
    {"REDUCE_PROD", "ReducerOptions"},
    {"REDUCE_MAX", "ReducerOptions"},
    {"REDUCE_MIN", "ReducerOptions"},
    {"REDUCE_ANY", "ReducerOptions"},
    {"REDUCE_ALL", "ReducerOptions"},
    {"MAXIMUM", "MaximumMinimumOptions"},
    {"MINIMUM", "MaximumMinimumOptions"},
    {"CONV_3D_TRANSPOSE", "Conv3DOptions"},
    {"RANDOM_STANDARD_NORMAL", "RandomOptions"},
    {"RANDOM_UNIFORM", "RandomOptions"},
    {"MULTINOMIAL", "RandomOptions"},
};

void Schema::assign_operators() {
  std::unordered_map<std::string, OptionsKind> by_plain_name;
  for (int which = 1; which <= 2; ++which)
    for (std::size_t n = 1; n < options[which - 1].size(); ++n)
      if (const TableInfo* table = options[which - 1][n])
        by_plain_name[plain(table->name)] = {which, static_cast<int>(n), table};
  for (const EnumTable& e : enums) {
    if (e.name != "BuiltinOperator") continue;
    for (const auto& [number, op] : e.values)
      if (const auto found = by_plain_name.find(plain(op)); found != by_plain_name.end())
        by_operator[std::string(op)] = found->second;
  }
  for (const auto& [op, table] : shared_options)
    by_operator[std::string(op)] = by_plain_name.at(plain(table));
}

Schema::Schema() {
  const reflection::Schema& schema = *reflection::GetSchema(tflite::ModelBinarySchema::data());
  for (const reflection::Enum* e : *schema.enums()) {
    EnumTable table;
    table.name = text(e->name());
    table.name.remove_prefix(table.name.rfind('.') + 1);
    for (const reflection::EnumVal* v : *e->values()) table.values.emplace_back(v->value(), text(v->name()));
    std::sort(table.values.begin(), table.values.end());
    enums.push_back(std::move(table));
  }
  for (const reflection::Object* object : *schema.objects()) add_table(*object);
  for (const TableInfo& table : tables) by_name[table.name] = &table;
  for (const reflection::Enum* e : *schema.enums()) {
    if (text(e->name()) == "tflite.BuiltinOptions") add_options(1, *e);
    if (text(e->name()) == "tflite.BuiltinOptions2") add_options(2, *e);
  }
  assign_operators();
}

const Schema& schema() {
  static const Schema instance;
  return instance;
}

constexpr DType dtypes[] = {
    DType::f32, DType::f16, DType::i32,  DType::u8,   DType::i64, DType::string,   DType::boolean, DType::i16,
    DType::c64, DType::i8,  DType::f64,  DType::c128, DType::u64, DType::resource, DType::variant, DType::u32,
    DType::u16, DType::i4,  DType::bf16, DType::i2,   DType::u4,  DType::f8e4m3fn, DType::f8e5m2};

}  // namespace

std::string_view EnumTable::name_of(std::int64_t number) const {
  const auto at = std::lower_bound(values.begin(), values.end(), number,
                                   [](const auto& v, std::int64_t n) { return v.first < n; });
  return at != values.end() && at->first == number ? at->second : std::string_view();
}

std::optional<std::int64_t> EnumTable::number_of(std::string_view wanted) const {
  for (const auto& [number, known] : values)
    if (known == wanted) return number;
  return std::nullopt;
}

const FieldInfo* TableInfo::find(std::string_view field) const {
  for (const FieldInfo& f : fields)
    if (f.name == field) return &f;
  return nullptr;
}

const TableInfo* table_info(std::string_view name) {
  const auto found = schema().by_name.find(name);
  return found == schema().by_name.end() ? nullptr : found->second;
}

const EnumTable& enum_table(std::string_view name) {
  const auto& enums = schema().enums;
  const auto found =
      std::find_if(enums.begin(), enums.end(), [&](const EnumTable& e) { return e.name == name; });
  assert(found != enums.end());
  return *found;
}

OptionsKind options_of(std::string_view op) {
  const auto found = schema().by_operator.find(std::string(op));
  return found == schema().by_operator.end() ? OptionsKind{} : found->second;
}

const TableInfo* options_table(int which, int union_type) {
  assert(which == 1 || which == 2);
  const auto& list = schema().options[which - 1];
  return union_type > 0 && static_cast<std::size_t>(union_type) < list.size()
             ? list[static_cast<std::size_t>(union_type)]
             : nullptr;
}

std::string operator_name(std::int32_t builtin_code) {
  static const EnumTable& operators = enum_table("BuiltinOperator");
  const std::string_view known = operators.name_of(builtin_code);
  return known.empty() ? "BUILTIN_" + std::to_string(builtin_code) : std::string(known);
}

std::optional<std::int32_t> operator_code(std::string_view name) {
  static const EnumTable& operators = enum_table("BuiltinOperator");
  const auto number = operators.number_of(name);
  if (!number) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

DType dtype_of(int tensor_type) {
  return tensor_type >= 0 && static_cast<std::size_t>(tensor_type) < std::size(dtypes) ? dtypes[tensor_type]
                                                                                       : DType::unknown;
}

std::optional<int> tensor_type_of(DType dtype) {
  const auto at = std::find(std::begin(dtypes), std::end(dtypes), dtype);
  if (at == std::end(dtypes)) return std::nullopt;
  return static_cast<int>(at - std::begin(dtypes));
}

}  // namespace md::tfl

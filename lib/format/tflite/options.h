// Operator options tables <-> Attributes, by reflection on the schema.
#pragma once
#include <flatbuffers/flatbuffers.h>

#include "lib/format/tflite/schema.h"

namespace md::tfl {

/// Every field of `info` as an attribute, with its default where the (verified) table leaves it out; a null
/// table gives all defaults. `spend(n)` is asked before n bytes of a vector are copied; false ends the
/// reading with nullopt. Enumerations become EnumValue, [ubyte] a Blob, other vectors vectors; an absent
/// vector is an empty one.
template <class Spend>
std::optional<Attributes> read_options(const TableInfo& info, const flatbuffers::Table* table, Spend&& spend);

/// One field; vectors are copied.
AttrValue read_field(const FieldInfo& field, const flatbuffers::Table* table);
/// Bytes that read_field would copy for a vector or string field, 0 for others.
std::size_t field_payload(const FieldInfo& field, const flatbuffers::Table* table);

template <class Spend>
std::optional<Attributes> read_options(const TableInfo& info, const flatbuffers::Table* table,
                                       Spend&& spend) {
  Attributes attrs;
  for (const FieldInfo& field : info.fields) {
    if (field.name.empty() || field.deprecated) continue;
    if (!spend(field_payload(field, table))) return std::nullopt;
    attrs.set(field.name, read_field(field, table));
  }
  return attrs;
}

}  // namespace md::tfl

#include "test/pte_models.h"

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <functional>

namespace md::test {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<flatbuffers::Table>;

constexpr flatbuffers::voffset_t slot(int field) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
}

/// A table with what `fill` adds to it; everything that it points to must exist already.
Table table(Builder& b, const std::function<void()>& fill) {
  const auto start = b.StartTable();
  fill();
  return Table(b.EndTable(start));
}

Table value(Builder& b, const PteValue& v) {
  constexpr int int_list = 7, tensor = 5;
  const auto sizes = b.CreateVector(v.sizes);
  const auto order = b.CreateVector(v.order);
  Table planned;
  if (v.arena)
    planned = table(b, [&] {
      b.AddElement<std::uint32_t>(slot(0), v.arena, 0);
      b.AddElement<std::uint32_t>(slot(1), v.at, 0);
    });
  Table body;
  if (v.kind == tensor) {
    body = table(b, [&] {
      b.AddElement<std::int8_t>(slot(0), static_cast<std::int8_t>(v.scalar_type), 0);
      b.AddOffset(slot(2), sizes);
      b.AddOffset(slot(3), order);
      b.AddElement<std::uint32_t>(slot(5), v.buffer, 0);
      if (v.arena) b.AddOffset(slot(6), planned);
    });
  } else if (v.kind >= int_list) {
    const std::vector<std::int32_t> narrow(v.items.begin(), v.items.end());
    const flatbuffers::Offset<void> items =
        v.kind == int_list ? b.CreateVector(v.items).Union() : b.CreateVector(narrow).Union();
    body = table(b, [&] { b.AddOffset(slot(0), items); });
  } else {
    body = table(b, [] {});
  }
  return table(b, [&] {
    b.AddElement<std::uint8_t>(slot(0), static_cast<std::uint8_t>(v.kind), 0);
    b.AddOffset(slot(1), body);
  });
}

Table instruction(Builder& b, const PteInstruction& i) {
  constexpr int last_call = 2;
  const auto args = b.CreateVector(i.args);
  const Table call = table(b, [&] {
    b.AddElement<std::int32_t>(slot(0), i.first, 0);
    if (i.kind <= last_call)
      b.AddOffset(slot(1), args);
    else
      b.AddElement<std::int32_t>(slot(1), i.second, 0);
  });
  return table(b, [&] {
    b.AddElement<std::uint8_t>(slot(0), static_cast<std::uint8_t>(i.kind), 0);
    b.AddOffset(slot(1), call);
  });
}

Table plan(Builder& b, const PteRecipe& recipe) {
  const auto name = b.CreateString("forward");
  std::vector<Table> values, instructions, operators, delegates;
  for (const PteValue& v : recipe.values) values.push_back(value(b, v));
  for (const PteInstruction& i : recipe.instructions)
    instructions.push_back(recipe.share_instructions && !instructions.empty() ? instructions.front()
                                                                              : instruction(b, i));
  const auto op = b.CreateString(recipe.op), overload = b.CreateString(recipe.overload);
  operators.push_back(table(b, [&] { b.AddOffset(slot(0), op), b.AddOffset(slot(1), overload); }));
  for (const PteDelegate& d : recipe.delegates) {
    const auto id = b.CreateString(d.id);
    const Table where = table(b, [&] {
      b.AddElement<std::int8_t>(slot(0), static_cast<std::int8_t>(d.location), 0);
      b.AddElement<std::uint32_t>(slot(1), d.index, 0);
    });
    delegates.push_back(table(b, [&] { b.AddOffset(slot(0), id), b.AddOffset(slot(1), where); }));
  }
  const auto steps = b.CreateVector(instructions);
  const Table chain = table(b, [&] { b.AddOffset(slot(2), steps); });
  const auto chains = b.CreateVector(std::vector<Table>(recipe.chains, chain));
  const auto all_values = b.CreateVector(values);
  const auto inputs = b.CreateVector(recipe.inputs), outputs = b.CreateVector(recipe.outputs);
  const auto all_operators = b.CreateVector(operators), all_delegates = b.CreateVector(delegates);
  const auto arenas = b.CreateVector(std::vector<std::int64_t>{0, recipe.arena_bytes});
  return table(b, [&] {
    b.AddOffset(slot(0), name), b.AddOffset(slot(2), all_values), b.AddOffset(slot(3), inputs),
        b.AddOffset(slot(4), outputs);
    b.AddOffset(slot(5), chains), b.AddOffset(slot(6), all_operators), b.AddOffset(slot(7), all_delegates),
        b.AddOffset(slot(8), arenas);
  });
}

}  // namespace

std::string make_pte(const PteRecipe& recipe) {
  Builder b;
  const auto plans = b.CreateVector(std::vector<Table>{plan(b, recipe)});
  std::vector<Table> blobs, segments;
  for (const std::string& text : recipe.inline_blobs) {
    const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    blobs.push_back(table(b, [&] { b.AddOffset(slot(0), data); }));
  }
  for (const auto& [offset, size] : recipe.segments)
    segments.push_back(table(b, [&, at = offset, bytes = size] {
      b.AddElement<std::uint64_t>(slot(0), at, 0), b.AddElement<std::uint64_t>(slot(1), bytes, 0);
    }));
  const auto all_blobs = b.CreateVector(blobs), all_segments = b.CreateVector(segments);
  const Table program = table(b, [&] {
    b.AddElement<std::uint32_t>(slot(0), recipe.version, 0);
    b.AddOffset(slot(1), plans), b.AddOffset(slot(3), all_blobs), b.AddOffset(slot(4), all_segments);
  });
  b.Finish(program, "ET12");
  // The extended header lies between the identifier and the tables.
  constexpr std::uint32_t header_size = 32, header_at = 8;
  std::string bytes(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  std::uint32_t root = 0;
  std::memcpy(&root, bytes.data(), 4);
  root += header_size;
  std::memcpy(bytes.data(), &root, 4);
  bytes.insert(header_at, header_size, '\0');
  const std::uint64_t size = bytes.size(), base = recipe.tail.empty() ? 0 : (size + 127) / 128 * 128,
                      data = recipe.tail.size();
  std::memcpy(bytes.data() + 8, "eh00", 4);
  std::memcpy(bytes.data() + 12, &header_size, 4);
  std::memcpy(bytes.data() + 16, &size, 8);
  std::memcpy(bytes.data() + 24, &base, 8);
  std::memcpy(bytes.data() + 32, &data, 8);
  if (base) bytes.resize(base, '\0');
  return bytes + recipe.tail;
}

}  // namespace md::test

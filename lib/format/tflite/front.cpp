#include "lib/format/tflite/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lib/format/tflite/verify.h"

namespace md::tfl {
namespace {

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

template <class T>
T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_offset(Storage storage) {
  return storage == Storage::string || storage == Storage::vector || storage == Storage::table ||
         storage == Storage::union_value;
}

}  // namespace

Result<Draft> Draft::copy_of(const flatbuffers::Table* table, const TableInfo& info, Bytes file) {
  Draft draft(info);
  const std::uint8_t* vtable = table->GetVTable();
  const auto base = reinterpret_cast<const std::uint8_t*>(table);
  const std::size_t vtable_bytes = load<std::uint16_t>(vtable);
  for (std::size_t s = 0; 4 + 2 * s + 2 <= vtable_bytes; ++s) {
    const std::uint16_t inline_offset = load<std::uint16_t>(vtable + 4 + 2 * s);
    if (inline_offset == 0) continue;
    if (s >= info.fields.size() || info.fields[s].name.empty())
      return fail(Error::Kind::unsupported, fmt::format("its {} table has a field (number {}) that is newer "
                                                        "than this program's schema, which would be lost; "
                                                        "use a newer release of this program",
                                                        info.name, s));
    const FieldInfo& field = info.fields[s];
    const std::uint64_t at = static_cast<std::uint64_t>(base - file.data()) + inline_offset;
    // Retired fields were not verified: nobody reads them.
    if (at + static_cast<std::uint64_t>(field.bytes) > file.size())
      return fail(Error::Kind::unsupported,
                  fmt::format("a field of its {} table lies outside the file", info.name));
    Slot& slot = draft.slots_[s];
    if (is_offset(field.storage)) {
      slot.kind = Slot::Kind::target;
      slot.target.old_position = at + load<std::uint32_t>(file.data() + at);
    } else {
      slot.kind = Slot::Kind::scalar;
      std::memcpy(&slot.bits, file.data() + at, static_cast<std::size_t>(field.bytes));
    }
  }
  return draft;
}

Draft::Slot& Draft::slot(std::string_view field) {
  const FieldInfo* info = info_->find(field);
  assert(info);
  return slots_[static_cast<std::size_t>(info->slot)];
}

void Draft::set_scalar(std::string_view field, std::uint64_t bits) {
  slot(field) = {Slot::Kind::scalar, bits, {}};
}

void Draft::mark_as_position(std::string_view field) {
  if (Slot& s = slot(field); s.kind == Slot::Kind::scalar) s.kind = Slot::Kind::position;
}

void Draft::set(std::string_view field, Target target) { slot(field) = {Slot::Kind::target, 0, target}; }
void Draft::clear(std::string_view field) { slot(field) = {}; }
bool Draft::has(std::string_view field) const {
  return const_cast<Draft*>(this)->slot(field).kind != Slot::Kind::absent;
}

ObjectId Front::add_table(Draft draft) {
  Object object;
  object.kind = Object::Kind::table;
  object.draft = std::move(draft);
  objects_.push_back(std::move(object));
  return static_cast<ObjectId>(objects_.size() - 1);
}

ObjectId Front::add_targets(std::vector<Target> targets) {
  Object object;
  object.kind = Object::Kind::targets;
  object.targets = std::move(targets);
  objects_.push_back(std::move(object));
  return static_cast<ObjectId>(objects_.size() - 1);
}

ObjectId Front::add_vector(Bytes bytes, std::size_t count, std::size_t alignment) {
  Object object;
  object.bytes.assign(bytes.begin(), bytes.end());
  object.count = count;
  object.alignment = alignment;
  objects_.push_back(std::move(object));
  return static_cast<ObjectId>(objects_.size() - 1);
}

ObjectId Front::add_string(std::string_view text) {
  const ObjectId id =
      add_vector({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, text.size(), 1);
  objects_.back().terminated = true;
  return id;
}

/// Reserves `bytes` such that (position + bias) is a multiple of `alignment`.
std::uint64_t Front::take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t bias) {
  const std::uint64_t at = round_up(size_ + bias, alignment) - bias;
  size_ = at + bytes;
  return at;
}

void Front::place_table(Object& object) {
  const auto& fields = object.draft->info().fields;
  const auto& slots = object.draft->slots_;
  std::size_t used = slots.size();
  while (used > 0 && slots[used - 1].kind == Draft::Slot::Kind::absent) --used;
  object.vtable.assign(2 + used, 0);
  std::uint64_t inline_size = 4;
  for (const int width : {8, 4, 2, 1}) {
    for (std::size_t s = 0; s < used; ++s) {
      if (slots[s].kind == Draft::Slot::Kind::absent || fields[s].bytes != width) continue;
      inline_size = round_up(inline_size, static_cast<std::uint64_t>(width));
      object.vtable[2 + s] = static_cast<std::uint16_t>(inline_size);
      inline_size += static_cast<std::uint64_t>(width);
    }
  }
  object.vtable[0] = static_cast<std::uint16_t>(object.vtable.size() * 2);
  object.vtable[1] = static_cast<std::uint16_t>(inline_size);
  if (!vtables_.count(object.vtable)) {
    const std::uint64_t at = take(object.vtable.size() * 2, 2);
    vtables_.emplace(object.vtable, at);
  }
  object.position = take(inline_size, 8);
  for (const Draft::Slot& slot : slots)
    if (slot.kind == Draft::Slot::Kind::target && slot.target.object >= 0) place(slot.target.object);
}

/// Parents before their children: offsets only point forward. The depth is that of the schema.
void Front::place(ObjectId id) {
  Object& object = objects_[static_cast<std::size_t>(id)];
  switch (object.kind) {
    case Object::Kind::table:
      place_table(object);
      break;
    case Object::Kind::vector:
      object.position = take(4 + object.bytes.size() + (object.terminated ? 1 : 0),
                             std::max<std::uint64_t>(4, object.alignment), 4);
      break;
    case Object::Kind::targets:
      object.position = take(4 + 4 * object.targets.size(), 4);
      for (const Target& target : object.targets)
        if (target.object >= 0) place(target.object);
      break;
  }
}

template <class T>
void Front::store(std::uint64_t at, T value) {
  std::memcpy(out_.data() + at, &value, sizeof value);
}

Status Front::write_offset(std::uint64_t at, const Target& target) {
  const std::uint64_t to = target.object >= 0 ? objects_[static_cast<std::size_t>(target.object)].position
                                              : out_.size() + target.old_position;
  assert(to > at);
  if (to >= flatbuffer_limit)
    return fail(Error::Kind::unsupported,
                "with the changes its tables would pass the 2 GB that flatbuffer offsets reach; keep its "
                "weights outside of the flatbuffer");
  store(at, static_cast<std::uint32_t>(to - at));
  return {};
}

Status Front::write(const Object& object) {
  const std::uint64_t at = object.position;
  if (object.kind == Object::Kind::vector) {
    store(at, static_cast<std::uint32_t>(object.count));
    if (!object.bytes.empty()) std::memcpy(out_.data() + at + 4, object.bytes.data(), object.bytes.size());
    return {};
  }
  if (object.kind == Object::Kind::targets) {
    store(at, static_cast<std::uint32_t>(object.targets.size()));
    for (std::size_t i = 0; i < object.targets.size(); ++i)
      if (auto done = write_offset(at + 4 + 4 * i, object.targets[i]); !done) return done;
    return {};
  }
  const std::uint64_t vtable = vtables_.at(object.vtable);
  std::memcpy(out_.data() + vtable, object.vtable.data(), object.vtable.size() * 2);
  store(at, static_cast<std::int32_t>(static_cast<std::int64_t>(at) - static_cast<std::int64_t>(vtable)));
  for (std::size_t s = 0; s + 2 < object.vtable.size(); ++s) {
    const Draft::Slot& slot = object.draft->slots_[s];
    const std::uint64_t field = at + object.vtable[2 + s];
    if (slot.kind == Draft::Slot::Kind::absent) continue;
    if (slot.kind == Draft::Slot::Kind::target) {
      if (auto done = write_offset(field, slot.target); !done) return done;
      continue;
    }
    const std::uint64_t bits = slot.bits + (slot.kind == Draft::Slot::Kind::position ? out_.size() : 0);
    std::memcpy(out_.data() + field, &bits, static_cast<std::size_t>(object.draft->info().fields[s].bytes));
  }
  return {};
}

Result<std::vector<std::uint8_t>> Front::finish(ObjectId root, std::string_view identifier) {
  assert(identifier.size() == 4);
  size_ = 8;
  place(root);
  out_.assign(round_up(size_, 64), 0);
  if (out_.size() >= flatbuffer_limit)
    return fail(Error::Kind::unsupported,
                "the new constants alone pass the 2 GB that flatbuffer offsets reach");
  store(0, static_cast<std::uint32_t>(objects_[static_cast<std::size_t>(root)].position));
  std::memcpy(out_.data() + 4, identifier.data(), 4);
  for (const Object& object : objects_)
    if (object.position != 0)
      if (auto done = write(object); !done) return tl::make_unexpected(done.error());
  return std::move(out_);
}

}  // namespace md::tfl

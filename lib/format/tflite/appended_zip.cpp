#include "lib/format/tflite/appended_zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace md {
namespace {

constexpr std::uint32_t end_magic = 0x06054b50, directory_magic = 0x02014b50;
constexpr std::size_t end_bytes = 22, entry_bytes = 46, comment_limit = 0xffff;
// Offsets of fields in the end record and in a directory entry.
constexpr std::size_t end_count = 10, end_size = 12, end_offset = 16, end_comment = 20;
constexpr std::size_t entry_name = 28, entry_extra = 30, entry_comment = 32, entry_offset = 42;

template <class T>
T load(Bytes bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The end record whose comment reaches exactly to the end of the file.
std::optional<std::size_t> find_end(Bytes bytes) {
  if (bytes.size() < end_bytes) return std::nullopt;
  const std::size_t last = bytes.size() - end_bytes, first = last > comment_limit ? last - comment_limit : 0;
  for (std::size_t at = last + 1; at-- > first;)
    if (load<std::uint32_t>(bytes, at) == end_magic &&
        at + end_bytes + load<std::uint16_t>(bytes, at + end_comment) == bytes.size())
      return at;
  return std::nullopt;
}

BytePatch moved(std::uint64_t position, std::uint64_t offset) {
  const auto value = static_cast<std::uint32_t>(offset);
  BytePatch patch{position, std::vector<std::uint8_t>(sizeof value)};
  std::memcpy(patch.bytes.data(), &value, sizeof value);
  return patch;
}

}  // namespace

Result<std::vector<BytePatch>> shift_appended_zip(const MappedFile& file, std::uint64_t shift) {
  const Bytes bytes = file.bytes();
  std::vector<BytePatch> patches;
  const auto end = find_end(bytes);
  if (!end) return patches;
  const std::uint64_t size = load<std::uint32_t>(bytes, *end + end_size),
                      offset = load<std::uint32_t>(bytes, *end + end_offset);
  if (offset == 0xffffffff || size == 0xffffffff)
    return fail(
        Error::Kind::unsupported,
        file.path() + ": a 64-bit zip archive is appended to it, whose positions this program does not move");
  if (size > *end || offset != *end - size)
    return patches;  // counts from the archive's own start, or is no archive
  const std::size_t count = load<std::uint16_t>(bytes, *end + end_count);
  std::uint64_t at = offset;
  for (std::size_t i = 0; i < count; ++i) {
    if (at + entry_bytes > *end || load<std::uint32_t>(bytes, at) != directory_magic)
      return std::vector<BytePatch>();  // weights that only look like one
    const std::uint64_t local = load<std::uint32_t>(bytes, at + entry_offset);
    if (local + shift > 0xfffffffe)
      return fail(Error::Kind::unsupported, file.path() + ": the zip archive appended to it would pass 4 GB");
    patches.push_back(moved(at + entry_offset, local + shift));
    at += entry_bytes + load<std::uint16_t>(bytes, at + entry_name) +
          load<std::uint16_t>(bytes, at + entry_extra) + load<std::uint16_t>(bytes, at + entry_comment);
  }
  if (offset + shift > 0xfffffffe)
    return fail(Error::Kind::unsupported, file.path() + ": the zip archive appended to it would pass 4 GB");
  patches.push_back(moved(*end + end_offset, offset + shift));
  return patches;
}

}  // namespace md

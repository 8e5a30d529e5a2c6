#include "lib/format/torch/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace md {
namespace {

// Sizes and signatures of PKWARE's APPNOTE, sections 4.3.7 (local header) to 4.3.16 (end of central
// directory).
constexpr std::uint32_t local_signature = 0x04034b50, record_signature = 0x02014b50,
                        end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50, locator64_signature = 0x07064b50;
constexpr std::uint64_t local_size = 30, record_size = 46, end_size = 22, locator64_size = 20,
                        end64_size = 56;
constexpr std::uint64_t longest_comment = 65535;
constexpr std::uint64_t largest_deflate_ratio = 1032;  ///< deflate cannot do better: a larger claim is false

template <class T>
T number(Bytes bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

Result<Directory> find_directory(Bytes bytes, const std::string& path) {
  if (bytes.size() < end_size)
    return input_error(
        fmt::format("{}: {} bytes are too few for a zip archive (at least {}); the file is truncated", path,
                    bytes.size(), end_size));
  const std::uint64_t last = bytes.size() - end_size;
  const std::uint64_t first = last > longest_comment ? last - longest_comment : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (number<std::uint32_t>(bytes, at) != end_signature) continue;
    if (at + end_size + number<std::uint16_t>(bytes, at + 20) != bytes.size()) continue;
    Directory d{number<std::uint32_t>(bytes, at + 16), number<std::uint32_t>(bytes, at + 12),
                number<std::uint16_t>(bytes, at + 10)};
    if (at >= locator64_size && number<std::uint32_t>(bytes, at - locator64_size) == locator64_signature) {
      const auto end64 = number<std::uint64_t>(bytes, at - locator64_size + 8);
      if (end64 > bytes.size() || bytes.size() - end64 < end64_size ||
          number<std::uint32_t>(bytes, end64) != end64_signature)
        return input_error(
            fmt::format("{}: offset {}: the zip64 locator points to {}, where no zip64 directory end is",
                        path, at - locator64_size, end64));
      d = {number<std::uint64_t>(bytes, end64 + 48), number<std::uint64_t>(bytes, end64 + 40),
           number<std::uint64_t>(bytes, end64 + 32)};
    }
    if (d.offset > at || d.size > at - d.offset)
      return input_error(fmt::format(
          "{}: offset {}: the zip directory is said to be {} bytes at {}, outside the file of {} bytes", path,
          at, d.size, d.offset, bytes.size()));
    if (d.entries > d.size / record_size)
      return input_error(fmt::format("{}: offset {}: {} zip entries do not fit a directory of {} bytes", path,
                                     at, d.entries, d.size));
    return d;
  }
  return input_error(fmt::format(
      "{}: no end of zip directory in the last {} bytes; the file is truncated: copy or save it again", path,
      bytes.size() - first));
}

/// Takes 64-bit sizes from the zip64 extra field, for those fields that hold the marker 0xffffffff.
void read_zip64_extra(Bytes extra, ZipMember& m) {
  std::uint64_t at = 0;
  while (extra.size() - at >= 4) {
    const auto id = number<std::uint16_t>(extra, at);
    const std::uint64_t size = number<std::uint16_t>(extra, at + 2);
    at += 4;
    if (size > extra.size() - at) return;
    if (id == 1) {
      std::uint64_t field = at;
      for (std::uint64_t* value : {&m.size, &m.compressed, &m.header_offset})
        if (*value == 0xffffffff && field + 8 <= at + size)
          *value = number<std::uint64_t>(extra, field), field += 8;
    }
    at += size;
  }
}

/// A name as it can be shown on one line.
std::string shown(const std::string& name) {
  constexpr std::size_t most = 80;
  std::string out;
  for (const char c : name.substr(0, most))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f
               ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c))
               : std::string(1, c);
  return name.size() > most ? out + "..." : out;
}

/// What is wrong with a member's name, or "".
std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.front() == '/' || name.find(":\\") != std::string_view::npos) return "is absolute";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find_first_of("/\\", at), name.size());
    if (name.substr(at, end - at) == "..") return "leaves the archive's folder";
    at = end + 1;
  }
  if (name.find('\0') != std::string_view::npos) return "holds a zero byte";
  return {};
}

Status locate_payload(Bytes bytes, const std::string& path, ZipMember& m) {
  if (m.header_offset > bytes.size() || bytes.size() - m.header_offset < local_size ||
      number<std::uint32_t>(bytes, m.header_offset) != local_signature)
    return input_error(fmt::format("{}: offset {}: no local zip header for member {}", path, m.header_offset,
                                   shown(m.name)));
  const std::uint64_t name = number<std::uint16_t>(bytes, m.header_offset + 26),
                      extra = number<std::uint16_t>(bytes, m.header_offset + 28);
  m.payload_offset = m.header_offset + local_size + name + extra;
  if (m.payload_offset > bytes.size() || m.compressed > bytes.size() - m.payload_offset)
    return input_error(
        fmt::format("{}: offset {}: member {} is said to hold {} bytes, but the file ends at {}", path,
                    m.payload_offset, shown(m.name), m.compressed, bytes.size()));
  const bool same = name == m.name.size() &&
                    std::memcmp(bytes.data() + m.header_offset + local_size, m.name.data(), name) == 0;
  if (!same || number<std::uint16_t>(bytes, m.header_offset + 8) != m.method)
    return input_error(
        fmt::format("{}: offset {}: the header of member {} has another name or method than the zip "
                    "directory; the archive is damaged: save it again",
                    path, m.header_offset, shown(m.name)));
  return {};
}

Status check_member(const std::string& path, const ZipMember& m) {
  if (const auto fault = name_fault(m.name); !fault.empty())
    return input_error(fmt::format(
        "{}: offset {}: the name of zip member \"{}\" {}; torch.export.save writes no such archive", path,
        m.record_offset, shown(m.name), fault));
  if (m.flags & 1)
    return fail(
        Error::Kind::unsupported,
        fmt::format("{}: member {} is encrypted; unpack it with its password and zip it again without", path,
                    shown(m.name)));
  if (m.method != 0 && m.method != 8)
    return fail(Error::Kind::unsupported,
                fmt::format("{}: member {} uses zip method {}; expected stored (0) or deflated (8)", path,
                            shown(m.name), m.method));
  if (m.method == 0 && m.compressed != m.size)
    return input_error(fmt::format("{}: member {} is stored, but its sizes differ ({} and {})", path,
                                   shown(m.name), m.compressed, m.size));
  if (m.method == 8 && m.size > largest_deflate_ratio * m.compressed + 64)
    return input_error(fmt::format("{}: member {}: {} bytes cannot inflate to {}", path, shown(m.name),
                                   m.compressed, m.size));
  return {};
}

Status check_overlap(const std::string& path, const std::vector<ZipMember>& members,
                     std::uint64_t directory) {
  std::vector<const ZipMember*> sorted;
  for (const ZipMember& m : members) sorted.push_back(&m);
  std::sort(sorted.begin(), sorted.end(),
            [](auto* a, auto* b) { return a->header_offset < b->header_offset; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::uint64_t end = sorted[i]->payload_offset + sorted[i]->compressed;
    const std::uint64_t next = i + 1 < sorted.size() ? sorted[i + 1]->header_offset : directory;
    if (end > next)
      return input_error(fmt::format(
          "{}: offset {}: zip member {} overlaps what follows it; the archive is damaged or a zip bomb", path,
          sorted[i]->header_offset, shown(sorted[i]->name)));
  }
  return {};
}

constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    t[0][i] = c;
  }
  for (std::uint32_t i = 0; i < 256; ++i)
    for (std::size_t k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  return t;
}();

}  // namespace

std::uint32_t zip_crc32(Bytes bytes, std::uint32_t seed) {
  std::uint32_t c = ~seed;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const auto low = number<std::uint32_t>(bytes, i) ^ c;
    const auto high = number<std::uint32_t>(bytes, i + 4);
    c = crc_tables[7][low & 0xff] ^ crc_tables[6][(low >> 8) & 0xff] ^ crc_tables[5][(low >> 16) & 0xff] ^
        crc_tables[4][low >> 24] ^ crc_tables[3][high & 0xff] ^ crc_tables[2][(high >> 8) & 0xff] ^
        crc_tables[1][(high >> 16) & 0xff] ^ crc_tables[0][high >> 24];
  }
  for (; i < bytes.size(); ++i) c = crc_tables[0][(c ^ bytes[i]) & 0xff] ^ (c >> 8);
  return ~c;
}

bool ZipArchive::looks_like(Bytes bytes) {
  return bytes.size() >= 4 && number<std::uint32_t>(bytes, 0) == local_signature;
}

Result<ZipArchive> ZipArchive::open(std::shared_ptr<const MappedFile> file) {
  const std::uint64_t size = file->bytes().size();
  std::string where = file->path();
  return open_at(std::move(file), 0, size, std::move(where));
}

Result<ZipArchive> ZipArchive::open_at(std::shared_ptr<const MappedFile> file, std::uint64_t offset,
                                       std::uint64_t length, std::string where) {
  ZipArchive archive;
  archive.base_ = offset, archive.length_ = length;
  const Bytes bytes = file->bytes().subspan(offset, length);
  archive.where_ = std::move(where);
  const std::string& path = archive.where_;
  const auto directory = find_directory(bytes, path);
  if (!directory) return tl::make_unexpected(directory.error());
  archive.directory_offset_ = directory->offset;
  std::uint64_t at = directory->offset;
  const std::uint64_t end = directory->offset + directory->size;
  for (std::uint64_t i = 0; i < directory->entries; ++i) {
    if (end - at < record_size || number<std::uint32_t>(bytes, at) != record_signature)
      return input_error(fmt::format("{}: offset {}: expected entry {} of {} of the zip directory", path, at,
                                     i + 1, directory->entries));
    const std::uint64_t name = number<std::uint16_t>(bytes, at + 28),
                        extra = number<std::uint16_t>(bytes, at + 30),
                        comment = number<std::uint16_t>(bytes, at + 32);
    if (end - at - record_size < name + extra + comment)
      return input_error(
          fmt::format("{}: offset {}: the zip directory ends inside entry {}", path, at, i + 1));
    ZipMember m;
    m.flags = number<std::uint16_t>(bytes, at + 8), m.method = number<std::uint16_t>(bytes, at + 10);
    m.time = number<std::uint16_t>(bytes, at + 12), m.date = number<std::uint16_t>(bytes, at + 14);
    m.crc = number<std::uint32_t>(bytes, at + 16);
    m.compressed = number<std::uint32_t>(bytes, at + 20), m.size = number<std::uint32_t>(bytes, at + 24);
    m.header_offset = number<std::uint32_t>(bytes, at + 42);
    m.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + record_size, name);
    m.record_offset = at, m.record_size = record_size + name + extra + comment;
    read_zip64_extra(bytes.subspan(at + record_size + name, extra), m);
    if (auto ok = check_member(path, m); !ok) return tl::make_unexpected(ok.error());
    if (auto ok = locate_payload(bytes, path, m); !ok) return tl::make_unexpected(ok.error());
    if (!archive.by_name_.emplace(m.name, archive.members_.size()).second)
      return input_error(
          fmt::format("{}: offset {}: two zip members are named {}; readers would disagree about which one "
                      "counts: save the archive again",
                      path, at, shown(m.name)));
    archive.members_.push_back(std::move(m));
    at += record_size + name + extra + comment;
  }
  if (at != end)
    return input_error(
        fmt::format("{}: offset {}: the zip directory goes on behind its {} entries: the archive is damaged, "
                    "save it again",
                    path, at, directory->entries));
  if (auto ok = check_overlap(path, archive.members_, directory->offset); !ok)
    return tl::make_unexpected(ok.error());
  archive.file_ = std::move(file);
  return archive;
}

const ZipMember* ZipArchive::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &members_[it->second];
}

Bytes ZipArchive::stored_bytes(const ZipMember& m) const {
  return file_->bytes().subspan(base_ + m.payload_offset, m.size);
}

Status ZipArchive::check_crc(const ZipMember& m, Bytes content) const {
  const std::uint32_t sum = zip_crc32(content);
  if (sum == m.crc) return {};
  return input_error(
      fmt::format("{}: offset {}: member {} has CRC {:08x}, the zip directory says {:08x}: the file is "
                  "damaged; copy or save it again",
                  where_, m.payload_offset, shown(m.name), sum, m.crc));
}

Result<Bytes> ZipArchive::content(const ZipMember& m, std::uint64_t limit,
                                  std::shared_ptr<const void>& owner) const {
  if (m.size > limit)
    return fail(Error::Kind::unsupported,
                fmt::format("{}: member {} unpacks to {} bytes; more than {} are not read (zip bomb?)",
                            where_, shown(m.name), m.size, limit));
  if (m.method != 0) return inflate(m, owner);
  owner = file_;
  const Bytes bytes = stored_bytes(m);
  if (auto ok = check_crc(m, bytes); !ok) return tl::make_unexpected(ok.error());
  return bytes;
}

Result<Bytes> ZipArchive::inflate(const ZipMember& m, std::shared_ptr<const void>& owner) const {
  const auto broken = [&] {
    return input_error(
        fmt::format("{}: offset {}: member {} does not inflate to {} bytes: the file is damaged", where_,
                    m.payload_offset, shown(m.name), m.size));
  };
  if (!inflater_) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(file_->bytes().data() + base_, length_, 0, &error);
    zip_t* zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr;
    if (!zip) {
      if (source) zip_source_free(source);
      zip_error_fini(&error);
      return broken();
    }
    inflater_ = std::shared_ptr<void>(zip, [](void* opened) { zip_discard(static_cast<zip_t*>(opened)); });
  }
  const auto buffer = std::make_shared<std::vector<std::uint8_t>>(m.size);
  zip_file_t* opened = zip_fopen_index(static_cast<zip_t*>(inflater_.get()),
                                       static_cast<zip_uint64_t>(&m - members_.data()), 0);
  const zip_int64_t got = opened ? zip_fread(opened, buffer->data(), m.size) : -1;
  std::uint8_t more = 0;
  const bool longer = opened && got >= 0 && zip_fread(opened, &more, 1) > 0;
  const bool closed = opened && zip_fclose(opened) == 0;
  if (!closed || longer || got < 0 || static_cast<std::uint64_t>(got) != m.size) return broken();
  if (auto ok = check_crc(m, *buffer); !ok) return tl::make_unexpected(ok.error());
  owner = buffer;
  return Bytes(*buffer);
}

}  // namespace md

// The directory of a zip archive, read from the mapped file without copying: every count, offset and length
// in it is checked against the file before use. Stored members are ranges of the file; deflated ones are
// inflated on demand.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/result.h"

namespace md {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  ///< 0 stored, 8 deflated
  std::uint16_t flags = 0, time = 0, date = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0, size = 0;
  std::uint64_t header_offset = 0;                   ///< of the local header
  std::uint64_t payload_offset = 0;                  ///< of the (compressed) bytes
  std::uint64_t record_offset = 0, record_size = 0;  ///< of its record in the central directory
};

/// CRC-32 as in zip; `seed` continues an earlier sum.
std::uint32_t zip_crc32(Bytes bytes, std::uint32_t seed = 0);

class ZipArchive {
 public:
  /// True when the bytes start as a zip archive does.
  static bool looks_like(Bytes bytes);
  /// Reads the directory. Errors: truncation, encryption, unknown methods, ranges that leave the file or
  /// overlap, names that occur twice or leave the archive's folder, a directory that says something else than
  /// the members' own headers.
  static Result<ZipArchive> open(std::shared_ptr<const MappedFile> file);
  /// The same for an archive that is stored inside another file at [offset, offset + length); errors call it
  /// `where`.
  static Result<ZipArchive> open_at(std::shared_ptr<const MappedFile> file, std::uint64_t offset,
                                    std::uint64_t length, std::string where);

  const std::vector<ZipMember>& members() const { return members_; }  ///< in the order of the directory
  const ZipMember* find(std::string_view name) const;
  std::uint64_t directory_offset() const { return directory_offset_; }
  const MappedFile& file() const { return *file_; }
  std::shared_ptr<const MappedFile> shared_file() const { return file_; }

  /// The raw bytes of a stored member. Precondition: method 0.
  Bytes stored_bytes(const ZipMember& member) const;
  /// The content, inflated when needed, with its CRC checked. `limit`: the largest size worth unpacking. Not
  /// for several threads at once.
  Result<Bytes> content(const ZipMember& member, std::uint64_t limit,
                        std::shared_ptr<const void>& owner) const;
  Status check_crc(const ZipMember& member, Bytes content) const;

 private:
  Result<Bytes> inflate(const ZipMember& member, std::shared_ptr<const void>& owner) const;

  std::shared_ptr<const MappedFile> file_;
  std::string where_;  ///< what errors call the archive
  std::uint64_t base_ = 0, length_ = 0, directory_offset_ = 0;
  std::vector<ZipMember> members_;
  std::unordered_map<std::string, std::size_t> by_name_;
  mutable std::shared_ptr<void>
      inflater_;  ///< libzip's view of the archive, opened for the first deflated member
};

}  // namespace md

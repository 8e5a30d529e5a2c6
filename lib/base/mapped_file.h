// A file mapped read-only: bytes are paged in when read, so the cost of opening does not depend on the size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lib/base/result.h"

namespace md {

using Bytes = std::span<const std::uint8_t>;

class MappedFile {
 public:
  /// Maps `path`. Errors name the path and what to do (missing, a directory, no permission, not a regular
  /// file). An empty file maps to zero bytes.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  /// Bytes that are not a file (tests, standard input).
  static std::shared_ptr<const MappedFile> from_bytes(std::string name, std::string bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  Bytes bytes() const { return {data_, size_}; }
  /// The open descriptor for copy_file_range, or -1 when the bytes are not a file.
  int descriptor() const { return fd_; }

 private:
  MappedFile() = default;
  std::string path_;
  std::string owned_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace md

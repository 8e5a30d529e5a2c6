#include "lib/base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/base/mapped_ranges.h"

namespace md {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return input_error(fmt::format("{}: no such file", path));
    if (errno == EACCES)
      return input_error(fmt::format("{}: permission denied; make the file readable", path));
    return input_error(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->fd_ = fd;
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return input_error(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  if (S_ISDIR(info.st_mode)) return input_error(fmt::format("{}: is a directory, expected a file", path));
  if (!S_ISREG(info.st_mode)) return input_error(fmt::format("{}: not a regular file", path));
  file->size_ = static_cast<std::size_t>(info.st_size);
  if (file->size_ == 0) return file;
  void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    file->size_ = 0;
    return input_error(fmt::format("{}: cannot map {} bytes: {}", path, info.st_size, std::strerror(errno)));
  }
  file->data_ = static_cast<const std::uint8_t*>(data);
  remember_mapping(path, data, file->size_);
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::from_bytes(std::string name, std::string bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = std::move(name);
  file->owned_ = std::move(bytes);
  file->data_ = reinterpret_cast<const std::uint8_t*>(file->owned_.data());
  file->size_ = file->owned_.size();
  return file;
}

MappedFile::~MappedFile() {
  if (fd_ < 0) return;
  if (data_) {
    forget_mapping(data_);
    ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }
  ::close(fd_);
}

}  // namespace md

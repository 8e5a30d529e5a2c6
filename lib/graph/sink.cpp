// Where written models go: memory, or a file that appears under its name only when it is complete.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/base/partial_files.h"
#include "lib/base/relative_path.h"
#include "lib/graph/document.h"

namespace md {
namespace {

tl::unexpected<Error> write_error(const std::string& path, int code) {
  if (code == ENOSPC || code == EDQUOT)
    return input_error(fmt::format("{}: cannot be written: the disk is full", path));
  if (code == EFBIG)
    return input_error(fmt::format("{}: cannot be written: no file of this size may be made here", path));
  return input_error(fmt::format("{}: cannot be written: {}", path, std::strerror(code)));
}

Status write_all(int fd, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (done < 0) {
      if (errno == EINTR) continue;
      return write_error(path, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

bool range_exists(const MappedFile& file, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t size = file.bytes().size();
  return offset <= size && length <= size - offset;
}

}  // namespace

Status MemorySink::append(Bytes more) {
  bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  return {};
}

Status MemorySink::append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) {
  if (!range_exists(file, offset, length))
    return fail(Error::Kind::internal, "a range outside of the input was to be copied");
  return append(file.bytes().subspan(offset, length));
}

Result<std::unique_ptr<AtomicFileSink>> AtomicFileSink::create(const std::string& given) {
  std::string path = given;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return input_error(fmt::format("{}: is a directory, expected the name of a file to write", path));
    // A rename would put a file in the place of the device.
    if (!S_ISREG(info.st_mode))
      return input_error(fmt::format("{}: is not a regular file, choose another output", path));
    // Through a link its target is replaced, not the link.
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      path = real;
      std::free(real);
    }
  } else if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return input_error(fmt::format("{}: is a link that leads to no file; name the file itself", path));
  }
  const std::string folder = folder_of(path);
  if (::stat(folder.c_str(), &info) != 0)
    return input_error(fmt::format("{}: the folder {} does not exist; create it first", path, folder));
  if (!S_ISDIR(info.st_mode)) return input_error(fmt::format("{}: {} is not a folder", path, folder));
  remove_leftovers(path);
  std::unique_ptr<AtomicFileSink> sink(new AtomicFileSink);
  sink->path_ = path;
  const int fd = create_partial_file(path, sink->temporary_);
  if (fd < 0) {
    if (errno == EACCES || errno == EPERM || errno == EROFS)
      return input_error(
          fmt::format("{}: the folder {} is not writable; choose another output", path, folder));
    return write_error(path, errno);
  }
  sink->fd_ = fd;
  return sink;
}

AtomicFileSink::~AtomicFileSink() {
  if (!committed_ && !temporary_.empty()) {
    ::unlink(temporary_.c_str());
    forget_partial_file(temporary_);
  }
  if (fd_ >= 0) ::close(fd_);
}

Status AtomicFileSink::append(Bytes bytes) { return write_all(fd_, bytes, path_); }

Status AtomicFileSink::append_range(const MappedFile& file, std::uint64_t offset, std::uint64_t length) {
  if (!range_exists(file, offset, length))
    return fail(Error::Kind::internal, "a range outside of the input was to be copied");
  auto from = static_cast<off_t>(offset);
  // The kernel may copy without reading (reflink); where it cannot, the mapped bytes are written.
  while (length > 0 && file.descriptor() >= 0) {
    const ssize_t done = ::copy_file_range(file.descriptor(), &from, fd_, nullptr,
                                           std::min<std::uint64_t>(length, std::uint64_t{1} << 30), 0);
    if (done <= 0) {
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return write_error(path_, errno);
      break;
    }
    length -= static_cast<std::uint64_t>(done);
  }
  struct stat now {};
  if (file.descriptor() >= 0 && ::fstat(file.descriptor(), &now) == 0 &&
      static_cast<std::uint64_t>(now.st_size) < file.bytes().size())
    return input_error(fmt::format(
        "{}: became shorter while it was read; wait until the file is complete, and run again", file.path()));
  return append(file.bytes().subspan(
      static_cast<std::size_t>(from >= 0 && file.descriptor() >= 0 ? from : static_cast<off_t>(offset)),
      length));
}

Status AtomicFileSink::flush() {
  if (::fsync(fd_) != 0) return write_error(path_, errno);
  return {};
}

Status AtomicFileSink::commit() {
  if (auto flushed = flush(); !flushed) return flushed;
  const CommitGuard guard;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return write_error(path_, errno);
  committed_ = true;
  forget_partial_file(temporary_);
  // The new name is on disk once its folder is.
  if (const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace md

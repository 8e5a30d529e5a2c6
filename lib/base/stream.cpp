#include "lib/base/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace md {
namespace {

constexpr std::size_t kLongestStream = std::size_t{1} << 30;

}  // namespace

Result<std::shared_ptr<const MappedFile>> open_file_or_pipe(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)))
    return MappedFile::open(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return input_error(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  std::string bytes;
  std::vector<char> chunk(1 << 16);
  ssize_t got = 0;
  while (bytes.size() <= kLongestStream &&
         ((got = ::read(fd, chunk.data(), chunk.size())) > 0 || (got < 0 && errno == EINTR)))
    if (got > 0) bytes.append(chunk.data(), static_cast<std::size_t>(got));
  const int code = errno;
  ::close(fd);
  if (got < 0) return input_error(fmt::format("{}: cannot read: {}", path, std::strerror(code)));
  if (bytes.size() > kLongestStream)
    return input_error(fmt::format("{}: the pipe gives more than {} MB; write it to a file first", path,
                                   kLongestStream >> 20));
  return MappedFile::from_bytes(path, std::move(bytes));
}

Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path) {
  if (path != "-") return MappedFile::open(path);
  std::string bytes;
  std::vector<char> chunk(1 << 16);
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), stdin))
    bytes.append(chunk.data(), got);
  if (std::ferror(stdin) != 0) return input_error("standard input: cannot be read");
  return MappedFile::from_bytes("-", std::move(bytes));
}

Result<std::shared_ptr<const MappedFile>> open_text_input(const std::string& path) {
  return path == "-" ? open_input(path) : open_file_or_pipe(path);
}

}  // namespace md

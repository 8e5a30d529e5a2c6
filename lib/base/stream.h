// Inputs that are no regular files.
#pragma once
#include <memory>
#include <string>

#include "lib/base/mapped_file.h"

namespace md {

/// Maps a file as MappedFile::open does; the bytes of a pipe (a log from `<(command)`) are read, at most a
/// gigabyte.
Result<std::shared_ptr<const MappedFile>> open_file_or_pipe(const std::string& path);

/// The file, or for "-" everything on standard input.
Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path);
/// The same for texts, which may also come through a pipe.
Result<std::shared_ptr<const MappedFile>> open_text_input(const std::string& path);

}  // namespace md

// What kind of file the first bytes of one say it is that no format of this build recognizes: for naming it
// in an error.
#pragma once
#include <string_view>

#include "lib/base/mapped_file.h"

namespace md {

enum class FileKind {
  empty,
  git_lfs_pointer,
  json,
  text,
  html,
  pickle,
  gzip,
  bzip2,
  xz,
  zstd,
  seven_zip,
  tar,
  hdf5,
  numpy,
  png,
  jpeg,
  gif,
  webp,
  bmp,
  pdf,
  elf,
  mach_o,
  windows_program,
  safetensors,
  gguf,
  flatbuffer,
  unknown
};

/// By content only, never by name. Reads at most the first kilobyte (and, for a tar, its header).
FileKind kind_of(Bytes bytes);
/// "a PNG image"; for the kinds that are no model format this program knows.
std::string_view description(FileKind kind);
/// What to do about it, for kinds where there is more to say than "give me a model": "" otherwise.
std::string_view advice(FileKind kind);

}  // namespace md

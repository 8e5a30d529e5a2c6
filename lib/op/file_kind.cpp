#include "lib/op/file_kind.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace md {
namespace {

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  FileKind kind;
};

using namespace std::string_view_literals;

constexpr Magic magics[] = {
    {0, "version https://git-lfs"sv, FileKind::git_lfs_pointer},
    {0, "\x89PNG\r\n\x1a\n"sv, FileKind::png},
    {0, "\xff\xd8\xff"sv, FileKind::jpeg},
    {0, "GIF8"sv, FileKind::gif},
    {8, "WEBP"sv, FileKind::webp},
    {0, "%PDF"sv, FileKind::pdf},
    {0,
     "\x7f"
     "ELF"sv,
     FileKind::elf},
    {0, "\xcf\xfa\xed\xfe"sv, FileKind::mach_o},
    {0, "\xca\xfe\xba\xbe"sv, FileKind::mach_o},
    {0, "MZ"sv, FileKind::windows_program},
    {0, "\x1f\x8b"sv, FileKind::gzip},
    {0, "BZh"sv, FileKind::bzip2},
    {0,
     "\xfd"
     "7zXZ"sv,
     FileKind::xz},
    {0, "\x28\xb5\x2f\xfd"sv, FileKind::zstd},
    {0, "7z\xbc\xaf"sv, FileKind::seven_zip},
    {257, "ustar"sv, FileKind::tar},
    {0, "\x89HDF\r\n\x1a\n"sv, FileKind::hdf5},
    {0, "\x93NUMPY"sv, FileKind::numpy},
    {0, "GGUF"sv, FileKind::gguf},
    {0, "\x80\x02"sv, FileKind::pickle},
    {0, "\x80\x03"sv, FileKind::pickle},
    {0, "\x80\x04"sv, FileKind::pickle},
    {0, "\x80\x05"sv, FileKind::pickle},
    {0, "BM"sv, FileKind::bmp},
    {0, "\xff\xfe"sv, FileKind::text},  // UTF-16
    {0, "\xfe\xff"sv, FileKind::text},
};

bool has(Bytes bytes, const Magic& magic) {
  return bytes.size() >= magic.offset + magic.bytes.size() &&
         std::memcmp(bytes.data() + magic.offset, magic.bytes.data(), magic.bytes.size()) == 0;
}

FileKind text_kind(Bytes bytes) {
  const std::size_t looked_at = std::min<std::size_t>(bytes.size(), 1024);
  std::size_t first = looked_at;
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::uint8_t c = bytes[i];
    if (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0x1b && c != '\f') return FileKind::unknown;
    if (first == looked_at && c > ' ') first = i;
  }
  if (first == looked_at) return FileKind::text;
  if (bytes[first] == '{' || bytes[first] == '[') return FileKind::json;
  if (bytes[first] == '<') return FileKind::html;
  return FileKind::text;
}

/// safetensors: a 64-bit header length, then JSON.
bool looks_like_safetensors(Bytes bytes) {
  if (bytes.size() < 16) return false;
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  return header < bytes.size() && bytes[8] == '{' && bytes[9] == '"';
}

}  // namespace

FileKind kind_of(Bytes bytes) {
  if (bytes.empty()) return FileKind::empty;
  for (const Magic& magic : magics)
    if (has(bytes, magic)) return magic.kind;
  if (looks_like_safetensors(bytes)) return FileKind::safetensors;
  if (const FileKind kind = text_kind(bytes); kind != FileKind::unknown) return kind;
  const bool identifier = bytes.size() > 8 && std::all_of(bytes.begin() + 4, bytes.begin() + 8,
                                                          [](std::uint8_t c) { return c > ' ' && c <= '~'; });
  return identifier && bytes[3] == 0 && bytes[2] == 0 ? FileKind::flatbuffer : FileKind::unknown;
}

std::string_view description(FileKind kind) {
  switch (kind) {
    case FileKind::empty:
      return "an empty file";
    case FileKind::git_lfs_pointer:
      return "a Git LFS pointer, not the file itself";
    case FileKind::json:
      return "a JSON file";
    case FileKind::text:
      return "a text file";
    case FileKind::html:
      return "an HTML or XML file";
    case FileKind::pickle:
      return "a Python pickle";
    case FileKind::gzip:
      return "a gzip archive";
    case FileKind::bzip2:
      return "a bzip2 archive";
    case FileKind::xz:
      return "an xz archive";
    case FileKind::zstd:
      return "a Zstandard archive";
    case FileKind::seven_zip:
      return "a 7-Zip archive";
    case FileKind::tar:
      return "a tar archive";
    case FileKind::hdf5:
      return "an HDF5 file (a Keras model or weights)";
    case FileKind::numpy:
      return "a NumPy array";
    case FileKind::png:
      return "a PNG image";
    case FileKind::jpeg:
      return "a JPEG image";
    case FileKind::gif:
      return "a GIF image";
    case FileKind::webp:
      return "a WebP image";
    case FileKind::bmp:
      return "a BMP image";
    case FileKind::pdf:
      return "a PDF document";
    case FileKind::elf:
      return "an ELF program or library";
    case FileKind::mach_o:
      return "a macOS program or a Java class";
    case FileKind::windows_program:
      return "a Windows program";
    case FileKind::safetensors:
      return "a safetensors file: weights without a graph";
    case FileKind::gguf:
      return "a GGUF file: weights without a graph";
    case FileKind::flatbuffer:
      return "a flatbuffer of another kind";
    case FileKind::unknown:
      break;
  }
  return "of no kind this program knows";
}

std::string_view advice(FileKind kind) {
  switch (kind) {
    case FileKind::git_lfs_pointer:
      return "fetch it with git lfs pull";
    case FileKind::html:
      return "the download probably gave an error page";
    case FileKind::pickle:
      return "export the model with torch.export and save it as .pt2";
    case FileKind::hdf5:
      return "convert it to .tflite first";
    case FileKind::gzip:
    case FileKind::bzip2:
    case FileKind::xz:
    case FileKind::zstd:
    case FileKind::seven_zip:
    case FileKind::tar:
      return "unpack it and give the model inside";
    case FileKind::empty:
      return "the conversion or the download wrote nothing";
    case FileKind::text:
      return "a log goes behind --log";
    default:
      return "";
  }
}

}  // namespace md

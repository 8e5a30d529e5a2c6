#include "lib/graph/document.h"

#include <fmt/format.h>

#include "lib/op/file_kind.h"

namespace md {

Result<std::unique_ptr<Document>> open_document(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  return open_document(std::move(*file));
}

Result<std::unique_ptr<Document>> open_document(std::shared_ptr<const MappedFile> file) {
  const FileKind kind = kind_of(file->bytes());
  switch (kind) {
    case FileKind::tflite:
      return open_tflite(std::move(file));
    case FileKind::pte:
      return open_pte(std::move(file));
    case FileKind::zip:
      return open_pt2(std::move(file));  // says what the archive is when it is no .pt2
    case FileKind::onnx:
      return fail(
          Error::Kind::unsupported,
          file->path() +
              ": is an ONNX model; onnx is not supported by this build, which reads .tflite, .pt2 and .pte");
    default:
      break;
  }
  std::string message =
      fmt::format("{}: is {}, expected a .tflite, .pt2 or .pte model", file->path(), description(kind));
  if (const auto more = advice(kind); !more.empty()) message += fmt::format("; {}", more);
  return input_error(std::move(message));
}

}  // namespace md

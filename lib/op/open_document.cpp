#include "lib/graph/document.h"

#include <fmt/format.h>

#include "lib/op/dialect.h"
#include "lib/op/file_kind.h"

namespace md {

Result<std::unique_ptr<Document>> open_document(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  return open_document(std::move(*file));
}

Result<std::unique_ptr<Document>> open_document(std::shared_ptr<const MappedFile> file) {
  for (const Dialect* known : dialects())
    if (known->recognizes(file->bytes())) return known->open(std::move(file));
  const FileKind kind = kind_of(file->bytes());
  std::string message = fmt::format("{}: is {}, expected a {} model", file->path(), description(kind),
                                    dialect_extensions(" or "));
  if (const auto more = advice(kind); !more.empty()) message += fmt::format("; {}", more);
  return input_error(std::move(message));
}

}  // namespace md

// Exported PyTorch programs (.pt2).
#pragma once
#include "lib/op/dialect.h"

namespace md {

extern const Dialect dialect_torch;

/// Also says what a zip archive is that holds no exported program.
Result<std::unique_ptr<Document>> open_pt2(std::shared_ptr<const MappedFile> file);

}  // namespace md

// ExecuTorch programs (.pte): read and diagnosed, not rewritten.
#pragma once
#include "lib/op/dialect.h"

namespace md {

extern const Dialect dialect_pte;

Result<std::unique_ptr<Document>> open_pte(std::shared_ptr<const MappedFile> file);

}  // namespace md

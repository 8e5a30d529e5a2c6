// ONNX as a format of the engine; see lib/op/dialect.h.
#pragma once
#include "lib/op/dialect.h"

namespace md {

extern const Dialect dialect_onnx;

/// Reads an .onnx file (and the files beside it that hold its weights).
Result<std::unique_ptr<Document>> open_onnx(std::shared_ptr<const MappedFile> file);

}  // namespace md

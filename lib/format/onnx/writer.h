// Writes a changed copy of an .onnx model: the file's own bytes, with the fields that changed in their places
// and the lengths around them made to fit. A part that nobody changed keeps its bytes, whatever it holds.
#pragma once
#include "lib/base/result.h"
#include "lib/format/onnx/reader.h"
#include "lib/graph/document.h"

namespace md::onnx {

/// Beyond 2 GiB no tool reads a protobuf: then weights stay where they are, and the new file points into the
/// old one, which must lie beside it. Errors: what the sink says, and what no field can express.
/// `everything`: takes every graph apart, as if all had changed: how tests show that the parts make the same
/// file.
Status write_onnx(const OnnxFile& file, const Model& edited, ByteSink& sink, bool everything = false);

}  // namespace md::onnx

// Writes a changed copy of a .tflite model: new graph tables in front, the whole old file behind them.
//
// Everything that did not change is not copied but pointed to: its bytes, its alignment, fields newer than
// the schema and whatever else the old file holds stay as they are. Only absolute positions inside the old
// bytes are corrected (out-of-line buffers and custom options, an appended zip). A table that does change is
// copied field by field; when it has a field that the schema does not know, the write is refused.
#pragma once
#include "lib/format/tflite/reader.h"
#include "lib/graph/document.h"

namespace md::tfl {

struct RewriteOptions {
  /// Builds every table of every graph anew, as if all had changed: how tests show that the result is the
  /// same model.
  bool everything = false;
};

WriteCapability write_capability(const TfliteFile& parts);

/// New values get unique names; node versions of 0 become 1. Errors: unsupported (with the reason) or what
/// the sink says.
Status rewrite(const TfliteFile& parts, const Model& edited, const RewriteOptions& options, ByteSink& sink);

}  // namespace md::tfl

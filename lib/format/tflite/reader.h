// Reads a .tflite file: verified first, then viewed as a md::Model whose constants stay in the mapped file.
#pragma once
#include <cstdint>
#include <memory>

#include "lib/base/mapped_file.h"
#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace tflite {
struct Model;
struct Buffer;
struct OperatorCode;
}  // namespace tflite

namespace md::tfl {

struct TfliteFile {
  std::shared_ptr<const MappedFile> file;
  const tflite::Model* root = nullptr;  ///< verified; points into the file
  Model model;
  /// Operators whose options lie outside of the flatbuffer and that name absolute positions only they
  /// understand.
  bool has_dispatch_operator = false;
};

/// Errors name the file and the place: damaged tables, ids that do not exist, a graph that is not in
/// execution order. Time and memory follow the graph: constants are not read, and a file cannot make the
/// model larger than a small multiple of itself.
///
/// A value's shape has -1 where shape_signature has it; Value::default_shape then holds the sizes that the
/// file runs with until its caller resizes an input. Tensors on buffer 0 are never constants (the runtime
/// reads that buffer as "none" whatever it holds). Zero-element tensors that nobody produces are constants
/// without bytes.
Result<TfliteFile> read_tflite(std::shared_ptr<const MappedFile> file);

/// Where the bytes of a buffer lie in the file; empty for none. The range was checked by read_tflite.
Bytes buffer_bytes(const MappedFile& file, const tflite::Buffer& buffer);
/// True for a buffer whose bytes lie at an absolute position outside of the flatbuffer's own vectors.
bool is_out_of_line(const tflite::Buffer& buffer);

/// The larger of the old and the new code field, as the runtime reads it.
std::int32_t builtin_code(const tflite::OperatorCode& code);

}  // namespace md::tfl

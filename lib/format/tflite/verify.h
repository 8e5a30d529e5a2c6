// Checks a .tflite file's tables before anything reads them.
#pragma once
#include "lib/base/mapped_file.h"
#include "lib/base/result.h"

namespace tflite {
struct Model;
}

namespace md::tfl {

/// The flatbuffer lies within the first 2 GB by its own 31-bit offsets; of a larger file only that part is
/// looked at.
inline constexpr std::size_t flatbuffer_limit = 0x7fff'fff0;

/// The root table, after every table, vector and string that the schema knows was checked to lie inside the
/// file. Weights are not read. Errors name the first part that is broken and its offset.
Result<const tflite::Model*> verified_root(const MappedFile& file);

}  // namespace md::tfl

// A zip archive that model metadata tools append behind the flatbuffer (label files). Its directory counts
// from the start of the whole file, so it must be corrected when bytes are put in front.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/result.h"

namespace md {

/// Bytes of the old file that read differently in the new one.
struct BytePatch {
  std::uint64_t position = 0;  ///< in the old file
  std::vector<std::uint8_t> bytes;
};

/// The corrections when `shift` bytes are put in front of `file`. Empty when no archive ends the file, or
/// when its directory counts from the archive's own start. Fails (unsupported) for a 64-bit archive and past
/// 4 GB.
Result<std::vector<BytePatch>> shift_appended_zip(const MappedFile& file, std::uint64_t shift);

}  // namespace md

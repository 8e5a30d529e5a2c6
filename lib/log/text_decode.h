// Bytes of a log file to UTF-8 text: marks of UTF-8 and UTF-16, binary content, invalid sequences.
#pragma once
#include <string>
#include <string_view>

#include "lib/base/mapped_file.h"

namespace md {

struct DecodedText {
  std::string_view text;  ///< points into the given bytes, or into `storage` after a conversion
  std::string storage;    ///< owns the converted text of a UTF-16 file
  std::string note;       ///< what was converted, for the reader's eyes; empty for plain UTF-8
};

/// Takes UTF-8 with or without a mark, UTF-16 of both byte orders, with a mark or
/// recognized by its zero bytes. Errors name `path` and the
/// offset of the first zero byte: no text log has one. Invalid UTF-8 passes; valid_utf8() mends it where it
/// is shown. `result.text` may point into `result` itself: the caller keeps it in place.
Status decode_text(const std::string& path, Bytes bytes, DecodedText& result);

/// The same text with each byte that is no valid UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace md

// A log split into records: the tool that spoke, its version, level, message, and the lines it came from.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/version.h"

namespace md {

enum class LogLevel { unknown, verbose, info, warning, error, fatal };

struct Record {
  int line_begin = 0, line_end = 0;  ///< 1-based lines of the file, inclusive
  int line_main = 0;  ///< the line to show: of a traceback the final exception's, else line_begin
  LogLevel level = LogLevel::unknown;
  std::string
      tool;  ///< "litert-gpu", "litert-torch", "executorch", "torch-tensorrt", "onnxruntime", ...; "" unknown
  /// Prefixes, timestamps and ANSI codes stripped; valid UTF-8. A line that was wrapped is one line again; a
  /// message of several lines has '\n' between them. A traceback is one record: the final exception (first
  /// line) with its notes
  /// ("While executing %..."), then "Traceback (most recent call last):", the frames and earlier exceptions
  /// of the chain.
  std::string message;
  bool failure = false;  ///< part of what failed: must be explained by a finding or is listed as unexplained
  bool benign = false;   ///< looks like trouble, but successful runs print it too
  int repeats = 1;       ///< identical records collapsed into this one
  /// The first line of the message: what people want to read.
  std::string_view headline() const { return std::string_view(message).substr(0, message.find('\n')); }
};

/// One log file (or standard input), of any tool.
struct Log {
  std::string path;  ///< as the user named it; "-" for standard input
  std::vector<Record> records;
  std::map<std::string, std::string>
      versions;                    ///< tool -> version that the text tells ("litert-gpu" -> "2.3.0")
  std::vector<std::string> notes;  ///< which load was chosen, encoding, truncation: for the reader's eyes
};

/// Splits raw stderr, logcat, CI logs, Python tracebacks; UTF-8 or UTF-16 with a mark; one linear pass.
/// Only the last failing model load keeps its failures; a note says which load that is.
/// Errors: binary content (names the offset).
Result<Log> parse_log(std::string path, Bytes text);

}  // namespace md

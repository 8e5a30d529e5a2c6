// A log split into records: the tool that spoke, its version, level, message, and the lines it came from.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/base/version.h"

namespace md {

enum class LogLevel { unknown, verbose, info, warning, error, fatal };

/// What a tool was doing when it spoke.
enum class Stage {
  unknown,
  setup,           ///< packages, libraries and the application are put together
  program_export,  ///< a program is traced out of the user's code
  convert,         ///< a model becomes one of another format
  lower,           ///< parts of a program are given to a backend, ahead of time
  build,           ///< an engine or kernels are compiled
  load,            ///< a model file is read and its operators are looked up
  prepare,         ///< memory, shapes and delegates are set up for the graph
  run              ///< the model computes
};
std::string_view name(Stage stage);  ///< "setup", "export", "convert", ...; "" for unknown

/// What failures of known shapes say besides their words; a field is empty where the message does not tell
/// it.
struct Told {
  Stage stage = Stage::unknown;
  std::string op;         ///< the operator that it names, as the tool calls it
  std::string node;       ///< its number or name
  std::string condition;  ///< what did not hold, and what there was: "NumInputs(node) is 1, expected 2"
  std::string status;     ///< a status number with its name: "0x12 InvalidArgument: ..."
  std::string source;     ///< where in the tool: "kernels/pad.cc:55"
  std::string frame;      ///< where in the user's code: "export.py:12 in main"
  std::string decisive;   ///< the line of the message that says most; empty: the first
  std::vector<int> consequences;  ///< of a record that leads: lines that only report the same again
};

/// A Told that takes no room in the many records that are no failures.
class OptionalTold {
 public:
  OptionalTold() = default;
  OptionalTold(const OptionalTold& other)
      : told_(other.told_ ? std::make_unique<Told>(*other.told_) : nullptr) {}
  OptionalTold(OptionalTold&&) noexcept = default;
  OptionalTold& operator=(const OptionalTold& other) {
    told_ = other.told_ ? std::make_unique<Told>(*other.told_) : nullptr;
    return *this;
  }
  OptionalTold& operator=(OptionalTold&&) noexcept = default;
  ~OptionalTold() = default;
  const Told& get() const {
    static const Told nothing;
    return told_ ? *told_ : nothing;
  }
  Told& make() {
    if (!told_) told_ = std::make_unique<Told>();
    return *told_;
  }

 private:
  std::unique_ptr<Told> told_;
};

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
  /// Failing records with one number are one failure: one leads, the others follow from it. 0: no failure.
  int failure_number = 0;
  bool leads = false;  ///< the cause among the records with its number
  OptionalTold details;
  int repeats = 1;  ///< identical records collapsed into this one
  /// The first line of the message.
  std::string_view headline() const { return std::string_view(message).substr(0, message.find('\n')); }
  const Told& told() const { return details.get(); }
  Told& tell() { return details.make(); }
  /// What people want to read.
  std::string_view shown() const {
    return told().decisive.empty() ? headline() : std::string_view(told().decisive);
  }
};

/// One log file (or standard input), of any tool.
struct Log {
  std::string path;  ///< as the user named it; "-" for standard input
  std::vector<Record> records;
  std::map<std::string, std::string>
      versions;                    ///< tool -> version that the text tells ("litert-gpu" -> "2.3.0")
  std::vector<std::string> notes;  ///< which load was chosen, encoding, truncation: for the reader's eyes
};

/// Splits raw stderr, logcat, CI logs, notebooks, issues, Python tracebacks; UTF-8 or UTF-16; one linear
/// pass. Only the last failing run keeps its failures; a note says which that is and what the others died of.
/// Errors: binary content (names the offset).
Result<Log> parse_log(std::string path, Bytes text);

}  // namespace md

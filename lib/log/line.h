// One physical line of a log, with what its prefixes say taken off: timestamps, levels, process, tag, source
// position.
#pragma once
#include <string_view>

#include "lib/log/log.h"

namespace md {

struct LogLine {
  int number = 0;         ///< 1-based
  std::string_view text;  ///< without prefixes, ANSI codes and line end
  LogLevel level = LogLevel::unknown;
  std::string_view source;  ///< "delegate_webgpu.cc:478" when the prefix tells it
  std::string_view tag;     ///< logcat tag, or the name of a Python logger
  int pid = 0;              ///< 0: not told
  bool prefixed = false;    ///< a prefix that starts a message of its own was taken off
  bool logcat = false;
  bool positioned = false;  ///< only a source position stood in front: errors and information look alike
  bool announced = false;   ///< the CI system itself marked the line as an error
};

/// Takes every known prefix off `raw` (which has no line end). CI timestamps and logcat heads are removed
/// first, then the prefix of the program that spoke.
LogLine parse_line(int number, std::string_view raw);

/// Walks over a line from the left; every step either succeeds and advances or leaves the position alone.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : text_(text) {}
  std::string_view rest() const { return text_.substr(at_); }
  std::size_t position() const { return at_; }
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) { return peek() == c && !done() ? (++at_, true) : false; }
  bool take(std::string_view literal) {
    if (rest().substr(0, literal.size()) != literal) return false;
    at_ += literal.size();
    return true;
  }
  bool spaces();                                            ///< one or more blanks
  bool digits(std::size_t low, std::size_t high);           ///< a run of digits of this length
  int number() const { return number_; }                    ///< value of the last digits(), saturated
  bool word(std::string_view& out, std::string_view stop);  ///< characters up to a blank or one of `stop`
  void back_to(std::size_t position) { at_ = position; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int number_ = 0;
};

/// Logcat heads: threadtime, time, brief and tag formats, and Android Studio's two. Fills level, tag, pid and
/// text.
bool take_logcat_head(std::string_view text, LogLine& line);
/// Timestamps and marks that CI systems put in front of what a job prints. Returns what is behind them.
std::string_view strip_ci_prefix(std::string_view text, LogLine& line);
LogLevel level_from_letter(char letter);
/// The same for logcat, which has "A" (assert) too.
LogLevel level_from_logcat_letter(char letter);
/// "WARNING", "warn", "E", "Error" ...; unknown for anything else.
LogLevel level_from_word(std::string_view word);

}  // namespace md

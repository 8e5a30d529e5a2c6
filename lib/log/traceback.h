// Collects a Python traceback, with its chain of causes, line by line.
#pragma once
#include <string>
#include <string_view>

#include "lib/log/log.h"

namespace md {

class Traceback {
 public:
  enum class Step {
    taken,     ///< the line belongs to the traceback
    finished,  ///< it does not: the traceback ended before it
  };
  /// "Traceback (most recent call last)", or a frame of one whose head was cut off.
  static bool begins(std::string_view text);
  /// `frames`: true for a line where begins() holds, false for an exception line that stands alone.
  Traceback(int line, std::string_view text, bool frames);
  /// `prefixed`: the line starts with the head of another message.
  Step take(int line, std::string_view text, bool prefixed);
  /// The final exception with what belongs to it, then a newline and the traceback before it (frames and
  /// causes), for rules that look at files. `line_main` is the line of the final exception. A traceback that
  /// was cut before its exception says so in `decisive`.
  Record record() const;
  /// False for frames without a head, below which stands no exception: a stack that was printed on the way.
  bool is_failure() const;

 private:
  Step take_frame(int line, std::string_view text);
  Step take_message(int line, std::string_view text, bool prefixed);
  void look_at_frame(std::string_view frame);

  enum class State { frames, message } state_;
  std::string chain_;      ///< everything before the final exception
  std::string exception_;  ///< final exception so far
  std::string tool_;       ///< by the innermost frame that tells one
  Stage stage_ = Stage::unknown;
  std::string user_frame_;  ///< the innermost frame outside installed packages
  std::string last_frame_;
  std::size_t margin_ = 0;  ///< blanks in front of the whole traceback, as in an indented quotation
  int begin_, end_, main_;
  int blanks_ = 0;          ///< blank lines since the last line of the message
  bool headless_ = false;   ///< began with a frame
  bool chained_ = false;    ///< a connector was seen: the next traceback continues this one
  bool code_next_ = false;  ///< behind a frame comes the line of code, whatever it looks like
};

}  // namespace md

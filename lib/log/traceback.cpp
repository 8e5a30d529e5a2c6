#include "lib/log/traceback.h"

#include <algorithm>

#include "lib/log/vocabulary.h"

namespace md {
namespace {

bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

std::string_view trim_left(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

bool connects(std::string_view text) {
  return starts(text, "The above exception was the direct cause") ||
         starts(text, "During handling of the above exception");
}

/// Lines behind a blank one that still belong to an exception's message.
bool continues(std::string_view text) {
  static constexpr std::string_view heads[] = {"While executing",
                                               "Original traceback",
                                               "Use tlparse",
                                               "File \"",
                                               "Set TORCH",
                                               "from user code",
                                               "There are a few",
                                               "==> Context",
                                               "You can suppress",
                                               "This op was",
                                               "Reason:",
                                               "If you ",
                                               "Operator torch._ops",
                                               "Summary:",
                                               "-- "};
  const std::string_view body = trim_left(text);
  if (body.size() < text.size()) return true;
  if (body.size() > 2 && body[0] >= '1' && body[0] <= '9' && body[1] == '.') return true;
  return std::any_of(std::begin(heads), std::end(heads),
                     [&](std::string_view head) { return starts(body, head); });
}

/// What the shell or a test driver prints behind a failed program.
bool ends_program(std::string_view text) {
  return starts(text, "[exit status") || starts(text, "RESULT ") || starts(text, "$ ") ||
         starts(text, "exit ") || starts(text, "Error: Process completed");
}

bool is_marker(std::string_view text) {
  return !text.empty() && text.find_first_not_of(" \t^~") == std::string_view::npos;
}

}  // namespace

bool Traceback::begins(std::string_view text) {
  return starts(trim_left(text), "Traceback (most recent call last)");
}

Traceback::Traceback(int line, std::string_view text, bool frames)
    : state_(frames ? State::frames : State::message), begin_(line), end_(line), main_(line) {
  (frames ? chain_ : exception_) = frames ? trim_left(text) : text;
}

Traceback::Step Traceback::take(int line, std::string_view text, bool prefixed) {
  return state_ == State::frames && !prefixed ? take_frame(line, text) : take_message(line, text, prefixed);
}

Traceback::Step Traceback::take_frame(int line, std::string_view text) {
  if (trim_left(text).empty()) return Step::taken;
  end_ = line;
  const bool indented = text[0] == ' ' || text[0] == '\t';
  if (indented || starts(text, "[Previous line repeated")) {
    if (is_marker(text)) return Step::taken;
    const std::string_view body = trim_left(text);
    if (starts(body, "File \"")) {
      const std::string_view tool = tool_of_path(body);
      // Frames of torch lie below those of the tool that called it.
      if (!tool.empty() && (tool != "torch" || tool_.empty())) tool_ = tool;
    }
    chain_ += '\n', chain_ += text;
    return Step::taken;
  }
  state_ = State::message;
  exception_ = starts(text, "E   ") ? trim_left(text.substr(1)) : text;
  main_ = line, blanks_ = 0;
  return Step::taken;
}

Traceback::Step Traceback::take_message(int line, std::string_view text, bool prefixed) {
  if (trim_left(text).empty()) {
    ++blanks_;
    return Step::taken;
  }
  if (begins(text) && chained_) {
    chained_ = false, state_ = State::frames, blanks_ = 0, end_ = line;
    chain_ += '\n', chain_ += trim_left(text);
    return Step::taken;
  }
  if (connects(text)) {
    chain_ += '\n', chain_ += exception_, chain_ += '\n', chain_ += text;
    exception_.clear();
    chained_ = true, blanks_ = 0, end_ = line;
    return Step::taken;
  }
  if (prefixed || begins(text) || ends_program(text)) return Step::finished;
  if (blanks_ > 0 && !continues(text)) return Step::finished;
  if (exception_line(text) && blanks_ == 0 && exception_.find('\n') == std::string::npos && chain_.empty())
    return Step::finished;  // lone exception lines below each other are separate failures
  if (blanks_ > 0) exception_ += '\n';
  blanks_ = 0, end_ = line;
  // "SpecViolationError: " with its text on the next line reads better as one.
  const bool bare =
      exception_.size() > 2 && exception_.find('\n') == std::string::npos && exception_.back() == ' ';
  if (!bare) exception_ += '\n';
  exception_ += text;
  return Step::taken;
}

std::string_view Traceback::exception_head() const {
  const std::string_view text = exception_;
  return text.substr(0, text.find('\n'));
}

Record Traceback::record() const {
  Record record;
  record.line_begin = begin_, record.line_end = end_, record.line_main = main_;
  record.level = LogLevel::error;
  record.tool = tool_;
  record.message = exception_;
  if (!chain_.empty()) {
    if (!record.message.empty()) record.message += '\n';
    record.message += chain_;
  }
  return record;
}

}  // namespace md

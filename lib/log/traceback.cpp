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

std::size_t indent_of(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? text.size() : first;
}

bool is_head(std::string_view text) { return starts(trim_left(text), "Traceback (most recent call last)"); }

/// `File "x.py", line 3, in f`
bool is_frame(std::string_view text) {
  const std::string_view body = trim_left(text);
  return starts(body, "File \"") && body.find("\", line ") != std::string_view::npos;
}

/// "x.py:3 in f" of such a line.
std::string frame_words(std::string_view frame) {
  constexpr std::string_view mark = "\", line ";
  const std::size_t begin = frame.find('"'), middle = frame.find(mark);
  if (begin == std::string_view::npos || middle == std::string_view::npos || middle <= begin) return {};
  const std::string_view path = frame.substr(begin + 1, middle - begin - 1);
  const std::string_view rest = frame.substr(middle + mark.size());
  std::string words(path.substr(path.find_last_of("/\\") + 1));
  words += ':';
  words += rest.substr(0, rest.find(','));
  const std::size_t in = rest.find(", in ");
  if (in != std::string_view::npos && rest.substr(in + 5) != "<module>")
    words += " in ", words += rest.substr(in + 5, 60);
  return words;
}

/// A line of the list of operators that a delegate leaves: a failure of its own wherever it stands.
bool is_refusal(std::string_view text) {
  const std::string_view body = trim_left(text);
  if (operator_line(body) == std::string_view::npos) return false;
  const Words words = find_words(body);
  return words.refusal || starts(body, "DEQUANTIZE:") || starts(body, "CUSTOM ");
}

bool is_marker(std::string_view text) {
  return !text.empty() && text.find_first_not_of(" \t^~") == std::string_view::npos;
}

}  // namespace

bool Traceback::begins(std::string_view text) { return is_head(text) || is_frame(text); }

Traceback::Traceback(int line, std::string_view text, bool frames)
    : state_(frames ? State::frames : State::message), begin_(line), end_(line), main_(line) {
  (frames ? chain_ : exception_) = frames ? trim_left(text) : text;
  if (!frames) return;
  margin_ = indent_of(text);
  if (is_head(text)) return;
  headless_ = true;
  margin_ = margin_ >= 2 ? margin_ - 2 : 0;  // frames stand two blanks behind their head
  look_at_frame(trim_left(text));
}

void Traceback::look_at_frame(std::string_view frame) {
  code_next_ = true;
  last_frame_ = frame_words(frame);
  const std::string_view tool = tool_of_path(frame);
  // Frames of torch lie below those of the tool that called it.
  const bool torch_itself = tool == "torch" || tool == "torch-export";
  const bool nobody_else =
      tool_.empty() || tool_ == "torch" || (tool_ == "torch-export" && tool == "torch-export");
  if (!tool.empty() && (!torch_itself || nobody_else)) tool_ = tool;
  if (const Stage stage = stage_of_frame(frame); stage != Stage::unknown) stage_ = stage;
  const bool installed = frame.find("-packages/") != std::string_view::npos ||
                         frame.find("-packages\\") != std::string_view::npos ||
                         frame.find("/lib/python") != std::string_view::npos ||
                         frame.find("\"<") != std::string_view::npos || !tool.empty();
  if (!installed) user_frame_ = last_frame_;
}

Traceback::Step Traceback::take(int line, std::string_view text, bool prefixed) {
  return state_ == State::frames && !prefixed ? take_frame(line, text) : take_message(line, text, prefixed);
}

Traceback::Step Traceback::take_frame(int line, std::string_view text) {
  if (trim_left(text).empty()) return Step::taken;
  end_ = line;
  const bool indented = indent_of(text) > margin_;
  const bool code = code_next_ && !exception_line(trim_left(text));
  code_next_ = false;
  if (indented || code || is_frame(text) || starts(trim_left(text), "[Previous line repeated")) {
    if (is_marker(text)) return Step::taken;
    if (is_frame(text)) look_at_frame(trim_left(text));
    chain_ += '\n', chain_ += text;
    return Step::taken;
  }
  state_ = State::message;
  exception_ = starts(text, "E   ") ? trim_left(text.substr(1)) : trim_left(text);
  main_ = line, blanks_ = 0;
  return Step::taken;
}

Traceback::Step Traceback::take_message(int line, std::string_view text, bool prefixed) {
  if (trim_left(text).empty()) {
    ++blanks_;
    return Step::taken;
  }
  if (is_head(text) && chained_) {
    chained_ = false, state_ = State::frames, blanks_ = 0, end_ = line, margin_ = indent_of(text);
    chain_ += '\n', chain_ += trim_left(text);
    return Step::taken;
  }
  if (connects(trim_left(text))) {
    chain_ += '\n', chain_ += exception_, chain_ += '\n', chain_ += trim_left(text);
    exception_.clear();
    chained_ = true, blanks_ = 0, end_ = line;
    return Step::taken;
  }
  if (prefixed || is_head(text) || ends_program(text) || is_prompt(text) || is_refusal(text))
    return Step::finished;
  if (blanks_ > 0 && !continues(text)) return Step::finished;
  if (exception_line(text) && blanks_ == 0 && exception_.find('\n') == std::string::npos && chain_.empty())
    return Step::finished;  // lone exception lines below each other are separate failures
  if (blanks_ > 0) exception_ += '\n';
  blanks_ = 0, end_ = line;
  // "SpecViolationError: " with its text on the next line reads better as one.
  const bool bare =
      exception_.size() > 2 && exception_.find('\n') == std::string::npos && exception_.back() == ' ';
  if (!bare) exception_ += '\n';
  exception_ += text.substr(std::min(margin_, indent_of(text)));
  return Step::taken;
}

bool Traceback::is_failure() const {
  const std::string_view said = exception_;
  return !headless_ || said.empty() || exception_line(said.substr(0, said.find('\n')));
}

Record Traceback::record() const {
  Record record;
  record.line_begin = begin_, record.line_end = end_, record.line_main = main_;
  record.level = LogLevel::error;
  record.tool = tool_;
  record.tell().stage = stage_;
  record.tell().frame = user_frame_;
  record.message = exception_;
  if (!chain_.empty()) {
    if (!record.message.empty()) record.message += '\n';
    record.message += chain_;
  }
  if (exception_.empty()) {
    record.line_main = end_;
    record.tell().decisive = "a traceback that is cut off before its exception";
    if (!last_frame_.empty()) record.tell().decisive += ", in " + last_frame_;
  }
  return record;
}

}  // namespace md

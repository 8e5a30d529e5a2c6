#include "lib/log/line.h"

#include <algorithm>

namespace md {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// HH:MM:SS with an optional fraction.
bool clock(LineCursor& c) {
  const std::size_t start = c.position();
  if (c.digits(2, 2) && c.take(':') && c.digits(2, 2) && c.take(':') && c.digits(2, 2)) {
    if (c.take('.') || c.take(',')) c.digits(1, 9);
    return true;
  }
  c.back_to(start);
  return false;
}

/// YYYY-MM-DD
bool date(LineCursor& c) {
  const std::size_t start = c.position();
  if (c.digits(4, 4) && (c.take('-') || c.take('/')) && c.digits(2, 2) && (c.take('-') || c.take('/')) &&
      c.digits(2, 2))
    return true;
  c.back_to(start);
  return false;
}

/// "file.cc:123", possibly with directories; false unless it looks like a source position.
bool source_position(LineCursor& c, std::string_view& out, std::string_view stop) {
  const std::size_t start = c.position();
  std::string_view word;
  if (c.word(word, stop)) {
    const std::size_t colon = word.rfind(':');
    if (colon != std::string_view::npos && colon + 1 < word.size() && word.find('.') < colon &&
        std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), is_digit)) {
      out = word;
      return true;
    }
  }
  c.back_to(start);
  return false;
}

bool finish(LineCursor& c, LogLine& line, LogLevel level) {
  c.take(' ');
  line.text = c.rest();
  if (level != LogLevel::unknown) line.level = level;
  line.prefixed = true;
  return true;
}

/// "E0000 00:00:1795966748.544609   22303 file.cc:618] text", "W1129 14:30:34.089 1 path/ir.py:92] text".
bool take_glog(std::string_view text, LogLine& line) {
  const LogLevel level = level_from_letter(text.empty() ? '\0' : text[0]);
  if (level == LogLevel::unknown) return false;
  LineCursor c(text.substr(1));
  if (!c.digits(4, 4) || !c.spaces() || !c.digits(2, 2) || !c.take(':') || !c.digits(2, 2) || !c.take(':') ||
      !c.digits(1, 12))
    return false;
  if (c.take('.')) c.digits(1, 9);
  if (!c.spaces() || !c.digits(1, 10)) return false;
  // That number is a thread: a process prints from several, so it does not tell loads apart.
  if (!c.spaces() || !source_position(c, line.source, "]") || !c.take(']')) return false;
  return finish(c, line, level);
}

/// "[file.cc:123] text", and ExecuTorch's "E 00:00:00.003 executorch:method.cpp:822] text".
bool take_bracket_position(std::string_view text, LogLine& line) {
  LineCursor c(text);
  if (c.take('[')) {
    if (!source_position(c, line.source, "]") || !c.take(']')) return false;
    if (c.done()) return false;  // "ERROR: [file.h:1961]": the position is the message
    line.positioned = line.level == LogLevel::unknown;
    return finish(c, line, LogLevel::unknown);
  }
  const LogLevel level = level_from_letter(c.peek());
  if (level == LogLevel::unknown) return false;
  c.back_to(1);
  if (!c.spaces() || !clock(c) || !c.spaces() || !c.take("executorch:") ||
      !source_position(c, line.source, "]") || !c.take(']'))
    return false;
  line.tag = "executorch";
  return finish(c, line, level);
}

/// "2026-11-29 15:03:45.886 [W:onnxruntime:, graph.cc:128 MergeShapeInfo] text"; also in the middle of a
/// line.
bool take_onnxruntime(std::string_view text, LogLine& line) {
  const std::size_t mark = text.find(":onnxruntime:");
  if (mark == std::string_view::npos || mark < 2 || text[mark - 2] != '[') return false;
  const LogLevel level = level_from_letter(text[mark - 1]);
  const std::size_t close = text.find("] ", mark);
  if (level == LogLevel::unknown || close == std::string_view::npos) return false;
  LineCursor c(text.substr(mark));
  std::string_view name;
  c.take(":onnxruntime:"), c.word(name, ",]"), c.take(','), c.spaces(), source_position(c, line.source, "]");
  line.tag = "onnxruntime";
  LineCursor rest(text.substr(close + 1));
  return finish(rest, line, level);
}

/// "[11/29/2026-15:03:45] [E] [TRT] text", "[TRT] [E] text", "[E] text", "[ERROR] [Qnn ExecuTorch]: text",
/// "[INFO 2026-11-29 14:30:50,761 partitioner.py:218] text", "[ WARN:0@0.017] global file.cpp:729 text".
bool take_brackets(std::string_view text, LogLine& line) {
  LineCursor c(text);
  LogLevel level = LogLevel::unknown;
  bool any = false;
  while (c.peek() == '[') {
    const std::size_t start = c.position();
    c.take('[');
    while (c.take(' ')) {
    }
    const std::size_t inside_at = c.position();
    const std::size_t close = text.find(']', inside_at);
    if (close == std::string_view::npos || close - start > 120) {
      c.back_to(start);
      break;
    }
    const std::string_view inside = text.substr(inside_at, close - inside_at);
    LineCursor in(inside);
    std::string_view word;
    in.word(word, ":");
    const LogLevel told = level_from_word(word);
    const bool stamp = date(in = LineCursor(inside)) || clock(in) || (in.digits(2, 2) && in.take('/'));
    const bool tool = inside == "TRT" || inside == "Qnn ExecuTorch" || inside == "Torch-TensorRT";
    if (told == LogLevel::unknown && !stamp && !tool) {
      c.back_to(start);
      break;
    }
    if (told != LogLevel::unknown) {
      level = told;
      LineCursor position(inside);
      const std::size_t space = inside.rfind(' ');
      if (space != std::string_view::npos)
        position.back_to(space + 1), source_position(position, line.source, "]");
    }
    if (tool)
      line.tag = inside == "Qnn ExecuTorch" ? "executorch" : inside == "TRT" ? "tensorrt" : "torch-tensorrt";
    any = any || told != LogLevel::unknown || tool;
    c.back_to(close + 1);
    while (c.take(' ') || c.take(':')) {
    }
  }
  if (!any) return false;
  if (c.take("global ")) {
    line.tag = "opencv";
    source_position(c, line.source, "");
  }
  return finish(c, line, level);
}

/// "ERROR: text", "TFLite Warning: text", "WARNING:coremltools:text", "ERROR - text", "Warning: text".
bool take_level_word(std::string_view text, LogLine& line) {
  for (const std::string_view name :
       {"TFLite Warning: ", "<Unknown severity>: ", "E tflite : ", "E tflite  : "}) {
    LineCursor c(text);
    if (c.take(name)) return finish(c, line, name[0] == 'T' ? LogLevel::warning : LogLevel::error);
  }
  std::size_t length = 0;
  while (length < text.size() && length < 9 && ((text[length] | 32) >= 'a' && (text[length] | 32) <= 'z'))
    ++length;
  const std::string_view word = text.substr(0, length);
  const LogLevel level = word.size() < 3 ? LogLevel::unknown : level_from_word(word);
  if (level == LogLevel::unknown || length >= text.size()) return false;
  if (word[0] >= 'a' && word[0] <= 'z') {
    // a compiler's "error: ...": often a line of an exception's message
    if (text[length] == ':') line.level = level;
    return false;
  }
  LineCursor c(text);
  c.back_to(length);
  if (c.take(": ") || c.take(" - ")) {
    LineCursor tag(c.rest());
    std::string_view name;
    if (tag.take('[') && tag.word(name, "]") && name.substr(0, 14) == "Torch-TensorRT")
      line.tag = "torch-tensorrt";
    return finish(c, line, level);
  }
  std::string_view name;
  if (word[0] >= 'A' && word[0] <= 'Z' && c.take(':') && c.word(name, ":") && c.take(':')) {
    line.tag = name;
    return finish(c, line, level);
  }
  return false;
}

/// Python's logging with a time: "2026-11-29 14:30:50,761 - name - ERROR - text", "2026-11-29 14:30:50 ERROR
/// text", and TensorFlow's "2026-11-29 15:03:45.886489: W file.cc:12] text".
bool take_timed(std::string_view text, LogLine& line) {
  LineCursor c(text);
  if (!date(c) || !(c.take(' ') || c.take('T')) || !clock(c)) return false;
  if (c.take(": ")) {
    const LogLevel level = level_from_letter(c.peek());
    c.back_to(c.position() + 1);
    if (level == LogLevel::unknown || !c.spaces() || !source_position(c, line.source, "]") || !c.take(']'))
      return false;
    return finish(c, line, level);
  }
  while (c.take(' ') || c.take('-') || c.take('|') || c.take('[')) {
  }
  for (int part = 0; part < 3; ++part) {
    std::string_view word;
    if (!c.word(word, ":|]")) return false;
    const LogLevel level = word.size() < 3 ? LogLevel::unknown : level_from_word(word);
    while (c.take(' ') || c.take('-') || c.take('|') || c.take(':') || c.take(']')) {
    }
    if (level != LogLevel::unknown) return finish(c, line, level);
    line.tag = word;
  }
  line.tag = {};
  return false;
}

}  // namespace

bool LineCursor::spaces() {
  const std::size_t start = at_;
  while (peek() == ' ' || peek() == '\t') ++at_;
  return at_ > start;
}

bool LineCursor::digits(std::size_t low, std::size_t high) {
  std::size_t count = 0;
  long long value = 0;
  while (at_ + count < text_.size() && is_digit(text_[at_ + count]) && count <= high) {
    value = std::min(value * 10 + (text_[at_ + count] - '0'), 2147483647LL);
    ++count;
  }
  if (count < low || count > high) return false;
  at_ += count;
  number_ = static_cast<int>(value);
  return true;
}

bool LineCursor::word(std::string_view& out, std::string_view stop) {
  const std::size_t start = at_;
  while (!done() && peek() != ' ' && peek() != '\t' && stop.find(peek()) == std::string_view::npos) ++at_;
  out = text_.substr(start, at_ - start);
  return !out.empty();
}

LogLevel level_from_letter(char letter) {
  switch (letter) {
    case 'V':
    case 'D':
      return LogLevel::verbose;
    case 'I':
      return LogLevel::info;
    case 'W':
      return LogLevel::warning;
    case 'E':
      return LogLevel::error;
    case 'F':
      return LogLevel::fatal;
    default:
      return LogLevel::unknown;
  }
}

LogLevel level_from_logcat_letter(char letter) {
  return letter == 'A' ? LogLevel::fatal : level_from_letter(letter);
}

LogLevel level_from_word(std::string_view word) {
  struct Name {
    std::string_view word;
    LogLevel level;
  };
  static constexpr Name names[] = {
      {"e", LogLevel::error},        {"error", LogLevel::error},       {"w", LogLevel::warning},
      {"warn", LogLevel::warning},   {"warning", LogLevel::warning},   {"i", LogLevel::info},
      {"info", LogLevel::info},      {"v", LogLevel::verbose},         {"verbose", LogLevel::verbose},
      {"debug", LogLevel::verbose},  {"trace", LogLevel::verbose},     {"fatal", LogLevel::fatal},
      {"critical", LogLevel::fatal}, {"f", LogLevel::fatal},           {"notice", LogLevel::info},
      {"severe", LogLevel::error},   {"deprecated", LogLevel::warning}};
  if (word.empty() || word.size() > 10) return LogLevel::unknown;
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  for (const Name& name : names)
    if (name.word == lower) return name.level;
  return LogLevel::unknown;
}

LogLine parse_line(int number, std::string_view raw) {
  LogLine line;
  line.number = number;
  line.text = strip_ci_prefix(raw, line);
  take_logcat_head(line.text, line);
  // A program may log through a second logger ("ERROR: [file.cc:1] text"): two rounds take both heads off.
  for (int round = 0; round < 2; ++round) {
    const std::string_view text = line.text;
    if (!(take_glog(text, line) || take_bracket_position(text, line) || take_onnxruntime(text, line) ||
          take_brackets(text, line) || take_level_word(text, line) || take_timed(text, line)))
      break;
  }
  return line;
}

}  // namespace md

// Heads that other programs put in front of a line: logcat's formats, and the timestamps of CI systems.
#include <algorithm>
#include <utility>

#include "lib/log/line.h"

namespace md {
namespace {

bool clock(LineCursor& c) {
  if (!c.digits(2, 2) || !c.take(':') || !c.digits(2, 2) || !c.take(':') || !c.digits(2, 2)) return false;
  if (c.take('.')) c.digits(1, 9);
  return true;
}

/// "11-29 14:30:46.123", "2026-11-29 14:30:46.123" or the time alone; a colon may follow.
bool logcat_time(LineCursor& c) {
  const std::size_t start = c.position();
  if (!clock(c)) {
    c.back_to(start);
    if (c.digits(4, 4) && !c.take('-')) return false;
    if (!c.digits(2, 2) || !c.take('-') || !c.digits(2, 2) || !c.spaces() || !clock(c)) return false;
  }
  c.take(':');
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool finish_logcat(LogLine& line, LogLevel level, std::string_view tag, int pid, std::string_view text) {
  if (level == LogLevel::unknown) return false;
  line.level = level, line.tag = trimmed(tag), line.pid = pid, line.text = text;
  line.logcat = line.prefixed = true;
  return true;
}

/// "E/tflite  ( 1234): text" and, without a process, "E/tflite: text".
bool brief(LineCursor c, LogLine& line, int pid) {
  const LogLevel level = level_from_logcat_letter(c.peek());
  if (level == LogLevel::unknown) return false;
  c.back_to(c.position() + 1);
  std::string_view tag;
  if (!c.take('/') || !c.word(tag, ":(")) return false;
  while (c.spaces()) {
    std::string_view more;  // tags may hold blanks; the column is padded
    if (c.peek() == '(' || c.peek() == ':' || !c.word(more, ":(")) break;
    tag = {tag.data(), static_cast<std::size_t>(more.data() + more.size() - tag.data())};
  }
  if (c.take('(')) {
    c.spaces();
    if (!c.digits(1, 10) || !c.take(')')) return false;
    pid = c.number();
  } else if (tag.size() > 64) {
    return false;
  }
  if (!c.take(':')) return false;
  c.take(' ');
  return finish_logcat(line, level, tag, pid, c.rest());
}

/// " 1234  5678 E tag     : text", with an optional user column before the numbers.
bool threadtime(LineCursor c, LogLine& line) {
  c.spaces();
  if (!c.digits(1, 10)) {
    std::string_view user;
    if (!c.word(user, ":/") || !c.spaces() || !c.digits(1, 10)) return false;
  }
  int pid = c.number();
  if (!c.spaces() || !c.digits(1, 10)) return false;
  const int second = c.number();
  const std::size_t behind = c.position();
  if (c.spaces() && c.digits(1, 10)) {
    pid = second;  // three numbers: user, process, thread
  } else {
    c.back_to(behind);
  }
  c.spaces();
  const LogLevel level = level_from_logcat_letter(c.peek());
  c.back_to(c.position() + 1);
  if (level == LogLevel::unknown || !c.spaces()) return false;
  const std::string_view rest = c.rest();
  std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos && !rest.empty() && rest.back() == ':') colon = rest.size() - 1;
  if (colon == std::string_view::npos || colon > 100) return false;
  return finish_logcat(line, level, rest.substr(0, colon), pid,
                       rest.substr(std::min(colon + 2, rest.size())));
}

/// Android Studio: " 1234-5678/com.example E/tag: text" and " 1234-5678  tag   com.example   E  text".
bool studio(LineCursor c, LogLine& line) {
  if (!c.spaces() || !c.digits(1, 10)) return false;
  const int pid = c.number();
  if (!c.take('-') || !c.digits(1, 10)) return false;
  std::string_view word;
  if (c.take('/')) return c.word(word, "") && c.spaces() && brief(c, line, pid);
  if (!c.spaces()) return false;
  std::string_view tag = c.rest();
  for (int column = 0; column < 6 && c.word(word, ""); ++column) {
    const bool letter =
        word.size() == 1 && column >= 2 && level_from_logcat_letter(word[0]) != LogLevel::unknown;
    if (letter) {
      tag = tag.substr(0, tag.find("  "));
      c.spaces();
      return finish_logcat(line, level_from_logcat_letter(word[0]), tag, pid, c.rest());
    }
    if (!c.spaces()) return false;
  }
  return false;
}

/// "E  text" and "E  tag: text" behind a time, as people copy columns out of Android Studio.
bool level_alone(LineCursor c, LogLine& line) {
  if (!c.spaces()) return false;
  const LogLevel level = level_from_logcat_letter(c.peek());
  c.back_to(c.position() + 1);
  if (level == LogLevel::unknown || !c.spaces()) return false;
  const std::string_view rest = c.rest();
  if (rest.substr(0, rest.find(' ')).ends_with(']')) return false;  // TensorFlow's "W file.cc:12] text"
  const std::size_t colon = rest.find(": ");
  const std::string_view tag = rest.substr(0, colon);
  const bool tagged =
      colon != std::string_view::npos && colon <= 40 && trimmed(tag).find(' ') == std::string_view::npos;
  return finish_logcat(line, level, tagged ? tag : std::string_view(), 0,
                       tagged ? rest.substr(colon + 2) : rest);
}

/// ISO time with a zone: GitHub, GitLab, Azure.
bool iso_time(LineCursor& c) {
  const std::size_t start = c.position();
  if (c.digits(4, 4) && c.take('-') && c.digits(2, 2) && c.take('-') && c.digits(2, 2) && c.take('T') &&
      clock(c)) {
    if (c.take('Z')) return true;
    if ((c.take('+') || c.take('-')) && c.digits(2, 2) && c.take(':') && c.digits(2, 2)) return true;
  }
  c.back_to(start);
  return false;
}

/// What `gh run view --log` puts in front: "job <tab> step <tab>time".
void skip_job_and_step(LineCursor& c) {
  const std::string_view text = c.rest();
  const std::size_t first = text.find('\t');
  if (first == std::string_view::npos || first > 200) return;
  const std::size_t second = text.find('\t', first + 1);
  if (second == std::string_view::npos || second > 400) return;
  LineCursor probe(text.substr(second + 1));
  probe.take("\xef\xbb\xbf");
  if (iso_time(probe)) c.back_to(second + 1);
}

void ci_command(LineCursor& c, LogLine& line) {
  static constexpr std::pair<std::string_view, LogLevel> commands[] = {
      {"##[error]", LogLevel::error},  {"##[warning]", LogLevel::warning}, {"##[debug]", LogLevel::verbose},
      {"##[group]", LogLevel::info},   {"##[endgroup]", LogLevel::info},   {"##[command]", LogLevel::info},
      {"##[section]", LogLevel::info}, {"##[notice]", LogLevel::info}};
  for (const auto& [mark, level] : commands) {
    if (!c.take(mark)) continue;
    line.level = level, line.announced = level == LogLevel::error;
    return;
  }
  const std::size_t start = c.position();
  const bool error = c.take("::error"), warning = !error && c.take("::warning");
  if (!error && !warning) return;
  const std::size_t end = c.rest().find("::");
  if (end == std::string_view::npos) {
    c.back_to(start);
    return;
  }
  c.back_to(c.position() + end + 2);
  line.level = error ? LogLevel::error : LogLevel::warning, line.announced = error;
}

}  // namespace

bool take_logcat_head(std::string_view text, LogLine& line) {
  LineCursor c(text);
  if (c.peek() >= '0' && c.peek() <= '9') {
    if (!logcat_time(c)) return false;
    if (studio(c, line) || threadtime(c, line) || level_alone(c, line)) return true;
    return c.spaces() && brief(c, line, 0);
  }
  return text.size() > 2 && text[1] == '/' && brief(c, line, 0);
}

std::string_view strip_ci_prefix(std::string_view text, LogLine& line) {
  LineCursor c(text);
  c.take("\xef\xbb\xbf");
  skip_job_and_step(c);
  c.take("\xef\xbb\xbf");
  const bool bracket = c.take('[');
  if (iso_time(c)) {
    if (bracket) c.take(']');
    c.take(' ');
    const std::size_t after = c.position();  // GitLab: stream number and letter, "+" for a continued line
    if (c.digits(2, 2) && (c.take('O') || c.take('E')) && (c.take(' ') || c.take('+'))) {
    } else {
      c.back_to(after);
    }
  } else if (bracket) {
    c.back_to(c.position() - 1);
  }
  ci_command(c, line);
  return c.rest();
}

}  // namespace md

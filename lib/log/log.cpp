#include "lib/log/log.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "lib/log/line.h"
#include "lib/log/markup.h"
#include "lib/log/record_builder.h"
#include "lib/log/text_decode.h"
#include "lib/log/traceback.h"
#include "lib/log/version_marks.h"
#include "lib/log/vocabulary.h"

namespace md {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constexpr std::size_t logcat_split = 3900;  // logcat cuts messages at about 4,000 bytes

bool starts(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// One process's share of the log (the whole log, unless it is logcat).
struct Stream {
  std::size_t load = none;
  bool in_block = false;    ///< inside the delegate's list of refused operators
  std::size_t last = none;  ///< the record that a continuation belongs to
  int last_line = 0;
  std::size_t last_length = 0;  ///< of the physical line, for wrapped lines
  bool open_brace = false;      ///< inside a "{ ... }" detail of several lines
  bool in_node = false;         ///< inside the node that TensorRT's parser prints
  bool quiet_parent =
      false;  ///< the last record is at most a warning: a traceback below it explains that only
  std::optional<Traceback> traceback;
  bool traceback_quiet = false;
};

class LogParser {
 public:
  void feed(int number, std::string_view raw);
  Log finish(std::string path);

 private:
  void close_traceback(Stream& stream);
  bool continue_block(Stream& stream, const LogLine& line, const Words& words);
  bool continue_record(Stream& stream, const LogLine& line);
  void add(Stream& stream, const LogLine& line, const Words& words, Weight weight, bool benign);
  void note_versions(Stream& stream, const LogLine& line, const Words& words);
  std::string_view join(const Stream& stream, std::string_view next) const;

  RecordBuilder builder_;
  std::unordered_map<int, Stream> streams_;
  std::string storage_, unmarked_;
  std::size_t widest_ = 0;  ///< longest physical line so far: the width at which a terminal cut
  bool logcat_ = false;
};

void LogParser::feed(int number, std::string_view raw) {
  if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
  LogLine line = parse_line(number, strip_markup(strip_terminal_codes(raw, storage_), unmarked_));
  // A refused operator is one wherever it stands: in an exception's message it is indented.
  if (!line.text.empty() && line.text.front() == ' ' &&
      operator_line(trim(line.text)) != std::string_view::npos)
    line.text = line.text.substr(line.text.find_first_not_of(" \t"));
  logcat_ = logcat_ || line.logcat;
  Stream& stream = streams_[line.pid];
  if (stream.load == none) stream.load = builder_.begin_load(line.pid, number);
  if (stream.traceback) {
    if (stream.traceback->take(number, line.text, line.prefixed && !line.logcat) == Traceback::Step::taken)
      return;
    close_traceback(stream);
  }
  const Words words = find_words(line.text);
  builder_.note_delegate(words);
  note_versions(stream, line, words);
  const bool taken = continue_block(stream, line, words) || continue_record(stream, line);
  if (!taken) {
    if (words.begins_load || is_prompt(line.text)) stream.load = builder_.begin_load(line.pid, number);
    if (Traceback::begins(line.text)) {
      stream.traceback_quiet = stream.quiet_parent && stream.last_line == number - 1;
      stream.traceback.emplace(number, line.text, true);
    } else if (words.delegate_header) {
      stream.in_block = true;
      add(stream, line, words, Weight::none, false);
    } else if (!line.prefixed && exception_line(trim(line.text))) {
      stream.traceback_quiet = false;
      stream.traceback.emplace(number, trim(line.text), false);
    } else if (!is_noise(line.text)) {
      const bool empty_reason =
          operator_line(line.text) != std::string_view::npos && starts(line.text, "DEQUANTIZE") &&
          line.text.find_first_not_of(' ', operator_line(line.text)) == std::string_view::npos;
      add(stream, line, words, judge(line, words), words.benign || words.missing || empty_reason);
    }
  }
  stream.last_length = raw.size();
  widest_ = std::max(widest_, raw.size());
}

void LogParser::add(Stream& stream, const LogLine& line, const Words& words, Weight weight, bool benign) {
  Record record;
  record.line_begin = record.line_end = line.number;
  record.level = line.level;
  record.tool = tool_of(line, words);
  if (!line.source.empty() && weight != Weight::none) record.tell().source = line.source;
  record.message = line.text;
  record.benign = benign;
  // A detail in braces says only behind its last line what it is about.
  stream.open_brace = !line.text.empty() && line.text.back() == '{';
  stream.last = builder_.add(std::move(record), stream.open_brace ? Weight::none : weight, stream.load);
  builder_.entry(stream.last).missing = words.missing;
  stream.in_node = line.text.find("--- Begin node ---") != std::string_view::npos;
  stream.last_line = line.number;
  stream.quiet_parent =
      line.level == LogLevel::info || line.level == LogLevel::warning || line.level == LogLevel::verbose;
}

void LogParser::note_versions(Stream& stream, const LogLine& line, const Words& words) {
  std::map<std::string, std::string>& versions = builder_.load(stream.load).versions;
  std::string_view version = line.source.empty() ? std::string_view() : litert_version_of(line.source);
  if (version.empty() && words.symptom) {
    const std::size_t mark = line.text.find("litert_compiled_model.h:");
    if (mark != std::string_view::npos) {
      const std::string_view rest = line.text.substr(mark);
      version = litert_version_of(rest.substr(0, rest.find_first_of("] ")));
    }
  }
  if (!version.empty()) versions["litert-gpu"] = version;
  if (words.versions) find_stated_versions(line.text, versions);
}

/// How a wrapped line is put together again: a terminal cuts at its width and loses nothing; a formatter or
/// an editor breaks at a blank, which is then gone.
std::string_view LogParser::join(const Stream& stream, std::string_view next) const {
  const std::string& message = builder_.entry(stream.last).record.message;
  const bool blank = (!message.empty() && message.back() == ' ') || (!next.empty() && next.front() == ' ');
  return blank || stream.last_length >= widest_ || stream.last_length >= logcat_split ? "" : " ";
}

/// Inside the list of refused operators: one record a line, until the line that counts.
bool LogParser::continue_block(Stream& stream, const LogLine& line, const Words& words) {
  if (!stream.in_block || words.delegate_header) return false;
  if (words.delegate_count) {
    stream.in_block = false;
    add(stream, line, words, Weight::none, false);
    builder_.entry(stream.last).record.tool = "litert-gpu";
    return true;
  }
  if (!line.source.empty() || words.begins_load) return false;  // another module spoke in between
  // In an exception's message the list is indented.
  const std::string_view text = trim(line.text);
  if (text.empty()) return true;
  const std::size_t reason = operator_line(text);
  if (reason != std::string_view::npos) {
    const bool empty = text.find_first_not_of(' ', reason) == std::string_view::npos;
    const bool benign = empty && starts(text, "DEQUANTIZE");
    LogLine item = line;
    item.text = benign ? line.text.substr(static_cast<std::size_t>(text.data() - line.text.data())) : text;
    add(stream, item, words, empty ? Weight::none : Weight::cause, benign);
    builder_.entry(stream.last).record.tool = "litert-gpu";
    return true;
  }
  const bool own_head = line.prefixed && !line.logcat;
  const bool other = words.symptom || words.cause || words.missing;
  if (own_head || other || Traceback::begins(text) || exception_line(text) || starts(text, "at ")) {
    stream.in_block = false;
    return false;
  }
  if (stream.last_line != line.number - 1 && !line.logcat) return false;
  builder_.append(stream.last, join(stream, line.text), line.text, line.number);
  stream.last_line = line.number;
  return true;
}

/// The threads' frames that Python prints below "Fatal Python error", up to a line of another kind.
bool in_crash_dump(std::string_view message, std::string_view line) {
  if (!starts(message, "Fatal Python error")) return false;
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos) return true;
  const std::string_view text = line.substr(indent);
  return starts(text, "File \"") || starts(text, "Thread 0x") || starts(text, "Current thread 0x") ||
         starts(text, "Extension modules:") || starts(text, "<no Python frame>");
}

/// Lines without a head of their own that go with the record above them.
bool LogParser::continue_record(Stream& stream, const LogLine& line) {
  if (stream.last == none || (line.prefixed && !line.logcat && !stream.in_node)) return false;
  if (!line.logcat && stream.last_line != line.number - 1) return false;
  const std::string_view text = line.text;
  // Where the end of a printed node was cut off, the error behind it ends it.
  if (stream.in_node && (text.find("ERROR:") != std::string_view::npos ||
                         text.find("Assertion failed") != std::string_view::npos)) {
    stream.in_node = false;
    return false;
  }
  const bool split = line.logcat && stream.last_length >= logcat_split;
  const std::string& message = builder_.entry(stream.last).record.message;
  const bool frame = starts(trim(text), "at ") || starts(trim(text), "... ");
  const bool java = line.logcat && (frame || starts(text, "Caused by: ")) && !message.empty();
  const bool gradle = starts(message, "* What went wrong:") && !starts(text, "* ") && !trim(text).empty();
  const bool belongs = stream.open_brace || java || gradle || stream.in_node ||
                       starts(text, "\xe2\x94\x94") || starts(text, "=== Source Location Trace") ||
                       starts(text, "third_party/") || starts(text, "selector object=") ||
                       in_crash_dump(builder_.entry(stream.last).record.message, text);
  if (split) {
    builder_.append(stream.last, "", text, line.number);
  } else if (belongs) {
    builder_.append(stream.last, "\n", text, line.number);
    if (text.find("--- End node ---") != std::string_view::npos) stream.in_node = false;
    if (stream.open_brace && !text.empty() && text.front() == '}') {
      stream.open_brace = false;
      RecordBuilder::Entry& entry = builder_.entry(stream.last);
      if (entry.record.level >= LogLevel::error && !find_words(entry.record.message).detail)
        entry.weight = Weight::cause;
    }
  } else {
    return false;
  }
  stream.last_line = line.number;
  return true;
}

void LogParser::close_traceback(Stream& stream) {
  Record record = stream.traceback->record();
  const bool failure = stream.traceback->is_failure();
  stream.traceback.reset();
  const Words words = find_words(record.message);
  builder_.note_delegate(words);
  if (record.tool.empty()) record.tool = words.tool;
  // The list of refused operators follows the exception that announces it.
  const std::string_view said =
      std::string_view(record.message).substr(0, record.message.find("\nTraceback (most recent call last)"));
  const Words head = find_words(said);
  const bool passes_on = (head.symptom || head.delegate_header) && !head.cause;
  find_stated_versions(record.headline(), builder_.load(stream.load).versions);
  const std::size_t mark = record.message.find("litert_compiled_model.h:");
  if (mark != std::string::npos) {
    const std::string_view rest = std::string_view(record.message).substr(mark);
    const std::string_view version = litert_version_of(rest.substr(0, rest.find_first_of("] \n")));
    if (!version.empty()) builder_.load(stream.load).versions["litert-gpu"] = version;
  }
  stream.last_line = record.line_end;
  stream.last = builder_.add(std::move(record),
                             !failure    ? Weight::none
                             : passes_on ? Weight::symptom
                                         : Weight::cause,
                             stream.load);
  if (stream.traceback_quiet) builder_.count_only_at_end(stream.last);
  stream.quiet_parent = stream.open_brace = stream.in_node = false;
  stream.in_block = words.delegate_header && !words.delegate_count;
}

Log LogParser::finish(std::string path) {
  for (auto& [pid, stream] : streams_)
    if (stream.traceback) close_traceback(stream);
  Log log = builder_.finish(std::move(path), logcat_);
  std::stable_sort(log.records.begin(), log.records.end(),
                   [](const Record& a, const Record& b) { return a.line_begin < b.line_begin; });
  return log;
}

}  // namespace

Result<Log> parse_log(std::string path, Bytes bytes) {
  DecodedText decoded;
  if (const Status status = decode_text(path, bytes, decoded); !status)
    return tl::make_unexpected(status.error());
  LogParser parser;
  std::string_view text = decoded.text;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.feed(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Log log = parser.finish(std::move(path));
  if (!decoded.note.empty()) log.notes.push_back(decoded.note);
  return log;
}

}  // namespace md

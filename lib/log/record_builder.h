// The records of a log while it is being read: by model load, with what each says about the cause.
#pragma once
#include <string>
#include <vector>

#include "lib/log/log.h"
#include "lib/log/vocabulary.h"

namespace md {

/// One model load of one process: what is printed from "Creating LiteRT environment" (or the start) to the
/// next one.
struct LogLoad {
  int pid = 0;
  int line_begin = 0, line_end = 0;
  std::map<std::string, std::string> versions;
};

class RecordBuilder {
 public:
  struct Entry {
    Record record;
    Weight weight = Weight::none;
    std::size_t load = 0;
    bool missing = false;  ///< the cause where nothing else is, see Words
  };
  std::size_t begin_load(int pid, int line);
  LogLoad& load(std::size_t index) { return loads_[index]; }
  std::size_t add(Record record, Weight weight, std::size_t load);
  Entry& entry(std::size_t index) { return entries_[index]; }
  const Entry& entry(std::size_t index) const { return entries_[index]; }
  /// Adds a line to a record.
  void append(std::size_t index, std::string_view separator, std::string_view text, int line);
  /// A traceback under an informative line: it explains that line, unless nothing else follows in the log.
  void count_only_at_end(std::size_t index) { under_information_.push_back(index); }
  /// Tells which of the two GPU delegates a line is of.
  void note_delegate(const Words& words) {
    classic_ = classic_ || words.classic;
    successor_ = successor_ || words.successor;
  }
  /// Picks the last failing load, marks its failures, and gives the log.
  Log finish(std::string path, bool logcat);

 private:
  void merge_echoes(std::size_t load);
  void collapse_repeats();
  void name_classic_delegate();
  void promote_missing();
  /// What counts as a failure, and in which load.
  struct Choice {
    std::size_t load = 0;
    Weight least = Weight::cause;
    bool failed = true;
  };
  Choice choose() const;
  bool counts(const Entry& entry, std::size_t index, Weight least) const;
  std::vector<std::string> load_notes(const Choice& choice, bool logcat) const;
  std::vector<Entry> entries_;
  std::vector<LogLoad> loads_;
  std::vector<std::size_t> under_information_;
  bool classic_ = false, successor_ = false;
};

}  // namespace md

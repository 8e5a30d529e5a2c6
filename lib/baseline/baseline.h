// What people have accepted: a file of entries, each for one finding of one model, with a reason, an owner
// and a last day. What an entry covers is moved out of what counts, and stays in the reports.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/diagnose/fingerprint.h"

namespace md {

struct BaselineEntry {
  enum class Kind {
    finding,
    log_line,   ///< a failure in a log that no rule explains; key.rule is its text
    prediction  ///< a predicted record that no rule explains; key.rule is its text
  } kind = Kind::finding;
  FindingKey key;         ///< the model's path is relative to the baseline's folder, unless `named`
  bool named = false;     ///< key.model is a name that the user stated, no path
  bool from_log = false;  ///< a log showed it: without one it cannot be looked for
  Severity severity = Severity::fatal;  ///< when it was accepted; what has become worse since is not covered
  std::string message;                  ///< for readers
  std::string reason, owner;
  std::string until;  ///< the last day, "2027-01-31"; empty: for good
};

/// Which entries a run met, by their index.
struct BaselineUse {
  std::set<std::size_t> used;
  std::set<std::size_t> expired;  ///< met, but their last day is over (they are in `used`, too)
  std::set<std::size_t> stale;    ///< looked for and not found
};

/// What changed when a baseline was written again.
struct BaselineChange {
  int added = 0, kept = 0, removed = 0;
};

class Baseline {
 public:
  /// An empty one; `path` says what its models' paths are relative to.
  explicit Baseline(std::string path);

  /// A file that render() wrote and people edited, or a JSON diagnosis: what is open or accepted there.
  /// Errors name the file and the line or the entry. Nesting is bounded; unknown fields of entries are
  /// refused, for a mistyped "untill" would accept for good.
  static Result<Baseline> read(const std::string& path, std::string_view text);

  /// True for a JSON diagnosis, which is no file to write entries to.
  bool is_diagnosis() const { return is_diagnosis_; }
  const std::vector<BaselineEntry>& entries() const { return entries_; }

  /// Moves what is accepted to Diagnosis::accepted and accepted_lines, notes entries that have expired, are
  /// outgrown or stale. Call settle() after it. `today`: "2026-12-01". `left_out`: rules that were not looked
  /// for; their entries are never stale. Safe to call from several threads.
  BaselineUse apply(Diagnosis& run, const std::string& today, const std::set<std::string>& left_out) const;

  /// Entries of models that no run looked at and whose file is gone.
  std::set<std::size_t> orphans(std::span<const Diagnosis> runs) const;
  /// "LRT012 at attn/k (BROADCAST_TO) of models/a.tflite", for messages.
  std::string describe(std::size_t entry) const;

  /// Makes the entries those of everything open or accepted in the runs; entries of other models and those
  /// that were not looked for stay. Reason, owner and last day of what is still there are kept.
  BaselineChange accept(std::span<const Diagnosis> runs, const std::set<std::string>& left_out);
  void remove(const std::set<std::size_t>& entries);

  /// Sorted JSON, one field a line, ending in a newline: the same entries give the same bytes.
  std::string render() const;

 private:
  void add_diagnosis(const Diagnosis& run);
  bool was_looked_for(const BaselineEntry& entry, const Diagnosis& run,
                      const std::set<std::string>& left_out) const;
  void tidy();  ///< sorted; of entries that a merge brought twice the one that ends first

  std::string path_, folder_;
  bool is_diagnosis_ = false;
  std::vector<BaselineEntry> entries_;
};

/// The JSON Schema of what render() writes.
std::string_view baseline_schema();

/// The date of today in UTC: "2026-12-01".
std::string today();
/// True for a date that exists, as "2027-01-31".
bool is_date(std::string_view text);

}  // namespace md

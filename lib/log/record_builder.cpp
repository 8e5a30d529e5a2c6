#include "lib/log/record_builder.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/log/envelope.h"
#include "lib/log/failures.h"
#include "lib/log/text_decode.h"

namespace md {
namespace {

constexpr std::size_t short_log = 5;  // records; a hint counts only in logs like this, or in the last lines
constexpr std::size_t last_records = 3;
constexpr std::size_t comparable_causes = 64;
constexpr std::size_t read_failures = 2000;  // more of them are told by their first line only

bool strongest(const std::vector<RecordBuilder::Entry>& entries, Weight weight, std::size_t& load) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->weight != weight) continue;
    load = entry->load;
    return true;
  }
  return false;
}

}  // namespace

std::size_t RecordBuilder::begin_load(int pid, int line) {
  loads_.push_back({pid, line, line, {}});
  return loads_.size() - 1;
}

std::size_t RecordBuilder::add(Record record, Weight weight, std::size_t load) {
  if (record.line_main == 0) record.line_main = record.line_begin;
  loads_[load].line_end = std::max(loads_[load].line_end, record.line_end);
  entries_.push_back({std::move(record), weight, load});
  return entries_.size() - 1;
}

void RecordBuilder::append(std::size_t index, std::string_view separator, std::string_view text, int line) {
  Record& record = entries_[index].record;
  record.message += separator;
  record.message += text;
  record.line_end = std::max(record.line_end, line);
  loads_[entries_[index].load].line_end = std::max(loads_[entries_[index].load].line_end, line);
}

/// Identical records of one load become one.
void RecordBuilder::collapse_repeats() {
  std::unordered_multimap<std::size_t, std::size_t> by_hash;
  std::vector<Entry> kept;
  kept.reserve(entries_.size());
  for (Entry& entry : entries_) {
    const std::size_t hash = std::hash<std::string>{}(entry.record.message) * 31 + entry.load;
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& candidate) {
      const Entry& other = kept[candidate.second];
      return other.load == entry.load && other.weight == entry.weight &&
             other.record.message == entry.record.message;
    });
    if (same != end) {
      ++kept[same->second].record.repeats;
      continue;
    }
    kept.push_back(std::move(entry));
    by_hash.emplace(hash, kept.size() - 1);
  }
  entries_ = std::move(kept);
}

/// A line that only repeats another cause with words around it is no failure of its own: "RESULT x FAIL
/// RuntimeError:
/// ..." behind a traceback, onnxruntime's own line before one. The traceback stays, else the shorter text.
void RecordBuilder::merge_echoes(std::size_t load) {
  std::vector<std::size_t> causes;
  for (std::size_t i = 0; i < entries_.size() && causes.size() < comparable_causes; ++i)
    if (entries_[i].load == load && entries_[i].weight == Weight::cause) causes.push_back(i);
  const auto is_traceback = [&](std::size_t i) {
    return entries_[i].record.message.find("Traceback (most recent call last)") != std::string::npos;
  };
  for (const std::size_t inner : causes) {
    const std::string head(entries_[inner].record.headline());
    if (head.size() < 12) continue;
    for (const std::size_t outer : causes) {
      if (outer == inner || entries_[outer].weight != Weight::cause ||
          entries_[inner].weight != Weight::cause)
        continue;
      const std::size_t at = entries_[outer].record.headline().find(head);
      if (at == std::string_view::npos || at == 0) continue;
      const bool keep_outer = is_traceback(outer) && !is_traceback(inner);
      entries_[keep_outer ? inner : outer].weight = Weight::none;
      ++entries_[keep_outer ? outer : inner].record.repeats;
    }
  }
}

/// The classic delegate shares most texts with its successor, which is taken unless something else that only
/// the classic one or its interpreter prints stands in the log, and nothing that only the successor does.
void RecordBuilder::name_classic_delegate() {
  for (const LogLoad& load : loads_)
    if (load.versions.contains("litert-gpu")) return;
  if (!classic_ || successor_) return;
  for (Entry& entry : entries_)
    if (entry.record.tool == "litert-gpu") entry.record.tool = "tflite-gpu";
}

/// "OpenCL library not loaded" is what a run failed of that says nothing else.
void RecordBuilder::promote_missing() {
  const bool cause = std::any_of(entries_.begin(), entries_.end(),
                                 [](const Entry& entry) { return entry.weight == Weight::cause; });
  if (cause) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].missing) continue;
    const bool failed = std::any_of(
        entries_.begin() + static_cast<std::ptrdiff_t>(i), entries_.end(), [&](const Entry& later) {
          return later.weight == Weight::symptom && later.load == entries_[i].load;
        });
    if (!failed) continue;
    entries_[i].weight = Weight::cause;
    entries_[i].record.benign = false;
    return;
  }
}

RecordBuilder::Choice RecordBuilder::choose() const {
  Choice choice;
  choice.load = loads_.empty() ? 0 : loads_.size() - 1;
  if (strongest(entries_, Weight::cause, choice.load)) return choice;
  choice.least = Weight::trouble;
  std::size_t by_trouble = 0;
  const bool trouble = strongest(entries_, Weight::trouble, by_trouble);
  if (strongest(entries_, Weight::symptom, choice.load)) return choice;
  choice.load = by_trouble;
  if (trouble) return choice;
  for (const Weight weight : {Weight::echo, Weight::hint, Weight::faint}) {
    choice.least = weight;
    if (strongest(entries_, weight, choice.load)) return choice;
  }
  choice.failed = false;
  return choice;
}

bool RecordBuilder::counts(const Entry& entry, std::size_t index, Weight least) const {
  switch (least) {
    case Weight::trouble:
      return entry.weight == Weight::trouble || entry.weight == Weight::symptom;
    case Weight::hint:
      return entry.weight == Weight::hint &&
             (entries_.size() <= short_log || index + last_records >= entries_.size());
    case Weight::faint:
      return entry.weight == Weight::faint && entries_.size() <= last_records;
    default:
      return entry.weight == least;
  }
}

/// Which load counts, and what the other ones failed of: one line each.
std::vector<std::string> RecordBuilder::load_notes(const Choice& choice, bool logcat) const {
  std::vector<std::string> notes;
  if (loads_.empty()) return notes;
  std::vector<std::size_t> lines(loads_.size());
  std::vector<const Record*> first(loads_.size());
  std::size_t earlier = 0, failing_loads = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!choice.failed || entry.load == choice.load || !counts(entry, i, choice.least)) continue;
    ++earlier;
    if (!first[entry.load]) first[entry.load] = &entry.record, ++failing_loads;
  }
  const LogLoad& load = loads_[choice.load];
  const std::string process = logcat && load.pid != 0 ? fmt::format(" of process {}", load.pid) : "";
  if (earlier > 0)
    notes.push_back(fmt::format(
        "the last failing model load{} counts (lines {}-{}); {} failing line(s) of {} other load(s) do not",
        process, load.line_begin, load.line_end, earlier, failing_loads));
  else if (!process.empty() && choice.failed)
    notes.push_back(
        fmt::format("the failing model load is{} (lines {}-{})", process, load.line_begin, load.line_end));
  constexpr std::size_t shown_loads = 8;
  for (std::size_t i = 0, shown = 0; i < loads_.size() && shown < shown_loads; ++i)
    if (first[i]) {
      notes.push_back(fmt::format("another load failed as well, line {}: {}", first[i]->line_main,
                                  valid_utf8(first[i]->shown())));
      ++shown;
    }
  return notes;
}

Log RecordBuilder::finish(std::string path, bool logcat) {
  Log log;
  log.path = std::move(path);
  for (const std::size_t index : under_information_) {
    const bool last = std::none_of(entries_.begin() + static_cast<std::ptrdiff_t>(index) + 1, entries_.end(),
                                   [](const Entry& later) { return later.weight != Weight::echo; });
    if (!last) entries_[index].weight = Weight::none;
  }
  collapse_repeats();
  name_classic_delegate();
  promote_missing();
  const Choice choice = choose();
  merge_echoes(choice.load);
  std::size_t read = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.record.message = valid_utf8(entry.record.message);
    entry.record.failure = choice.failed && entry.load == choice.load && counts(entry, i, choice.least);
    if (entry.record.failure && read++ < read_failures) read_envelopes(entry.record);
  }
  log.notes = load_notes(choice, logcat);
  if (!loads_.empty()) {
    const LogLoad& load = loads_[choice.load];
    log.versions = load.versions;
    for (const LogLoad& other : loads_)
      if (other.pid == load.pid) log.versions.insert(other.versions.begin(), other.versions.end());
    for (const LogLoad& other : loads_) log.versions.insert(other.versions.begin(), other.versions.end());
  }
  number_failures(entries_, choice.load);
  log.records.reserve(entries_.size());
  for (Entry& entry : entries_) log.records.push_back(std::move(entry.record));
  return log;
}

}  // namespace md

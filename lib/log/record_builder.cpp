#include "lib/log/record_builder.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/log/text_decode.h"

namespace md {
namespace {

constexpr std::size_t short_log = 5;  // records; a hint counts only in logs like this, or in the last lines
constexpr std::size_t last_records = 3;
constexpr std::size_t comparable_causes = 64;

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

/// The classic delegate shares most texts with its successor; some are only its own, and then it wrote the
/// whole list.
void RecordBuilder::name_classic_delegate() {
  const auto classic = [](const Entry& entry) {
    return entry.record.message.find("OP is supported, but tensor type") != std::string::npos ||
           entry.record.message.find(": Not supported logical op case") != std::string::npos;
  };
  if (std::none_of(entries_.begin(), entries_.end(), classic)) return;
  for (Entry& entry : entries_)
    if (entry.record.tool == "litert-gpu") entry.record.tool = "tflite-gpu";
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
  std::size_t chosen = loads_.empty() ? 0 : loads_.size() - 1;
  bool failed = true;
  Weight least = Weight::cause;
  if (!strongest(entries_, Weight::cause, chosen)) {
    least = Weight::trouble;
    std::size_t by_trouble = 0;
    const bool trouble = strongest(entries_, Weight::trouble, by_trouble);
    if (!strongest(entries_, Weight::symptom, chosen)) {
      chosen = by_trouble;
      if (!trouble) least = strongest(entries_, Weight::echo, chosen) ? Weight::echo : Weight::hint;
      if (least == Weight::hint) failed = strongest(entries_, Weight::hint, chosen);
    }
  }
  merge_echoes(chosen);
  std::size_t earlier = 0;
  std::size_t failing_loads = 0;
  std::vector<bool> load_failed(loads_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    bool counts = entry.weight == Weight::cause;
    if (least == Weight::trouble) counts = entry.weight == Weight::trouble || entry.weight == Weight::symptom;
    if (least == Weight::echo) counts = entry.weight == Weight::echo;
    if (least == Weight::hint)
      counts = entry.weight == Weight::hint &&
               (entries_.size() <= short_log || i + last_records >= entries_.size());
    if (counts && entry.load != chosen) {
      ++earlier;
      if (!load_failed[entry.load]) load_failed[entry.load] = true, ++failing_loads;
    }
    entry.record.failure = failed && counts && entry.load == chosen;
  }
  if (!loads_.empty()) {
    const LogLoad& load = loads_[chosen];
    log.versions = load.versions;
    for (const LogLoad& other : loads_)
      if (other.pid == load.pid) log.versions.insert(other.versions.begin(), other.versions.end());
    for (const LogLoad& other : loads_) log.versions.insert(other.versions.begin(), other.versions.end());
    const std::string process = logcat && load.pid != 0 ? fmt::format(" of process {}", load.pid) : "";
    if (earlier > 0)
      log.notes.push_back(fmt::format(
          "the last failing model load{} counts (lines {}-{}); {} failing line(s) of {} other load(s) do not",
          process, load.line_begin, load.line_end, earlier, failing_loads));
    else if (!process.empty() && failed)
      log.notes.push_back(
          fmt::format("the failing model load is{} (lines {}-{})", process, load.line_begin, load.line_end));
  }
  log.records.reserve(entries_.size());
  for (Entry& entry : entries_) {
    entry.record.message = valid_utf8(entry.record.message);
    log.records.push_back(std::move(entry.record));
  }
  return log;
}

}  // namespace md

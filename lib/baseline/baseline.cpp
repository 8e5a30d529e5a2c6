#include "lib/baseline/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <tuple>

#include "lib/base/relative_path.h"

namespace md {
namespace {

constexpr std::size_t kEntriesNamed = 3;

using Place = std::tuple<BaselineEntry::Kind, bool, FindingKey>;

Place place_of(const BaselineEntry& entry) { return {entry.kind, entry.named, entry.key}; }

/// One by one what of a run is open or accepted, as entries without a reason.
struct Subject {
  BaselineEntry entry;
  const Finding* finding = nullptr;  ///< of a finding
  int log = -1;                      ///< of a log line
  const Suppression* accepted = nullptr;
};

void add_line(const Diagnosis& run, const std::string& folder, int log, const std::string& text,
              const Suppression* accepted, std::vector<Subject>& subjects) {
  Subject subject;
  subject.entry.kind = log >= 0 ? BaselineEntry::Kind::log_line : BaselineEntry::Kind::prediction;
  subject.entry.key.model = key_model(run, log, folder);
  subject.entry.key.rule = text;
  subject.entry.from_log = log >= 0;
  subject.entry.severity = Severity::fatal;
  subject.entry.message = text;
  subject.log = log, subject.accepted = accepted;
  subjects.push_back(std::move(subject));
}

void add_lines(const Diagnosis& run, const std::string& folder, std::vector<Subject>& subjects) {
  std::vector<Subject> lines;
  for (const int index : run.unexplained)
    add_line(run, folder, index, run.log[static_cast<std::size_t>(index)].text, nullptr, lines);
  for (const std::string& text : run.unexplained_predictions) add_line(run, folder, -1, text, nullptr, lines);
  for (const AcceptedLine& line : run.accepted_lines)
    add_line(run, folder, line.log, line.text, &line.suppression, lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Subject& a, const Subject& b) { return a.log < b.log; });
  std::map<std::pair<BaselineEntry::Kind, FindingKey>, int> seen;
  for (Subject& line : lines) {
    line.entry.key.occurrence = 0;
    line.entry.key.occurrence = ++seen[{line.entry.kind, line.entry.key}];
    subjects.push_back(std::move(line));
  }
}

std::vector<Subject> subjects_of(const Diagnosis& run, const std::string& folder) {
  std::map<const Finding*, const Suppression*> accepted;
  for (const AcceptedFinding& one : run.accepted) accepted[&one.finding] = &one.suppression;
  std::vector<Subject> subjects;
  for (KeyedFinding& keyed : finding_keys(run, folder)) {
    Subject subject;
    subject.entry.key = std::move(keyed.key);
    subject.entry.from_log = !keyed.finding->log.empty();
    subject.entry.severity = keyed.finding->severity;
    subject.entry.message = keyed.finding->message;
    subject.finding = keyed.finding;
    if (const auto found = accepted.find(keyed.finding); found != accepted.end())
      subject.accepted = found->second;
    subjects.push_back(std::move(subject));
  }
  add_lines(run, folder, subjects);
  for (Subject& subject : subjects) subject.entry.named = !run.stated_name.empty();
  return subjects;
}

std::string owner_words(const BaselineEntry& entry) {
  return entry.owner.empty() ? "" : fmt::format(" (owner: {})", entry.owner);
}

/// What is moved out of a run, by its address or index: the run is changed afterwards.
struct Taken {
  std::map<const Finding*, Suppression> findings;
  std::map<int, Suppression> lines;
  std::map<std::string, Suppression> predictions;
};

void move_out(Diagnosis& run, Taken& taken) {
  std::vector<Finding> left;
  for (Finding& finding : run.findings) {
    const auto found = taken.findings.find(&finding);
    if (found == taken.findings.end())
      left.push_back(std::move(finding));
    else
      run.accepted.push_back({std::move(finding), std::move(found->second)});
  }
  run.findings = std::move(left);
  std::erase_if(run.unexplained, [&](int index) {
    const auto found = taken.lines.find(index);
    if (found == taken.lines.end()) return false;
    run.accepted_lines.push_back(
        {index, run.log[static_cast<std::size_t>(index)].text, std::move(found->second)});
    return true;
  });
  std::erase_if(run.unexplained_predictions, [&](const std::string& text) {
    const auto found = taken.predictions.find(text);
    if (found == taken.predictions.end()) return false;
    run.accepted_lines.push_back({-1, text, found->second});
    return true;
  });
}

}  // namespace

Baseline::Baseline(std::string path) : path_(std::move(path)), folder_(folder_of(path_)) {}

std::string Baseline::describe(std::size_t index) const {
  const BaselineEntry& entry = entries_[index];
  const FindingKey& key = entry.key;
  std::string words;
  if (entry.kind == BaselineEntry::Kind::finding) {
    words = key.rule;
    if (!key.layer.empty()) words += fmt::format(" at {}", key.layer);
    if (!key.op.empty()) words += fmt::format(" ({})", key.op);
  } else {
    words = fmt::format("\"{}\"", key.rule.substr(0, key.rule.find('\n')));
  }
  if (key.occurrence > 1) words += fmt::format(", number {}", key.occurrence);
  return words + fmt::format(" of {}", key.model);
}

bool Baseline::was_looked_for(const BaselineEntry& entry, const Diagnosis& run,
                              const std::set<std::string>& left_out) const {
  if (!run.error_code.empty() || entry.named != !run.stated_name.empty()) return false;
  if (entry.kind == BaselineEntry::Kind::finding && left_out.contains(entry.key.rule)) return false;
  if (run.model || entry.named)
    return key_model(run, -1, folder_) == entry.key.model && (!entry.from_log || !run.log_paths.empty());
  return std::any_of(run.log_paths.begin(), run.log_paths.end(),
                     [&](const std::string& log) { return relative_path(log, folder_) == entry.key.model; });
}

BaselineUse Baseline::apply(Diagnosis& run, const std::string& today,
                            const std::set<std::string>& left_out) const {
  BaselineUse use;
  std::map<Place, std::size_t> index;
  for (std::size_t i = 0; i < entries_.size(); ++i) index.try_emplace(place_of(entries_[i]), i);
  Taken taken;
  for (const Subject& subject : subjects_of(run, folder_)) {
    const auto found = index.find(place_of(subject.entry));
    if (found == index.end()) continue;
    const BaselineEntry& entry = entries_[found->second];
    use.used.insert(found->second);
    if (subject.accepted || (subject.finding && !subject.finding->open())) continue;
    if (!entry.until.empty() && entry.until < today) {
      use.expired.insert(found->second);
      run.notes.push_back(fmt::format("{}: {} was accepted until {}{}: it counts again", path_,
                                      describe(found->second), entry.until, owner_words(entry)));
      continue;
    }
    if (subject.entry.severity > entry.severity) {
      run.notes.push_back(fmt::format("{}: {} was accepted as \"{}\" and is \"{}\" now: it counts again",
                                      path_, describe(found->second), word(entry.severity),
                                      word(subject.entry.severity)));
      continue;
    }
    Suppression suppression{.baseline = path_,
                            .entry = describe(found->second),
                            .reason = entry.reason,
                            .owner = entry.owner,
                            .until = entry.until};
    if (subject.finding)
      taken.findings.emplace(subject.finding, std::move(suppression));
    else if (subject.log >= 0)
      taken.lines.emplace(subject.log, std::move(suppression));
    else
      taken.predictions.emplace(subject.entry.key.rule, std::move(suppression));
  }
  move_out(run, taken);
  std::vector<std::string> named;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!use.used.contains(i) && was_looked_for(entries_[i], run, left_out)) {
      use.stale.insert(i);
      if (named.size() < kEntriesNamed) named.push_back(describe(i));
    }
  if (use.stale.size() > named.size()) named.push_back("...");
  if (!use.stale.empty())
    run.notes.push_back(
        fmt::format("{}: {} accepted and no longer there (stale): {}; --prune-baseline "
                    "removes what is stale",
                    path_, use.stale.size(), fmt::join(named, "; ")));
  return use;
}

std::set<std::size_t> Baseline::orphans(std::span<const Diagnosis> runs) const {
  std::set<std::string> seen;
  for (const Diagnosis& run : runs) seen.insert(key_model(run, -1, folder_));
  std::set<std::size_t> gone;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const BaselineEntry& entry = entries_[i];
    std::error_code error;
    if (entry.named || entry.key.model == "-" || seen.contains(entry.key.model)) continue;
    const std::filesystem::path file = std::filesystem::path(folder_) / entry.key.model;
    if (!std::filesystem::exists(file, error) && !error) gone.insert(i);
  }
  return gone;
}

BaselineChange Baseline::accept(std::span<const Diagnosis> runs, const std::set<std::string>& left_out) {
  BaselineChange change;
  std::map<Place, BaselineEntry> next;
  for (const Diagnosis& run : runs)
    for (Subject& subject : subjects_of(run, folder_))
      if (!subject.finding || subject.finding->open())
        next.insert_or_assign(place_of(subject.entry), std::move(subject.entry));
  change.added = static_cast<int>(next.size());
  for (BaselineEntry& old : entries_) {
    if (const auto same = next.find(place_of(old)); same != next.end()) {
      same->second.reason = old.reason, same->second.owner = old.owner, same->second.until = old.until;
      ++change.kept, --change.added;
    } else if (std::any_of(runs.begin(), runs.end(),
                           [&](const Diagnosis& run) { return was_looked_for(old, run, left_out); })) {
      ++change.removed;
    } else {
      ++change.kept;
      next.emplace(place_of(old), std::move(old));
    }
  }
  entries_.clear();
  for (auto& [place, entry] : next) entries_.push_back(std::move(entry));
  tidy();
  return change;
}

void Baseline::remove(const std::set<std::size_t>& entries) {
  std::vector<BaselineEntry> left;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!entries.contains(i)) left.push_back(std::move(entries_[i]));
  entries_ = std::move(left);
}

void Baseline::add_diagnosis(const Diagnosis& run) {
  Diagnosis placed = run;
  std::error_code error;
  // The path is as it was typed then: from the working folder, or from where the diagnosis lies.
  if (placed.model && placed.model->path != "-" && !std::filesystem::exists(placed.model->path, error)) {
    const std::filesystem::path beside = std::filesystem::path(folder_) / placed.model->path;
    if (std::filesystem::exists(beside, error)) placed.model->path = beside.string();
  }
  for (Subject& subject : subjects_of(placed, folder_)) {
    if (subject.finding && !subject.finding->open()) continue;
    if (const Suppression* accepted = subject.accepted)
      subject.entry.reason = accepted->reason, subject.entry.owner = accepted->owner,
      subject.entry.until = is_date(accepted->until) ? accepted->until : "";
    entries_.push_back(std::move(subject.entry));
  }
}

void Baseline::tidy() {
  // An entry for good sorts behind every date.
  const auto end = [](const BaselineEntry& entry) { return entry.until.empty() ? "~" : entry.until; };
  std::stable_sort(entries_.begin(), entries_.end(), [&](const BaselineEntry& a, const BaselineEntry& b) {
    const auto key = [](const BaselineEntry& e) { return std::tie(e.key.model, e.named, e.kind, e.key); };
    return key(a) != key(b) ? key(a) < key(b) : end(a) < end(b);
  });
  const auto same = [](const BaselineEntry& a, const BaselineEntry& b) { return place_of(a) == place_of(b); };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
}

std::string today() {
  const std::chrono::year_month_day date{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  return year >= 0 && month >= 0 && day >= 0 &&
         std::chrono::year_month_day{std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day))}
             .ok();
}

}  // namespace md

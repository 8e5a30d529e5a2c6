#include "lib/log/failures.h"

#include <algorithm>

#include "lib/log/vocabulary.h"

namespace md {
namespace {

using Entry = RecordBuilder::Entry;

constexpr std::size_t listed_consequences = 64;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_exception(const Record& record) {
  return has(record.message, "Traceback (most recent call last)") || exception_line(record.headline());
}

/// An exception of the user's own code about what a tool gave back when it had failed.
bool is_echo_of_nothing(const Record& record) {
  return has(record.headline(), "NoneType") || has(record.headline(), "returned NULL") ||
         has(record.headline(), "AssertionError");
}

/// "executorch-xnnpack" and "executorch" are one program; torch is part of whatever calls it.
std::string_view family(std::string_view tool) {
  if (tool == "torch" || tool == "torch-export") return {};
  if (tool == "torch-tensorrt" || tool == "tensorrt") return "tensorrt";
  if (tool == "onnxruntime") return tool;
  return tool.substr(0, tool.find('-'));
}

bool name_different_places(const Record& a, const Record& b) {
  if (!a.told().op.empty() && !b.told().op.empty()) return a.told().op != b.told().op;
  return a.told().op.empty() && b.told().op.empty() && !a.told().node.empty() && !b.told().node.empty() &&
         a.told().node != b.told().node;
}

/// True when `next` follows from the failure that `lead` began.
bool follows(const Record& lead, const Record& next) {
  const bool one_program =
      family(lead.tool).empty() || family(next.tool).empty() || family(lead.tool) == family(next.tool);
  if (!one_program || name_different_places(lead, next)) return false;
  if (is_exception(lead)) return is_exception(next) && is_echo_of_nothing(next);
  return true;
}

bool is_refusal(const Record& record) { return names_operator(record.headline()); }

}  // namespace

void number_failures(std::vector<Entry>& entries, std::size_t load) {
  int number = 0;
  Entry* lead = nullptr;   // of the failure that is being told
  bool may_go_on = false;  // and whether further records may belong to it
  std::vector<int> early;  // reports of a failure whose cause comes later
  for (Entry& entry : entries) {
    Record& record = entry.record;
    if (entry.load != load || entry.weight <= Weight::hint) {
      if (!record.failure) continue;
    }
    if (record.failure) {
      const bool same = lead && may_go_on && !is_refusal(record) && follows(lead->record, record);
      if (!same) {
        record.failure_number = ++number, record.leads = true;
        record.tell().consequences = std::move(early);
        early.clear();
        lead = &entry, may_go_on = !is_refusal(record);
        continue;
      }
      record.failure_number = lead->record.failure_number;
      if (lead->weight == Weight::symptom && entry.weight != Weight::symptom) {
        // The report came first, the cause behind it.
        record.leads = true, lead->record.leads = false;
        record.tell().consequences = std::move(lead->record.tell().consequences);
        record.tell().consequences.push_back(lead->record.line_main);
        lead = &entry;
        continue;
      }
      for (auto [to, from] : {std::pair{&lead->record.tell().op, &record.tell().op},
                              {&lead->record.tell().node, &record.tell().node},
                              {&lead->record.tell().condition, &record.tell().condition},
                              {&lead->record.tell().frame, &record.tell().frame},
                              {&lead->record.tell().status, &record.tell().status},
                              {&lead->record.tool, &record.tool}})
        if (to->empty()) *to = *from;
      if (lead->record.tell().stage == Stage::unknown) lead->record.tell().stage = record.tell().stage;
    }
    if (lead && lead->record.tool.empty()) lead->record.tool = record.tool;
    std::vector<int>& lines = lead ? lead->record.tell().consequences : early;
    if (lines.size() < listed_consequences) lines.push_back(record.line_main);
  }
}

}  // namespace md

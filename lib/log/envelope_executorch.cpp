// ExecuTorch: numbers instead of sentences, Vulkan's and QNN's checks.
#include "lib/log/envelope.h"
#include "lib/log/status_numbers.h"

#include <charconv>

#include <fmt/format.h>

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
void set(std::string& field, std::string_view text) {
  if (field.empty()) field = text;
}
bool is_executorch(const Record& record) { return record.tool.substr(0, 10) == "executorch"; }

/// The number behind one of the phrases by which ExecuTorch reports a status:
/// 0x12, 0x:14 and 18 are the same kind.
void read_number(std::string_view message, Record& record) {
  for (const std::string_view mark :
       {"failed with status ", "failed with error ", "with status ", "error: ", "error ",
        "Load failed: ", "Error ", "status ", "input 0: ", "Error: "}) {
    for (std::size_t at = message.find(mark); at != std::string_view::npos; at = message.find(mark, at + 1)) {
      std::string_view digits = message.substr(at + mark.size());
      int base = 10;
      if (digits.substr(0, 2) == "0x") {
        base = 16;
        digits.remove_prefix(digits.substr(2, 1) == ":" ? 3 : 2);
      }
      long number = 0;
      const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
      if (failure != std::errc() || end == digits.data()) continue;
      const std::string words = status_words(record.tool, number);
      if (words.empty()) continue;
      const std::size_t written = static_cast<std::size_t>(end - message.data()) - at - mark.size();
      set(record.tell().status, fmt::format("{} {}", message.substr(at + mark.size(), written), words));
      return;
    }
  }
}

/// "In function execute_method(), assert failed (COND): TEXT", "Check failed
/// (COND): TEXT".
void read_check(std::string_view message, Record& record) {
  for (const std::string_view mark : {"assert failed (", "Check failed ("}) {
    const std::string_view failed = behind(message, mark);
    if (failed.empty()) continue;
    const std::size_t end = failed.find("): ");
    const std::size_t stop = end == std::string_view::npos ? failed.find(')') : end;
    if (stop != std::string_view::npos && stop < 400)
      set(record.tell().condition, condition_words(failed.substr(0, stop)));
    if (record.tool.empty()) record.tool = "executorch";
  }
}

/// "Exception raised from F at /a/b.cpp:186: (COND) is false! TEXT".
void read_vulkan(std::string_view message, Record& record) {
  const std::string_view raised = behind(message, "Exception raised from ");
  if (raised.empty()) return;
  const std::string_view place = behind(raised.substr(0, 600), " at ");
  const std::size_t colon = place.find(": ");
  if (colon != std::string_view::npos) set(record.tell().source, place.substr(0, colon));
  if (has(message, "ulkan") || has(message, "vkCreate") || has(message, "ShaderRegistry"))
    record.tool = "executorch-vulkan";
  if (const std::size_t end = message.find(") is false!");
      end != std::string_view::npos && colon != std::string_view::npos) {
    const std::size_t begin =
        message.find('(', static_cast<std::size_t>(place.data() - message.data()) + colon);
    if (begin != std::string_view::npos && begin < end)
      set(record.tell().condition, condition_words(message.substr(begin + 1, end - begin - 1)));
  }
}

Stage stage_of(std::string_view message) {
  if (has(message, "oading method") || has(message, "Failed to load") || has(message, "Load failed") ||
      has(message, "is not registered") || has(message, "not found.") || has(message, "Missing operator") ||
      has(message, "file_size_") || has(message, "context from binary") || has(message, "magic number") ||
      has(message, "Program identifier") || has(message, "emory allocation failed"))
    return Stage::load;
  if (has(message, "xecution of method") || has(message, "execute_method") || has(message, "setting input") ||
      has(message, "resize a static tensor") || has(message, "failed to execute") || has(message, "nput "))
    return Stage::run;
  if (has(message, "Missing out variants") || has(message, "Delegate") || has(message, "ATen Canonical") ||
      has(message, "Aten Canonical") || has(message, "Core ATen opset") ||
      has(message, "decomposed or delegated") || has(message, "ops::") ||
      has(message, "taking Tensor inputs") || has(message, "graph_prepare") || has(message, "validate op") ||
      has(message, "TCM") || has(message, "Tosa version") || has(message, "artitioner"))
    return Stage::lower;
  return Stage::unknown;
}

}  // namespace

void read_executorch(std::string_view message, Record& record) {
  read_vulkan(message, record);
  read_check(message, record);
  if (!is_executorch(record)) return;
  read_number(message, record);
  if (record.tell().stage == Stage::unknown) record.tell().stage = stage_of(message);
  if (const std::string_view op = behind(message, "kernel '"); !op.empty())
    set(record.tell().op, up_to(op, "'\n"));
  if (const std::string_view op = behind(behind(message, "Missing operator: ["), "] "); !op.empty())
    set(record.tell().op, up_to(op, " \n"));
  if (const std::string_view op = behind(message, "Operator torch._ops."); !op.empty())
    set(record.tell().op, up_to(op, " \n"));
  if (const std::string_view op = behind(message, "Operator: <EdgeOpOverload: "); !op.empty())
    set(record.tell().op, up_to(op, ">\n"));
  if (const std::string_view op = behind(message, "call_function:"); !op.empty())
    set(record.tell().op, up_to(op, " \n"));
  if (const std::string_view op = behind(message, "Failed to validate op "); !op.empty())
    set(record.tell().node, up_to(op, " \n"));
}

}  // namespace md::envelope

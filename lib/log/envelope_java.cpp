// Java and Kotlin exceptions with their causes, Gradle's reports, the linker of
// Android.
#include "lib/log/envelope.h"

namespace md::envelope {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What an exception says, without its class: "java.lang.X: text" -> "text".
std::string_view text_of(std::string_view line) {
  const std::string_view text = behind(line, ": ");
  return text.empty() ? line : text;
}

}  // namespace

void read_java(std::string_view message, Record& record) {
  const bool java = has(message, "\tat ") || has(message, "java.") || has(message, "kotlin.");
  if (const std::size_t at = message.rfind("Caused by: ");
      java && at != std::string_view::npos && record.tell().decisive.empty()) {
    const std::string_view line = line_at(message, at);
    if (!text_of(line.substr(11)).empty()) record.tell().decisive = line;
  }
  if (has(message, "* What went wrong:")) {
    record.tool = "gradle", record.tell().stage = Stage::setup;
    // The innermost reason stands last, behind a ">".
    const std::size_t at = message.rfind("\n");
    if (at != std::string_view::npos) record.tell().decisive = line_at(message, at + 1);
  }
  if (has(message, "UnsatisfiedLinkError") || has(message, "dlopen failed") ||
      has(message, "ClassNotFoundException") || has(message, "NoClassDefFoundError") ||
      has(message, "undefined reference to")) {
    if (record.tell().stage == Stage::unknown) record.tell().stage = Stage::setup;
  }
  if (has(message, "org.tensorflow.lite") && record.tool.empty()) record.tool = "tflite";
  if (has(message, "org.pytorch.executorch") && record.tool.empty()) record.tool = "executorch";
  if (has(message, "ai.onnxruntime") && record.tool.empty()) record.tool = "onnxruntime";
  // An exception without words of its own ("Internal error: Failed to apply
  // delegate: ") says it on the next line.
  const std::string_view head = message.substr(0, message.find('\n'));
  if (record.tell().decisive.empty() && head.size() > 2 && head.size() < message.size() &&
      (head.ends_with(": ") || head.ends_with(":")) && has(head, "xception"))
    record.tell().decisive = line_at(message, head.size() + 1);
}

}  // namespace md::envelope

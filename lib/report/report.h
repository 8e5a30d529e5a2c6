// One Diagnosis, many reports. Every reporter is a pure function: stable order, no times, the same bytes on
// every run.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"

namespace md {

enum class ReportFormat { text, concise, json, jsonl, sarif, github, junit, markdown, html };
std::optional<ReportFormat> report_format_from_name(std::string_view name);
/// All names, for help texts and "did you mean".
std::vector<std::string> report_format_names();

struct TextStyle {
  bool color = false;
  bool verbose = false;  ///< every place of a group, every proof, the change at the source
};

/// The report of one or several runs, ending in a newline. `style` matters for text only.
std::string render(std::span<const Diagnosis> runs, ReportFormat format, const TextStyle& style = {});

/// The JSON Schema of a diagnosis.
std::string_view diagnosis_schema();

/// Reads diagnoses that this program wrote (JSON, several runs, or JSON Lines). Errors name the file and what
/// was expected.
Result<std::vector<Diagnosis>> read_diagnoses(const std::string& path, std::string_view text);

}  // namespace md

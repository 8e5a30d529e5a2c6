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
  bool verbose = false;           ///< every place of a group, every proof, the change at the source
  bool errors_elsewhere = false;  ///< runs that failed are counted only: their lines were printed already
};

/// The report of one or several runs, ending in a newline. `style` matters for text and concise only.
std::string render(std::span<const Diagnosis> runs, ReportFormat format, const TextStyle& style = {});

/// The same for a file: text, concise and github, which have no place for it, end with a line that says who
/// wrote them.
std::string render_file(std::span<const Diagnosis> runs, ReportFormat format);
/// What render_file made, or a diagnosis of ours: a file that may be replaced.
bool is_our_report(std::string_view text);

/// The JSON Schema of a diagnosis.
std::string_view diagnosis_schema();

/// Reads diagnoses that this program wrote (JSON, several runs, or JSON Lines). Errors name the file and what
/// was expected.
Result<std::vector<Diagnosis>> read_diagnoses(const std::string& path, std::string_view text);

}  // namespace md

#include "lib/report/report.h"

#include <array>

#include "lib/report/formats.h"

namespace md {
namespace {

struct NamedFormat {
  std::string_view name;
  ReportFormat format;
};
constexpr std::array<NamedFormat, 9> kFormats = {{{"text", ReportFormat::text},
                                                  {"concise", ReportFormat::concise},
                                                  {"json", ReportFormat::json},
                                                  {"jsonl", ReportFormat::jsonl},
                                                  {"sarif", ReportFormat::sarif},
                                                  {"github", ReportFormat::github},
                                                  {"junit", ReportFormat::junit},
                                                  {"markdown", ReportFormat::markdown},
                                                  {"html", ReportFormat::html}}};

}  // namespace

std::optional<ReportFormat> report_format_from_name(std::string_view name) {
  for (const NamedFormat& known : kFormats)
    if (known.name == name) return known.format;
  return std::nullopt;
}

std::vector<std::string> report_format_names() {
  std::vector<std::string> names;
  for (const NamedFormat& known : kFormats) names.emplace_back(known.name);
  return names;
}

std::string render(std::span<const Diagnosis> runs, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::text:
      return reporters::text(runs, style);
    case ReportFormat::concise:
      return reporters::concise(runs, style);
    case ReportFormat::json:
      return reporters::json(runs);
    case ReportFormat::jsonl:
      return reporters::json_lines(runs);
    case ReportFormat::sarif:
      return reporters::sarif(runs);
    case ReportFormat::github:
      return reporters::github(runs);
    case ReportFormat::junit:
      return reporters::junit(runs);
    case ReportFormat::markdown:
      return reporters::markdown(runs);
    case ReportFormat::html:
      return reporters::html(runs);
  }
  return "";
}

}  // namespace md

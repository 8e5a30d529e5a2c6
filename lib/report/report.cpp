#include "lib/report/report.h"

#include <array>

#include "lib/base/escape.h"
#include "lib/report/formats.h"
#include "lib/report/shown.h"

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
    case ReportFormat::json:
      return escape_json(reporters::json(runs));
    case ReportFormat::jsonl:
      return escape_json(reporters::json_lines(runs));
    case ReportFormat::sarif:
      return escape_json(reporters::sarif(runs));
    default:
      break;
  }
  std::vector<Diagnosis> harmless;
  for (const Diagnosis& run : runs) harmless.push_back(reporters::shown(run));
  switch (format) {
    case ReportFormat::concise:
      return reporters::concise(harmless, style);
    case ReportFormat::github:
      return reporters::github(harmless);
    case ReportFormat::junit:
      return reporters::junit(harmless);
    case ReportFormat::markdown:
      return reporters::markdown(harmless);
    case ReportFormat::html:
      return reporters::html(harmless);
    default:
      return reporters::text(harmless, style);
  }
}

}  // namespace md

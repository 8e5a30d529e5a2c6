// Report files carry who wrote them, so that a later run may replace them and nothing else.
#include <nlohmann/json.hpp>

#include "lib/report/formats.h"

namespace md {
namespace {

using Json = nlohmann::json;

bool names_us(const Json& tool) {
  if (!tool.is_object()) return false;
  const auto name = tool.find("name"), driver = tool.find("driver");
  return (name != tool.end() && *name == reporters::kGenerator) ||
         (driver != tool.end() && names_us(*driver));
}

/// A diagnosis, several of them, or SARIF. Of the text only the few keys that say it are kept.
bool is_our_json(std::string_view text) {
  const auto keep = [](int, Json::parse_event_t event, const Json& parsed) {
    return event != Json::parse_event_t::key || parsed == "tool" || parsed == "driver" || parsed == "name" ||
           parsed == "runs";
  };
  Json json = Json::parse(text.begin(), text.end(), keep, false);
  if (json.is_discarded()) {  // JSON Lines
    const std::string_view first = text.substr(0, text.find('\n'));
    json = Json::parse(first.begin(), first.end(), keep, false);
  }
  if (!json.is_object()) return false;
  const auto runs = json.find("runs");
  const bool several = runs != json.end() && runs->is_array() && !runs->empty() && runs->front().is_object();
  const Json& run = several ? runs->front() : json;
  const auto tool = run.find("tool");
  return tool != run.end() && names_us(*tool);
}

/// Formats without a place for a generator end with a line that names it.
std::string_view last_line(ReportFormat format) {
  if (format == ReportFormat::text || format == ReportFormat::concise) return "(written by modeldoctor)\n";
  return format == ReportFormat::github ? "::debug::written by modeldoctor\n" : "";
}

}  // namespace

std::string render_file(std::span<const Diagnosis> runs, ReportFormat format) {
  return render(runs, format).append(last_line(format));
}

bool is_our_report(std::string_view text) {
  constexpr std::size_t head_size = 512, largest = std::size_t{256} << 20;
  const std::string_view head = text.substr(0, head_size);
  const auto begins = [&](std::string_view start, std::string_view mark) {
    return head.starts_with(start) && head.find(mark) != std::string_view::npos;
  };
  if (begins("<!doctype html>", reporters::kHtmlMark) || begins("<?xml", reporters::kJunitMark) ||
      begins("# modeldoctor report\n", reporters::kMarkdownMark))
    return true;
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::github})
    if (text.ends_with(last_line(format))) return true;
  return head.starts_with('{') && text.size() <= largest && is_our_json(text);
}

}  // namespace md

// The fp16 report as text, CSV and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/escape.h"
#include "lib/eval/difference.h"
#include "lib/fp16/fp16_report.h"

namespace md {
namespace {

constexpr double bar_bits = 32;  // headroom range that a bar shows: a full bar is none left
constexpr int bar_width = 16;

const char* mark(const Fp16Layer& layer) {
  if (layer.overflows) return "OVERFLOW";
  if (layer.sum_passes) return "SUM OVERFLOWS";
  if (layer.flushed) return "all zero";
  return "";
}

std::string bar(const Fp16Layer& layer) {
  const double top = std::max(layer.largest, layer.largest_sum);
  const double bits = top > 0 ? std::log2(largest_f16 / top) : bar_bits;
  const double used = std::clamp((bar_bits / 2 - bits) / bar_bits + 0.5, 0.0, 1.0);
  const int filled =
      bits < 0 ? bar_width : std::clamp(static_cast<int>(std::lround(used * bar_width)), 0, bar_width - 1);
  std::string text;
  for (int i = 0; i < bar_width; ++i) text += i < filled ? '#' : '.';
  return text;
}

std::string bits_text(double bits) { return std::isfinite(bits) ? fmt::format("{:+.1f}", bits) : "-"; }

const char* verdict_text(Fp16Verdict verdict) {
  switch (verdict) {
    case Fp16Verdict::fine:
      return "fine";
    case Fp16Verdict::overflow:
      return "overflow";
    case Fp16Verdict::precision:
      return "precision";
    case Fp16Verdict::unknown:
      break;
  }
  return "unknown";
}

nlohmann::json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

}  // namespace

std::string fp16_text(const Fp16Report& report, bool color) {
  std::string text = escape_terminal(report.summary) + "\n";
  if (report.verdict == Fp16Verdict::unknown) return text;
  text += fmt::format("inputs: {} ({} sample{})\n\n", escape_terminal(report.source.text), report.samples,
                      report.samples == 1 ? "" : "s");
  text += fmt::format("{:>5}  {:<20} {:<16} {:>10} {:>7} {:>10} {:>9}  {}\n", "node", "operator", "",
                      "largest", "bits", "sum", "error", "value");
  for (const Fp16Layer& layer : report.layers) {
    const std::string problem = mark(layer);
    const bool red = color && !problem.empty();
    const std::string row = escape_terminal(
        fmt::format("{:>5}  {:<20} {} {:>10.4g} {:>7} {:>10} {:>9.1e}  {}{}", layer.node,
                    layer.op.substr(0, 20), bar(layer), layer.largest, bits_text(layer.headroom_bits),
                    layer.largest_sum > 0 ? fmt::format("{:.4g}", layer.largest_sum) : "-", layer.error,
                    layer.name, problem.empty() ? "" : "  " + problem));
    text += red ? "\x1b[31m" + row + "\x1b[0m\n" : row + "\n";
  }
  if (report.verdict == Fp16Verdict::precision) {
    text += "\nerror by depth:";
    for (const double e : report.error_by_depth) text += fmt::format(" {:.1e}", e);
    text += '\n';
  }
  return text;
}

std::string fp16_csv(const Fp16Report& report) {
  std::string text =
      "node,operator,value,layer,depth,largest,headroom_bits,largest_sum,error,overflows,sum_passes,"
      "flushed\n";
  for (const Fp16Layer& l : report.layers)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", l.node, escape_csv(l.op), escape_csv(l.name),
                        escape_csv(l.layer), l.depth, short_number(l.largest), short_number(l.headroom_bits),
                        short_number(l.largest_sum), short_number(l.error), l.overflows ? 1 : 0,
                        l.sum_passes ? 1 : 0, l.flushed ? 1 : 0);
  return text;
}

std::string fp16_json(const Fp16Report& report) {
  nlohmann::json layers = nlohmann::json::array(), curve = nlohmann::json::array();
  for (const Fp16Layer& l : report.layers)
    layers.push_back({{"node", l.node},
                      {"op", l.op},
                      {"value", l.name},
                      {"layer", l.layer},
                      {"depth", l.depth},
                      {"largest", number(l.largest)},
                      {"headroom_bits", number(l.headroom_bits)},
                      {"largest_sum", number(l.largest_sum)},
                      {"error", number(l.error)},
                      {"overflows", l.overflows},
                      {"sum_passes", l.sum_passes},
                      {"flushed", l.flushed}});
  for (const double e : report.error_by_depth) curve.push_back(number(e));
  const nlohmann::json json = {
      {"verdict", verdict_text(report.verdict)},
      {"summary", report.summary},
      {"symptom", report.symptom},
      {"inputs", report.source.text},
      {"input_overflow", report.input.empty() ? nlohmann::json() : nlohmann::json(report.input)},
      {"samples", report.samples},
      {"output_error", number(report.output_error)},
      {"error_by_depth", curve},
      {"first_overflow", report.first ? nlohmann::json(report.layers[*report.first].node) : nlohmann::json()},
      {"layers", layers},
      {"note", report.note}};
  return escape_json(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace md

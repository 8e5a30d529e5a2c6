#include "lib/verify/verify.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/escape.h"

namespace md {
namespace {

nlohmann::json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

/// Ordinary inputs first: on huge ones only the relative difference says something.
std::string difference_words(const OutputComparison& o) {
  std::string words;
  if (o.ordinary.samples > 0)
    words = fmt::format("largest difference {:.3g} absolute, {:.3g} relative", o.ordinary.max_abs,
                        o.ordinary.max_rel);
  if (o.extreme.samples > 0)
    words += fmt::format("{}{:.3g} relative on extreme inputs", words.empty() ? "" : ", ", o.extreme.max_rel);
  return words;
}

nlohmann::json worst_json(const WorstDifference& d) {
  return {{"samples", d.samples}, {"max_abs", number(d.max_abs)}, {"max_rel", number(d.max_rel)}};
}

}  // namespace

ModelComparison verify_models(const Model& a, const Model& b, const CompareOptions& options) {
  ModelComparison comparison = compare_models(a, b, options);
  // Signatures say what outputs are called outside.
  for (const ModelSignature& signature : a.signatures)
    for (std::size_t i = 0; i < comparison.outputs.size() && signature.graph == options.graph_a; ++i)
      for (const auto& [name, value] : signature.outputs)
        if (value == a.graphs[static_cast<std::size_t>(options.graph_a)].outputs[i])
          comparison.outputs[i].name = name;
  return comparison;
}

std::string comparison_text(const ModelComparison& c) {
  std::string text;
  const auto line = [&](std::string_view words) { text += escape_terminal(words) + '\n'; };
  for (const std::string& difference : c.interface_differences) line("interface: " + difference);
  if (!c.evaluated) {
    line(c.note.empty() ? "not evaluated" : c.note);
    return text;
  }
  line(fmt::format("{}: {} sample{} ({})", c.equal ? "equal" : "DIFFERENT", c.samples,
                   c.samples == 1 ? "" : "s", c.input_source));
  for (const OutputComparison& o : c.outputs) {
    std::string row = fmt::format("  {} {} \"{}\" {}: {}; {:.3g} ulp", o.equal ? "ok  " : "DIFF",
                                  name(o.dtype), o.name, shape_text(o.shape), difference_words(o), o.max_ulp);
    if (o.nonfinite) row += fmt::format("; {} elements finite in one model only", o.nonfinite);
    line(row);
    if (!o.where.empty()) line("       at " + o.where);
  }
  if (!c.first_layer.empty()) line("first value that parts: " + c.first_layer);
  if (c.argmax_agreement)
    text += fmt::format("same largest element in {:.1f} % of the rows\n", 100 * *c.argmax_agreement);
  if (c.fp16_error)
    text += fmt::format(
        "for comparison: fp16 rounding alone moves A's outputs by {:.2g} of their largest value\n",
        *c.fp16_error);
  if (!c.note.empty()) line(c.note);
  return text;
}

std::string comparison_json(const ModelComparison& c) {
  nlohmann::json outputs = nlohmann::json::array();
  for (const OutputComparison& o : c.outputs)
    outputs.push_back({{"name", o.name},
                       {"shape", o.shape},
                       {"dtype", name(o.dtype)},
                       {"max_abs", number(o.max_abs)},
                       {"max_rel", number(o.max_rel)},
                       {"max_ulp", number(o.max_ulp)},
                       {"ordinary", worst_json(o.ordinary)},
                       {"extreme", worst_json(o.extreme)},
                       {"nonfinite", o.nonfinite},
                       {"where", o.where},
                       {"equal", o.equal}});
  const nlohmann::json json = {
      {"equal", c.equal},
      {"evaluated", c.evaluated},
      {"samples", c.samples},
      {"inputs", c.input_source},
      {"interface", c.interface_differences},
      {"outputs", outputs},
      {"max_abs", number(c.max_abs)},
      {"max_rel", number(c.max_rel)},
      {"max_ulp", number(c.max_ulp)},
      {"ordinary", worst_json(c.ordinary)},
      {"extreme", worst_json(c.extreme)},
      {"argmax_agreement", c.argmax_agreement ? number(*c.argmax_agreement) : nlohmann::json()},
      {"fp16_error", c.fp16_error ? number(*c.fp16_error) : nlohmann::json()},
      {"first_layer", c.first_layer.empty() ? nlohmann::json() : nlohmann::json(c.first_layer)},
      {"note", c.note}};
  return escape_json(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace md

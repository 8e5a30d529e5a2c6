// verify, fp16 and tap: what a model computes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands.h"
#include "app/inputs.h"
#include "app/publish.h"
#include "app/terminal.h"
#include "lib/base/nearest.h"
#include "lib/base/stream.h"
#include "lib/fix/output.h"
#include "lib/fp16/fp16_report.h"
#include "lib/verify/runner.h"
#include "lib/verify/verify.h"

namespace md::app {
namespace {

Result<std::unique_ptr<Document>> open_model(const std::string& path) {
  auto file = open_input(path);
  if (!file) return tl::make_unexpected(file.error());
  auto document = open_document(*file);
  if (document && (*document)->model().graphs.empty())
    return input_error(fmt::format("{}: the file holds no graph, so it computes nothing", path));
  return document;
}

Result<std::map<std::string, std::pair<double, double>>> ranges_of(const Model& model,
                                                                   const NumericOptions& numeric) {
  const auto ranges = parse_ranges(numeric.ranges);
  if (!ranges) return tl::make_unexpected(ranges.error());
  return ranges_of_inputs(model, *ranges);
}

Result<CompareOptions> compare_options(const Options& options, const NumericOptions& numeric,
                                       const Model& model) {
  CompareOptions to;
  to.samples = options.samples;
  to.seed = options.seed;
  if (numeric.rtol) to.rtol = *numeric.rtol;
  if (numeric.atol) to.atol = *numeric.atol;
  if (numeric.fp16) to.mode_b.arithmetic = Arithmetic::f16_storage;
  auto ranges = ranges_of(model, numeric);
  if (!ranges) return tl::make_unexpected(ranges.error());
  to.ranges = std::move(*ranges);
  if (numeric.inputs.empty()) return to;
  auto inputs = load_inputs(model, numeric.inputs);
  if (!inputs) return tl::make_unexpected(inputs.error());
  to.inputs = std::move(*inputs);
  return to;
}

Result<ModelComparison> compare_with_device(const Model& model, const NumericOptions& numeric,
                                            const CompareOptions& options) {
  if (numeric.outputs.size() != 1 || options.inputs.empty())
    return usage_error("verify needs a second model, or --inputs FILE and --outputs FILE of a device");
  auto outputs = read_numpy(numeric.outputs.front());
  if (!outputs) return tl::make_unexpected(outputs.error());
  return verify_device(model, options.inputs, *outputs, options);
}

/// The first model here against the second (or the same) on a real runtime.
Result<ModelComparison> compare_on_runtime(const Document& reference, const NumericOptions& numeric,
                                           const CompareOptions& options) {
  RunnerOptions runner;
  runner.runner = numeric.on;
  if (!numeric.runner.empty()) runner.command = numeric.runner;
  runner.fp16 = numeric.fp16;
  runner.timeout_seconds = numeric.timeout;
  if (numeric.on.empty() == numeric.runner.empty())
    return usage_error("give either --on NAME or --runner COMMAND");
  if (!numeric.on.empty()) {
    std::vector<std::string> names;
    for (const RunnerInfo& info : list_runners(false)) names.push_back(info.name);
    if (std::find(names.begin(), names.end(), numeric.on) == names.end())
      return usage_error(fmt::format("--on {}: no such runner{}; `modeldoctor runners` lists them",
                                     numeric.on, did_you_mean(numeric.on, names)));
  }
  if (numeric.other.empty())
    return verify_on(reference.model(), numeric.model, reference.model(), runner, options);
  auto other = open_model(numeric.other);
  if (!other) return tl::make_unexpected(other.error());
  return verify_on(reference.model(), numeric.other, (*other)->model(), runner, options);
}

Status check_format(const std::string& format, std::initializer_list<std::string_view> known) {
  std::string expected;
  for (const std::string_view name : known) {
    if (format == name) return {};
    expected += expected.empty() ? std::string(name) : " or " + std::string(name);
  }
  return usage_error(fmt::format("--output-format {}: expected {}", format, expected));
}

}  // namespace

int run_verify(const Options& options, const NumericOptions& numeric) {
  if (auto status = check_format(numeric.format, {"text", "json"}); !status) return report(status.error());
  auto a = open_model(numeric.model);
  if (!a) return report(a.error());
  auto settings = compare_options(options, numeric, (*a)->model());
  if (!settings) return report(settings.error());
  ModelComparison comparison;
  if (!numeric.on.empty() || !numeric.runner.empty()) {
    auto compared = compare_on_runtime(**a, numeric, *settings);
    if (!compared) return report(compared.error());
    comparison = std::move(*compared);
  } else if (numeric.other.empty()) {
    auto compared = compare_with_device((*a)->model(), numeric, *settings);
    if (!compared) return report(compared.error());
    comparison = std::move(*compared);
  } else {
    auto b = open_model(numeric.other);
    if (!b) return report(b.error());
    comparison = verify_models((*a)->model(), (*b)->model(), *settings);
  }
  if (!print_data(numeric.format == "json" ? comparison_json(comparison) : comparison_text(comparison)))
    return 4;
  if (!comparison.evaluated && comparison.interface_differences.empty()) return 2;
  return comparison.equal ? 0 : 1;
}

int run_fp16(const Options& options, const NumericOptions& numeric) {
  if (auto status = check_format(numeric.format, {"text", "json", "csv"}); !status)
    return report(status.error());
  auto document = open_model(numeric.model);
  if (!document) return report(document.error());
  const Model& model = (*document)->model();
  Fp16Options settings;
  auto ranges = ranges_of(model, numeric);
  if (!ranges) return report(ranges.error());
  settings.inputs.ranges = std::move(*ranges);
  settings.inputs.samples = options.samples;
  settings.inputs.seed = options.seed;
  settings.saturate = numeric.saturate;
  if (numeric.arithmetic == "accumulate") settings.arithmetic = Arithmetic::f16_accumulate;
  if (numeric.arithmetic == "tree") settings.arithmetic = Arithmetic::f16_tree;
  if (!numeric.inputs.empty()) {
    auto inputs = load_inputs(model, numeric.inputs);
    if (!inputs) return report(inputs.error());
    settings.inputs.inputs = std::move(*inputs);
  }
  const Fp16Report result = fp16_report(model, 0, settings);
  const std::string text = numeric.format == "json"  ? fp16_json(result)
                           : numeric.format == "csv" ? fp16_csv(result)
                                                     : fp16_text(result, use_color(options.color, stdout));
  if (!print_data(text)) return 4;
  return result.verdict == Fp16Verdict::unknown ? 2 : result.verdict == Fp16Verdict::fine ? 0 : 1;
}

int run_runners() { return print_data(runners_text(list_runners())) ? 0 : 4; }

int run_tap(const Options& options, const NumericOptions& numeric) {
  if (numeric.out == "-") return report({Error::Kind::usage, "-o -: a model needs the name of a file"});
  const std::filesystem::path input(numeric.model);
  const std::string out =
      numeric.out.empty()
          ? std::filesystem::path(input).replace_extension(".tap" + input.extension().string()).string()
          : numeric.out;
  if (same_file(numeric.model, out))
    return report({Error::Kind::usage, out + ": is the input file; give another name with -o"});
  RunFiles files;
  add_read_files(options, files);
  files.writes(out, "the copy");
  if (auto status = files.check(); !status) return report(status.error());
  // Nothing beside a tapped copy says that it is ours.
  const auto is_ours = [](std::string_view) { return false; };
  if (auto status = check_replaceable(out, options.force, is_ours); !status) return report(status.error());
  auto document = open_model(numeric.model);
  if (!document) return report(document.error());
  auto tapped = with_tap((*document)->model(), numeric.at);
  if (!tapped) return report(tapped.error());
  auto written = write_model(**document, *tapped, out);
  if (!written) return report(written.error());
  print_note(fmt::format("wrote {} ({} bytes)", written->path, written->bytes));
  return 0;
}

}  // namespace md::app

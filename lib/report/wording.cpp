#include "lib/report/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lib/diagnose/ending.h"

namespace md::reporters {
namespace {

/// "-31 kB", "+1.2 M multiply-adds": a unit that is a word brings its own blank.
std::string quantity(std::int64_t amount, std::string_view unit) {
  const double size = std::fabs(static_cast<double>(amount));
  const char sign = amount < 0 ? '-' : '+';
  if (size >= 1e9) return fmt::format("{}{:.1f} G{}", sign, size / 1e9, unit);
  if (size >= 1e6) return fmt::format("{}{:.1f} M{}", sign, size / 1e6, unit);
  if (size >= 1e4) return fmt::format("{}{:.0f} k{}", sign, size / 1e3, unit);
  return fmt::format("{}{}{}{}", sign, static_cast<std::int64_t>(size), unit.starts_with(' ') ? "" : " ",
                     unit);
}

std::string fix_key(const Finding& finding) {
  const ReportedFix* fix = leading_fix(finding);
  return fix ? fmt::format("{}|{}|{}", fix->title, fix->applied, word(fix->applicability)) : "";
}

}  // namespace

std::vector<Group> group_findings(const Diagnosis& run) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> known;
  for (const Finding& finding : run.findings) {
    const std::string key = fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", finding.rule,
                                        word(finding.state), word(finding.severity), finding.message,
                                        finding.reason, finding.open(), fix_key(finding));
    const auto [at, fresh] = known.try_emplace(key, groups.size());
    if (fresh) groups.push_back({});
    groups[at->second].findings.push_back(&finding);
  }
  return groups;
}

std::string_view consequence(Severity severity) {
  switch (severity) {
    case Severity::fatal:
      return "will not compile";
    case Severity::silent:
      return "wrong result";
    case Severity::perf:
      return "slow";
    case Severity::note:
      break;
  }
  return "note";
}

std::string consequence(const Finding& finding) {
  if (finding.severity != Severity::fatal) return std::string(consequence(finding.severity));
  switch (finding.stage) {
    case Stage::setup:
      return "does not start";
    case Stage::program_export:
      return "does not export";
    case Stage::convert:
      return "does not convert";
    case Stage::lower:
      return "does not lower";
    case Stage::load:
      return "does not load";
    case Stage::run:
      return "fails while it runs";
    case Stage::unknown:
    case Stage::build:
    case Stage::prepare:
      break;
  }
  return std::string(consequence(finding.severity));
}

std::string origin_words(const ReportedRecord& record) {
  struct Name {
    std::string_view tool, name;
  };
  static constexpr Name names[] = {{"litert-gpu", "the LiteRT GPU accelerator"},
                                   {"tflite-gpu", "TFLite's classic GPU delegate"},
                                   {"tflite-xnnpack", "TFLite's XNNPACK delegate (CPU)"},
                                   {"tflite-nnapi", "TFLite's NNAPI delegate"},
                                   {"tflite", "TFLite's interpreter"},
                                   {"tflite-converter", "the TFLite converter"},
                                   {"litert-torch", "the LiteRT converter of PyTorch programs"},
                                   {"executorch", "ExecuTorch"},
                                   {"executorch-qnn", "ExecuTorch's QNN backend"},
                                   {"executorch-xnnpack", "ExecuTorch's XNNPACK backend"},
                                   {"executorch-vulkan", "ExecuTorch's Vulkan backend"},
                                   {"executorch-coreml", "ExecuTorch's Core ML backend"},
                                   {"executorch-mlx", "ExecuTorch's MLX backend"},
                                   {"onnxruntime", "ONNX Runtime"},
                                   {"tensorrt", "TensorRT"},
                                   {"torch-tensorrt", "Torch-TensorRT"},
                                   {"torch-export", "torch.export"},
                                   {"torch-onnx", "torch.onnx"},
                                   {"torch", "PyTorch"},
                                   {"coremltools", "Core ML Tools"},
                                   {"openvino", "OpenVINO"},
                                   {"opencv", "OpenCV"}};
  static constexpr std::pair<Stage, std::string_view> stages[] = {
      {Stage::setup, "while packages and libraries are loaded"},
      {Stage::program_export, "while the program is exported"},
      {Stage::convert, "while the model is converted"},
      {Stage::lower, "while the program is lowered"},
      {Stage::build, "while the model is compiled"},
      {Stage::load, "while the model is loaded"},
      {Stage::prepare, "while the graph is prepared"},
      {Stage::run, "while the model runs"}};
  std::string words(record.tool);
  for (const Name& name : names)
    if (name.tool == record.tool) words = name.name;
  for (const auto& [stage, text] : stages)
    if (stage == record.stage) words += fmt::format("{}{}", words.empty() ? "" : ", ", text);
  if (!record.op.empty())
    words += fmt::format("{}at {}{}", words.empty() ? "" : ", ", record.op,
                         record.node.empty() ? "" : fmt::format(" (node {})", record.node));
  else if (!record.node.empty())
    words += fmt::format("{}at node {}", words.empty() ? "" : ", ", record.node);
  return words;
}

std::vector<std::string> failure_words(const ReportedRecord& record) {
  std::vector<std::string> lines;
  if (const std::string origin = origin_words(record); !origin.empty()) lines.push_back("from " + origin);
  if (!record.condition.empty()) lines.push_back("what did not hold: " + record.condition);
  if (!record.status.empty()) lines.push_back("status: " + record.status);
  if (!record.source.empty()) lines.push_back("in the tool: " + record.source);
  if (!record.frame.empty()) lines.push_back("in your code: " + record.frame);
  if (!record.consequences.empty()) {
    constexpr std::size_t shown = 12;
    std::vector<int> numbers = record.consequences;
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const std::size_t more = numbers.size() > shown ? numbers.size() - shown : 0;
    if (more > 0) numbers.resize(shown);
    lines.push_back(fmt::format("lines that follow from it: {}{}", fmt::join(numbers, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return lines;
}

std::string shown_line(const ReportedRecord& record) {
  if (!record.shown.empty()) return record.shown;
  const std::vector<std::string> lines = lines_of(record.text);
  return lines.empty() ? "" : lines.front() + (lines.size() > 1 ? " ..." : "");
}

std::string_view fault_words(const Finding& finding) {
  switch (finding.fault) {
    case Blame::usage:
      return "the model is not to blame, the call is: change how the tool is called, not the model";
    case Blame::environment:
      return "the model is not to blame: the machine, device or application around it lacks something; "
             "change "
             "that, not the model";
    case Blame::versions:
      return "the model is not to blame: versions of the tools do not fit together; change a version, not "
             "the "
             "model";
    case Blame::tool_bug:
      return "the model is not to blame: this is a bug of the tool; take a version without it or go around "
             "it";
    case Blame::model:
      break;
  }
  return "";
}

std::string place(const ReportedLocation& at) {
  if (at.node >= 0) return fmt::format("s{}/n{}", at.graph, at.node);
  if (at.origin.empty()) return fmt::format("s{}", at.graph);
  std::vector<std::string> names;
  for (const std::int32_t node : at.origin)
    if (names.size() < 4) names.push_back(fmt::format("n{}", node));
  return fmt::format("s{}/new from {}{}", at.graph, fmt::join(names, ","),
                     at.origin.size() > names.size() ? ",..." : "");
}

std::string model_path(const Diagnosis& run) { return run.model ? run.model->path : ""; }

bool is_error_alone(const Diagnosis& run) { return !run.error_code.empty() && run.findings.empty(); }

std::string totals_words(std::span<const Diagnosis> runs) {
  std::map<RunStatus, int> states;
  SeverityCounts left;
  bool models = true;
  for (const Diagnosis& run : runs) {
    ++states[run.status];
    models = models && run.model.has_value();
    if (run.status == RunStatus::findings)
      for (const auto& [severity, count] : run.after) left[severity] += count;
  }
  std::vector<std::string> parts;
  for (const auto& [state, words] :
       {std::pair{RunStatus::clean, "clean"}, std::pair{RunStatus::fixed, "fixed"},
        std::pair{RunStatus::findings, "with findings"}, std::pair{RunStatus::failed, "failed"}})
    if (const int count = states[state]; count > 0)
      parts.push_back(fmt::format("{} {}", count, words) + (state == RunStatus::findings
                                                                ? fmt::format(" ({})", counts_words(left))
                                                                : std::string()));
  return fmt::format("{} {}: {}", runs.size(), models ? "models" : "runs", fmt::join(parts, ", "));
}

std::string log_place(const Diagnosis& run, const Finding& finding) {
  if (finding.log.empty()) return "";
  const ReportedRecord& record = run.log[static_cast<std::size_t>(finding.log.front())];
  return fmt::format("{}:{}", record.path, record.line);
}

std::string where(const Diagnosis& run, const Finding& finding) {
  if (finding.locations.empty()) {
    const std::string log = log_place(run, finding);
    return log.empty() ? model_path(run) : log;
  }
  const ReportedLocation& at = finding.locations.front();
  std::string text = fmt::format("{}:{}", model_path(run), place(at));
  if (!at.op.empty()) text += " " + at.op;
  if (!at.value.empty()) text += fmt::format(" \"{}\"", at.value);
  return text;
}

const ReportedFix* leading_fix(const Finding& finding) {
  const ReportedFix* best = nullptr;
  const auto rank = [](const ReportedFix& fix) {
    return fix.applied ? 3 : static_cast<int>(fix.applicability);
  };
  for (const ReportedFix& fix : finding.fixes)
    if (!best || rank(fix) > rank(*best)) best = &fix;
  return best;
}

std::string_view fixed_word(const Diagnosis& run) { return run.dry_run ? "would be fixed" : "fixed"; }

bool remains_in_file(const Diagnosis& run, const Finding& finding) { return run.dry_run || finding.open(); }

std::string mark(const Diagnosis& run, const Finding& finding) {
  if (!finding.open()) return fmt::format("[{}]", fixed_word(run));
  const ReportedFix* fix = leading_fix(finding);
  return fix && fix->applicability != Applicability::manual && !fix->needs_asking ? "[*]" : "";
}

std::string_view fix_verb(const Diagnosis& run, const ReportedFix& fix) {
  if (fix.applied) return run.dry_run ? "would be fixed by" : "fixed by";
  return fix.needs_asking || fix.applicability == Applicability::manual ? "not applied:" : "can be fixed by";
}

std::string proof_words(const ReportedFix& fix) {
  std::string words(word(fix.exactness));
  if (fix.proofs.empty()) return words;
  const ReportedProof& proof = fix.proofs.front();
  if (proof.method == ProofMethod::movement) words += proof.equal ? ", every element was followed" : "";
  if (proof.method == ProofMethod::exhaustive)
    words += fmt::format(", equal on all {} {} values", proof.samples, proof.dtype);
  if (proof.method == ProofMethod::sampled && proof.equal) {
    words += fmt::format(", equal on {} samples", proof.samples);
    if (proof.max_abs > 0)
      words += fmt::format(" (largest difference {:.2g}, {:.2g} relative)", proof.max_abs, proof.max_rel);
  }
  if (proof.method == ProofMethod::none)
    return fmt::format("not proven{}", proof.note.empty() ? "" : ": " + proof.note);
  if (!proof.equal) return fmt::format("refuted: {}", proof.counterexample);
  if (!proof.note.empty()) words += "; " + proof.note;
  if (!proof.nonfinite.empty()) words += "; on values that are not finite: " + proof.nonfinite;
  return words;
}

std::string cost_words(const ReportedCost& cost) {
  std::vector<std::string> parts;
  if (cost.ops != 0) parts.push_back(fmt::format("{:+} op{}", cost.ops, std::abs(cost.ops) == 1 ? "" : "s"));
  if (cost.bytes != 0) parts.push_back(quantity(cost.bytes, "B"));
  if (cost.macs != 0) parts.push_back(quantity(cost.macs, " multiply-adds"));
  return parts.empty() ? "no cost" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string target_words(const ReportedTarget& target) {
  std::string words = fmt::format("{} {}", target.name, target.version);
  if (!target.table.empty() && target.table != target.version)
    words += fmt::format(" (judged by the table of {})", target.table);
  else if (target.assumed)
    words += " (assumed)";
  else if (target.source == TargetSource::log)
    words += " (from the log)";
  else if (target.source == TargetSource::fit)
    words += " (fits the log)";
  return words;
}

namespace {

std::string count_words(const SeverityCounts& counts, bool failures) {
  std::vector<std::string> parts;
  for (const auto& [severity, text] : kWords<Severity>) {
    const auto found = counts.find(severity);
    if (found == counts.end() || found->second == 0) continue;
    const bool note = severity == Severity::note;
    if (failures && severity == Severity::fatal) {
      parts.push_back(fmt::format("{} failure{}", found->second, found->second > 1 ? "s" : ""));
      continue;
    }
    parts.push_back(
        fmt::format("{} {}{}", found->second, consequence(severity), note && found->second > 1 ? "s" : ""));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

/// True when a log alone tells of something that is not compiling.
bool tells_other_failures(const Diagnosis& run) {
  const auto other = [](Stage stage) {
    return stage != Stage::unknown && stage != Stage::build && stage != Stage::prepare;
  };
  if (run.model) return false;
  return std::any_of(run.findings.begin(), run.findings.end(),
                     [&](const Finding& finding) { return other(finding.stage); }) ||
         std::any_of(run.unexplained.begin(), run.unexplained.end(),
                     [&](int index) { return other(run.log[static_cast<std::size_t>(index)].stage); });
}

}  // namespace

std::string counts_words(const SeverityCounts& counts) { return count_words(counts, false); }

std::string counts_words(const Diagnosis& run, const SeverityCounts& counts) {
  return count_words(counts, tells_other_failures(run));
}

std::string accepted_words(const Diagnosis& run) {
  int accepted = 0;
  for (const auto& [severity, count] : count_accepted(run)) accepted += count;
  if (accepted == 0) return "";
  const Suppression& first =
      run.accepted.empty() ? run.accepted_lines.front().suppression : run.accepted.front().suppression;
  return fmt::format("{} accepted by {} ({})", accepted, first.baseline, counts_words(count_accepted(run)));
}

std::string summary_words(const Diagnosis& run) {
  if (!run.error_code.empty()) return "failed: " + run.error_message;
  int found = 0, left = 0;
  for (const auto& [severity, count] : run.before) found += count;
  for (const auto& [severity, count] : run.after) left += count;
  if (found == 0) return "nothing found";
  std::string words = fmt::format("{} found ({})", found, counts_words(run, run.before));
  const std::string accepted = accepted_words(run);
  if (!accepted.empty()) words += ", " + accepted;
  if (run.command != "fix" && accepted.empty()) return words;
  if (run.command == "fix") words += fmt::format(", {} {}", run.fixed, fixed_word(run));
  const std::string_view would = run.dry_run ? "would be " : "";
  return words + (left == 0 ? fmt::format(", nothing {}left", would)
                            : fmt::format(", {} {}left ({})", left, would, counts_words(run, run.after)));
}

std::string ending_words(const Diagnosis& run) {
  const Ending ending = ending_of(run);
  if (ending == Ending::none) return "";
  const std::string& target = run.targets.front().name;
  const std::string_view takes = run.dry_run ? "would then take" : "should now take";
  const auto silent = run.after.find(Severity::silent);
  switch (ending) {
    case Ending::accepted:
      return fmt::format(
          "{} {} the whole graph{}", target, takes,
          silent != run.after.end() && silent->second > 0 ? ", with the wrong results that are left" : "");
    case Ending::uncompared:
      return fmt::format("{} {} every operator; that the numbers are the same as before is not shown", target,
                         takes);
    case Ending::unequal:
      return fmt::format("{} {} every operator, but the model computes other numbers than before", target,
                         takes);
    case Ending::unsettled:
      return fmt::format("{} is not known to take it: what is left above stands against it", target);
    case Ending::refused:
    case Ending::none:
      break;
  }
  return fmt::format("{} would still refuse it", target);
}

std::string whole_words(const Diagnosis& run) {
  if (!run.verification)
    return run.not_compared.empty() ? "" : "not compared as a whole: " + run.not_compared;
  const ReportedVerification& v = *run.verification;
  std::string words = fmt::format("{} on {} sample{}",
                                  v.equal           ? "equal"
                                  : v.numbers_equal ? "the numbers are equal"
                                                    : "NOT equal",
                                  v.samples, v.samples == 1 ? "" : "s");
  if (!v.ordinary && !v.extreme)
    return words + fmt::format(" (largest difference {:.2g}, {:.2g} of the largest output; {})", v.max_abs,
                               v.max_rel, v.runtime);
  std::vector<std::string> parts;
  if (v.ordinary && v.ordinary->samples > 0)
    parts.push_back(
        v.ordinary->max_abs == 0
            ? fmt::format("no difference on {} ordinary", v.ordinary->samples)
            : fmt::format("largest difference {:.2g} ({:.2g} of the largest output) on {} ordinary",
                          v.ordinary->max_abs, v.ordinary->max_rel, v.ordinary->samples));
  if (v.extreme && v.extreme->samples > 0)
    parts.push_back(v.extreme->max_rel == 0
                        ? fmt::format("none on {} with extreme values", v.extreme->samples)
                        : fmt::format("{:.2g} of the largest output on {} with extreme values",
                                      v.extreme->max_rel, v.extreme->samples));
  return words + fmt::format(": {} ({})", fmt::join(parts, ", "), v.runtime);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace md::reporters

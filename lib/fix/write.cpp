#include "lib/fix/write.h"

#include <fmt/format.h>

#include <span>

#include "lib/diagnose/ending.h"
#include "lib/edit/changes.h"
#include "lib/fix/whole.h"
#include "lib/report/report.h"

namespace md {
namespace {

/// The file that was written holds exactly the edited graph.
Status accept_written(const Model& edited, const Document& written) {
  if (const auto difference = same_structure(edited, written.model()))
    return fail(Error::Kind::check, "the written file differs from what was meant: " + *difference);
  return {};
}

const Model& start_of(const FixOutcome& outcome) {
  return outcome.start ? *outcome.start : outcome.document->model();
}

void compare_only(FixOutcome& outcome, const WriteSettings& settings) {
  Diagnosis& diagnosis = outcome.diagnosis;
  if (outcome.edited)
    if (auto status =
            compare_whole(start_of(outcome), *outcome.edited, settings.max_error, settings.values, diagnosis);
        !status)
      fail_run(diagnosis, exit_code(status.error()), "check", status.error().message);
  if (settings.require_comparison) require_comparison(diagnosis);
}

void failed_to_write(Diagnosis& diagnosis, const Error& error, std::string_view rest) {
  fail_run(diagnosis, exit_code(error), error.kind == Error::Kind::check ? "check" : "write",
           fmt::format("{}{}", error.message, rest));
}

constexpr std::string_view kNothingWritten = "; nothing was written";

/// False where the model could not be written: the diagnosis cannot either then, and its error would hide the
/// first. A model that was refuted is not written, but its diagnosis is.
bool stage_model(FixOutcome& outcome, const WriteSettings& settings, StagedFiles& files) {
  Diagnosis& diagnosis = outcome.diagnosis;
  const bool changed = outcome.edited.has_value();
  const Model& model = changed ? *outcome.edited : outcome.document->model();
  auto output = files.add_model(*outcome.document, model, outcome.plan.model_path,
                                [&](const Document& written) -> Status {
                                  if (auto status = accept_written(model, written); !status || !changed)
                                    return status;
                                  return compare_whole(start_of(outcome), written.model(), settings.max_error,
                                                       settings.values, diagnosis);
                                });
  const bool refuted = !output && output.error().kind == Error::Kind::check;
  if (output)
    diagnosis.output = std::move(*output);
  else
    failed_to_write(diagnosis, output.error(), refuted ? "" : kNothingWritten);
  if (settings.require_comparison) require_comparison(diagnosis);
  return output || refuted;
}

}  // namespace

void write_outputs(FixOutcome& outcome, const WriteSettings& settings) {
  if (settings.dry_run) return compare_only(outcome, settings);
  Diagnosis& diagnosis = outcome.diagnosis;
  const bool write = outcome.edited.has_value() || (outcome.plan.named && !outcome.plan.in_place);
  StagedFiles files;
  if (write && !stage_model(outcome, settings, files)) return;
  if (!write && diagnosis.findings.empty() && diagnosis.unexplained.empty() &&
      diagnosis.unexplained_predictions.empty())
    return;
  auto staged =
      files.add_text(outcome.plan.diagnosis_path, render(std::span(&diagnosis, 1), ReportFormat::json));
  if (!staged)
    failed_to_write(diagnosis, staged.error(), kNothingWritten);
  else if (auto status = files.commit(); !status)
    failed_to_write(diagnosis, status.error(), "");
  if (!files.committed_any()) diagnosis.output.reset();
}

}  // namespace md

#include "lib/report/shown.h"

#include "lib/base/escape.h"

namespace md::reporters {
namespace {

void line(std::string& text) { text = escape_terminal(text); }
void lines(std::string& text) { text = escape_terminal_lines(text); }
void each_line(std::vector<std::string>& texts) {
  for (std::string& text : texts) line(text);
}

void location(ReportedLocation& at) {
  for (std::string* text : {&at.op, &at.value, &at.layer, &at.shape, &at.dtype}) line(*text);
  for (ReportedSource& source : at.source) line(source.file), line(source.function);
}

void fix(ReportedFix& fix) {
  for (std::string* text : {&fix.title, &fix.applicability, &fix.exactness, &fix.reason}) line(*text);
  for (ReportedProof& proof : fix.proofs)
    for (std::string* text :
         {&proof.method, &proof.dtype, &proof.nonfinite, &proof.counterexample, &proof.note})
      line(*text);
}

void finding(Finding& f) {
  for (std::string* text : {&f.rule, &f.name, &f.severity, &f.state, &f.message, &f.reason, &f.attribution,
                            &f.fault, &f.stage, &f.docs, &f.fingerprint})
    line(*text);
  lines(f.at_source);
  each_line(f.caused_by), each_line(f.mendable_in);
  for (ReportedLocation& at : f.locations) location(at);
  for (ReportedFix& one : f.fixes) fix(one);
}

void suppression(Suppression& s) {
  for (std::string* text : {&s.baseline, &s.entry, &s.reason, &s.owner, &s.until}) line(*text);
}

}  // namespace

Diagnosis shown(Diagnosis run) {
  for (std::string* text : {&run.command, &run.status, &run.error_code, &run.rules_version}) line(*text);
  line(run.stated_name), line(run.not_compared), lines(run.error_message);
  each_line(run.log_paths), each_line(run.options), each_line(run.recipe);
  for (AcceptedFinding& one : run.accepted) finding(one.finding), suppression(one.suppression);
  for (AcceptedLine& one : run.accepted_lines) lines(one.text), suppression(one.suppression);
  if (run.model)
    for (std::string* text : {&run.model->path, &run.model->format, &run.model->sha256}) line(*text);
  for (ReportedTarget& target : run.targets)
    for (std::string* text : {&target.name, &target.version, &target.table, &target.source}) line(*text);
  if (run.prediction) {
    line(run.prediction->verdict), line(run.prediction->after_verdict);
    for (ReportedPrediction::Row& row : run.prediction->records) line(row.text);
  }
  for (ReportedRecord& record : run.log) {
    line(record.path), line(record.tool), lines(record.text);
    each_line(record.rules);
    for (std::string* text : {&record.stage, &record.op, &record.node, &record.condition, &record.status,
                              &record.source, &record.frame, &record.shown})
      line(*text);
  }
  for (Finding& one : run.findings) finding(one);
  each_line(run.unexplained_predictions), each_line(run.ruled_out), each_line(run.notes);
  if (run.verification) {
    line(run.verification->runtime), line(run.verification->note);
    each_line(run.verification->interface);
  }
  if (run.output) line(run.output->path), line(run.output->sha256);
  return run;
}

}  // namespace md::reporters

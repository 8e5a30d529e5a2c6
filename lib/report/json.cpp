// The JSON diagnosis: design of the fields in schema.cpp. Keys are sorted, numbers that JSON lacks are
// strings.
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/program_version.h"
#include "lib/diagnose/ending.h"
#include "lib/report/formats.h"

namespace md::reporters {
namespace {

using Json = nlohmann::json;

Json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json location_json(const ReportedLocation& at) {
  Json source = Json::array();
  for (const ReportedSource& s : at.source)
    source.push_back({{"file", s.file}, {"function", s.function}, {"line", s.line}});
  return {{"graph", at.graph}, {"node", at.node < 0 ? Json(nullptr) : Json(at.node)},
          {"op", at.op},       {"value", at.value},
          {"layer", at.layer}, {"shape", at.shape},
          {"dtype", at.dtype}, {"origin", at.origin},
          {"source", source}};
}

Json proof_json(const ReportedProof& proof) {
  return {{"method", proof.method},
          {"dtype", proof.dtype},
          {"samples", proof.samples},
          {"max_abs", number(proof.max_abs)},
          {"max_rel", number(proof.max_rel)},
          {"max_ulp", number(proof.max_ulp)},
          {"equal", proof.equal},
          {"nonfinite", text_or_null(proof.nonfinite)},
          {"counterexample", text_or_null(proof.counterexample)},
          {"note", text_or_null(proof.note)}};
}

Json fix_json(const ReportedFix& fix) {
  Json proofs = Json::array();
  for (const ReportedProof& proof : fix.proofs) proofs.push_back(proof_json(proof));
  Json json = {{"title", fix.title},
               {"applicability", fix.applicability},
               {"exactness", fix.exactness},
               {"applied", fix.applied},
               {"reason", text_or_null(fix.reason)},
               {"proofs", proofs},
               {"cost", {{"ops", fix.cost.ops}, {"bytes", fix.cost.bytes}, {"macs", fix.cost.macs}}}};
  if (fix.needs_asking) json["needs_asking"] = true;
  return json;
}

Json finding_json(const Finding& finding) {
  Json locations = Json::array(), fixes = Json::array();
  for (const ReportedLocation& at : finding.locations) locations.push_back(location_json(at));
  for (const ReportedFix& fix : finding.fixes) fixes.push_back(fix_json(fix));
  Json json = {{"rule", finding.rule},
               {"name", finding.name},
               {"severity", finding.severity},
               {"state", finding.state},
               {"message", finding.message},
               {"reason", text_or_null(finding.reason)},
               {"round", finding.round},
               {"assumed", finding.assumed},
               {"attribution", text_or_null(finding.attribution)},
               {"caused_by", finding.caused_by},
               {"fingerprint", finding.fingerprint},
               {"docs", text_or_null(finding.docs)},
               {"at_source", text_or_null(finding.at_source)},
               {"locations", locations},
               {"log", finding.log},
               {"fixes", fixes},
               {"open", finding.open()}};
  if (!finding.fault.empty()) json["fault"] = finding.fault;
  if (!finding.stage.empty()) json["stage"] = finding.stage;
  if (!finding.mendable_in.empty()) json["mendable_in"] = finding.mendable_in;
  return json;
}

/// What failures say besides their words stands only where it is known.
Json record_json(const ReportedRecord& r) {
  Json json = {{"path", r.path}, {"line", r.line},   {"text", r.text},
               {"tool", r.tool}, {"rules", r.rules}, {"benign", r.benign}};
  if (r.failure > 0) json["failure"] = r.failure;
  for (const auto& [key, text] : {std::pair{"stage", &r.stage},
                                  {"op", &r.op},
                                  {"node", &r.node},
                                  {"condition", &r.condition},
                                  {"status", &r.status},
                                  {"source", &r.source},
                                  {"frame", &r.frame},
                                  {"shown", &r.shown}})
    if (!text->empty()) json[key] = *text;
  if (!r.consequences.empty()) json["consequences"] = r.consequences;
  return json;
}

Json prediction_json(const ReportedPrediction& prediction) {
  Json records = Json::array();
  for (const ReportedPrediction::Row& row : prediction.records)
    records.push_back({{"text", row.text},
                       {"graph", row.graph},
                       {"node", row.node < 0 ? Json(nullptr) : Json(row.node)},
                       {"hidden", row.hidden}});
  return {{"verdict", prediction.verdict},
          {"verdict_after", text_or_null(prediction.after_verdict)},
          {"records", records}};
}

Json difference_json(const std::optional<ReportedDifference>& d) {
  if (!d) return nullptr;
  return {{"samples", d->samples}, {"max_abs", number(d->max_abs)}, {"max_rel", number(d->max_rel)}};
}

Json verification_json(const ReportedVerification& v) {
  return {{"runtime", v.runtime},
          {"ordinary", difference_json(v.ordinary)},
          {"extreme", difference_json(v.extreme)},
          {"note", text_or_null(v.note)},
          {"samples", v.samples},
          {"max_abs", number(v.max_abs)},
          {"max_rel", number(v.max_rel)},
          {"argmax_agreement", v.argmax_agreement ? number(*v.argmax_agreement) : Json(nullptr)},
          {"equal", v.equal},
          {"numbers_equal", v.numbers_equal},
          {"interface", v.interface}};
}

Json suppression_json(const Suppression& suppression) {
  return {{"baseline", suppression.baseline},
          {"entry", suppression.entry},
          {"reason", text_or_null(suppression.reason)},
          {"owner", text_or_null(suppression.owner)},
          {"until", text_or_null(suppression.until)}};
}

/// Only where a baseline accepted something: what was written without one keeps its bytes.
void add_accepted(const Diagnosis& d, Json& json) {
  if (!d.stated_name.empty()) json["model_name"] = d.stated_name;
  if (d.accepted.empty() && d.accepted_lines.empty()) return;
  Json findings = Json::array(), lines = Json::array();
  for (const AcceptedFinding& accepted : d.accepted) {
    Json finding = finding_json(accepted.finding);
    finding["suppression"] = suppression_json(accepted.suppression);
    findings.push_back(std::move(finding));
  }
  for (const AcceptedLine& line : d.accepted_lines)
    lines.push_back({{"log", line.log < 0 ? Json(nullptr) : Json(line.log)},
                     {"text", line.text},
                     {"suppression", suppression_json(line.suppression)}});
  json["suppressed"] = {{"findings", findings}, {"unexplained", lines}};
  json["summary"]["accepted"] = count_accepted(d);
}

Json diagnosis_json(const Diagnosis& d) {
  Json targets = Json::array(), log = Json::array(), findings = Json::array();
  for (const ReportedTarget& t : d.targets)
    targets.push_back({{"name", t.name},
                       {"version", t.version},
                       {"table", text_or_null(t.table)},
                       {"source", t.source},
                       {"assumed", t.assumed}});
  for (const ReportedRecord& r : d.log) log.push_back(record_json(r));
  for (const Finding& finding : d.findings) findings.push_back(finding_json(finding));
  Json json = {
      {"schema_version", "1.0"},
      {"tool", {{"name", kGenerator}, {"version", program_version()}, {"rules_version", d.rules_version}}},
      {"command", d.command},
      {"exit_code", d.exit_code},
      {"status", d.status},
      {"target", targets},
      {"log", log},
      {"findings", findings},
      {"unexplained", d.unexplained},
      {"unexplained_predictions", d.unexplained_predictions},
      {"ruled_out", d.ruled_out},
      {"notes", d.notes},
      {"summary", {{"before", d.before}, {"after", d.after}, {"fixed", d.fixed}}},
      {"model", nullptr},
      {"prediction", nullptr},
      {"verification", nullptr},
      {"output", nullptr},
      {"error", nullptr}};
  if (d.model) {
    const bool read = !d.model->format.empty();  // else the run failed before
    json["model"] = {{"path", d.model->path},
                     {"format", text_or_null(d.model->format)},
                     {"bytes", read ? Json(d.model->bytes) : Json(nullptr)},
                     {"sha256", text_or_null(d.model->sha256)},
                     {"nodes", read ? Json(d.model->nodes) : Json(nullptr)}};
  }
  if (d.prediction) json["prediction"] = prediction_json(*d.prediction);
  if (d.verification) json["verification"] = verification_json(*d.verification);
  if (d.output)
    json["output"] = {
        {"path", d.output->path}, {"sha256", text_or_null(d.output->sha256)}, {"bytes", d.output->bytes}};
  add_accepted(d, json);
  if (d.dry_run) {
    json["dry_run"] = true;
    json["summary"]["fixed"] = 0;
    json["summary"]["would_fix"] = d.fixed;
  }
  if (const Ending ending = ending_of(d); ending != Ending::none) json["ending"] = name(ending);
  if (!d.not_compared.empty()) json["not_compared"] = d.not_compared;
  if (!d.options.empty()) json["options"] = d.options;
  if (!d.recipe.empty()) json["recipe"] = d.recipe;
  if (!d.error_code.empty()) json["error"] = {{"code", d.error_code}, {"message", d.error_message}};
  return json;
}

/// Names in files need not be UTF-8; bytes that are not become U+FFFD.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json(Runs runs) {
  if (runs.size() == 1) return dump(diagnosis_json(runs.front()), 2) + "\n";
  Json all = {{"runs", Json::array()}};
  for (const Diagnosis& run : runs) all["runs"].push_back(diagnosis_json(run));
  return dump(all, 2) + "\n";
}

std::string json_lines(Runs runs) {
  std::string lines;
  for (const Diagnosis& run : runs) lines += dump(diagnosis_json(run), -1) + "\n";
  return lines;
}

}  // namespace md::reporters

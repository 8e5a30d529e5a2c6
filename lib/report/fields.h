// The one table of what the JSON diagnosis holds. Writer (json.cpp), reader (read.cpp), schema (schema.cpp)
// and the escapes for people (shown.cpp) are visitors of it: a new field is one line here.
//
// A visitor V has V::Of<T> (T, const where it only reads) and
//   field(name, value, how, about)            a member; `how` is of How
//   constant(name, text, about)               always the same text
//   nullable(name, value, present, about)     null where `present` is false, whatever the value
//   computed(name, present, value, set, about)   no member: written where `present`; a reader gives what it
//                                             found to `set`
//   object(name, how, present, fields)        a nested object that has no struct of its own; fields(V&)
// Keys are sorted by whoever writes them. What a field means is said once, here: `about` is the schema's
// description.
#pragma once
#include <string_view>

#include "lib/base/program_version.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/diagnose/ending.h"
#include "lib/report/formats.h"

namespace md::reporters {

/// How a value becomes JSON; combined with |.
enum How : unsigned {
  kPlain = 0,
  kNullIfEmpty = 1,  ///< "", none, nullopt: null
  kOmitIfEmpty = 2,  ///< "", an empty list, false, 0: no key
  kNullIfBelow = 4,  ///< a negative index: null
  kCount = 8,        ///< an integer, or a list of them, that is never negative
  kNewer = 16,       ///< always written, but diagnoses of older versions lack it
  kLines = 32,       ///< a text that keeps its line ends where people read it
  kFromOne = 64,     ///< an integer from 1
  kExitCodes = 128   ///< 0 to 4
};
constexpr How operator|(How a, How b) {
  return static_cast<How>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// What the schema calls a struct.
template <class T>
inline constexpr std::string_view kDefinition = "";
template <>
inline constexpr std::string_view kDefinition<ReportedSource> = "source";
template <>
inline constexpr std::string_view kDefinition<ReportedLocation> = "location";
template <>
inline constexpr std::string_view kDefinition<ReportedProof> = "proof";
template <>
inline constexpr std::string_view kDefinition<ReportedCost> = "cost";
template <>
inline constexpr std::string_view kDefinition<ReportedFix> = "fix";
template <>
inline constexpr std::string_view kDefinition<Finding> = "finding";
template <>
inline constexpr std::string_view kDefinition<ReportedRecord> = "record";
template <>
inline constexpr std::string_view kDefinition<ReportedTarget> = "target";
template <>
inline constexpr std::string_view kDefinition<ReportedPrediction::Row> = "prediction_record";
template <>
inline constexpr std::string_view kDefinition<ReportedPrediction> = "prediction";
template <>
inline constexpr std::string_view kDefinition<ReportedModel> = "model";
template <>
inline constexpr std::string_view kDefinition<ReportedDifference> = "difference";
template <>
inline constexpr std::string_view kDefinition<ReportedVerification> = "verification";
template <>
inline constexpr std::string_view kDefinition<ReportedOutput> = "output";
template <>
inline constexpr std::string_view kDefinition<Suppression> = "suppression";
template <>
inline constexpr std::string_view kDefinition<AcceptedFinding> = "suppressed_finding";
template <>
inline constexpr std::string_view kDefinition<AcceptedLine> = "suppressed_line";
template <>
inline constexpr std::string_view kDefinition<Diagnosis> = "diagnosis";

template <class V>
void fields(V& v, typename V::template Of<ReportedSource>& source) {
  v.field("file", source.file);
  v.field("line", source.line);
  v.field("function", source.function);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedLocation>& at) {
  v.field("graph", at.graph);
  v.field("node", at.node, kNullIfBelow, "position in the input file; null: made by an earlier fix");
  v.field("op", at.op);
  v.field("value", at.value);
  v.field("layer", at.layer);
  v.field("shape", at.shape);
  v.field("dtype", at.dtype);
  v.field("origin", at.origin, kPlain, "input-file nodes that a made node came from");
  v.field("source", at.source);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedProof>& proof) {
  v.field("method", proof.method);
  v.field("dtype", proof.dtype);
  v.field("samples", proof.samples, kCount);
  v.field("max_abs", proof.max_abs);
  v.field("max_rel", proof.max_rel);
  v.field("max_ulp", proof.max_ulp);
  v.field("equal", proof.equal);
  v.field("nonfinite", proof.nonfinite, kNullIfEmpty);
  v.field("counterexample", proof.counterexample, kNullIfEmpty);
  v.field("note", proof.note, kNullIfEmpty);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedCost>& cost) {
  v.field("ops", cost.ops, kPlain, "after minus before: operators");
  v.field("bytes", cost.bytes, kPlain, "of constants");
  v.field("macs", cost.macs, kPlain, "multiply-adds");
}

template <class V>
void fields(V& v, typename V::template Of<ReportedFix>& fix) {
  v.field("title", fix.title);
  v.field("applicability", fix.applicability);
  v.field("exactness", fix.exactness);
  v.field("applied", fix.applied);
  v.field("reason", fix.reason, kNullIfEmpty);
  v.field("needs_asking", fix.needs_asking, kOmitIfEmpty,
          "mends a note that nothing shows to do harm; reason says how to ask for it");
  v.field("cost", fix.cost);
  v.field("proofs", fix.proofs);
}

template <class V>
void fields(V& v, typename V::template Of<Finding>& finding) {
  v.field("rule", finding.rule);
  v.field("name", finding.name);
  v.field("severity", finding.severity, kPlain,
          "will not compile; runs with wrong numbers; slow; worth knowing");
  v.field("state", finding.state);
  v.field("message", finding.message);
  v.field("reason", finding.reason, kNullIfEmpty, "why it was not rewritten");
  v.field("round", finding.round, kFromOne);
  v.field("assumed", finding.assumed);
  v.field("attribution", finding.attribution, kNullIfEmpty, "how log lines were tied to nodes");
  v.field("caused_by", finding.caused_by);
  v.field(
      "fingerprint", finding.fingerprint, kPlain,
      "of model, rule, layer, operator and occurrence: differs for every finding, stays when the model is "
      "exported again");
  v.field("docs", finding.docs, kNullIfEmpty);
  v.field("at_source", finding.at_source, kNullIfEmpty | kLines);
  v.field("locations", finding.locations);
  v.field("log", finding.log, kCount, "indices into log");
  v.field("fixes", finding.fixes);
  v.computed(
      "fault", finding.fault != Blame::model, finding.fault, [&](auto fault) { finding.fault = fault; },
      "who is to blame, where it is not the model");
  v.field("stage", finding.stage, kOmitIfEmpty, "what the tool did when it failed");
  v.field("mendable_in", finding.mendable_in, kOmitIfEmpty,
          "from a log alone: formats of model files that a fix exists for");
  v.computed(
      "open", true, finding.open(), [&](auto open) { finding.mended = !open; },
      "no fix that was applied mends it");
}

template <class V>
void fields(V& v, typename V::template Of<Suppression>& suppression) {
  v.field("baseline", suppression.baseline);
  v.field("entry", suppression.entry);
  v.field("reason", suppression.reason, kNullIfEmpty);
  v.field("owner", suppression.owner, kNullIfEmpty);
  v.field("until", suppression.until, kNullIfEmpty, "the last day");
}

template <class V>
void fields(V& v, typename V::template Of<AcceptedFinding>& accepted) {
  fields(v, accepted.finding);
  v.field("suppression", accepted.suppression);
}

template <class V>
void fields(V& v, typename V::template Of<AcceptedLine>& accepted) {
  v.field("log", accepted.log, kNullIfBelow, "index into log; null: a prediction");
  v.field("text", accepted.text, kLines);
  v.field("suppression", accepted.suppression);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedRecord>& record) {
  v.field("path", record.path);
  v.field("line", record.line);
  v.field("text", record.text, kLines);
  v.field("tool", record.tool);
  v.field("rules", record.rules);
  v.field("benign", record.benign, kPlain, "successful runs print it too");
  v.field("failure", record.failure, kOmitIfEmpty | kFromOne, "records of one number are one failure");
  v.field("stage", record.stage, kOmitIfEmpty, "what the tool did when it failed");
  v.field("op", record.op, kOmitIfEmpty, "the operator that it names");
  v.field("node", record.node, kOmitIfEmpty, "its number or name");
  v.field("condition", record.condition, kOmitIfEmpty, "what did not hold");
  v.field("status", record.status, kOmitIfEmpty, "a status number and what it means");
  v.field("source", record.source, kOmitIfEmpty, "where in the tool");
  v.field("frame", record.frame, kOmitIfEmpty, "where in the user's code");
  v.field("shown", record.shown, kOmitIfEmpty,
          "the line of the text that says most, where it is not the first");
  v.field("consequences", record.consequences, kOmitIfEmpty | kCount, "lines that only report it again");
}

template <class V>
void fields(V& v, typename V::template Of<ReportedTarget>& target) {
  v.field("name", target.name);
  v.field("version", target.version);
  v.field("table", target.table, kNullIfEmpty, "the measured version that was used");
  v.field("source", target.source);
  v.field("assumed", target.assumed);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedPrediction::Row>& row) {
  v.field("text", row.text);
  v.field("graph", row.graph);
  v.field("node", row.node, kNullIfBelow);
  v.field("hidden", row.hidden, kPlain, "an earlier check of the node fails first");
}

template <class V>
void fields(V& v, typename V::template Of<ReportedPrediction>& prediction) {
  v.field("verdict", prediction.verdict);
  v.field("verdict_after", prediction.after_verdict, kPlain, "of the rewritten model");
  v.field("records", prediction.records);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedModel>& model) {
  const bool read = !model.format.empty();  // else the run failed before
  v.field("path", model.path);
  v.field("format", model.format, kNullIfEmpty,
          "null, like the counts: the run failed before the file was read");
  v.nullable("bytes", model.bytes, read);
  v.field("sha256", model.sha256, kNullIfEmpty);
  v.nullable("nodes", model.nodes, read);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedDifference>& difference) {
  v.field("samples", difference.samples, kCount);
  v.field("max_abs", difference.max_abs);
  v.field("max_rel", difference.max_rel, kPlain, "of the largest |output| of its sample");
}

template <class V>
void fields(V& v, typename V::template Of<ReportedVerification>& verification) {
  v.field("runtime", verification.runtime);
  v.field("note", verification.note, kNullIfEmpty);
  v.field("samples", verification.samples, kCount);
  v.field("max_abs", verification.max_abs);
  v.field("max_rel", verification.max_rel);
  v.field("argmax_agreement", verification.argmax_agreement);
  v.field("ordinary", verification.ordinary, kNewer, "on inputs as a model meets them");
  v.field("extreme", verification.extreme, kNewer, "on huge and non-finite inputs: max_rel says something");
  v.field("equal", verification.equal);
  v.field("numbers_equal", verification.numbers_equal, kNewer);
  v.field("interface", verification.interface, kNewer);
}

template <class V>
void fields(V& v, typename V::template Of<ReportedOutput>& output) {
  v.field("path", output.path);
  v.field("sha256", output.sha256, kNullIfEmpty);
  v.field("bytes", output.bytes);
}

/// Counts. In a dry run nothing was fixed, whatever would be.
template <class V>
void summary_fields(V& v, typename V::template Of<Diagnosis>& d) {
  const SeverityCounts accepted = count_accepted(d);
  const auto keep = [&](auto fixed) { d.fixed = fixed; };
  v.field("before", d.before);
  v.field("after", d.after);
  v.computed("fixed", true, d.dry_run ? 0 : d.fixed, keep, "0 in a dry run");
  v.computed("would_fix", d.dry_run, d.fixed, keep, "in a dry run only");
  v.computed(
      "accepted", !accepted.empty(), accepted, [](const auto&) {}, "suppressed, by severity");
}

template <class V>
void fields(V& v, typename V::template Of<Diagnosis>& d) {
  v.constant("schema_version", "1.0");
  v.object("tool", kPlain, true, [&](auto& tool) {
    tool.constant("name", kGenerator);
    tool.constant("version", program_version());
    tool.field("rules_version", d.rules_version, kPlain, "changes when any rule page changes");
  });
  v.field("command", d.command);
  v.field("options", d.options, kOmitIfEmpty, "what to repeat with the next command");
  v.field("dry_run", d.dry_run, kOmitIfEmpty,
          "nothing was written: applied, open, after and status say what would be; absent: false");
  const Ending ending = ending_of(d);
  v.computed(
      "ending", ending != Ending::none, ending, [](auto) {},
      "of the rewritten model: accepted: the target should take it, nothing fatal or unexplained is left, "
      "the "
      "whole compared equal; uncompared: that was not compared (not_compared); unequal: other numbers; "
      "unsettled: the table objects to nothing, but something fatal or unexplained is left. Absent: nothing "
      "was rewritten, or the target has no table");
  v.field("not_compared", d.not_compared, kOmitIfEmpty,
          "why the whole was not compared; absent: it was, or nothing was rewritten");
  v.field("recipe", d.recipe, kOmitIfEmpty, "Python that takes a mended .pt2 on");
  v.field("exit_code", d.exit_code, kExitCodes);
  v.field(
      "status", d.status, kPlain,
      "fixed: something was rewritten (in a dry run: would be) and nothing at --fail-on remains; accepted: "
      "nothing counts, but a baseline accepts something");
  v.field("model_name", d.stated_name, kOmitIfEmpty,
          "what the user wants the model to be called in fingerprints");
  v.field("model", d.model);
  v.field("target", d.targets);
  v.field("prediction", d.prediction);
  v.field("log", d.log);
  v.field("findings", d.findings, kPlain, "root causes first");
  v.field("unexplained", d.unexplained, kCount, "indices into log of failures that no finding explains");
  v.field("unexplained_predictions", d.unexplained_predictions);
  v.object("suppressed", kOmitIfEmpty, !d.accepted.empty() || !d.accepted_lines.empty(),
           [&](auto& suppressed) {
             suppressed.field("findings", d.accepted, kPlain,
                              "accepted by a baseline: not in findings and not counted");
             suppressed.field("unexplained", d.accepted_lines);
           });
  v.field("ruled_out", d.ruled_out, kPlain,
          "rules without a log line that were looked for and are not there");
  v.field("notes", d.notes);
  v.field("verification", d.verification);
  v.field("output", d.output);
  v.object("summary", kPlain, true, [&](auto& summary) { summary_fields(summary, d); });
  v.object("error", kNullIfEmpty, !d.error_code.empty(), [&](auto& error) {
    error.field("code", d.error_code);
    error.field("message", d.error_message, kLines);
  });
}

}  // namespace md::reporters

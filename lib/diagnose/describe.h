// Sites of the engine as findings of the report.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/detection.h"
#include "lib/diagnose/diagnosis.h"

namespace md {

/// Without fixes; `round` from 1.
Finding describe(const FoundSite& site, const Model& model, int round, bool assumed);

/// A finding from the log alone: the page of the `which`th of the evidence's rules as advice, in the words
/// that its signature captured; places in the model when some are known.
Finding describe_log_hit(const LogEvidence& evidence, std::size_t which, int log_index, const Model* model);

/// Formats of model files (tflite, pt2) that a fix of the rule exists for; empty: no rewrite of a file mends
/// it.
std::vector<std::string> mendable_formats(const Rule& rule);

/// The lines of the page's "Save, fix, ..." that follow the call of `modeldoctor fix`: what the user's script
/// does with "model.fixed.pt2". Empty: the page has no such section.
std::vector<std::string> recipe_behind_fix(const Rule& rule);

ReportedLocation locate(const Model& model, int graph, NodeId node, ValueId value);
ReportedProof report(const Proof& proof);

}  // namespace md

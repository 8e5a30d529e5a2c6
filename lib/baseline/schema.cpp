#include "lib/baseline/baseline.h"

namespace md {
namespace {

constexpr std::string_view kSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "modeldoctor-baseline-1.0",
  "title": "What is accepted: a baseline of modeldoctor",
  "type": "object", "required": ["kind", "schema_version", "entries"],
  "properties": {
    "kind": {"const": "modeldoctor-baseline"},
    "schema_version": {"type": "string", "pattern": "^1\\."},
    "entries": {"type": "array", "items": {
      "type": "object", "required": ["model"], "additionalProperties": false,
      "properties": {
        "model": {"type": "string", "description": "path as seen from this file, or the stated name; of a log alone: the log's path"},
        "named": {"type": "boolean", "description": "model is a name that --model-name stated"},
        "kind": {"enum": ["finding", "log line", "prediction"], "description": "the last two: failures that no rule explains"},
        "rule": {"type": "string"}, "layer": {"type": "string"}, "operator": {"type": "string"},
        "occurrence": {"type": "integer", "minimum": 1, "description": "which of those that agree in all the rest"},
        "severity": {"enum": ["fatal", "silent", "perf", "note"], "description": "when it was accepted: what is worse now counts"},
        "from_log": {"type": "boolean", "description": "a log showed it: stale only where a log is given"},
        "message": {"type": "string"},
        "reason": {"type": ["string", "null"], "description": "why it is accepted"},
        "owner": {"type": ["string", "null"]},
        "until": {"type": ["string", "null"], "format": "date", "description": "the last day; null: for good"}}}}
  }
}
)json";

}  // namespace

std::string_view baseline_schema() { return kSchema; }

}  // namespace md

#include "lib/rule/page/page_data.h"

#include <fmt/format.h>

#include <string>

#include "lib/op/dialect.h"

namespace md {

std::string_view rule_schema() {
  static constexpr std::string_view text = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "modeldoctor-rule-1.0",
  "title": "The JSON block of a rule page",
  "type": "object",
  "required": ["id", "severity", "references"],
  "additionalProperties": false,
  "$defs": {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "exactness": {"enum": ["exact", "rounding", "bounded"]}
  },
  "properties": {
    "id": {"type": "string", "description": "letters and digits, also the beginning of the file's name"},
    "severity": {"enum": ["fatal", "silent", "perf", "note"],
                 "description": "will not compile; runs and is wrong; falls back or takes long; worth knowing"},
    "fault": {"enum": ["model", "usage", "environment", "versions", "tool-bug"],
              "description": "who is to blame; absent: the model. For the others a finding says that the model need not change"},
    "log": {"$ref": "#/$defs/texts",
            "description": "log signatures: literal text with {name:word|int|shape|text}, a literal of 8 characters at least"},
    "graph": {"type": "boolean", "description": "fires on its pattern alone, without a log line"},
    "symptom": {"enum": ["zeros", "nan", "wrong", "first-token-right", "degrades", "state"]},
    "runtimes": {"type": "array", "description": "where it fails; absent: on every target",
                 "items": {"type": "object", "required": ["target"], "additionalProperties": false,
                           "properties": {"target": {"$ref": "#/$defs/text"},
                                          "fails": {"type": "string", "description": "\">=2.1.5 <2.3\", \"==2.1.3\" or \"*\""},
                                          "case": {"type": "string", "description": "the part of the fault that these versions have; the detector asks for it by this word"}}}},
    "stops_fallback": {"type": "boolean",
                       "description": "fails inside the runtime's kernels: a target that may fall back to the CPU fails as well"},
    "applicability": {"enum": ["safe", "unsafe", "manual"]},
    "exactness": {"description": "what every fix is; a list where a detector says which for each",
                  "oneOf": [{"$ref": "#/$defs/exactness"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/exactness"}}]},
    "judge": {"enum": ["equality", "fp16"],
              "description": "how a fix is judged: it computes the same, or it is nearer to fp32 in fp16"},
    "assumes": {"type": "string", "description": "what a fix takes for granted about values: it is unsafe for that reason"},
    "drops_checks": {"type": "string", "description": "what the checks that a fix removes would have stopped: it is unsafe for that reason"},
    "references": {"$ref": "#/$defs/texts", "description": "at least one address"},
    "aliases": {"$ref": "#/$defs/texts", "description": "names that people know it by"},
    "docs": {"$ref": "#/$defs/texts"},
    "fixed_by": {"type": "string", "description": "the version, or the change that no release has yet"},
    "setting": {"type": "string", "description": "an option that avoids it"},
    "formats": {"type": "array", "items": {"enum": [FORMATS]}},
    "summary": {"type": "string", "description": "one sentence for findings"},
    "message": {"type": "string", "description": "one sentence for findings instead of the summary, with {words} of the match"},
    "reason": {"type": "string", "description": "what to do, for findings without a fix, with {words}"},
    "rows": {"type": "object", "required": ["by", "table"], "additionalProperties": false,
             "description": "texts by a word of the match; a row's message, reason and at_source replace the page's",
             "properties": {"by": {"$ref": "#/$defs/text"},
                            "table": {"type": "object",
                                      "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/text"}}}}},
    "at_source": {"type": "string", "description": "one sentence for findings instead of the section \"At the source\", with {words}"},
    "detector": {"type": "boolean", "description": "a C++ detector of the same name stands beside the page"},
    "roots": {"$ref": "#/$defs/texts",
              "description": "operators at which the detector's sites begin; \"aten.cat.*\" is every overload, \"binary elementwise\" a class"},
    "scans": {"type": "boolean", "description": "the detector looks at the whole graph by itself"},
    "no_model_example": {"type": "string", "description": "why the page has no model that fires"}
  }
}
)json";
  static const std::string schema = [] {
    std::string filled(text), formats;
    for (const Dialect* known : dialects())
      formats += fmt::format("{}\"{}\"", formats.empty() ? "" : ", ", known->name);
    constexpr std::string_view place = "FORMATS";
    filled.replace(filled.find(place), place.size(), formats);
    return filled;
  }();
  return schema;
}

}  // namespace md

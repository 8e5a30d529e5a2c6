#include "lib/rule/page_data.h"

namespace md {

std::string_view rule_schema() {
  static constexpr std::string_view schema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "modeldoctor-rule-1.0",
  "title": "The JSON block of a rule page",
  "type": "object",
  "required": ["id", "severity", "references"],
  "additionalProperties": false,
  "$defs": {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}}
  },
  "properties": {
    "id": {"type": "string", "description": "letters and digits, also the beginning of the file's name"},
    "severity": {"enum": ["fatal", "silent", "perf", "note"],
                 "description": "will not compile; runs and is wrong; falls back or takes long; worth knowing"},
    "log": {"$ref": "#/$defs/texts",
            "description": "log signatures: literal text with {name:word|int|shape|text}, a literal of 8 characters at least"},
    "graph": {"type": "boolean", "description": "fires on its pattern alone, without a log line"},
    "symptom": {"enum": ["zeros", "nan", "wrong", "first-token-right", "degrades", "state"]},
    "runtimes": {"type": "array", "description": "where it fails; absent: on every target",
                 "items": {"type": "object", "required": ["target"], "additionalProperties": false,
                           "properties": {"target": {"$ref": "#/$defs/text"},
                                          "fails": {"type": "string", "description": "\">=2.1.5 <2.3\", \"==2.1.3\" or \"*\""}}}},
    "applicability": {"enum": ["safe", "unsafe", "manual"]},
    "exactness": {"enum": ["exact", "rounding", "bounded"]},
    "references": {"$ref": "#/$defs/texts", "description": "at least one address"},
    "aliases": {"$ref": "#/$defs/texts", "description": "names that people know it by"},
    "docs": {"$ref": "#/$defs/texts"},
    "fixed_by": {"type": "string", "description": "the version, or the change that no release has yet"},
    "setting": {"type": "string", "description": "an option that avoids it"},
    "formats": {"type": "array", "items": {"enum": ["tflite", "onnx", "pt2", "pte"]}},
    "summary": {"type": "string", "description": "one sentence for findings"},
    "detector": {"type": "boolean", "description": "a C++ detector of the same name stands beside the page"},
    "no_model_example": {"type": "string", "description": "why the page has no model that fires"}
  }
}
)json";
  return schema;
}

}  // namespace md

// Just enough of JSON Schema (2020-12) to hold our own schema against real output: type, enum, const,
// properties, required, additionalProperties, items, anyOf, oneOf, $ref, minimum, and patterns that are an
// anchored prefix.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace md::test {

/// Places and reasons where `value` breaks `schema`; empty: it is valid.
std::vector<std::string> schema_violations(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace md::test

// The data of a rule page: its JSON block.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/rule/page/rule.h"

namespace md {

/// Fills the fields of `rule` from the JSON text that begins at `line` of `path`. Unknown keys, wrong types,
/// unknown words and signatures that do not compile are errors (path:line).
Status read_rule_data(const std::string& path, int line, std::string_view json, Rule& rule);

/// Every key that the block may have.
std::vector<std::string> rule_data_keys();

/// JSON Schema (2020-12) of that block, for editors.
std::string_view rule_schema();

}  // namespace md

// Versions that a log tells: by source positions that only one LiteRT release has, or in words
// ("torch==2.13.0").
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace md {

/// "litert_compiled_model.h:1961" -> "2.3.0"; empty when the position tells nothing.
std::string_view litert_version_of(std::string_view source_position);

/// Finds "NAME VERSION", "NAME==VERSION", "NAME(VERSION)" of known packages in `text` and adds them, tool ->
/// version. A version that is already there stays.
void find_stated_versions(std::string_view text, std::map<std::string, std::string>& versions);

}  // namespace md

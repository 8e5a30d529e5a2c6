// Blessed texts: MODELDOCTOR_BLESS=1 writes them anew, except on CI.
#pragma once
#include <string>

namespace md::test {

std::string read_text(const std::string& path);
/// "" when `text` is what `path` holds; else what differs first. Blesses when asked to.
std::string differs_from_golden(const std::string& path, const std::string& text);

}  // namespace md::test

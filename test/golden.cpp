#include "test/golden.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace md::test {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string differs_from_golden(const std::string& path, const std::string& text) {
  const char* bless = std::getenv("MODELDOCTOR_BLESS");
  if (bless && std::string(bless) == "1") {
    if (std::getenv("CI"))
      return "MODELDOCTOR_BLESS is set on CI: blessed texts are written by people who read the difference";
    std::ofstream(path, std::ios::binary) << text;
    return "";
  }
  const std::string blessed = read_text(path);
  if (blessed == text) return "";
  std::istringstream want(blessed), got(text);
  std::string a, b;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(want, a)),
               more_b = static_cast<bool>(std::getline(got, b));
    if (!more_a && !more_b) return path + " differs in line ends only";
    if (!more_a || !more_b || a != b)
      return path + ":" + std::to_string(line) + "\n  blessed: " + (more_a ? a : "(end)") +
             "\n  now:     " + (more_b ? b : "(end)") + "\nMODELDOCTOR_BLESS=1 accepts it";
  }
}

}  // namespace md::test

#include "test/paths.h"

namespace md::test {
std::string source_dir() { return MD_SOURCE_DIR; }
std::string program() { return MD_PROGRAM; }
std::string fixture(const std::string& name) { return source_dir() + "/fixtures/" + name; }
}  // namespace md::test

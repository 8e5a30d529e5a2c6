// Where the tests find the source tree and the program (set by CMake).
#pragma once
#include <string>

namespace md::test {
std::string source_dir();
std::string program();
/// source_dir() + "/fixtures/" + name
std::string fixture(const std::string& name);
}  // namespace md::test

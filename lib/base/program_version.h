// The version of this program: CMake's project version, said once.
#pragma once
#include <string_view>

namespace md {

std::string_view program_version();  ///< "0.1.0"

}  // namespace md

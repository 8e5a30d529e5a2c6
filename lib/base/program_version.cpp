#include "lib/base/program_version.h"

namespace md {

std::string_view program_version() { return MD_VERSION; }

}  // namespace md

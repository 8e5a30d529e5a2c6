// Which files a target's runtime reads.
#pragma once
#include "lib/base/result.h"
#include "lib/graph/graph.h"
#include "lib/target/target.h"

namespace md {

/// Error (usage): the target's runtime reads no file of this dialect; it names the targets that do.
Status check_readable(const Target& target, const Dialect& dialect);

}  // namespace md

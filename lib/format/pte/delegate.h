// What can be read in a backend's compiled blob inside a .pte.
#pragma once
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// Sets on the delegate's node what its blob tells: "compiler" and "keeps_blob" (OpenVINO 2026.4 and newer),
/// "largest_constant_rank" (Vulkan), "unnamed_constants" and "updates_constant" (MLX), "blob_bytes";
/// "blob_damage" when it is not what this backend's compiler writes.
void read_delegate_blob(Bytes blob, Node& node);

}  // namespace md

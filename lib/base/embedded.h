// The files that the program carries: rule pages (rules/) and the data of runtimes (lib/runtime/). Generated
// at build time.
#pragma once
#include <span>
#include <string_view>

namespace md {

struct EmbeddedFile {
  std::string_view path;  ///< under the source root, e.g. "rules/litert/LRT015-relu-0-to-1.md"
  std::string_view text;
};

/// All embedded files, ordered by path. The text lives as long as the program.
std::span<const EmbeddedFile> embedded_files();

}  // namespace md

#include "lib/base/relative_path.h"

#include <filesystem>

namespace md {
namespace {

namespace fs = std::filesystem;

/// Without exceptions: what cannot be looked up is taken as it is written.
fs::path absolute_folder(const fs::path& folder) {
  std::error_code error;
  fs::path absolute = fs::absolute(folder.empty() ? fs::path(".") : folder, error);
  if (error) absolute = folder;
  const fs::path real = fs::weakly_canonical(absolute, error);
  fs::path normal = (error ? absolute : real).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

std::string relative_path(const std::string& path, const std::string& folder) {
  if (path == "-") return path;
  const fs::path file(path);
  const fs::path whole = (absolute_folder(file.parent_path()) / file.filename()).lexically_normal();
  const fs::path seen = whole.lexically_relative(absolute_folder(folder));
  return (seen.empty() ? whole : seen).generic_string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace md

#include "lib/fix/run_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

namespace md {
namespace {

/// The same text for every name of one file, also of one that does not exist yet.
std::string identity(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0)
    return fmt::format("{}:{}", static_cast<std::uint64_t>(info.st_dev),
                       static_cast<std::uint64_t>(info.st_ino));
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  const std::filesystem::path plain = std::filesystem::weakly_canonical(whole, error);
  return error ? path : plain.string();
}

}  // namespace

void RunFiles::reads(const std::string& path, std::string what) { use(path, {std::move(what), false}); }
void RunFiles::writes(const std::string& path, std::string what) { use(path, {std::move(what), true}); }

void RunFiles::use(const std::string& path, Use how) {
  if (path.empty() || path == "-" || !status_) return;
  const auto [at, fresh] = uses_.try_emplace(identity(path), how);
  Use& known = at->second;
  if (fresh || !(known.written || how.written)) return;
  if (known.written && how.written)
    status_ = usage_error(fmt::format("{}: {} and {} would be one file; give one of them another name", path,
                                      known.what, how.what));
  else
    status_ = usage_error(fmt::format("{}: is an input file of this run ({}); {} needs another name", path,
                                      known.written ? how.what : known.what,
                                      known.written ? known.what : how.what));
}

}  // namespace md

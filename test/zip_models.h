// Zip archives for tests, right or wrong in any field.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace md::test {

/// One member. What is left at -1 is written as it should be.
struct ZipPart {
  std::string name, content;
  int method = 0, flags = 0;
  std::int64_t crc = -1, size = -1, compressed = -1, offset = -1;
  std::string local_name = {};  ///< "": the same as in the directory
};

struct ZipRecipe {
  std::vector<ZipPart> parts;
  std::int64_t entries = -1, directory_size = -1, directory_offset = -1;
  std::string comment = {};
};

std::string make_zip(const ZipRecipe& recipe);

/// The parts of an archive of stored members.
std::vector<ZipPart> parts_of(const std::string& archive);
/// The archive with one member's content passed through `change`.
std::string with_member(const std::string& archive, const std::string& name_end,
                        const std::function<void(std::string&)>& change);
/// Deflated bytes.
std::string deflated(const std::string& content);

}  // namespace md::test

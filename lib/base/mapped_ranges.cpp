#include "lib/base/mapped_ranges.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace md {
namespace {

struct MappedRange {
  std::atomic<bool> taken = false;
  std::atomic<const char*> begin = nullptr;  ///< null: free, or being filled
  std::size_t size = 0;
  std::array<char, 1024> path;
};
std::array<MappedRange, 256> ranges;

}  // namespace

void remember_mapping(const std::string& path, const void* begin, std::size_t size) {
  for (MappedRange& range : ranges) {
    if (range.taken.exchange(true)) continue;
    const std::size_t length = std::min(path.size(), range.path.size() - 1);
    std::transform(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length), range.path.begin(),
                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c; });
    range.path[length] = '\0';
    range.size = size;
    range.begin.store(static_cast<const char*>(begin));
    return;
  }
}

void forget_mapping(const void* begin) {
  for (MappedRange& range : ranges) {
    const char* own = static_cast<const char*>(begin);
    if (!range.begin.compare_exchange_strong(own, nullptr)) continue;
    range.taken.store(false);
    return;
  }
}

const char* mapped_path_at(const void* address) noexcept {
  const auto* at = static_cast<const char*>(address);
  for (const MappedRange& range : ranges) {
    const char* begin = range.begin.load();
    if (begin && at >= begin && at < begin + range.size) return range.path.data();
  }
  return nullptr;
}

}  // namespace md

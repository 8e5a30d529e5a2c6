// SHA-256 (FIPS 180-4), for the fingerprints of files in reports.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "lib/base/mapped_file.h"

namespace md {

class Sha256 {
 public:
  void update(Bytes bytes);
  /// The digest as 64 lower-case hexadecimal digits. Call once.
  std::string finish();

 private:
  void block(const std::uint8_t* data);
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

std::string sha256(Bytes bytes);

}  // namespace md

#include "lib/base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>
#include <span>

namespace md {
namespace {

/// In a library context of its own, which reads no openssl.cnf: a machine's or a user's choice of providers
/// decides nothing here. Lives as long as the program.
const EVP_MD* algorithm() {
  static const EVP_MD* const sha = EVP_MD_fetch(OSSL_LIB_CTX_new(), "SHA256", nullptr);
  return sha;
}

}  // namespace

std::string sha256(Bytes bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (!algorithm() || EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm(), nullptr) != 1)
    throw std::bad_alloc();
  std::string text;
  for (const unsigned char byte : std::span(digest).first(size)) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace md

// SHA-256 (FIPS 180-4) by OpenSSL's libcrypto: the fingerprints of files and constants.
#pragma once
#include <string>

#include "lib/base/mapped_file.h"

namespace md {

/// The digest as 64 lower-case hexadecimal digits. Throws std::bad_alloc when libcrypto has no memory for it:
/// a digest that is not one would make different contents equal.
std::string sha256(Bytes bytes);

}  // namespace md

#include "lib/base/sha256.h"

#include <string>

#include "test/catch.h"
#include "test/paths.h"
#include "test/run_program.h"

namespace md {
namespace {

std::string digest(const std::string& text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace

// The examples of FIPS 180-4 (NIST, "Cryptographic Standards and Guidelines: Examples with Intermediate
// Values").
TEST_CASE("SHA-256 of the standard's examples", "[base]") {
  CHECK(sha256({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Which providers a user's or a machine's openssl.cnf activates is about connections, not about fingerprints.
TEST_CASE("an openssl.cnf without the usual providers changes no report", "[base][cli]") {
  const test::ScratchFolder folder;
  const std::string config = folder.write(
      "openssl.cnf",
      "openssl_conf = start\n[start]\nproviders = list\n[list]\nnull = one\n[one]\nactivate = 1\n");
  const std::vector<std::string> arguments = {
      "check", test::source_dir() + "/fixtures/LRT015-relu-0-to-1/before.tflite", "--hash", "--output-format",
      "json"};
  const test::ProgramResult usual = test::run_program(arguments);
  const test::ProgramResult other =
      test::run_program_after("export OPENSSL_CONF='" + config + "'", arguments);
  CHECK(usual.out.find("\"sha256\": \"") != std::string::npos);
  CHECK(other.exit_code == usual.exit_code);
  CHECK(other.out == usual.out);
}

}  // namespace md

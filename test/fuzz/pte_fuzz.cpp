// Fuzzes the reader of lowered programs (scripts/fuzz.sh). What opens must print, and be written back byte
// for byte.
#include <cstdio>
#include <cstdlib>

#include "lib/format/pte/dialect.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"

using namespace md;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 8)
    bytes.replace(4, 4, "ET12");  // the reader asks for it, and a fuzzer should not have to guess it
  const auto document = open_pte(MappedFile::from_bytes("fuzz.pte", bytes));
  if (!document) return 0;
  (void)print((*document)->model(), {.largest_constant = 16});
  MemorySink sink;
  if (!(*document)->write((*document)->model(), sink) || sink.bytes != bytes) {
    std::fprintf(stderr, "an unchanged program was not written back\n");
    std::abort();
  }
  return 0;
}

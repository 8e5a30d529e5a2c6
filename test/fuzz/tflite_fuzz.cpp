// Fuzzes the .tflite reader, printer and writer (scripts/fuzz.sh). What opens must print, be built anew, and
// the result, when it opens again, must be the same model.
#include <cstdio>
#include <cstdlib>

#include "lib/edit/changes.h"
#include "lib/format/tflite/reader.h"
#include "lib/format/tflite/writer.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"

using namespace md;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 8)
    bytes.replace(4, 4, "TFL3");  // the reader asks for it, and a fuzzer should not have to guess it
  const auto parts = tfl::read_tflite(MappedFile::from_bytes("fuzz.tflite", std::move(bytes)));
  if (!parts) return 0;
  (void)print(parts->model, {.largest_constant = 16});
  MemorySink sink;
  if (!tfl::rewrite(*parts, parts->model, {.everything = true}, sink)) return 0;
  const auto again = tfl::read_tflite(MappedFile::from_bytes("again.tflite", sink.bytes));
  if (!again) return 0;  // old tables that overlap positions which had to move are found broken here
  if (const auto difference = same_structure(parts->model, again->model, true)) {
    std::fprintf(stderr, "the rewritten model differs: %s\n", difference->c_str());
    std::abort();
  }
  return 0;
}

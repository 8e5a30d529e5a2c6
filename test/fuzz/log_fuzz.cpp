// Fuzz target for the log parser and the signatures (libFuzzer's entry point; built by scripts that want it).
// The first line is compiled as a signature, everything is parsed as a log, and the one is matched against
// the other.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/log/log.h"
#include "lib/log/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto log = md::parse_log("fuzz", md::Bytes(data, size));
  const std::uint8_t* line_end = std::find(data, data + size, '\n');
  const auto signature = md::Signature::compile(
      {reinterpret_cast<const char*>(data), static_cast<std::size_t>(line_end - data)});
  if (log && signature)
    for (const md::Record& record : log->records) (void)signature->match(record.message);
  return 0;
}

// Developer tool: writes a model again, so that judges can compare the two on a real runtime.
//   md_rewrite copy IN OUT   through Document::write without changes: OUT is IN, byte for byte
//   md_rewrite build IN OUT  every graph table of a .tflite is built anew in front of the old file
// After writing, OUT is opened again and compared with IN: structure and the bytes of every constant. Exit
// code 0: equal.
#include <cstdio>
#include <string>

#include "lib/edit/changes.h"
#include "lib/format/tflite/reader.h"
#include "lib/format/tflite/writer.h"
#include "lib/graph/document.h"

using namespace md;

static int report(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

int main(int argc, char** argv) {
  const std::string mode = argc == 4 ? argv[1] : "";
  if (mode != "copy" && mode != "build") return report("usage: md_rewrite copy|build IN OUT"), 2;
  auto document = open_document(argv[2]);
  if (!document) return report(document.error().message);
  auto sink = AtomicFileSink::create(argv[3]);
  if (!sink) return report(sink.error().message);
  Status done;
  if (mode == "copy") {
    done = (*document)->write((*document)->model(), **sink);
  } else {
    auto file = MappedFile::open(argv[2]);
    if (!file) return report(file.error().message);
    auto parts = tfl::read_tflite(*file);
    if (!parts) return report(parts.error().message);
    done = tfl::rewrite(*parts, parts->model, {.everything = true}, **sink);
  }
  if (!done) return report(done.error().message);
  if (auto written = (*sink)->commit(); !written) return report(written.error().message);
  auto again = open_document(argv[3]);
  if (!again) return report(again.error().message);
  if (const auto difference = same_structure((*document)->model(), (*again)->model(), true))
    return report(*difference);
  return 0;
}

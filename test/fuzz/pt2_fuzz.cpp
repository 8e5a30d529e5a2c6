// Fuzzes the reader and writer of torch.export archives (scripts/fuzz.sh). Text that begins with '{' is a
// program's JSON and gets an archive around it (no fuzzer guesses a CRC); bytes that begin as a pickle become
// the state of an older archive.
#include <cstdio>
#include <cstdlib>

#include "lib/format/torch/dialect.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"
#include "test/zip_models.cpp"

using namespace md;

namespace {

std::string archive_of(std::string bytes) {
  constexpr char pickle = '\x80';
  test::ZipRecipe recipe;
  const auto add = [&](const char* name, std::string content) {
    test::ZipPart part;
    part.name = name, part.content = std::move(content);
    recipe.parts.push_back(std::move(part));
  };
  if (bytes.starts_with('{')) {
    add("m/data/weights/model_weights_config.json", "{\"config\": {}}");
    add("m/data/constants/model_constants_config.json", "{\"config\": {}}");
    add("m/models/model.json", std::move(bytes));
    return test::make_zip(recipe);
  }
  if (!bytes.starts_with(pickle)) return bytes;
  const std::string storage(64, 's');
  add("a/data.pkl", std::move(bytes)), add("a/data/0", storage), add("a/data/1", storage);
  const std::string state = test::make_zip(recipe);
  recipe.parts.clear();
  add("serialized_exported_program.json",
      "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"w\"}}], \"outputs\": [], "
      "\"nodes\": [], \"tensor_values\": {\"w\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}]}}}, "
      "\"signature\": {\"input_specs\": [{\"parameter\": {\"arg\": {\"name\": \"w\"}, \"parameter_name\": "
      "\"w\"}}], \"output_specs\": []}}}");
  add("serialized_state_dict.pt", state);
  return test::make_zip(recipe);
}

/// Swaps the graph's first output's name, so that the writer has something to do.
Model changed(Model model) {
  for (Graph& graph : model.graphs)
    for (const ValueId v : graph.outputs)
      if (v >= 0 && !graph.value(v).is_constant()) return graph.value(v).name += "_renamed", model;
  return model;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = archive_of(std::string(reinterpret_cast<const char*>(data), size));
  const auto document = open_pt2(MappedFile::from_bytes("fuzz.pt2", bytes));
  if (!document) return 0;
  (void)print((*document)->model(), {.largest_constant = 16});
  MemorySink same;
  if (!(*document)->write((*document)->model(), same) || same.bytes != bytes) {
    std::fprintf(stderr, "an unchanged program was not written back\n");
    std::abort();
  }
  MemorySink sink;
  if ((*document)->write(changed((*document)->model()), sink))
    (void)open_pt2(MappedFile::from_bytes("again.pt2", sink.bytes));
  return 0;
}

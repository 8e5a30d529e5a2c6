// Archives of torch 2.7 and before: the program beside torch.save files of weights. The fixtures were written
// by torch 2.5.1, and what `fix` makes of them was loaded and run by it.
#include <algorithm>

#include "lib/diagnose/diagnose.h"
#include "lib/format/torch/zip.h"
#include "lib/graph/document.h"
#include "lib/graph/encode.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/zip_models.h"

using namespace md;
using namespace md::test;

namespace {

std::string archive() { return read_text(fixture("pt2-old/torch-2.5.1.pt2")); }

const Value& named(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values)
    if (value.name == name) return value;
  throw std::runtime_error("no value " + name);
}

std::string program_of(const std::string& bytes) {
  for (const ZipPart& part : parts_of(bytes))
    if (part.name == "serialized_exported_program.json") return part.content;
  return {};
}

}  // namespace

TEST_CASE("an older archive opens with its weights", "[pt2]") {
  const auto document = open_document(MappedFile::from_bytes("old.pt2", archive()));
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  const Graph& graph = (*document)->model().graphs.at(0);
  CHECK((*document)->model().producer == "torch 2.5.1+cu124");
  CHECK(graph.inputs.size() == 1);
  CHECK(decode(named(graph, "b_l__s___n")) == std::vector<double>{0, 1, 2, 3});
  CHECK(decode(named(graph, "b_l__s___t")) == std::vector<double>{0, 3, 1, 4, 2, 5});  // kept transposed
  // Two modules share one weight: both placeholders hold it.
  CHECK(decode(named(graph, "p_l__s___l_weight")).has_value());
  CHECK(decode(named(graph, "p_l__s___l_weight")) == decode(named(graph, "p_l__s___h_weight")));
}

TEST_CASE("a fix of an older archive writes what its torch reads", "[pt2]") {
  auto rules = RuleBook::load();
  REQUIRE(rules);
  const auto document = open_document(MappedFile::from_bytes("old.pt2", archive()));
  REQUIRE(document);
  DiagnoseRequest request;
  request.document = document->get();
  request.rules = &*rules;
  request.targets = {"torch-tensorrt"};
  request.options.apply = true;
  const auto outcome = diagnose(request);
  REQUIRE(outcome);
  REQUIRE(outcome->edited);  // the slice [:, -15:] of four columns
  MemorySink sink;
  const auto written = (*document)->write(*outcome->edited, sink);
  INFO((written ? "" : written.error().message));
  REQUIRE(written);
  const std::string program = program_of(sink.bytes);
  CHECK(program != program_of(archive()));
  for (const char* unknown : {"\"kind\"", "\"is_hop_single_tensor_return\""})
    CHECK(program.find(unknown) == std::string::npos);
  const auto again = open_document(MappedFile::from_bytes("again.pt2", sink.bytes));
  INFO((again ? "" : again.error().message));
  REQUIRE(again);
  for (const ZipPart& part : parts_of(archive()))
    if (part.name != "serialized_exported_program.json") {
      const auto same = parts_of(sink.bytes);
      CHECK(std::any_of(same.begin(), same.end(), [&](const ZipPart& other) {
        return other.name == part.name && other.content == part.content;
      }));
    }
}

TEST_CASE("inner graphs of an older archive", "[pt2]") {
  const auto document = open_document(fixture("pt2-old/torch-2.5.1-cond.pt2"));
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  CHECK((*document)->model().graphs.size() == 3);
}

TEST_CASE("a changed weight of an older archive is refused in plain words", "[pt2]") {
  const auto document = open_document(MappedFile::from_bytes("old.pt2", archive()));
  REQUIRE(document);
  Model edited = (*document)->model();
  for (Value& value : edited.graphs[0].values)
    if (value.name == "b_l__s___n") value.constant = Constant::own(std::vector<std::uint8_t>(16, 1));
  MemorySink sink;
  const auto written = (*document)->write(edited, sink);
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == Error::Kind::unsupported);
  CHECK(written.error().message.find("save it again with torch 2.8 or newer") != std::string::npos);
}

TEST_CASE("damaged torch.save files inside an older archive", "[pt2]") {
  const auto error_with = [](const std::string& name, const std::function<void(std::string&)>& change) {
    const auto document =
        open_document(MappedFile::from_bytes("old.pt2", with_member(archive(), name, change)));
    REQUIRE_FALSE(document);
    INFO(document.error().message);
    CHECK(document.error().message.find("old.pt2: ") == 0);
    CHECK(document.error().message.find('\n') == std::string::npos);
    return document.error().message;
  };
  const std::string state = "serialized_state_dict.pt";
  const auto pickle = [&](const std::string& bytes) {
    return error_with(state, [&](std::string& inner) {
      ZipRecipe recipe;
      recipe.parts = parts_of(inner);
      for (ZipPart& part : recipe.parts)
        if (part.name.ends_with("data.pkl")) part.content = bytes;
      inner = make_zip(recipe);
    });
  };
  CHECK(error_with(state, [](std::string& s) { s.resize(s.size() / 2); }).find(state) != std::string::npos);
  CHECK(error_with(state, [](std::string& s) { s = "no zip"; }).find(state) != std::string::npos);
  CHECK(pickle("").find("STOP before the end") != std::string::npos);
  CHECK(pickle("\x80\x02"
               "cos\nsystem\n")
            .find("STOP before the end") != std::string::npos);
  CHECK(pickle("garbage").find("a pickle operation of torch.save") != std::string::npos);
  CHECK(pickle("\x80\x02}.").find("is not among the weights") != std::string::npos);
  // A list that holds itself, and lists in lists without end: neither follows for ever nor leaks.
  CHECK(pickle("\x80\x02]q\1h\1a.").find("is not among the weights") != std::string::npos);
  CHECK(pickle("\x80\x02" + std::string(300000, ']') + std::string(299999, 'a') + ".")
            .find("is not among the weights") != std::string::npos);
  // The same long text, copied for ever.
  std::string copies = "\x80\x02X";
  copies += std::string("\x00\x00\x10\x00", 4) + std::string(1 << 20, 'k') + "q\1";
  for (int i = 0; i < 100000; ++i) copies += "(X\1" + std::string(3, '\0') + "sh\1h\1tQ";
  CHECK(pickle(copies + ".").find("expected") != std::string::npos);
}

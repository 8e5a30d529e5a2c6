// Damaged and hostile .tflite files: every one gives a model or one clear error, in bounded time and memory.
#include <cstring>
#include <random>

#include "lib/format/tflite/writer.h"
#include "lib/op/text.h"
#include "test/catch.h"
#include "test/paths.h"
#include "test/tflite_models.h"
#include "tflite_generated.h"

using namespace md;
using namespace md::test;

namespace {

/// Everything that a run would do to a file: open, print, write anew, open the result.
bool survives(const std::string& bytes) {
  auto parts = tfl::read_tflite(MappedFile::from_bytes("hostile.tflite", bytes));
  if (!parts) {
    REQUIRE(parts.error().message.find("hostile.tflite: ") == 0);
    REQUIRE(parts.error().message.find('\n') == std::string::npos);
    return false;
  }
  (void)print(parts->model, {.largest_constant = 16});
  MemorySink sink;
  if (tfl::rewrite(*parts, parts->model, {.everything = true}, sink))
    (void)tfl::read_tflite(MappedFile::from_bytes("again.tflite", sink.bytes));
  return true;
}

std::string error_of(const std::string& bytes) {
  const auto document = open_document(MappedFile::from_bytes("x.tflite", bytes));
  REQUIRE_FALSE(document);
  return document.error().message;
}

/// The bytes of the model after a change through the generated accessors.
template <class Change>
std::string changed(Change&& change) {
  std::string bytes = make_tflite({});
  change(*flatbuffers::GetMutableRoot<tflite::Model>(bytes.data()));
  return bytes;
}

}  // namespace

TEST_CASE("a .tflite cut off at any length is an error or a model, never a crash", "[tflite]") {
  for (const auto& [name, recipe] : all_recipes()) {
    INFO(name);
    const std::string bytes = make_tflite(recipe);
    int opened = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) opened += survives(bytes.substr(0, length));
    REQUIRE(opened < 128);  // only what lies behind the last table may be missing
  }
}

TEST_CASE("random damage to a .tflite never crashes", "[tflite]") {
  std::mt19937 random(7);
  int opened = 0;
  for (const auto& [name, recipe] : all_recipes()) {
    INFO(name);
    const std::string bytes = make_tflite(recipe);
    for (int round = 0; round < 400; ++round) {
      std::string damaged = bytes;
      for (std::uint32_t n = 1 + random() % 4; n > 0; --n) {
        const std::size_t at = random() % damaged.size();
        switch (random() % 3) {
          case 0:
            damaged[at] = static_cast<char>(random());
            break;
          case 1:
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
            break;
          default:
            damaged[at] = random() % 2 ? '\xff' : '\0';
        }
      }
      opened += survives(damaged);
    }
  }
  REQUIRE(opened > 100);  // else the damage is too coarse to reach the reader
}

TEST_CASE("ids that do not exist are named", "[tflite]") {
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()
                ->GetMutableObject(0)
                ->mutable_operators()
                ->GetMutableObject(0)
                ->mutable_inputs()
                ->Mutate(1, 99);
          })) ==
          "x.tflite: subgraph 0 operator 0 names input tensor 99, but there are 4 tensors; the file is "
          "malformed, convert or download it again");
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()->GetMutableObject(0)->mutable_outputs()->Mutate(0, -1);
          })).find("tensor -1 as an output") != std::string::npos);
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()->GetMutableObject(0)->mutable_tensors()->GetMutableObject(1)->mutate_buffer(
                1000);
          })).find("names buffer 1000") != std::string::npos);
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()
                ->GetMutableObject(0)
                ->mutable_operators()
                ->GetMutableObject(1)
                ->mutate_opcode_index(50);
          })).find("operator code 50") != std::string::npos);
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()
                ->GetMutableObject(0)
                ->mutable_tensors()
                ->GetMutableObject(0)
                ->mutable_shape()
                ->Mutate(0, -7);
          })).find("dimension of size -7") != std::string::npos);
  REQUIRE(error_of(changed([](tflite::Model& m) {
            m.mutable_subgraphs()
                ->GetMutableObject(0)
                ->mutable_operators()
                ->GetMutableObject(0)
                ->mutable_inputs()
                ->Mutate(0, 3);
          })).find("before it is produced") != std::string::npos);
}

TEST_CASE("bytes out of line must lie in the file", "[tflite]") {
  Recipe recipe;
  recipe.out_of_line = true;
  const std::string bytes = make_tflite(recipe);
  for (const std::uint64_t offset : {std::uint64_t{bytes.size()}, ~std::uint64_t{0}, ~std::uint64_t{0} - 8}) {
    std::string copy = bytes;
    flatbuffers::GetMutableRoot<tflite::Model>(copy.data())
        ->mutable_buffers()
        ->GetMutableObject(1)
        ->mutate_offset(offset);
    REQUIRE(error_of(copy).find("buffer 1 is said to be 16 bytes at offset") != std::string::npos);
  }
}

TEST_CASE("a small file that describes a huge graph is refused", "[tflite]") {
  // One operator table with long operand lists, named by many slots: 16 GB of operands in 700 kB.
  flatbuffers::FlatBufferBuilder b;
  const std::vector<std::int32_t> zeros(50000, 0);
  const auto list = b.CreateVector(zeros);
  const auto op = tflite::CreateOperator(b, 0, list, b.CreateVector(std::vector<std::int32_t>{}));
  const std::vector<flatbuffers::Offset<tflite::Operator>> operators(80000,
                                                                     op);  // below the limit of their number
  const auto tensor = tflite::CreateTensor(b, b.CreateVector(std::vector<std::int32_t>{1}));
  const auto all_operators = b.CreateVector(operators);
  const auto graph = tflite::CreateSubGraph(b, b.CreateVector(std::vector{tensor}),
                                            b.CreateVector(std::vector<std::int32_t>{0}),
                                            b.CreateVector(std::vector<std::int32_t>{0}), all_operators);
  const auto code = tflite::CreateOperatorCode(b, 0);
  b.Finish(tflite::CreateModel(b, 3, b.CreateVector(std::vector{code}), b.CreateVector(std::vector{graph})),
           "TFL3");
  const std::string bytes(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  REQUIRE(error_of(bytes).find("a graph larger than the file itself can hold") != std::string::npos);
}

TEST_CASE("a .tflite that names the broken part", "[tflite]") {
  const std::string bytes = make_tflite({});
  REQUIRE(error_of(bytes.substr(0, 12)).find("too short") != std::string::npos);
  REQUIRE(error_of(bytes.substr(0, bytes.size() / 2)).find("offset") != std::string::npos);
}

TEST_CASE("more operators than any model has are refused before they are read", "[tflite]") {
  flatbuffers::FlatBufferBuilder b;
  const auto op = tflite::CreateOperator(b);
  const std::vector<flatbuffers::Offset<tflite::Operator>> operators((1 << 20) + 1, op);
  const auto graph = tflite::CreateSubGraph(b, 0, 0, 0, b.CreateVector(operators));
  b.Finish(tflite::CreateModel(b, 3, 0, b.CreateVector(std::vector{graph})), "TFL3");
  const std::string bytes(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  REQUIRE(error_of(bytes) == "x.tflite: has 1048577 operators, this program takes up to 1048576");
}

TEST_CASE("subgraphs that call each other in a circle are refused", "[tflite]") {
  const auto calling = [](const std::vector<int>& callee_of) {
    flatbuffers::FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs;
    for (const int callee : callee_of) {
      std::vector<flatbuffers::Offset<tflite::Operator>> operators;
      if (callee >= 0)
        operators.push_back(tflite::CreateOperator(b, 0, 0, 0, tflite::BuiltinOptions::CallOnceOptions,
                                                   tflite::CreateCallOnceOptions(b, callee).Union()));
      graphs.push_back(tflite::CreateSubGraph(b, 0, 0, 0, b.CreateVector(operators)));
    }
    const auto code = tflite::CreateOperatorCode(b, 127, 0, 1, tflite::BuiltinOperator::CALL_ONCE);
    b.Finish(tflite::CreateModel(b, 3, b.CreateVector(std::vector{code}), b.CreateVector(graphs)), "TFL3");
    return std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  };
  REQUIRE(survives(calling({1, 2, -1})));
  REQUIRE(error_of(calling({0})).find("call each other in a circle") != std::string::npos);
  REQUIRE(error_of(calling({1, 2, 1})).find("call each other in a circle") != std::string::npos);
}

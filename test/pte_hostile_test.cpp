// Damaged and hostile .pte files: every one gives a model or one clear error, in bounded time and memory.
#include <flatbuffers/flatbuffers.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/format/pte/dialect.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"
#include "test/catch.h"
#include "test/paths.h"
#include "test/pte_models.h"
#include "test/sanitizer.h"

using namespace md;
using namespace md::test;

namespace {

std::vector<std::string> captured() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture("")))
    if (entry.path().extension() == ".pte") {
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      files.push_back(text.str());
    }
  return files;
}

/// Opens and prints; an error is one line that names the file and says what to do.
bool survives(const std::string& bytes) {
  const auto document = open_pte(MappedFile::from_bytes("x.pte", bytes));
  if (document) return (void)print((*document)->model(), {.largest_constant = 16}), true;
  const std::string& message = document.error().message;
  INFO(message);
  REQUIRE(message.find("x.pte: ") == 0);
  REQUIRE(message.find('\n') == std::string::npos);
  REQUIRE(message.find("lower") != std::string::npos);
  return false;
}

std::string error_of(const std::string& bytes) {
  REQUIRE_FALSE(survives(bytes));
  return open_pte(MappedFile::from_bytes("x.pte", bytes)).error().message;
}

std::string error_of(const PteRecipe& recipe) { return error_of(make_pte(recipe)); }

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  std::memcpy(bytes.data() + at, &value, width);
}

bool holds(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("the recipe of the hostile programs is a good one", "[pte]") {
  const auto document = open_pte(MappedFile::from_bytes("x.pte", make_pte({})));
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  const Graph& graph = (*document)->model().graphs.at(0);
  CHECK(graph.nodes.size() == 1);
  CHECK(graph.node(0).op == "aten::add.out");
  CHECK(graph.value(0).shape == Shape{2, 3});
}

TEST_CASE("a .pte cut off at any length is an error", "[pte]") {
  for (const std::string& bytes : captured())
    for (std::size_t length = 0; length < bytes.size(); ++length)  // zeros behind the program may be missing
      REQUIRE(
          (!survives(bytes.substr(0, length)) || bytes.find_first_not_of('\0', length) == std::string::npos));
}

TEST_CASE("no damaged byte of a .pte crashes the reader", "[pte]") {
  for (const std::string& bytes : captured()) {
    int refused = 0;
    for (std::size_t i = 0; i < bytes.size(); i += test::damage_stride)
      for (const int change : {0xff, 0x80, 0x01}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        refused += !survives(damaged);
      }
    CHECK(refused * static_cast<int>(test::damage_stride) >
          100);  // names and numbers may change, offsets may not
  }
}

TEST_CASE("no damaged word of a .pte crashes the reader", "[pte]") {
  for (const std::string& bytes : captured())
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 2 * test::damage_stride)
      for (const std::uint32_t value :
           {0u, 0x7fffffffu, 0x80000000u, 0xffffffffu, static_cast<std::uint32_t>(bytes.size())}) {
        std::string damaged = bytes;
        put(damaged, i, value, 4);
        (void)survives(damaged);
      }
}

TEST_CASE("headers that lie", "[pte]") {
  const std::string good = make_pte({});
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    std::string bytes = good;
    put(bytes, at, value, width);
    return error_of(bytes);
  };
  std::string other = good;
  other.replace(4, 4, "ET99");
  holds(error_of(other), "offset 4: program identifier 'ET99', expected 'ET12'");
  holds(with(12, 8, 4), "offset 12: the extended header is said to be 8 bytes long");
  holds(with(12, 0xffffffff, 4), "offset 12");
  holds(with(16, good.size() + 1, 8), "offset 16: the header expects a file of");
  holds(with(16, 12, 8), "offset 16: the program is said to be 12 bytes long");
  holds(with(24, 64, 8), "inside the program");
  holds(with(24, good.size() + 1, 8), "the file is truncated");
  holds(with(32, ~std::uint64_t{0}, 8), "places no segments, but says that they hold");
  holds(error_of(good.substr(0, 6)), "6 bytes are too few");
}

TEST_CASE("segments that leave the file or overlap", "[pte]") {
  PteRecipe recipe;
  recipe.tail = std::string(256, 'x');
  recipe.segments = {{0, 128}, {128, 128}};
  REQUIRE(survives(make_pte(recipe)));
  recipe.segments = {{0, 128}, {200, 57}};
  holds(error_of(recipe), "segment 1 is said to hold 57 bytes at 200");
  recipe.segments = {{~std::uint64_t{0} - 3, 8}};
  holds(error_of(recipe), "outside the file");
  recipe.segments = {{0, 128}, {64, 128}};
  holds(error_of(recipe), "overlap");
}

TEST_CASE("values of a .pte that cannot be", "[pte]") {
  const auto with = [](PteValue value) {
    PteRecipe recipe;
    recipe.values[1] = std::move(value);
    return error_of(recipe);
  };
  holds(with({.kind = 5, .sizes = {2, -3}}), "dimension 1 of v1 is -3");
  holds(with({.kind = 5, .sizes = std::vector<std::int32_t>(65, 1)}), "has 65 dimensions");
  holds(with({.kind = 5, .sizes = {2, 3}, .order = {0}}), "an order of 1");
  holds(with({.kind = 5, .sizes = {2, 3}, .order = {1, 1}}), "stored in the order 1 1");
  holds(with({.kind = 5, .sizes = {2, 3}, .order = {0, 2}}), "stored in the order 0 2");
  holds(with({.kind = 5, .sizes = {2147483647, 2147483647, 2147483647}, .arena = 1}),
        "more elements than can be counted");
  holds(with({.kind = 5, .sizes = {2, 3}, .arena = 7}), "is planned in memory 7, but there are 1");
  holds(with({.kind = 5, .sizes = {2, 3}, .arena = 1, .at = 1u << 20}), "of memory 1, which has");
  holds(with({.kind = 5, .sizes = {2, 3}, .buffer = 9}), "v1 is buffer 9, but there are 0");
  holds(with({.kind = 12}), "value 1 is of kind 12");
}

TEST_CASE("lists that hold themselves", "[pte]") {
  const auto with = [](PteValue value) {
    PteRecipe recipe;
    recipe.values.push_back(std::move(value));  // value 3
    return error_of(recipe);
  };
  constexpr int int_list = 7, tensors = 10, optional_tensors = 11;
  holds(with({.kind = tensors, .items = {0, 3}}),
        "item 1 of the list in value 3 is value 3, which is no tensor");
  holds(with({.kind = tensors, .items = {99}}), "is value 99, but there are 4");
  holds(with({.kind = tensors, .items = {-1}}), "is value -1");
  holds(with({.kind = int_list, .items = {3}}), "which is no integer");
  holds(with({.kind = optional_tensors, .items = {3}}), "which is no tensor");
  PteRecipe fine;
  fine.values.push_back({.kind = optional_tensors, .items = {-1, 0}});
  CHECK(survives(make_pte(fine)));
  PteRecipe mutual;  // each list is the other's item
  mutual.values.push_back({.kind = tensors, .items = {4}});
  mutual.values.push_back({.kind = tensors, .items = {3}});
  holds(error_of(mutual), "which is no tensor");
}

TEST_CASE("instructions that lead nowhere", "[pte]") {
  const auto with = [](PteInstruction instruction) {
    PteRecipe recipe;
    recipe.instructions.push_back(std::move(instruction));
    return error_of(recipe);
  };
  holds(with({.kind = 1, .first = 5}), "instruction 1 calls operator 5, but there are 1");
  holds(with({.kind = 1, .first = -1}), "calls operator -1");
  holds(with({.kind = 1, .first = 0, .args = {0, 17}}),
        "an argument of instruction 1 (aten::add.out) is value 17, but there are 3");
  holds(with({.kind = 2, .first = 0}), "calls delegate 0, but there are 0");
  holds(with({.kind = 3, .first = 0, .second = 9}), "instruction 1 is value 9");
  holds(with({.kind = 4, .first = 0, .second = 40}), "jumps to instruction 40, but there are 2");
  holds(with({.kind = 5, .first = 12}), "instruction 1 is value 12");
  holds(with({.kind = 9}), "is of kind 9");
  PteRecipe recipe;
  recipe.inputs = {0, 3};
  holds(error_of(recipe), "an input of the plan is value 3, but there are 3");
  PteRecipe blob;
  blob.delegates = {{"XnnpackBackend", 1, 4}};
  blob.instructions.push_back({.kind = 2, .first = 0});
  holds(error_of(blob), "the blob of XnnpackBackend is segment 4, but there are 0");
}

TEST_CASE("a small .pte that describes a huge program is refused, soon", "[pte]") {
  const auto start = std::chrono::steady_clock::now();
  PteRecipe arguments;  // one long argument list, named by many instructions
  arguments.instructions =
      std::vector<PteInstruction>(5000, {.kind = 1, .first = 0, .args = std::vector<std::int32_t>(5000, 0)});
  arguments.share_instructions = true;
  holds(error_of(arguments), "more than a program of this size can hold");
  PteRecipe names;  // a name of a megabyte, copied for every instruction
  names.op = std::string(1 << 20, 'n');
  holds(error_of(names), "a name of at most 1024 bytes");
  PteRecipe chains;  // one list of instructions, named by many chains
  chains.instructions = std::vector<PteInstruction>(5000, {.kind = 1, .first = 0, .args = {0}});
  chains.share_instructions = true, chains.chains = 5000;
  holds(error_of(chains), "more than a program of this size can hold");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("a damaged blob of a backend is told from a good one", "[pte]") {
  PteRecipe recipe;
  recipe.instructions.push_back({.kind = 2, .first = 0});
  const auto damage = [&](const std::string& backend, const std::string& blob) {
    recipe.delegates = {{backend, 0, 0}};
    recipe.inline_blobs = {blob};
    const auto document = open_pte(MappedFile::from_bytes("x.pte", make_pte(recipe)));
    INFO((document ? "" : document.error().message));
    REQUIRE(document);
    return std::string((*document)->model().graphs.at(0).node(1).attrs.text("blob_damage"));
  };
  CHECK(damage("XnnpackBackend", "") == "it is empty");
  CHECK(damage("CudaBackend", "") == "");  // keeps everything under names in the program
  CHECK(damage("CustomBackend", "whatever") == "");
  holds(damage("XnnpackBackend", std::string(64, 'z')), "does not begin as this backend's blobs do");
  holds(damage("VulkanBackend", std::string(64, 'z')), "does not begin as this backend's blobs do");
  std::string header(64, '\0');
  header.replace(4, 4, "VH00");
  put(header, 10, 1000, 4);
  holds(damage("VulkanBackend", header), "its graph is said to be");
  holds(damage("MLXBackend", "short"), "MLX0");
}

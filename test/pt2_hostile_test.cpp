// Damaged and hostile .pt2 files: every one gives a model or one clear error, in bounded time and memory.
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "lib/format/torch/json.h"
#include "lib/graph/document.h"
#include "lib/op/text.h"
#include "test/catch.h"
#include "test/paths.h"
#include "test/sanitizer.h"
#include "test/zip_models.h"

using namespace md;
using namespace md::test;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::string& attention() {
  static const std::string bytes = read_file(fixture("TRT003-decomposed-attention-view/before.pt2"));
  return bytes;
}
const std::string& weighted() {
  static const std::string bytes = read_file(fixture("LTC001-amax-no-layout-rewriter/before.pt2"));
  return bytes;
}

/// Opens, prints, writes; an error is one line that names the file.
bool survives(const std::string& bytes) {
  const auto document = open_document(MappedFile::from_bytes("x.pt2", bytes));
  if (!document) {
    INFO(document.error().message);
    REQUIRE(document.error().message.find("x.pt2: ") == 0);
    REQUIRE(document.error().message.find('\n') == std::string::npos);
    REQUIRE(document.error().message.size() < 1000);
    return false;
  }
  (void)print((*document)->model(), {.largest_constant = 16});
  MemorySink sink;
  (void)(*document)->write((*document)->model(), sink);
  return true;
}

std::string error_of(const std::string& bytes) {
  REQUIRE_FALSE(survives(bytes));
  return open_document(MappedFile::from_bytes("x.pt2", bytes)).error().message;
}

void holds(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

/// The program with one piece of its JSON text replaced everywhere.
std::string edited(const std::string& archive, const std::string& from, const std::string& to,
                   const std::string& member = "models/model.json") {
  return with_member(archive, member, [&](std::string& json) {
    REQUIRE(json.find(from) != std::string::npos);
    for (std::size_t at = json.find(from); at != std::string::npos; at = json.find(from, at + to.size()))
      json.replace(at, from.size(), to);
  });
}

std::string edited_once(const std::string& archive, const std::string& from, const std::string& to) {
  return with_member(archive, "models/model.json", [&](std::string& json) {
    REQUIRE(json.find(from) != std::string::npos);
    json.replace(json.find(from), from.size(), to);
  });
}

ZipRecipe recipe_of(const std::string& archive) {
  ZipRecipe recipe;
  recipe.parts = parts_of(archive);
  return recipe;
}

ZipPart& part(ZipRecipe& recipe, const std::string& name_end) {
  for (ZipPart& p : recipe.parts)
    if (p.name.ends_with(name_end)) return p;
  throw std::runtime_error("no part " + name_end);
}

std::string error_with(const std::function<void(ZipRecipe&)>& change) {
  ZipRecipe recipe = recipe_of(weighted());
  change(recipe);
  return error_of(make_zip(recipe));
}

const std::string config = "data/weights/model_weights_config.json";

}  // namespace

TEST_CASE("an archive that was zipped again opens", "[pt2]") {
  CHECK(survives(make_zip(recipe_of(attention()))));
  CHECK(survives(make_zip(recipe_of(weighted()))));
  ZipRecipe packed = recipe_of(weighted());
  for (ZipPart& p : packed.parts) p.method = 8;
  CHECK(survives(make_zip(packed)));
}

TEST_CASE("a .pt2 cut off at any length is an error", "[pt2]") {
  for (const std::string* bytes : {&attention(), &weighted()})
    for (std::size_t length = 0; length < bytes->size(); ++length)
      REQUIRE_FALSE(survives(bytes->substr(0, length)));
}

TEST_CASE("zip directories that lie", "[pt2]") {
  holds(error_with([](ZipRecipe& r) { r.entries = 65535; }), "entries do not fit");
  holds(error_with([](ZipRecipe& r) { r.entries = 1; }), "goes on behind its 1 entries");
  holds(error_with([](ZipRecipe& r) { r.directory_offset = 0xfffffff0; }), "outside the file");
  holds(error_with([](ZipRecipe& r) { r.directory_size = 0xfffffff0; }), "outside the file");
  holds(error_with([](ZipRecipe& r) { r.directory_offset = 10; }), "expected entry 1");
  holds(error_with([](ZipRecipe& r) { r.parts[2].offset = 0xffffff00; }), "no local zip header");
  holds(error_with([](ZipRecipe& r) { r.parts[2].offset = 3; }), "no local zip header");
  holds(error_with([](ZipRecipe& r) { r.parts[0].size = r.parts[0].compressed = 1 << 30; }),
        "but the file ends at");
  holds(error_with([](ZipRecipe& r) { r.parts[0].size = 7; }), "its sizes differ");
  holds(error_with([](ZipRecipe& r) { part(r, "models/model.json").crc = 1; }), "has CRC");
  holds(error_with([](ZipRecipe& r) { r.parts[0].local_name = std::string(r.parts[0].name.size(), 'x'); }),
        "another name or method");
}

TEST_CASE("zip members that no program has", "[pt2]") {
  holds(error_with([](ZipRecipe& r) { r.parts.push_back(r.parts[1]); }), "two zip members are named");
  holds(error_with([](ZipRecipe& r) { r.parts[1].name = "/etc/passwd"; }), "is absolute");
  holds(error_with([](ZipRecipe& r) { r.parts[1].name = "C:\\x"; }), "is absolute");
  holds(error_with([](ZipRecipe& r) { r.parts[1].name = "a/../../b"; }), "leaves the archive's folder");
  holds(error_with([](ZipRecipe& r) { r.parts[1].name = "a\\..\\b"; }), "leaves the archive's folder");
  holds(error_with([](ZipRecipe& r) { r.parts[1].name = std::string("a\0b", 3); }), "holds a zero byte");
  holds(error_with([](ZipRecipe& r) { r.parts[1].flags = 1; }), "is encrypted");
  holds(error_with([](ZipRecipe& r) { r.parts[1].method = 93; }), "zip method 93");
  const std::string message =
      error_with([](ZipRecipe& r) { r.parts[1].name = "../\x1b[31mred\n" + std::string(5000, 'x'); });
  holds(message, "\\x1b[31mred\\x0a");
  CHECK(message.size() < 300);
}

TEST_CASE("zip bombs", "[pt2]") {
  holds(error_with([](ZipRecipe& r) {
          part(r, "models/model.json").method = 8, part(r, "models/model.json").size = 0x7fffffff;
        }),
        "cannot inflate to");
  // Deflate's best ratio is a thousand; a program's text never comes near.
  holds(error_with([](ZipRecipe& r) {
          part(r, "models/model.json").method = 8,
                  part(r, "models/model.json").content = std::string(80u << 20, ' ');
        }),
        "zip bomb?");
  holds(error_with([](ZipRecipe& r) {
          part(r, "models/model.json").method = 8, part(r, "models/model.json").size = 10;
        }),
        "does not inflate to 10 bytes");
  ZipRecipe many = recipe_of(weighted());
  for (int i = 0; i < 40000; ++i) many.parts.push_back({.name = "extra/" + std::to_string(i), .content = ""});
  const auto start = std::chrono::steady_clock::now();
  CHECK(survives(make_zip(many)));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("JSON that is none, or too deep, or too much", "[pt2]") {
  const auto program = [](const std::string& text) {
    return error_of(with_member(attention(), "models/model.json", [&](std::string& json) { json = text; }));
  };
  holds(program(std::string(100000, '[')), "at most 256 levels of nesting");
  std::string nested = "1";
  for (int i = 0; i < 100000; ++i) nested = nested.size() > 300000 ? nested : "{\"a\": " + nested + "}";
  holds(program(nested), "at most 256 levels of nesting");
  holds(program(""), "byte 0 of the JSON text: expected a value");
  holds(program("{\"graph_module\": "), "expected a value, found the end");
  holds(program("[]"), "expected an object \"graph_module\"");
  holds(program("{\"graph_module\": 3}"), "expected an object \"graph_module\"");
  holds(program("{\"graph_module\": {}}"), "expected a graph");
  for (const char* bad :
       {"+1", "01", ".5", "1.", "1e", "-", "--1", "0x10", "1_000", "nan", "inf", "'a'", "\"\x01\"", "True"})
    REQUIRE_FALSE(JsonText::parse(bad, "t"));
  for (const char* good :
       {"-0", "0.5", "1e400", "-1.5E+3", "NaN", "-Infinity", "123456789012345678901234567890"})
    REQUIRE(JsonText::parse(good, "t"));
}

TEST_CASE("numbers that fit nothing", "[pt2]") {
  const std::string size = "\"sizes\": [{\"as_int\": 1}";
  for (const char* wrong : {"-1", "9223372036854775808", "1e30", "NaN", "null", "\"4\"", "1.5"})
    holds(error_of(edited(attention(), size, "\"sizes\": [{\"as_int\": " + std::string(wrong) + "}")),
          "expected a size of 0 or more for \"");
  holds(error_of(edited(attention(), size, "\"sizes\": [{\"as_int\": 9223372036854775807}")),
        "less than 2^62 elements");
  holds(error_of(edited(attention(), size, "\"sizes\": [{\"other\": 1}")), "or a symbol");
  std::string many = "\"sizes\": [";
  for (int i = 0; i < 100; ++i) many += "{\"as_int\": 1}, ";
  holds(error_of(edited(attention(), size, many + "{\"as_int\": 1}")), "at most 64 sizes");
  holds(error_of(edited(attention(), "{\"as_int\": 2}, \"kind\": 1", "{\"as_int\": 1e99}, \"kind\": 1")),
        "expected an integer of 64 bits for argument \"dim1\"");
  holds(error_of(edited(attention(), "[1, 8, -1]", "[1, 8, NaN]")),
        "expected integers of 64 bits for argument \"size\"");
}

TEST_CASE("graphs that go in circles, or use what is not there", "[pt2]") {
  // a node that reads its own result
  holds(error_of(edited_once(attention(), "\"arg\": {\"as_tensor\": {\"name\": \"q\"}}",
                             "\"arg\": {\"as_tensor\": {\"name\": \"scaled_dot_product_attention\"}}")),
        "expected a value that is there already, found \"scaled_dot_product_attention\"");
  // a node that reads a later one
  holds(error_of(edited_once(attention(), "\"arg\": {\"as_tensor\": {\"name\": \"q\"}}",
                             "\"arg\": {\"as_tensor\": {\"name\": \"view\"}}")),
        "which a later node makes, or none (a cycle?)");
  holds(error_of(edited_once(attention(), "\"arg\": {\"as_tensor\": {\"name\": \"q\"}}",
                             "\"arg\": {\"as_tensor\": {\"name\": \"nobody\"}}")),
        "which no table of the graph holds");
  // two nodes that make the same value
  holds(error_of(edited(attention(), "\"outputs\": [{\"as_tensor\": {\"name\": \"transpose\"}}]",
                        "\"outputs\": [{\"as_tensor\": {\"name\": \"view\"}}]")),
        "byte ");
  holds(error_of(edited(attention(), "\"tensor_values\": {",
                        "\"tensor_values\": {\"q\": {\"dtype\": 7, \"sizes\": []}, ")),
        "found a second one");
}

TEST_CASE("graphs inside graphs, without end", "[pt2]") {
  std::string inner = "{\"inputs\": [], \"outputs\": [], \"nodes\": [], \"tensor_values\": {}}";
  for (int i = 0; i < 17; ++i)
    inner =
        "{\"inputs\": [], \"outputs\": [], \"tensor_values\": {}, \"nodes\": [{\"target\": \"t\", "
        "\"inputs\": [{\"name\": \"\", \"arg\": {\"as_graph\": {\"name\": \"g\", \"graph\": " +
        inner + "}}}], \"outputs\": []}]}";
  const std::string program = "{\"graph_module\": {\"graph\": " + inner +
                              ", \"signature\": {\"input_specs\": [], \"output_specs\": []}}}";
  holds(error_of(with_member(attention(), "models/model.json", [&](std::string& json) { json = program; })),
        "graphs nest deeper than 16 levels");
}

TEST_CASE("weights that are not there, or not what they are said to be", "[pt2]") {
  holds(error_with([](ZipRecipe& r) {
          std::erase_if(r.parts, [](const ZipPart& p) { return p.name.ends_with(config); });
        }),
        "model_weights_config.json, which says where the weights are");
  holds(error_with([](ZipRecipe& r) {
          std::erase_if(r.parts, [](const ZipPart& p) { return p.name.ends_with("weights/weight_0"); });
        }),
        "which the archive does not hold");
  holds(error_with([](ZipRecipe& r) { part(r, "weights/weight_0").content.resize(16); }),
        "holds 16 bytes, which are not the");
  holds(error_with([](ZipRecipe& r) { part(r, config).content = "{\"config\": {}}"; }),
        "is not among the weights or constants");
  holds(error_with([](ZipRecipe& r) { part(r, config).content = "[]"; }),
        "expected an object with a member \"config\"");
  for (const char* strides : {"-1", "4611686018427387904", "1000000"})
    holds(error_of(with_member(weighted(), config,
                               [&](std::string& json) {
                                 const std::size_t at = json.find("\"strides\": [{\"as_int\": ");
                                 REQUIRE(at != std::string::npos);
                                 const std::size_t number = at + 23;
                                 json.replace(number, json.find('}', number) - number, strides);
                               })),
          "which are not the");
}

TEST_CASE("long source traces are cut, not searched for ever", "[pt2]") {
  std::string trace;
  for (int i = 0; i < 200000; ++i) trace += "File \\\"";
  const auto start = std::chrono::steady_clock::now();
  CHECK(survives(
      edited_once(attention(), "\"metadata\": {", "\"metadata\": {\"stack_trace\": \"" + trace + "\", ")));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("no damaged word of a .pt2 crashes the reader", "[pt2]") {
  const std::string& good = weighted();
  for (std::size_t i = 0; i + 4 <= good.size(); i += 5 * test::damage_stride)
    for (const std::uint32_t value : {0u, 0x7fffffffu, 0xffffffffu}) {
      std::string damaged = good;
      std::memcpy(damaged.data() + i, &value, 4);
      (void)survives(damaged);
    }
  // The same in the program's text, with a CRC that fits.
  std::string json;
  const ZipRecipe recipe = recipe_of(attention());
  ZipRecipe changed = recipe;
  ZipPart& model = part(changed, "models/model.json");
  const std::string text = model.content;
  for (std::size_t i = 0; i < text.size(); i += 3 * test::damage_stride)
    for (const char c : {'9', '"', '}', '\\', '-', '\xff'}) {
      model.content = text;
      model.content[i] = c;
      (void)survives(make_zip(changed));
    }
}

TEST_CASE("declared shapes of a program follow from its operands", "[pt2]") {
  const std::string view =
      "\"view\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 1}, {\"as_int\": 8}, {\"as_int\": 64}]";
  holds(error_of(edited_once(attention(), view, "\"view\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 512}]")),
        "expected a result of shape 1x8x? for aten.view.default, found \"view\" of shape 512");
  holds(error_of(edited_once(
            attention(), view,
            "\"view\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 1}, {\"as_int\": 8}, {\"as_int\": 63}]")),
        "expected a result of 512 elements for aten.view.default, found 1x8x63");
  const std::string amax = "\"amax\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 1}, {\"as_int\": 1}, ";
  holds(error_of(edited_once(weighted(), amax, "\"amax\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 1}, ")),
        "expected a result of shape 1x1x8x8 for aten.amax.default, found \"amax\" of shape 1x8x8");
  holds(error_of(edited_once(weighted(), "\"sub\": {\"dtype\": 7", "\"sub\": {\"dtype\": 10")),
        "expected a real result of aten.sub.Tensor");
}

TEST_CASE("arguments of a node are of the kinds of its schema", "[pt2]") {
  const std::string dim0 = "{\"name\": \"dim0\", \"arg\": {\"as_int\": 1}";
  holds(error_of(edited_once(attention(), dim0,
                             "{\"name\": \"dim0\", \"arg\": {\"as_tensor\": {\"name\": \"q\"}}")),
        "expected an argument \"dim0\" of aten.transpose.int that is an integer");
  holds(error_of(edited_once(attention(), dim0, "{\"name\": \"dim0\", \"arg\": {\"as_ints\": [1]}")),
        "expected an argument \"dim0\" of aten.transpose.int that is an integer");
  holds(error_of(edited_once(attention(), "\"name\": \"dim0\"", "\"name\": \"dim\"")),
        "expected an argument \"dim0\" of aten.transpose.int that is an integer");
  holds(error_of(edited_once(attention(),
                             "\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"transpose\"}}",
                             "\"name\": \"self\", \"arg\": {\"as_tensors\": [{\"name\": \"transpose\"}]}")),
        "expected an argument \"self\" of aten.view.default that is a tensor");
  holds(error_of(edited_once(attention(),
                             "\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"transpose\"}}",
                             "\"name\": \"self\", \"arg\": {\"as_int\": 3}")),
        "expected a tensor among the arguments of aten.view.default");
  holds(error_of(edited_once(attention(), "{\"as_ints\": [1, 8, -1]}", "{\"as_float\": 1.5}")),
        "expected an argument \"size\" of aten.view.default that is a list of integers");
  holds(error_of(edited_once(attention(),
                             "\"outputs\": [{\"as_tensor\": {\"name\": \"scaled_dot_product_attention\"}}]",
                             "\"outputs\": []")),
        "expected 1 result of aten.scaled_dot_product_attention.default, found 0");
}

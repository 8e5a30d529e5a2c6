#include "lib/target/table.h"
#include "lib/target/target.h"
#include "test/catch.h"

using namespace md;

TEST_CASE("a version without a table uses the nearest measured one below", "[target]") {
  for (const auto& [asked, used, assumed] : std::initializer_list<std::tuple<std::string, std::string, bool>>{
           {"litert-gpu", "2.3.0", false},
           {"litert-gpu@2.1.5", "2.1.5", false},
           {"litert-gpu@2.1.6", "2.1.5", true},
           {"litert-gpu@2.4", "2.3.0", true},
           {"litert-gpu@1.4.5", "2.1.3", true},
           {"litert-gpu+cpu@2.2", "2.2.0", false}}) {
    INFO(asked);
    const auto target = open_target(asked);
    REQUIRE(target);
    CHECK((*target)->has_table());
    CHECK((*target)->table.text() == used);
    CHECK((*target)->assumed == assumed);
  }
}

TEST_CASE("targets without a table are known by name", "[target]") {
  for (const std::string name :
       {"litert-torch", "executorch", "executorch-xnnpack@1.5.1", "torch-tensorrt"}) {
    const auto target = open_target(name);
    REQUIRE(target);
    CHECK_FALSE((*target)->has_table());
    CHECK((*target)->predict(Model{}).records.empty());
  }
}

TEST_CASE("unknown targets and versions are usage errors that say what to write", "[target]") {
  const auto unknown = open_target("litert-gup@2.3.0");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == Error::Kind::usage);
  CHECK(unknown.error().message == "unknown target \"litert-gup\"; did you mean \"litert-gpu\"?");
  CHECK(open_target("zzzzzzzzzzzz").error().message.find("known: ") != std::string::npos);
  CHECK(open_target("litert-gpu@new").error().message.find("is no version") != std::string::npos);
}

TEST_CASE("the listing is ascending", "[target]") {
  bool seen = false;
  for (const TargetListing& listing : known_targets()) {
    REQUIRE_FALSE(listing.versions.empty());
    CHECK(std::is_sorted(listing.versions.begin(), listing.versions.end()));
    seen = seen || listing.name == "litert-gpu+cpu";
  }
  CHECK(seen);
}

TEST_CASE("a table's mistakes are named", "[target]") {
  for (
      const auto& [json, part] : std::initializer_list<std::pair<std::string, std::string>>{
          {"[]", "no JSON object"},
          {"{}", "target: missing"},
          {R"({"target": "t"})", "versions: missing"},
          {R"({"target": "t", "versions": ["x"]})", "versions: expected"},
          {R"({"target": "t", "versions": ["1.0"]})", "formats: missing"},
          {R"({"target": "t", "versions": ["1.0"], "formats": ["tfl"]})", "formats: expected"},
          {R"({"target": "t", "versions": ["1.0"], "formats": ["tflite"], "operators": {"ADD": [{"check": "versoin"}]}})",
           "unknown check \"versoin\""},
          {R"({"target": "t", "versions": ["1.0"], "formats": ["tflite"], "operators": {"ADD": ["unary"]}})",
           "unknown sequence \"unary\""},
          {R"({"target": "t", "versions": ["1.0"], "formats": ["tflite"], "operators": {"ADD SUB ADD": []}})",
           "\"ADD\" occurs twice"},
          {R"({"target": "t", "versions": ["1.0"], "formats": ["tflite"], "operators": {"ADD": [{"check": "version", "versions": "two"}]}})",
           "no range"}}) {
    const auto table = parse_table("t.json", json);
    INFO(json);
    REQUIRE_FALSE(table);
    CHECK(table.error().message.rfind("t.json: ", 0) == 0);
    CHECK(table.error().message.find(part) != std::string::npos);
  }
}

TEST_CASE("every embedded table loads", "[target]") {
  for (const std::string name : {"litert-gpu", "tflite-gpu"}) {
    const Table* table = embedded_table(name);
    REQUIRE(table);
    CHECK(table->operators.size() > 50);
  }
  CHECK_FALSE(embedded_table("no-such-target"));
}

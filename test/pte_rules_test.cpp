// Lowered programs diagnosed from the file alone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/diagnose/diagnose.h"
#include "lib/format/pte/dialect.h"
#include "lib/graph/document.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/pte_models.h"

using namespace md;
using namespace md::test;

namespace {

const RuleBook& book() {
  static const RuleBook rules = [] {
    auto loaded = RuleBook::load();
    INFO((loaded ? "" : loaded.error().message));
    REQUIRE(loaded);
    return std::move(*loaded);
  }();
  return rules;
}

Diagnosis check(std::string bytes, const std::string& target, const std::string& log_text = "") {
  DiagnoseRequest request;
  auto document = open_document(MappedFile::from_bytes("x.pte", std::move(bytes)));
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  request.document = document->get();
  if (!target.empty()) request.targets = {target};
  if (!log_text.empty()) {
    auto log =
        parse_log("run.log", Bytes(reinterpret_cast<const std::uint8_t*>(log_text.data()), log_text.size()));
    REQUIRE(log);
    request.logs.push_back(std::move(*log));
  }
  request.rules = &book();
  auto outcome = diagnose(request);
  REQUIRE(outcome);
  return std::move(outcome->diagnosis);
}

/// "ETX101:fatal" for each finding, in order.
std::vector<std::string> found(const Diagnosis& diagnosis) {
  std::vector<std::string> out;
  for (const Finding& finding : diagnosis.findings)
    out.push_back(fmt::format("{}:{}", finding.rule, word(finding.severity)));
  return out;
}

using Rules = std::vector<std::string>;

PteRecipe calling(const std::string& op, const std::string& overload = "out") {
  PteRecipe recipe;
  recipe.op = op, recipe.overload = overload;
  return recipe;
}

PteRecipe delegating(const std::string& backend) {
  PteRecipe recipe;
  recipe.instructions = {{.kind = 2, .first = 0, .args = {0, 1, 2}}};
  recipe.delegates = {{backend, 0, 0}};
  recipe.inline_blobs = {backend == "OpenvinoBackend" ? "RR_UPCVO meta=1.0;ov=2025.1.0;" : "blob"};
  return recipe;
}

}  // namespace

TEST_CASE("lowered programs that are fine have no finding", "[pte]") {
  std::size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixture("pte-clean")))
    for (const std::string target : {"", "executorch@1.5.1", "executorch-xnnpack@1.5.1"}) {
      ++programs;
      INFO(entry.path() << " for " << target);
      CHECK(found(check(read_text(entry.path().string()), target)) == Rules{});
    }
  REQUIRE(programs >= 15);
}

TEST_CASE("faults of captured programs are found without their logs", "[pte]") {
  const std::vector<std::pair<std::string, std::string>> captured = {
      {"ETX002-openvino-blob-freed", "executorch-openvino@1.5.1"},
      {"ETX008-mlx-shared-constant", "executorch-mlx@1.5.1"},
      {"ETX011-vulkan-constant-rank-over-4", "executorch-vulkan@1.5.1"},
      {"ETX014-xnnpack-bfloat16-quantized-2", "executorch-xnnpack@1.5.1"},
      {"ETX022-mlx-slice-scatter-constant", "executorch-mlx@1.5.1"}};
  for (const auto& [name, target] : captured) {
    INFO(name);
    const Diagnosis diagnosis = check(read_text(fixture(name + "/before.pte")), target);
    const auto finding = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                      [&, id = name.substr(0, 6)](const Finding& f) { return f.rule == id; });
    REQUIRE(finding != diagnosis.findings.end());
    CHECK(finding->severity == Severity::fatal);
    CHECK(!finding->reason.empty());
    CHECK(finding->message.find('{') == std::string::npos);
  }
}

TEST_CASE("a .pte is written back byte for byte", "[pte]") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixture(""))) {
    if (entry.path().extension() != ".pte") continue;
    const std::string bytes = read_text(entry.path().string());
    const auto document = open_pte(MappedFile::from_bytes("x.pte", bytes));
    INFO(entry.path() << (document ? "" : document.error().message));
    REQUIRE(document);
    MemorySink sink;
    REQUIRE((*document)->write((*document)->model(), sink));
    CHECK(sink.bytes == bytes);
  }
}

TEST_CASE("operators without a kernel", "[pte]") {
  const std::string target = "executorch@1.5.1";
  CHECK(found(check(make_pte(calling("aten::add")), target)) == Rules{});
  CHECK(found(check(make_pte(calling("aten::histc")), target)) == Rules{"ETX101:fatal", "ETX102:note"});
  CHECK(found(check(make_pte(calling("aten::sort", "values")), target)) == Rules{"ETX101:fatal"});
  CHECK(found(check(make_pte(calling("aten::histc")), "")) == Rules{"ETX101:note", "ETX102:note"});
  // A library that can be linked, and a user's own operator: nothing is known to fail.
  CHECK(found(check(make_pte(calling("quantized_decomposed::quantize_per_tensor")), target)) ==
        Rules{"ETX101:note"});
  CHECK(found(check(make_pte(calling("mine::op")), target)) == Rules{"ETX101:note"});
  const std::string log =
      "[method.cpp:822] Missing operator: [0] mine::op.out\n[method.cpp:1128] There are 1 instructions don't "
      "have corresponding operator registered. See logs for details\n";
  const Diagnosis logged = check(make_pte(calling("mine::op")), target, log);
  CHECK(found(logged) == Rules{"ETX101:fatal"});
  CHECK(logged.unexplained.empty());
  const Diagnosis quantized = check(make_pte(calling("quantized_decomposed::quantize_per_tensor")), target);
  CHECK(quantized.findings.at(0).reason.find("quantized_ops_lib") != std::string::npos);
}

TEST_CASE("backends that a runtime does not bring", "[pte]") {
  CHECK(found(check(make_pte(delegating("CudaBackend")), "")) == Rules{"ETX116:note"});
  CHECK(found(check(make_pte(delegating("CudaBackend")), "executorch@1.5.1")) == Rules{"ETX116:note"});
  CHECK(found(check(make_pte(delegating("CudaBackend")), "executorch-cuda@1.5.1")) == Rules{});
  CHECK(found(check(make_pte(delegating("CudaBackend")), "executorch-vulkan@1.5.1")) ==
        Rules{"ETX116:fatal"});
  CHECK(found(check(make_pte(delegating("OpenvinoBackend")), "executorch@1.5.1")) == Rules{});
  CHECK(found(check(make_pte(delegating("NobodysBackend")), "executorch@1.5.1")) == Rules{"ETX116:note"});
  const Diagnosis logged = check(make_pte(delegating("OpenvinoBackend")), "",
                                 "[method.cpp:85] Backend OpenvinoBackend is not registered.\n");
  CHECK(found(logged) == Rules{"ETX116:fatal"});
}

TEST_CASE("damaged blobs and newer schemas", "[pte]") {
  CHECK(found(check(make_pte(delegating("XnnpackBackend")), "executorch-xnnpack@1.5.1")) ==
        Rules{"ETX117:fatal"});
  PteRecipe newer;
  newer.version = 3;
  CHECK(found(check(make_pte(newer), "executorch@1.5.1")) == Rules{"ETX117:note"});
}

TEST_CASE("inputs and kernels that are stored channels last", "[pte]") {
  const std::vector<std::uint8_t> last = {0, 2, 3, 1}, plain = {0, 1, 2, 3};
  const auto image = [](const std::vector<std::uint8_t>& order, std::uint32_t at) {
    return PteValue{.sizes = {1, 2, 3, 4}, .order = order, .arena = 1, .at = at};
  };
  PteRecipe recipe = calling("aten::native_group_norm");
  recipe.values = {image(last, 0), image(last, 128), image(last, 256)};
  recipe.inputs = {0};
  CHECK(found(check(make_pte(recipe), "executorch@1.5.1")) == Rules{"ETX118:fatal", "ETX118:note"});
  recipe.op = "aten::mul";  // takes them
  CHECK(found(check(make_pte(recipe), "executorch@1.5.1")) == Rules{"ETX118:note"});
  recipe.op = "aten::add";
  CHECK(found(check(make_pte(recipe), "executorch@1.5.1")) == Rules{"ETX118:note"});
  recipe.values[1] = image(plain, 128);
  CHECK(found(check(make_pte(recipe), "executorch@1.5.1")) == Rules{"ETX118:fatal", "ETX118:note"});
  const std::string log =
      "[method.cpp:1206] Input 0 has unexpected scalar type: expected Float but was Long.\n";
  const Diagnosis logged = check(make_pte({}), "", log);
  REQUIRE(found(logged) == Rules{"ETX118:fatal"});
  CHECK(logged.findings[0].message.find("input 0 of forward must be f32[2, 3]") != std::string::npos);
}

TEST_CASE("inspect's lines say what is delegated and what falls back", "[pte]") {
  PteRecipe recipe = delegating("CudaBackend");
  recipe.instructions.push_back({.kind = 1, .first = 0, .args = {0, 1, 2}});
  recipe.op = "aten::histc";
  const auto document = open_pte(MappedFile::from_bytes("x.pte", make_pte(recipe)));
  REQUIRE(document);
  std::string all;
  for (const auto& [key, text] : (*document)->model().metadata) all += key + ": " + text + "\n";
  INFO(all);
  CHECK(all.find("plan forward delegated: CudaBackend x1; blobs of 4 bytes") != std::string::npos);
  CHECK(all.find("plan forward falls back: aten::histc.out x1") != std::string::npos);
  CHECK(all.find("plan forward memory: 4096 bytes planned") != std::string::npos);
  CHECK(all.find("plan forward input 0: f32[2, 3]") != std::string::npos);
}

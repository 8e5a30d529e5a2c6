// A format that exists only under test/toy is read, diagnosed, fixed, proved and written by an engine that
// has never heard of it: a format is one folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/edit/changes.h"
#include "lib/eval/evaluator.h"
#include "lib/eval/fold.h"
#include "lib/fix/fix.h"
#include "lib/fp16/fp16_report.h"
#include "lib/op/text.h"
#include "lib/verify/verify.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/toy/toy.h"

namespace md {
namespace {

using test::ScratchFolder;

Model parsed(const std::string& text) {
  auto model = parse_model("toy", 1, text, dialect_toy);
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

const std::string negated_twice =
    "const %w : f32[2, 3] = [1, 2, 3, 4, 5, 6]\ninput %x : f32[2, 3]\n%a = NEG(%x) : f32[2, 3]\n"
    "%b = NEG(%a) : f32[2, 3]\n%y = ADD(%b, %w) : f32[2, 3]\noutput %y\n";
const std::string tail = "whatever somebody appended";

RuleBook book(const std::string& folder) {
  auto rules = RuleBook::load({folder});
  INFO((rules ? "" : rules.error().message));
  REQUIRE(rules);
  return *std::move(rules);
}
const RuleBook& toy_book() {
  static const RuleBook rules = book(test::source_dir() + "/test/toy/rules");
  return rules;
}

const Finding* find(const Diagnosis& diagnosis, std::string_view rule) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

FixRequest request_for(const std::string& path, const RuleBook& rules) {
  FixRequest request;
  request.source.path = path;
  request.rules = &rules;
  return request;
}

}  // namespace

TEST_CASE("a toy file opens by its first bytes, and unchanged it is written as it is", "[toy]") {
  const std::string file = toy::file_of(parsed(negated_twice), tail);
  const auto document = open_document(MappedFile::from_bytes("x.toy", file));
  INFO((document ? "" : document.error().message));
  REQUIRE(document);
  const Model& model = (*document)->model();
  CHECK(model.dialect == &dialect_toy);
  CHECK(print(model).find("%b = NEG(%a)") != std::string::npos);
  MemorySink sink;
  REQUIRE((*document)->write(model, sink));
  CHECK(sink.bytes == file);
}

TEST_CASE("a toy model is mended from its log, proved, written and opened again", "[toy]") {
  const ScratchFolder folder;
  const std::string path = folder.write("model.toy", toy::file_of(parsed(negated_twice), tail));
  const std::string log = folder.write("err.txt", "toyc: NEG of NEG is not taken: b\n");
  FixRequest request = request_for(path, toy_book());
  request.source.logs = *read_logs({log});

  const auto checked = check(request);
  REQUIRE(checked);
  REQUIRE(find(checked->diagnosis, "TOY001"));
  CHECK(find(checked->diagnosis, "TOY001")->log == std::vector<int>{0});
  CHECK(folder.files() == std::vector<std::string>{"err.txt", "model.toy"});

  const auto fixed = fix(request);
  INFO((fixed ? "" : fixed.error().message));
  REQUIRE(fixed);
  const Finding* finding = find(fixed->diagnosis, "TOY001");
  REQUIRE(finding);
  REQUIRE(finding->fixes.size() == 1);
  CHECK(finding->fixes[0].applied);
  REQUIRE_FALSE(finding->fixes[0].proofs.empty());
  CHECK(finding->fixes[0].proofs[0].equal);

  const std::string before = test::read_text(path), after = test::read_text(folder.path("model.fixed.toy"));
  CHECK(after.substr(12, 24) == before.substr(12, 24));  // the constant stays where it is
  CHECK(after.ends_with(tail));
  const auto reopened = open_document(folder.path("model.fixed.toy"));
  REQUIRE(reopened);
  const std::string text = print((*reopened)->model());
  INFO(text);
  CHECK(text.find("NEG") == std::string::npos);
  CHECK(text.find("= KEEP(%x)") != std::string::npos);
}

TEST_CASE("a toy model that only moves is proved by movement, without a log", "[toy]") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "model.toy",
      toy::file_of(parsed("input %a : f32[2, 3]\ninput %b : f32[1, 3]\ninput %c : f32[4, 3]\n"
                          "%ab = JOIN(%a, %b) : f32[3, 3]\n%y = JOIN(%ab, %c) : f32[7, 3]\noutput %y\n")));
  FixRequest request = request_for(path, toy_book());
  request.options.select = {"TOY002"};
  const auto fixed = fix(request);
  REQUIRE(fixed);
  const Finding* finding = find(fixed->diagnosis, "TOY002");
  REQUIRE(finding);
  REQUIRE(finding->fixes.size() == 1);
  REQUIRE_FALSE(finding->fixes[0].proofs.empty());
  CHECK(finding->fixes[0].proofs[0].method == ProofMethod::movement);
  CHECK(finding->fixes[0].proofs[0].equal);
}

TEST_CASE("a wrong page about toy models is refuted, and nothing is written", "[toy]") {
  const ScratchFolder folder;
  const std::string page = test::read_text(test::source_dir() + "/test/toy/rules/TOY001-negated-twice.md");
  std::string wrong = page;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    REQUIRE(wrong.find(from) != std::string::npos);
    wrong.replace(wrong.find(from), from.size(), to);
  };
  replaced("%y = KEEP(%x)", "%y = NEG(%x)");
  const std::string path = folder.write("model.toy", toy::file_of(parsed(negated_twice)));
  std::filesystem::create_directory(folder.path("rules"));
  folder.write("rules/TOY001-negated-twice.md", wrong);
  const RuleBook rules = book(folder.path("rules"));
  FixRequest request = request_for(path, rules);
  request.source.logs = *read_logs({folder.write("err.txt", "toyc: NEG of NEG is not taken: b\n")});
  const auto fixed = fix(request);
  REQUIRE(fixed);
  const Finding* finding = find(fixed->diagnosis, "TOY001");
  REQUIRE(finding);
  REQUIRE(finding->fixes.size() == 1);
  CHECK_FALSE(finding->fixes[0].applied);
  REQUIRE_FALSE(finding->fixes[0].proofs.empty());
  CHECK_FALSE(finding->fixes[0].proofs[0].equal);
  CHECK_FALSE(folder.has("model.fixed.toy"));
}

TEST_CASE("the version and the domain of a toy operator choose its kernel", "[toy]") {
  Model model = parsed("input %x : f32[2]\n%y = GROW(%x) : f32[2]\noutput %y\n");
  Node& node = model.graphs[0].nodes[0];
  const Tensor x = Tensor::of(DType::f32, {2}, std::vector<double>{1, -3});
  const auto grown = [&](const std::string& domain, int version) {
    node.custom = domain, node.version = version;
    return evaluate(model, 0, std::span(&x, 1));
  };
  REQUIRE(grown("toy.math", 1));
  CHECK(grown("toy.math", 1)->front().numbers() == std::vector<double>{2, -6});
  CHECK(grown("toy.math", 7)->front().numbers() == std::vector<double>{3, -9});
  CHECK_FALSE(grown("", 1));
  CHECK_FALSE(grown("another", 1));
}

TEST_CASE("what is asked of rows holds for toy operators", "[toy]") {
  const Model state = parsed("const %w : f32[2] = [1, 2]\n%y = COUNTER(%w) : f32[2]\noutput %y\n");
  CHECK_FALSE(depends_on_constants_only(state.graphs[0], state.graphs[0].outputs[0]));
  const Model pure = parsed("const %w : f32[2] = [1, 2]\n%y = NEG(%w) : f32[2]\noutput %y\n");
  CHECK(depends_on_constants_only(pure.graphs[0], pure.graphs[0].outputs[0]));
  CHECK(print(parsed(negated_twice)).find("ADD(%b, %w)") != std::string::npos);

  const Model sum = parsed("input %x : f32[4]\n%y = ADD(%x, %x) : f32[4]\noutput %y\n");
  const Fp16Report report = fp16_report(sum, 0, {});
  CHECK_FALSE(report.layers.empty());
}

TEST_CASE("a damaged toy file is one line that names the place", "[toy]") {
  const std::string good = toy::file_of(parsed(negated_twice), tail);
  std::size_t refused = 0;
  for (std::size_t length = 4; length < good.size() - tail.size(); length += 3) {
    const auto document = open_document(MappedFile::from_bytes("x.toy", good.substr(0, length)));
    REQUIRE_FALSE(document);
    CHECK(document.error().message.starts_with("x.toy: byte "));
    CHECK(document.error().message.find('\n') == std::string::npos);
    ++refused;
  }
  CHECK(refused > 30);
  for (std::size_t at = 4; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    (void)open_document(MappedFile::from_bytes("x.toy", damaged));  // an error or a model, never more
  }
}

TEST_CASE("the shipped program knows no toy", "[toy]") {
  const ScratchFolder folder;
  const std::string path = folder.write("model.toy", toy::file_of(parsed(negated_twice)));
  const auto run = test::run_program({"check", path});
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("expected a") != std::string::npos);
}

TEST_CASE("the toy format sees what a format may see", "[toy]") {
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + "/test/toy")) {
    if (entry.is_directory()) continue;
    const std::string text = test::read_text(entry.path().string());
    INFO(entry.path().string());
    for (const char* other : {"lib/format/", "lib/runtime/", "lib/rule/", "lib/diagnose/", "lib/fix/"})
      CHECK(text.find(other) == std::string::npos);
  }
}

}  // namespace md

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "lib/diagnose/diagnose.h"
#include "lib/format/torch/dialect.h"
#include "lib/graph/document.h"
#include "lib/rule/page/examples.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

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

bool is_ours(const Rule& rule) {
  return rule.id.starts_with("ETX") || rule.id.starts_with("TRT") || rule.id.starts_with("LTC");
}

/// Fixture folders of .pt2 rules: "ETX006-constant-mutated-in-place-2" is the second case of ETX006.
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::fixture("")))
    if (std::filesystem::exists(entry.path() / "before.pt2")) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string rule_of(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  return name.substr(0, name.find('-'));
}

DiagnoseOutcome run(const std::filesystem::path& folder, bool with_model, bool with_log, bool apply) {
  DiagnoseRequest request;
  std::unique_ptr<Document> document;
  std::shared_ptr<const MappedFile> log_file;
  if (with_model) {
    auto file = MappedFile::open((folder / "before.pt2").string());
    REQUIRE(file);
    auto opened = open_pt2(*file);
    REQUIRE(opened);
    document = std::move(*opened);
    request.document = document.get();
  }
  if (with_log) {
    auto file = MappedFile::open((folder / "compile.log").string());
    REQUIRE(file);
    log_file = *file;
    auto log = parse_log("compile.log", log_file->bytes());
    REQUIRE(log);
    request.logs.push_back(std::move(*log));
  }
  request.rules = &book();
  request.options.apply = apply;
  request.options.unsafe_fixes = std::filesystem::exists(folder / "unsafe");
  auto outcome = diagnose(request);
  REQUIRE(outcome);
  return std::move(*outcome);
}

}  // namespace

TEST_CASE("pages of exported programs hold their examples", "[pt2][rules]") {
  std::size_t pages = 0;
  for (const Rule& rule : book().rules()) {
    if (!is_ours(rule)) continue;
    ++pages;
    for (const ExampleFailure& failure : run_rule_examples(rule)) {
      UNSCOPED_INFO(failure.text());
      CHECK(false);
    }
  }
  REQUIRE(pages >= 50);
}

TEST_CASE("the log alone names the right rule first", "[pt2][log]") {
  std::size_t logs = 0;
  for (const auto& folder : folders()) {
    if (!std::filesystem::exists(folder / "compile.log")) continue;
    ++logs;
    const Diagnosis diagnosis = run(folder, false, true, false).diagnosis;
    INFO(folder.filename().string());
    REQUIRE_FALSE(diagnosis.findings.empty());
    CHECK(diagnosis.findings.front().rule == rule_of(folder));
    CHECK(diagnosis.unexplained.empty());
  }
  REQUIRE(logs >= 30);
}

TEST_CASE("programs without a log have no fatal finding", "[pt2]") {
  std::vector<std::filesystem::path> all = folders();
  for (const auto& entry : std::filesystem::directory_iterator(test::fixture("pt2-clean")))
    all.push_back(entry.path());
  for (const auto& folder : all)
    for (const Finding& finding : run(folder, true, false, false).diagnosis.findings) {
      INFO(folder.filename().string() << ": " << finding.rule << ": " << finding.message);
      CHECK(finding.severity == Severity::note);
    }
}

TEST_CASE("programs that a toolchain lowers are not condemned for it", "[pt2]") {
  std::size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::fixture("pt2-passes"))) {
    std::ifstream wanted(entry.path() / "target");
    std::string target;
    REQUIRE(wanted >> target);
    DiagnoseRequest request;
    auto file = MappedFile::open((entry.path() / "before.pt2").string());
    REQUIRE(file);
    auto document = open_pt2(*file);
    REQUIRE(document);
    request.document = document->get();
    request.rules = &book();
    request.targets = {target};
    auto outcome = diagnose(request);
    REQUIRE(outcome);
    ++programs;
    for (const Finding& finding : outcome->diagnosis.findings) {
      INFO(entry.path().filename().string() << ": " << finding.rule << ": " << finding.message);
      CHECK((finding.severity == Severity::note || finding.severity == Severity::perf));
    }
  }
  REQUIRE(programs >= 10);
}

TEST_CASE("captured programs are mended, and proven equal", "[pt2]") {
  // Advice only, or a setting: nothing in the program is changed.
  const std::set<std::string> advice = {"ETX002", "ETX017", "TRT007", "TRT008"};
  const std::set<std::string> by_setting = {"ETX010-coreml-rank-over-5", "ETX016-edge-symbolic-check-2"};
  for (const auto& folder : folders()) {
    const std::string rule = rule_of(folder), name = folder.filename().string();
    if (advice.count(rule) || by_setting.count(name)) continue;
    const Diagnosis diagnosis =
        run(folder, true, std::filesystem::exists(folder / "compile.log"), true).diagnosis;
    INFO(name);
    CHECK(diagnosis.fixed > 0);
    for (const Finding& finding : diagnosis.findings)
      for (const ReportedFix& fix : finding.fixes)
        if (fix.applied) CHECK(fix.proofs.front().equal);
  }
}

// Captured cases: fixtures/ID-name/{before.*, compile.log} in, expected.json and after.txt out.
// MODELDOCTOR_BLESS=1 writes them (scripts/bless.sh). A file `target` holds the --target values, one a line;
// where a file `unsafe` is, unsafe fixes are applied, and `symptom` holds those of --symptom.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "lib/diagnose/diagnose.h"
#include "lib/op/text.h"
#include "lib/report/report.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"

using namespace md;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  std::string name, rule;
  fs::path folder, model, log;
  std::vector<std::string> targets, symptoms;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

/// The folders here that are no cases of a rule: data of other tests.
const std::set<std::string> kOtherData = {"broken",      "clean",      "cli",       "evaluator",
                                          "fp16-driver", "pt2-passes", "pt2-clean", "pt2-old",
                                          "pte-clean",   "reports",    "targets",   "tflite"};

/// Folders that are named after a rule and hold a model or a log.
std::vector<Fixture> fixtures() {
  std::vector<Fixture> out;
  const char* only = std::getenv("MODELDOCTOR_BLESS_ONLY");
  for (const auto& entry : fs::directory_iterator(test::fixture(""))) {
    Fixture f;
    f.name = entry.path().filename().string();
    f.rule = f.name.substr(0, f.name.find('-'));
    f.folder = entry.path();
    if (!entry.is_directory() || (only && *only && f.rule != only)) continue;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      if (file.path().stem() == "before") f.model = file.path();
      if (file.path().filename() == "compile.log") f.log = file.path();
      if (file.path().filename() == "target") f.targets = lines_of(file.path());
      if (file.path().filename() == "symptom") f.symptoms = lines_of(file.path());
    }
    const bool other = kOtherData.contains(f.name);
    INFO(f.name << ": a case has before.* or compile.log; what is none is listed in this test");
    CHECK((f.model.empty() && f.log.empty()) == other);
    if (!other) out.push_back(std::move(f));
  }
  std::sort(out.begin(), out.end(), [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return out;
}

bool blessing() {
  const char* bless = std::getenv("MODELDOCTOR_BLESS");
  return bless && std::string_view(bless) == "1";
}

/// Errors of reordered sums differ with the machine's vector width, the fingerprint of all pages with every
/// page.
void leave_out_what_varies(Diagnosis& diagnosis) {
  diagnosis.rules_version.clear();
  for (Finding& finding : diagnosis.findings)
    for (ReportedFix& fix : finding.fixes)
      for (ReportedProof& proof : fix.proofs) proof.max_abs = proof.max_rel = proof.max_ulp = 0;
  if (diagnosis.verification) diagnosis.verification->max_abs = diagnosis.verification->max_rel = 0;
}

/// Compares with the golden file, which must be there; blessing writes it.
void hold(const fs::path& golden, const std::string& text) {
  INFO(golden.string());
  REQUIRE((fs::exists(golden) || blessing()));
  CHECK(test::differs_from_golden(golden.string(), text) == "");
}

}  // namespace

TEST_CASE("captured cases give the blessed diagnosis", "[fixtures]") {
  const auto rules = RuleBook::load();
  REQUIRE(rules);
  for (const Fixture& f : fixtures()) {
    DYNAMIC_SECTION(f.name) {
      REQUIRE(rules->find(f.rule));
      DiagnoseRequest request;
      std::unique_ptr<Document> document;
      if (!f.model.empty()) {
        auto opened = open_document(f.model.string());
        INFO((opened ? std::string() : opened.error().message));
        REQUIRE(opened);
        document = *std::move(opened);
        request.document = document.get();
        request.model_path = f.model.filename().string();
      }
      const std::string log_text = f.log.empty() ? "" : read(f.log);
      if (!f.log.empty()) {
        auto log = parse_log("compile.log",
                             Bytes(reinterpret_cast<const std::uint8_t*>(log_text.data()), log_text.size()));
        INFO((log ? std::string() : log.error().message));
        REQUIRE(log);
        request.logs.push_back(*std::move(log));
      }
      request.targets = f.targets;
      request.rules = &*rules;
      request.options.apply = true;
      request.options.unsafe_fixes = fs::exists(f.folder / "unsafe");
      request.options.symptoms = f.symptoms;
      request.command = "fix";
      const auto outcome = diagnose(request);
      INFO((outcome ? std::string() : outcome.error().message));
      REQUIRE(outcome);
      const auto& findings = outcome->diagnosis.findings;
      INFO("findings: " << findings.size());
      CHECK(std::any_of(findings.begin(), findings.end(),
                        [&](const Finding& finding) { return finding.rule == f.rule; }));
      Diagnosis diagnosis = outcome->diagnosis;
      leave_out_what_varies(diagnosis);
      hold(f.folder / "expected.json", render(std::span<const Diagnosis>(&diagnosis, 1), ReportFormat::json));
      TextOptions options;
      options.largest_constant = 32;
      if (outcome->edited)
        hold(f.folder / "after.txt", print(*outcome->edited, options));
      else
        CHECK_FALSE(fs::exists(f.folder / "after.txt"));  // of a fix that is no longer made
    }
  }
}

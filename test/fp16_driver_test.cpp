// What the fp16 doctor predicts against what the WebGPU accelerator computed in fp16 on a software driver
// with 16-bit floats (Mesa lavapipe 25, LiteRT 2.3.0): the verdicts are stored beside the models and their
// inputs.
#include <nlohmann/json.hpp>

#include "lib/fp16/fp16_report.h"
#include "lib/graph/document.h"
#include "lib/verify/verify.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"

using namespace md;

namespace {

Fp16Report report_of(const std::string& path, const std::string& inputs) {
  auto document = open_document(path);
  INFO(path);
  REQUIRE(document);
  Fp16Options options;
  auto loaded = load_inputs((*document)->model(), {inputs});
  REQUIRE(loaded);
  options.inputs.inputs = std::move(*loaded);
  return fp16_report((*document)->model(), 0, options);
}

}  // namespace

TEST_CASE("the fp16 prediction is the accelerator's verdict, before and after a fix", "[fp16][models]") {
  const auto verdicts = nlohmann::json::parse(test::read_text(test::fixture("fp16-driver/verdicts.json")));
  REQUIRE(verdicts.size() >= 30);
  const test::ScratchFolder folder;
  for (const auto& [name, verdict] : verdicts.items()) {
    INFO(name);
    const std::string model = test::fixture("fp16-driver/" + name + ".tflite"),
                      inputs = test::fixture("fp16-driver/" + name + ".npz");
    const Fp16Report report = report_of(model, inputs);
    INFO(report.summary);
    CHECK(report.symptom.empty() == (verdict["driver"] == "ok"));
    // An overflow is named by its place.
    CHECK((report.symptom.empty() || report.verdict != Fp16Verdict::overflow || report.first));
    if (verdict["driver"] == "ok") continue;
    const std::string fixed = folder.path(name + ".tflite");
    const auto run = test::run_program({"fix", model, "--inputs", inputs, "-o", fixed});
    INFO(run.out << run.err);
    const Fp16Report after = report_of(fixed, inputs);
    INFO(after.summary);
    CHECK(after.symptom.empty() == (verdict["after_fix"] == "ok"));
  }
}

// The rules for fp16 speak up on values that were computed, and stay notes without them.
#include <algorithm>

#include "lib/diagnose/diagnose.h"
#include "lib/op/dialect.h"
#include "test/catch.h"
#include "test/text_document.h"

namespace md {
namespace {

using test::TextDocument;

const char* kRmsNorm = R"(
input %x : f32[1, 4, 32]
const %axes : i32[1] = [2]
const %eps : f32[1] = [0.000001]
%sq = MUL(%x, %x) : f32[1, 4, 32]
%m = MEAN(%sq, %axes) { keep_dims = true } : f32[1, 4, 1]
%v = ADD(%m, %eps) : f32[1, 4, 1]
%r = RSQRT(%v) : f32[1, 4, 1]
%y = MUL(%x, %r) : f32[1, 4, 32]
output %y
)";

DiagnoseOutcome run(const std::string& text, bool apply, const HeadroomOptions& values) {
  static const RuleBook rules = *RuleBook::load();
  const TextDocument document(text, dialect("tflite"));
  REQUIRE(document.error == "");
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = "model.tflite";
  request.targets = {"litert-gpu@2.3.0"};
  request.rules = &rules;
  request.options.apply = apply;
  request.options.values = values;
  auto outcome = diagnose(request);
  REQUIRE(outcome.has_value());
  return std::move(*outcome);
}

HeadroomOptions range(double low, double high) {
  HeadroomOptions values;
  values.ranges["x"] = {low, high};
  return values;
}

const Finding& only(const Diagnosis& d) {
  REQUIRE(d.findings.size() == 1);
  return d.findings.front();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an fp16 rule is a note where only the pattern is there", "[fp16][diagnose]") {
  const Diagnosis d = run(kRmsNorm, false, {}).diagnosis;
  REQUIRE(only(d).rule == "F16004");
  REQUIRE(only(d).severity == Severity::note);
  REQUIRE(d.exit_code == 0);
  REQUIRE_FALSE(holds(only(d).message, "\"sq\""));
}

TEST_CASE("a value past 65504 on known inputs makes it a wrong result", "[fp16][diagnose]") {
  const Diagnosis d = run(kRmsNorm, false, range(-2000, 2000)).diagnosis;
  REQUIRE(only(d).severity == Severity::silent);
  REQUIRE(d.exit_code == 1);
  INFO(only(d).message);
  REQUIRE(holds(only(d).message,
                "with random numbers in the ranges known for 1 of 1 float inputs \"sq\" reaches 4e+06"));
  REQUIRE(holds(only(d).message, "the outputs are all zero"));
}

TEST_CASE("the fix is shown in simulated fp16, before and after", "[fp16][diagnose]") {
  const DiagnoseOutcome outcome = run(kRmsNorm, true, range(-2000, 2000));
  REQUIRE(outcome.changed());
  REQUIRE(outcome.diagnosis.exit_code == 0);
  const auto& notes = outcome.diagnosis.notes;
  const auto shown = std::find_if(notes.begin(), notes.end(), [](const std::string& note) {
    return holds(note, "in fp16, simulated on");
  });
  REQUIRE(shown != notes.end());
  INFO(*shown);
  REQUIRE(holds(*shown, "the outputs are all zero before, the outputs are 0.00"));
}

TEST_CASE("inputs that stay far below the limit take the alarm away", "[fp16][diagnose]") {
  const DiagnoseOutcome outcome = run(kRmsNorm, true, range(-5, 5));
  REQUIRE_FALSE(outcome.changed());
  REQUIRE(only(outcome.diagnosis).severity == Severity::note);
  REQUIRE(holds(only(outcome.diagnosis).message, "it stays at 25, 11.4 bits below"));
}

TEST_CASE("an overflow that no rule mends is named when inputs are given", "[fp16][diagnose]") {
  const char* text =
      "input %x : f32[1, 8]\nconst %c : f32[1] = [1000]\n%y = MUL(%x, %c) : f32[1, 8]\noutput %y\n";
  const Diagnosis d = run(text, false, range(-500, 500)).diagnosis;
  REQUIRE(d.findings.empty());
  REQUIRE(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& note) {
    return holds(note, "overflow: \"y\" (MUL) reaches 5e+05");
  }));
  const Diagnosis fine = run(text, false, range(-5, 5)).diagnosis;
  REQUIRE(fine.notes.empty());
}

}  // namespace md

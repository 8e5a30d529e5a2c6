// A log belongs to one model: paired on the command line, found beside it, or known for another's.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/foreign_log.h"
#include "lib/log/companions.h"
#include "lib/op/dialect.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"
#include "test/run_program.h"
#include "test/text_document.h"

namespace md {
namespace {

using Json = nlohmann::json;
using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;
using test::TextDocument;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string notes(const Json& run) { return run["notes"].dump(); }

std::string delegate_log(const std::string& lines) {
  return "ERROR: Following operations are not supported by GPU delegate:\n" + lines +
         "\n3 operations will run on the GPU, and the remaining 1 operations will run on the CPU.\n";
}

Diagnosis examine(const std::string& graph, const std::string& log_text,
                  const Dialect& dialect = md::dialect("tflite")) {
  static const RuleBook rules = *RuleBook::load();
  const TextDocument document(graph, dialect);
  INFO(document.error);
  REQUIRE(document.error.empty());
  auto log =
      parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(log_text.data()), log_text.size()));
  REQUIRE(log.has_value());
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = "model";
  request.logs.push_back(std::move(*log));
  if (dialect.name == "tflite") request.targets = {"litert-gpu@2.3.0"};
  request.rules = &rules;
  auto outcome = diagnose(request);
  REQUIRE(outcome.has_value());
  return std::move(outcome->diagnosis);
}

bool is_disowned(const Diagnosis& d) {
  for (const std::string& note : d.notes)
    if (contains(note, "log of another model, or of another export")) return true;
  return false;
}

bool any_from_log(const Diagnosis& d) {
  for (const Finding& finding : d.findings)
    if (!finding.log.empty()) return true;
  return false;
}

/// Reshapes to rank 5 and back: the log names the tensors.
const char* kFive = R"(
input %x : f32[1, 8]
const %big : i32[5] = [1, 2, 1, 2, 2]
const %flat : i32[2] = [1, 8]
%net.Block;4 = RESHAPE(%x, %big) : f32[1, 2, 1, 2, 2]
%net.Block;5 = RESHAPE(%net.Block;4, %flat) : f32[1, 8]
output %net.Block;5
)";

}  // namespace

TEST_CASE("wishes for logs are paired with models", "[log pairing]") {
  const std::vector<std::string> models = {"m/a.tflite", "n/a.tflite", "./b=c.tflite"};
  const auto paired = pair_logs(models, {"m/a.tflite=x.txt", "b=c.tflite=y=z.txt", "n/./a.tflite=-"});
  REQUIRE(paired.has_value());
  CHECK((*paired)[0] == std::vector<std::string>{"x.txt"});
  CHECK((*paired)[1] == std::vector<std::string>{"-"});
  CHECK((*paired)[2] == std::vector<std::string>{"y=z.txt"});
  CHECK(contains(pair_logs(models, {"x.txt"}).error().message, "--log m/a.tflite=x.txt"));
  CHECK(contains(pair_logs(models, {"a.tflite=x.txt"}).error().message, "may be m/a.tflite or n/a.tflite"));
  CHECK(contains(pair_logs(models, {"m/b.tflite=x.txt"}).error().message, "did you mean"));
  CHECK(contains(pair_logs(models, {"m/a.tflite="}).error().message, "MODEL=FILE"));
  CHECK((*pair_logs({"a.tflite"}, {"x", "y"}))[0].size() == 2);
}

TEST_CASE("one log is not applied to every model", "[log pairing]") {
  const ScratchFolder folder;
  const std::string refused = folder.copy("cli/hardtanh.tflite", "refused.tflite"),
                    clean = folder.copy("cli/clean.tflite", "clean.tflite"),
                    log = folder.copy("cli/hardtanh.log", "err.txt");
  const ProgramResult unpaired = run_program({"check", refused, clean, "--log", log});
  CHECK(unpaired.exit_code == 2);
  CHECK(unpaired.out.empty());
  CHECK(contains(unpaired.err, "--log " + refused + "=" + log));
  const ProgramResult paired =
      run_program({"check", refused, clean, "--log", "refused.tflite=" + log, "--output-format", "json"});
  CHECK(paired.exit_code == 1);
  const Json runs = Json::parse(paired.out)["runs"];
  CHECK_FALSE(runs[0]["log"].empty());
  CHECK(runs[1]["log"].empty());
  CHECK(runs[1]["exit_code"] == 0);
}

TEST_CASE("logs beside a model and of its name are read", "[log pairing]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  for (const std::string name : {"m.log", "m.err", "m.tflite.log", "m.tflite.err"}) {
    INFO(name);
    const std::string log = folder.copy("cli/hardtanh.log", name);
    const Json found = Json::parse(run_program({"check", model, "--output-format", "json"}).out);
    CHECK_FALSE(found["log"].empty());
    CHECK(contains(notes(found), "read " + log));
    CHECK(found["target"][0]["source"] == "log");
    const Json without =
        Json::parse(run_program({"check", model, "--no-auto-log", "--output-format", "json"}).out);
    CHECK(without["log"].empty());
    const std::string other = folder.copy("cli/hardtanh.log", "other.txt");
    const Json given =
        Json::parse(run_program({"check", model, "--log", other, "--output-format", "json"}).out);
    CHECK(given["log"][0]["path"] == other);
    CHECK_FALSE(contains(given["log"].dump(), name));
    std::filesystem::remove(log);
  }
}

TEST_CASE("a log beside a model is left out where a target of another version was asked for",
          "[log pairing]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  folder.copy("cli/hardtanh.log", "m.log");  // of litert-gpu 2.3.0
  const auto records = [&](const std::string& target) {
    return Json::parse(run_program({"check", model, "--target", target, "--output-format", "json"}).out);
  };
  CHECK_FALSE(records("litert-gpu@2.3.0")["log"].empty());
  CHECK_FALSE(records("litert-gpu")["log"].empty());
  const Json other = records("litert-gpu@2.1.3");
  CHECK(other["log"].empty());
  CHECK(contains(notes(other), "is of litert-gpu 2.3.0"));
}

TEST_CASE("what lies beside a model and is no log of it alone is left", "[log pairing]") {
  const ScratchFolder folder;
  const std::string model = folder.copy("cli/hardtanh.tflite", "m.tflite");
  const auto check = [&] { return run_program({"check", model, "--output-format", "json"}); };
  folder.write("m.log", "");
  CHECK(Json::parse(check().out)["log"].empty());
  folder.write("m.log", std::string("\x00\x01\x02\xff", 4) + std::string(100, '\0'));
  CHECK(check().exit_code == 1);
  CHECK(contains(notes(Json::parse(check().out)), "is no log"));
  folder.write("m.log", run_program({"check", model}).out);
  CHECK(Json::parse(check().out)["log"].empty());
  folder.copy("cli/hardtanh.log", "m.log");
  CHECK_FALSE(Json::parse(check().out)["log"].empty());
  const std::string failures = test::read_text(test::fixture("cli/hardtanh.log"));
  for (const std::string first :
       {"The following operators are not supported: ABS, EXP", "3 operators, of m: 2"}) {
    folder.write("m.log", first + "\n" + failures);
    CHECK_FALSE(Json::parse(check().out)["log"].empty());
  }
  folder.write("m.pte", "another model of this stem");
  CHECK(Json::parse(check().out)["log"].empty());
  CHECK(contains(notes(Json::parse(check().out)), "may be the log of"));
}

TEST_CASE("the tensor that a line of the delegate names", "[log pairing]") {
  CHECK(tensor_named_in("RESHAPE: Tensor dimensions must be less than 5. cases.L;4") == "cases.L;4");
  CHECK(tensor_named_in("SELECT: Tensor type(INT64) is not supported. a b/c") == "a b/c");
  CHECK(tensor_named_in("SUB: Tensor \"zoo.Fn;6\" has bad input dims size: 0.") == "zoo.Fn;6");
  CHECK(tensor_named_in("SUB: Tensor \"nullptr\" has bad input dims size: 0.").empty());
  CHECK(tensor_named_in("GATHER_ND: Operation is not supported.").empty());
  CHECK(tensor_named_in("TRANSPOSE_CONV: Max version supported: 3. Requested version 4.").empty());
  CHECK(tensor_named_in("RELU_0_TO_1: Not supported op RELU_0_TO_1").empty());
}

TEST_CASE("a log whose tensors the model does not have is of another model", "[log pairing]") {
  // The operators are all here, and one line is word for word what is predicted.
  const Diagnosis other =
      examine(kFive, delegate_log("RESHAPE: Tensor dimensions must be less than 5. other.Head;7\n"
                                  "RESHAPE: Tensor type(INT64) is not supported. other.Head;8"));
  CHECK(is_disowned(other));
  CHECK_FALSE(any_from_log(other));
  CHECK(other.unexplained.size() == 2);
  CHECK(other.exit_code == 1);

  const Diagnosis own =
      examine(kFive, delegate_log("RESHAPE: Tensor dimensions must be less than 5. net.Block;4\n"
                                  "RESHAPE: Tensor dimensions must be less than 5. gone;7"));
  CHECK_FALSE(is_disowned(own));
  CHECK(any_from_log(own));
}

TEST_CASE("a log of another export, equal but for the names, stays", "[log pairing]") {
  const Diagnosis exported =
      examine(kFive, delegate_log("RESHAPE: Tensor dimensions must be less than 5. net.Block;14\n"
                                  "RESHAPE: Tensor dimensions must be less than 5. net.Block;14"));
  CAPTURE(exported.prediction->records.size());
  for (const auto& row : exported.prediction->records) UNSCOPED_INFO(row.text);
  CHECK_FALSE(is_disowned(exported));
  CHECK(any_from_log(exported));
}

TEST_CASE("lines that name no tensor are still tied by their operator", "[log pairing]") {
  const Diagnosis d = examine(kFive, delegate_log("RESHAPE: Some new reason."));
  CHECK_FALSE(is_disowned(d));
}

TEST_CASE("a converter's log of other sources is of another model", "[log pairing]") {
  const ScratchFolder folder;
  const std::string model = test::fixture("LTC002-fft-no-lowering/before.pt2");
  std::string log = test::read_text(test::fixture("LTC002-fft-no-lowering/compile.log"));
  const Json own = Json::parse(
      run_program({"check", model, "--log", folder.write("own.txt", log), "--output-format", "json"}).out);
  CHECK_FALSE(contains(notes(own), "another model"));
  const auto replace = [&](const std::string& from, const std::string& to) {
    REQUIRE(contains(log, from));
    for (std::size_t at = log.find(from); at != std::string::npos; at = log.find(from, at + to.size()))
      log.replace(at, from.size(), to);
  };
  replace("%permute", "%head_permute_7");
  // The names of nodes change when a converter decomposes the graph: they alone prove nothing.
  const Json decomposed = Json::parse(
      run_program({"check", model, "--log", folder.write("d.txt", log), "--output-format", "json"}).out);
  CHECK_FALSE(contains(notes(decomposed), "another model"));
  replace("/home/user/export/model.py", "/home/user/export/detector.py");
  const ProgramResult foreign =
      run_program({"check", model, "--log", folder.write("other.txt", log), "--output-format", "json"});
  CHECK(foreign.exit_code == 1);
  CHECK(contains(notes(Json::parse(foreign.out)), "log of another model"));
  const Json findings = Json::parse(foreign.out)["findings"];
  for (const Json& finding : findings) CHECK(finding["log"].empty());
}

}  // namespace md

// The engine's parts: evidence, versions, costs, choice; and whole runs over small graphs.
#include "lib/diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/diagnose/cost.h"
#include "lib/diagnose/evidence.h"
#include "lib/diagnose/fixing.h"
#include "lib/diagnose/targets.h"
#include "lib/edit/apply.h"
#include "lib/edit/cut.h"
#include "lib/fix/output.h"
#include "lib/format/tflite/op_versions.h"
#include "lib/op/dialect.h"
#include "lib/op/work.h"
#include "lib/proof/proof.h"
#include "test/catch.h"
#include "test/run_program.h"
#include "test/text_document.h"

namespace md {
namespace {

using test::TextDocument;

const RuleBook& book() {
  static const RuleBook rules = *RuleBook::load();
  return rules;
}

Log log_of(const std::string& text) {
  auto log = parse_log("err.txt", Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  REQUIRE(log.has_value());
  return std::move(*log);
}

std::string delegate_log(const std::string& lines) {
  return "ERROR: Following operations are not supported by GPU delegate:\n" + lines +
         "\n3 operations will run on the GPU, and the remaining 1 operations will run on the CPU.\n";
}

Diagnosis run(const Document* document, const std::vector<Log>& logs,
              const std::vector<std::string>& targets = {},
              const std::function<void(DiagnoseOptions&)>& change = {}) {
  DiagnoseRequest request;
  request.document = document;
  request.model_path = document ? "model.tflite" : "";
  request.logs = logs;
  request.targets = targets;
  request.rules = &book();
  if (change) change(request.options);
  auto outcome = diagnose(request);
  REQUIRE(outcome.has_value());
  return std::move(outcome->diagnosis);
}

bool has_note(const Diagnosis& d, const std::string& part) {
  return std::any_of(d.notes.begin(), d.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

const Finding* find(const Diagnosis& d, const std::string& rule) {
  for (const Finding& finding : d.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

const char* kHardtanh = R"(
input %x : f32[1, 4]
%a = RELU_0_TO_1(%x) : f32[1, 4]
%b = EXP(%a) : f32[1, 4]
%y = RELU_0_TO_1(%b) : f32[1, 4]
output %y
)";

}  // namespace

TEST_CASE("the operator of a delegate's line", "[diagnose]") {
  CHECK(operator_in("RESHAPE: Tensor dimensions must be less than 5. x") == "RESHAPE");
  CHECK(operator_in("CUSTOM Foo: Foo") == "CUSTOM");
  CHECK(operator_in("RELU_0_TO_1: Not supported op RELU_0_TO_1") == "RELU_0_TO_1");
  CHECK(operator_in("Some ops are not accelerated.").empty());
  CHECK(operator_in("").empty());
  CHECK(operator_in("A: b").empty());
}

TEST_CASE("a line is tied to nodes by its text, else the tensor it names, else the operator", "[diagnose]") {
  const TextDocument document(R"(
input %x : f32[1, 4]
%a = EXP(%x) : f32[1, 4]
%b = EXP(%a) : f32[1, 4]
%c = ABS(%b) : f32[1, 4]
output %c
)",
                              dialect("tflite"));
  REQUIRE(document.error.empty());
  const Model& model = document.model();
  const std::vector<Log> logs = {log_of(delegate_log(
      "ABS: predicted text\nEXP: Tensor type(INT64) is not supported. b\nEXP: something\nCOS: something"))};
  const RuleIndex index(book());
  std::vector<LogEvidence> evidence = gather_evidence(logs, index);
  std::erase_if(evidence, [](const LogEvidence& item) { return !item.record->failure; });
  REQUIRE(evidence.size() >= 4);
  Prediction prediction;
  prediction.records.push_back({"ABS: predicted text", 0, model.graphs[0].order[2], none_id, false});
  attribute(evidence, model, {prediction});
  const auto of = [&](const std::string& text) -> const LogEvidence& {
    return *std::find_if(evidence.begin(), evidence.end(),
                         [&](const LogEvidence& item) { return item.record->message == text; });
  };
  CHECK(of("ABS: predicted text").attribution == Attribution::exact);
  CHECK(of("ABS: predicted text").nodes.size() == 1);
  // Both the node that makes b and, had it been an EXP, one that reads it.
  CHECK(of("EXP: Tensor type(INT64) is not supported. b").attribution == Attribution::tensor);
  CHECK(of("EXP: Tensor type(INT64) is not supported. b").nodes.size() == 1);
  CHECK(of("EXP: something").attribution == Attribution::op);
  CHECK(of("EXP: something").nodes.size() == 2);
  CHECK(of("COS: something").of_other_model);
  CHECK_FALSE(is_of_other_model(evidence));
}

TEST_CASE("work is counted in multiply-adds", "[diagnose]") {
  const TextDocument document(R"(
input %x : f32[1, 8, 8, 3]
const %w : f32[16, 3, 3, 3] = splat(0.1)
const %b : f32[16] = splat(0)
const %f : f32[10, 1024] = splat(0.1)
const %s : i32[2] = [1, 1024]
%c = CONV_2D(%x, %w, %b) { padding = SAME, stride_w = 1, stride_h = 1 } : f32[1, 8, 8, 16]
%r = RESHAPE(%c, %s) : f32[1, 1024]
%y = FULLY_CONNECTED(%r, %f, _) : f32[1, 10]
output %y
)",
                              dialect("tflite"));
  REQUIRE(document.error.empty());
  const Graph& graph = document.model().graphs[0];
  CHECK(multiply_adds(graph, graph.node(graph.order[0])) == 8 * 8 * 16 * 27);
  CHECK(multiply_adds(graph, graph.node(graph.order[1])) == 0);
  CHECK(multiply_adds(graph, graph.node(graph.order[2])) == 10 * 1024);
  const ReportedCost cost = cost_of_change(document.model(), document.model());
  CHECK((cost.ops == 0 && cost.bytes == 0 && cost.macs == 0));
}

TEST_CASE("work past what can be counted stays at the most, whatever sizes a file states", "[diagnose]") {
  Value value;
  value.dtype = DType::f32, value.shape = Shape(6, 2147483647);
  Node node;
  node.op = "ADD", node.inputs = {0, 0}, node.outputs = {0};
  Model model;
  Graph& graph = model.graphs.emplace_back();
  graph.values = {value};
  graph.nodes = std::vector<Node>(5, node);
  graph.order = {0, 1, 2, 3, 4};
  CHECK(multiply_adds(graph, node) == kMostWork);
  CHECK(total_multiply_adds(model) == kMostWork);
  node.op = "FULLY_CONNECTED";
  CHECK(multiply_adds(graph, node) == kMostWork);
}

TEST_CASE("where a constant above is not finite, differences on such values count", "[diagnose]") {
  const auto reaches = [](const std::string& constant) {
    const TextDocument document(
        "input %x : f32[1, 2]\nconst %m : f32[1, 2] = " + constant +
            "\n%a = ADD(%x, %m) : f32[1, 2]\n%b = EXP(%a) : f32[1, 2]\n%y = ABS(%b) : f32[1, 2]\noutput %y\n",
        dialect("tflite"));
    REQUIRE(document.error == "");
    Patch patch;
    patch.removed.push_back(document.model().graphs[0].order[2]);
    return Surroundings(document.model()).nonfinite_may_reach(patch);
  };
  CHECK(reaches("[0, -inf]"));
  CHECK(reaches("[0, 100000]"));
  CHECK_FALSE(reaches("[0, 65504]"));
}

TEST_CASE("a fix is tried on what lies around it, not on the whole model", "[diagnose]") {
  std::string text = "input %x : f32[1, 4]\nconst %c : f32[4] = [1, 2, 3, 4]\n%t = NEG(%c) : f32[4]\n";
  std::string last = "x";
  for (int i = 0; i < 400; ++i) {
    text +=
        fmt::format("%a{0} = ADD(%{1}, %t) : f32[1, 4]\n%b{0} = RELU_0_TO_1(%a{0}) : f32[1, 4]\n", i, last);
    last = fmt::format("b{}", i);
  }
  const TextDocument document(text + "output %" + last + "\n", dialect("tflite"));
  REQUIRE(document.error == "");
  const Graph& graph = document.model().graphs[0];
  const NodeId middle = graph.order[401];  // NEG, then pairs: this is an ADD, the next one its RELU_0_TO_1
  REQUIRE(graph.node(middle + 1).op == "RELU_0_TO_1");
  Node relu = graph.node(middle + 1);
  Patch patch;
  patch.title = "the same again";
  patch.removed = {middle + 1};
  patch.new_nodes = {relu};
  const Surroundings surroundings(document.model());
  const Excerpt local = surroundings.around(patch);
  const Graph& part = local.model.graphs[0];
  CHECK(part.order.size() > 3);
  CHECK(part.order.size() < 20);
  CHECK(broken_invariant(part).value_or("") == "");
  std::vector<std::string> ops;
  for (const NodeId id : part.order) ops.push_back(part.node(id).op);
  CHECK(std::count(ops.begin(), ops.end(), "NEG") ==
        1);  // the operand that only constants decide is there whole
  const auto name_of = [&](ValueId v) { return part.value(v).name; };
  CHECK(name_of(part.node(local.patch.removed[0]).outputs[0]) == graph.value(relu.outputs[0]).name);
  REQUIRE(part.inputs.size() == 1);
  CHECK(graph.is_output(graph.outputs[0]));
  const auto after = apply_patches(local.model, std::span(&local.patch, 1));
  REQUIRE(after);
  const Proof proof = prove(local.model, *after, 0, {});
  CHECK(proof.equal);
  CHECK(proof.method != ProofMethod::none);
  // A patch that moves the interface is tried on the whole model.
  patch.graph_outputs = graph.outputs;
  CHECK(surroundings.around(patch).model.graphs[0].order.size() == graph.order.size());
}

TEST_CASE("cutting before a value removes what lies behind it, and only that", "[diagnose]") {
  const TextDocument document(R"(
input %x : f32[1, 4]
input %z : f32[1, 4]
%a = EXP(%x) : f32[1, 4]
%s = ABS(%z) : f32[1, 4]
%b = ADD(%a, %s) : f32[1, 4]
%c = COS(%x) : f32[1, 4]
output %b
output %c
)",
                              dialect("tflite"));
  REQUIRE(document.error == "");
  const auto cut = cut_before(document.model(), {"a"});
  REQUIRE(cut.has_value());
  const Graph& graph = cut->graphs[0];
  std::vector<std::string> ops, outputs;
  for (const NodeId id : graph.order) ops.push_back(graph.node(id).op);
  for (const ValueId id : graph.outputs) outputs.push_back(graph.value(id).name);
  // ADD depends on a; ABS was there for ADD alone. COS and its output stay, and so do both inputs.
  CHECK(ops == std::vector<std::string>{"EXP", "COS"});
  CHECK(outputs == std::vector<std::string>{"c", "a"});
  CHECK(graph.inputs.size() == 2);
  CHECK(cut_before(document.model(), {"aa"}).error().message.find("did you mean") != std::string::npos);
  CHECK(cut_before(document.model(), {"b"}).error().kind == Error::Kind::usage);
}

TEST_CASE("names of outputs", "[diagnose]") {
  CHECK(plan_output("a/model.tflite", "", false)->model_path == "a/model.fixed.tflite");
  CHECK(plan_output("a/model.tflite", "", false)->diagnosis_path == "a/model.diagnosis.json");
  CHECK(plan_output("a/model", "", false)->model_path == "a/model.fixed");
  CHECK(plan_output("a/model.tflite", "b/out.bin", false)->diagnosis_path == "b/out.diagnosis.json");
  CHECK(plan_output("a/model.tflite", "", true)->model_path == "a/model.tflite");
  CHECK_FALSE(plan_output("a/model.tflite", "b", true).has_value());
}

TEST_CASE("the target: flag, log, fit, default", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  REQUIRE(document.error.empty());
  CHECK(run(&document, {}).targets.at(0).source == TargetSource::usual);
  const Log told = log_of(delegate_log("RELU_0_TO_1: Not supported op RELU_0_TO_1") +
                          "ERROR: [./litert/cc/litert_compiled_model.h:1486]\n");
  const Diagnosis by_log = run(&document, {told});
  CHECK(by_log.targets.at(0).source == TargetSource::log);
  CHECK(by_log.targets.at(0).version == "2.1.5");
  const Diagnosis by_flag = run(&document, {told}, {"litert-gpu@2.3.0"});
  CHECK(by_flag.targets.at(0).source == TargetSource::flag);
  CHECK(by_flag.targets.at(0).version == "2.3.0");
  CHECK(has_note(by_flag, "the log is of litert-gpu 2.1.5"));
  CHECK(run(&document, {told}, {"litert-gpu"}).targets.at(0).version == "2.1.5");
  const Diagnosis fitted =
      run(&document, {log_of(delegate_log("RELU_0_TO_1: Not supported op RELU_0_TO_1"))});
  CHECK(fitted.targets.at(0).source == TargetSource::fit);
  CHECK(fitted.targets.at(0).assumed);
  const Diagnosis newer = run(&document, {}, {"litert-gpu@2.4.0"});
  CHECK(newer.targets.at(0).table == "2.3.0");
  CHECK(newer.targets.at(0).assumed);
  DiagnoseRequest request;
  request.document = &document;
  request.rules = &book();
  request.targets = {"litert-gpo"};
  const auto wrong = diagnose(request);
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().kind == Error::Kind::usage);
}

TEST_CASE("check lists candidates and changes nothing; fix proves and applies them", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const Diagnosis checked = run(&document, {}, {"litert-gpu@2.3.0"});
  CHECK(checked.findings.size() == 2);
  CHECK(checked.exit_code == 1);
  for (const Finding& finding : checked.findings) {
    CHECK(finding.rule == "LRT015");
    CHECK(finding.open());
    REQUIRE_FALSE(finding.fixes.empty());
    CHECK(finding.fixes.front().proofs.empty());
  }
  const Diagnosis fixed =
      run(&document, {}, {"litert-gpu@2.3.0"}, [](DiagnoseOptions& o) { o.apply = true; });
  CHECK(fixed.status == RunStatus::fixed);
  CHECK(fixed.fixed == 2);
  for (const Finding& finding : fixed.findings) {
    REQUIRE_FALSE(finding.fixes.empty());
    const ReportedFix& fix = finding.fixes.front();
    CHECK(fix.applied);
    REQUIRE_FALSE(fix.proofs.empty());
    CHECK(fix.proofs.front().equal);
    CHECK(fix.cost.ops == 1);
  }
  CHECK(fixed.prediction->after_verdict == Verdict::compiles);
}

TEST_CASE("on the CPU as well, a refused operator is slow, not fatal", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const Diagnosis d = run(&document, {}, {"litert-gpu+cpu@2.3.0"});
  REQUIRE(find(d, "LRT015"));
  CHECK(find(d, "LRT015")->severity == Severity::perf);
  CHECK(d.exit_code == 0);
}

TEST_CASE("each line of the log belongs to a finding or is unexplained", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  const Diagnosis d =
      run(&document, {log_of(delegate_log("EXP: Quux.\nRELU_0_TO_1: Not supported op RELU_0_TO_1"))},
          {"litert-gpu@2.3.0"});
  REQUIRE(find(d, "LRT015"));
  REQUIRE(find(d, "LRT015")->log.size() == 1);
  CHECK(d.log.at(static_cast<std::size_t>(find(d, "LRT015")->log[0])).line == 3);
  CHECK(find(d, "LRT015")->attribution == Attribution::exact);
  REQUIRE(d.unexplained.size() == 1);
  CHECK(d.log.at(static_cast<std::size_t>(d.unexplained[0])).text == "EXP: Quux.");
  CHECK(d.exit_code == 1);
}

TEST_CASE("two runs over the same input are the same, and a second fix has nothing to do", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  DiagnoseRequest request;
  request.document = &document;
  request.rules = &book();
  request.targets = {"litert-gpu@2.3.0"};
  request.options.apply = true;
  const auto first = diagnose(request), second = diagnose(request);
  REQUIRE((first.has_value() && second.has_value() && first->edited && second->edited));
  CHECK(print(*first->edited) == print(*second->edited));
  const TextDocument mended(print(*first->edited), dialect("tflite"));
  REQUIRE(mended.error == "");
  request.document = &mended;
  const auto third = diagnose(request);
  REQUIRE(third.has_value());
  CHECK_FALSE(third->changed());
  CHECK(third->diagnosis.findings.empty());
}

TEST_CASE("symptom rules, selection and thresholds", "[diagnose]") {
  const TextDocument document(kHardtanh, dialect("tflite"));
  CHECK(run(&document, {}, {}, [](DiagnoseOptions& o) { o.ignore = {"LRT015"}; }).findings.empty());
  CHECK(run(&document, {}, {}, [](DiagnoseOptions& o) { o.ignore = {"LRT015"}; }).exit_code == 0);
  CHECK(run(&document, {}, {}, [](DiagnoseOptions& o) { o.select = {"relu-0-to-1"}; }).findings.size() == 2);
  CHECK(run(&document, {}, {}, [](DiagnoseOptions& o) { o.fail_on = std::nullopt; }).exit_code == 0);
}

TEST_CASE("a stated symptom makes no fault of operators that only look alike", "[diagnose]") {
  const TextDocument document(
      "input %x : f32[1, 4, 8]\nconst %c : f32[1, 1, 8] = iota\n%y = ADD(%x, %c) : f32[1, 4, 8]\noutput %y\n",
      dialect("tflite"));
  const auto stated = run(&document, {}, {}, [](DiagnoseOptions& o) { o.symptoms = {"wrong"}; });
  CHECK(std::none_of(stated.findings.begin(), stated.findings.end(),
                     [](const Finding& f) { return f.rule == "LRT062" || f.rule == "LRT068"; }));
}

// A page may write operators that the target takes and computes wrongly: a model that is refused is better.
TEST_CASE("a rewrite whose own operators are known to be wrong is refused", "[diagnose]") {
  const test::ScratchFolder folder;
  folder.write("ZZZ001-joined-zeros.md", R"(# ZZZ001 joined-zeros

```json rule
{ "id": "ZZZ001", "severity": "silent", "graph": true, "formats": ["tflite"], "applicability": "safe", "exactness": "exact",
  "references": ["https://example.org"] }
```

## What it means
Zeros are joined on.

## Why it happens
For a test.

## What the fix does
Pads instead.

## When it is not safe
Never.

## At the source
Nothing.

```rewrite tflite
match {
  %y = CONCATENATION(%x, %zeros) { axis = 2 }
  where all_equal(%zeros, 0)
}
replace "PAD" {
  %y = PAD(%x, const("i32", [[0, 0], [0, 0], [0, dim(%zeros, 2)]]))
}
```

```model tflite fires
input %x : f32[1, 3, 4]
const %z : f32[1, 3, 2] = splat(0)
%y = CONCATENATION(%x, %z) { axis = 2 } : f32[1, 3, 6]
output %y
```

```model tflite declines
input %x : f32[1, 3, 4]
%y = NEG(%x) : f32[1, 3, 4]
output %y
```
)");
  const auto rules = RuleBook::load({folder.path("")});
  INFO((rules ? "" : rules.error().message));
  REQUIRE(rules);
  const auto applied = [&](const std::string& type, std::string& reason) {
    const TextDocument document("input %x : " + type + "[1, 3, 4]\nconst %z : " + type +
                                    "[1, 3, 2] = splat(0)\n%y = CONCATENATION(%x, %z) { axis = 2 } : " +
                                    type + "[1, 3, 6]\noutput %y\n",
                                dialect("tflite"));
    REQUIRE(document.error.empty());
    DiagnoseRequest request;
    request.document = &document;
    request.model_path = "model.tflite";
    request.targets = {"litert-gpu@2.3.0"};
    request.rules = &*rules;
    request.options.apply = true;
    request.options.ignore = {"LRT071"};
    const auto outcome = diagnose(request);
    REQUIRE(outcome.has_value());
    const Finding* finding = find(outcome->diagnosis, "ZZZ001");
    REQUIRE(finding);
    REQUIRE(finding->fixes.size() == 1);
    reason = finding->fixes[0].reason;
    return finding->fixes[0].applied;
  };
  std::string reason;
  CHECK(applied("f32", reason));
  CHECK_FALSE(applied("i32", reason));
  CHECK(reason.find("LRT071") != std::string::npos);
}

}  // namespace md

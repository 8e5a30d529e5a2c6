// What a page says once and a detector leaves to it; the operator index; checks that a fix removes.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/diagnose/fp16_evidence.h"
#include "lib/edit/builder.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/rewrite/dropped_check.h"
#include "lib/rule/page/log_words.h"
#include "lib/rule/page/operator_index.h"
#include "lib/rule/page/page_data.h"
#include "lib/rule/page/rule.h"
#include "lib/target/target.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"

using namespace md;

namespace {

const RuleBook& book() {
  static const RuleBook loaded = [] {
    auto result = RuleBook::load();
    if (!result) throw std::runtime_error(result.error().message);
    return *std::move(result);
  }();
  return loaded;
}

std::string data_error(std::string_view json) {
  Rule rule;
  const Status read = read_rule_data("p.md", 3, json, rule);
  return read ? "" : read.error().message;
}

Model model_of(std::string_view text, const Dialect& dialect = md::dialect("tflite")) {
  auto model = parse_model("m.txt", 1, text, dialect);
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

/// Every example model of every rule, with the target that it names.
template <class F>
void for_each_example(F&& body) {
  for (const Rule& rule : book().rules())
    for (const ModelExample& example : rule.model_examples) {
      auto model = parse_model(rule.path, example.line, example.text, *example.dialect);
      REQUIRE(model);
      std::unique_ptr<Target> target;
      if (const auto at = example.options.find("target="); at != std::string::npos) {
        const std::string name = example.options.substr(at + 7, example.options.find(' ', at) - at - 7);
        auto opened = open_target(name);
        REQUIRE(opened);
        target = *std::move(opened);
      }
      body(rule, *model, target.get());
    }
}

}  // namespace

TEST_CASE("a page with an unknown target or key does not load", "[rule]") {
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal",
  "runtimes": [{ "target": "litert-gpuu", "fails": "*" }], "references": ["https://x"] })") ==
        "p.md:4: unknown target \"litert-gpuu\" (did you mean \"litert-gpu\"?)");
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal",
  "runtimes": [{ "target": "litert-gpu", "failed": "*" }], "references": ["https://x"] })") ==
        "p.md:4: unknown key \"failed\" in \"runtimes\"; it has \"target\", \"fails\" and \"case\"");
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal",

  "juge": "fp16", "references": ["https://x"] })") ==
        "p.md:5: unknown key \"juge\" (did you mean \"judge\"?)");
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal", "references": ["https://x"],
  "rows": { "by": "op", "tabel": {} } })")
            .starts_with("p.md:4: unknown key \"tabel\" in \"rows\""));
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal", "references": ["https://x"],
  "exactness": ["exact", "exactly"] })")
            .starts_with("p.md:4: \"exactness\" must be one of"));
  CHECK(data_error(R"({ "id": "T1", "severity": "fatal", "references": ["https://x"],
  "fault": "user" })") ==
        "p.md:4: \"fault\" must be one of model, usage, environment, versions, tool-bug, not \"user\"");
}

TEST_CASE("a page says who is to blame", "[rule]") {
  for (const Blame fault :
       {Blame::model, Blame::usage, Blame::environment, Blame::versions, Blame::tool_bug}) {
    Rule rule;
    const std::string json =
        std::string(R"({"id": "T1", "severity": "fatal", "references": ["https://x"], "fault": ")") +
        std::string(word(fault)) + "\"}";
    REQUIRE(read_rule_data("p.md", 1, json, rule));
    CHECK(rule.fault == fault);
  }
}

TEST_CASE("a page speaks in the words that a log gave", "[rule]") {
  Rule rule;
  REQUIRE(read_rule_data("p.md", 1, R"({"id": "T1", "severity": "fatal", "references": ["https://x"],
    "message": "{op} has no kernel", "reason": "{what}, for {where}", "at_source": "{sizes(%x)}",
    "rows": {"by": "op", "table": {"aten::cat.*": {"what": "write {op} as a copy"},
                                   "aten::add.out": {"message": "{op} is not linked", "what": "link it"}}}})",
                         rule));
  const auto cat = words_from_log(rule, {{"op", "aten::cat.out"}, {"where", "the phone"}});
  CHECK(cat.message == "aten::cat.out has no kernel");
  CHECK(cat.reason == "write aten::cat.out as a copy, for the phone");
  CHECK(cat.at_source.empty());  // a word that only a model gives
  const auto add = words_from_log(rule, {{"op", "aten::add.out"}});
  CHECK(add.message == "aten::add.out is not linked");
  CHECK(add.reason.empty());  // nothing says where
  CHECK(words_from_log(rule, {}).message.empty());
}

TEST_CASE("every target that a page names can be asked for", "[rules]") {
  for (const Rule& rule : book().rules())
    for (const RuntimeRange& range : rule.runtimes) {
      INFO(rule.id << " " << range.target);
      CHECK(open_target(range.target));
    }
  for (const TargetListing& listing : known_targets()) {
    const auto names = target_names();
    CHECK(std::find(names.begin(), names.end(), listing.name) != names.end());
  }
  CHECK(target_names().size() == known_targets().size());
}

TEST_CASE("the schema of a rule describes every key", "[rule]") {
  const auto properties = nlohmann::json::parse(rule_schema())["properties"];
  for (const std::string& key : rule_data_keys()) CHECK(properties.contains(key));
  CHECK(properties.size() == rule_data_keys().size());
}

TEST_CASE("a fix is as exact as its page says", "[rules]") {
  for_each_example([](const Rule& rule, const Model& model, const Target* target) {
    for (std::size_t g = 0; g < model.graphs.size(); ++g)
      for (const DetectResult& found :
           run_rule(rule, DetectContext{model, static_cast<int>(g), model.graphs[g], target}))
        for (const ProposedFix& fix : found.fixes) {
          INFO(rule.id << ": " << fix.patch.title);
          REQUIRE(fix.exactness);
          CHECK(std::find(rule.exactness.begin(), rule.exactness.end(), *fix.exactness) !=
                rule.exactness.end());
        }
  });
}

TEST_CASE("a fix that assumes something or removes a check is unsafe, and its page says why", "[rules]") {
  for_each_example([](const Rule& rule, const Model& model, const Target* target) {
    for (const DetectResult& found : run_rule(rule, DetectContext{model, 0, model.graphs[0], target}))
      for (const ProposedFix& fix : found.fixes) {
        INFO(rule.id << ": " << fix.patch.title);
        if (fix.assumes) CHECK_FALSE(rule.assumes.empty());
        if (dropped_check(model.graphs[0], fix.patch) != none_id) CHECK_FALSE(rule.drops_checks.empty());
        if (fix.assumes || dropped_check(model.graphs[0], fix.patch) != none_id) CHECK(fix.unsafe);
      }
  });
}

TEST_CASE("what the page owns is not said in a detector", "[rules]") {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + "/rules")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = test::read_text(entry.path().string());
    INFO(entry.path().string());
    CHECK(text.find("at_source") == std::string::npos);        // "at_source" and "rows" of the page
    CHECK(text.find("target->version") == std::string::npos);  // "runtimes" of the page: context.fails()
    CHECK(text.find("Exactness::exact, false") == std::string::npos);
  }
}

TEST_CASE("a detector is asked only where one of its roots is", "[rule]") {
  Rule rule = *book().find("LRT010");
  rule.detector = [](const DetectContext& context) -> std::vector<DetectResult> {
    std::vector<DetectResult> found;
    for (const NodeId id : context.roots()) found.emplace_back().nodes = {id};
    found.emplace_back();  // that it was asked
    return found;
  };
  const Model without = model_of("input %x : f32[2]\n%y = ABS(%x)\noutput %y\n");
  CHECK(run_rule(rule, DetectContext{without, 0, without.graphs[0]}).empty());
  const Model with = model_of(
      "input %c : bool[2]\ninput %x : f32[2]\n%a = ABS(%x)\n%y = SELECT_V2(%c, %a, %x)\noutput %y\n");
  const auto found = run_rule(rule, DetectContext{with, 0, with.graphs[0]});
  REQUIRE(found.size() == 2);
  CHECK(found[0].nodes == std::vector<NodeId>{1});
}

TEST_CASE("rules about fp16 say so in their page", "[rule]") {
  Rule rule;
  REQUIRE(read_rule_data(
      "p.md", 1, R"({ "id": "XYZ1", "severity": "silent", "judge": "fp16", "references": ["https://x"] })",
      rule));
  CHECK(concerns_fp16(rule));
  Rule other;
  REQUIRE(read_rule_data("p.md", 1,
                         R"({ "id": "F16999", "severity": "silent", "references": ["https://x"] })", other));
  CHECK_FALSE(concerns_fp16(other));
}

TEST_CASE("versions are read from the page, a case of a fault has its own", "[rule]") {
  const Rule* rule = book().find("LRT068");
  REQUIRE(rule);
  const Model model = model_of("input %x : f32[2]\n%y = ABS(%x)\noutput %y\n");
  DetectContext context{model, 0, model.graphs[0]};
  context.rule = rule;
  CHECK(context.fails());
  CHECK_FALSE(context.fails("one row"));  // of no version in particular: only what holds for all
  const auto at = [&](const char* name, std::string_view part) {
    const auto target = open_target(name);
    REQUIRE(target);
    context.target = target->get();
    return context.fails(part);
  };
  CHECK(at("litert-gpu@2.1.3", "one row"));
  CHECK_FALSE(at("litert-gpu@2.1.5", "one row"));
  CHECK(at("litert-gpu@2.1.5", "several rows"));
  CHECK(at("litert-gpu+cpu@2.1.5", "several rows"));
  CHECK_FALSE(at("litert-gpu@2.2.0", "several rows"));
  CHECK(at("litert-gpu@2.3.0", ""));
  CHECK_FALSE(at("executorch-xnnpack", ""));
}

TEST_CASE("nodes are found by operator, in execution order", "[rule]") {
  const Model model = model_of(
      "input %x : f32[2]\n%a = ADD(%x, %x)\n%b = RELU(%a)\n%c = MUL(%b, %a)\n%y = ADD(%c, %b)\noutput %y\n");
  const OperatorIndex index(model.graphs[0]);
  CHECK(index.find("ADD") == std::vector<NodeId>{0, 3});
  CHECK(index.find("binary elementwise") == std::vector<NodeId>{0, 2, 3});
  CHECK(index.find("unary elementwise") == std::vector<NodeId>{1});
  CHECK(index.find("AD*") == std::vector<NodeId>{0, 3});
  CHECK(index.find("SUB").empty());
  CHECK(is_root("aten.cat.*", "aten.cat.default", nullptr));
  CHECK(is_root("aten.index_put.*", "aten.index_put_.default", nullptr));
  CHECK_FALSE(is_root("aten.index.*", "aten.index_put.default", nullptr));
}

TEST_CASE("a check that the graph itself shows to hold is not missed", "[rule]") {
  const auto dropped = [](std::string_view text, std::string_view op) {
    const Model model = model_of(text, dialect("pt2"));
    const Graph& graph = model.graphs[0];
    PatchBuilder patch(graph, 0, "drop");
    for (const NodeId id : graph.order)
      if (graph.node(id).op == op) patch.remove(id);
    REQUIRE_FALSE(patch.patch().removed.empty());
    return dropped_check(graph, patch.patch()) != none_id;
  };
  CHECK(
      dropped("input %x : symbool[]\ninput %z : f32[2]\n= aten._assert_scalar.default(self = %x)\n"
              "%y = aten.neg.default(self = %z) : f32[2]\noutput %y\n",
              "aten._assert_scalar.default"));
  CHECK_FALSE(
      dropped("input %z : u8[2]\n= aten._assert_tensor_metadata.default(a = %z)\n"
              "%y = aten.neg.default(self = %z) : u8[2]\noutput %y\n",
              "aten._assert_tensor_metadata.default"));
  const std::string rows =
      "input %z : f32[?]\n%u = aten.sym_size.int(self = %z) { dim = 0 } : symint[]\n"
      "%g = _operator.ge(a = %u) { b = LEAST } : symbool[]\n= aten._assert_scalar.default(self = %g)\n"
      "%y = aten.neg.default(self = %z) : f32[?]\noutput %y\n";
  const auto with = [&](const std::string& least) {
    std::string text = rows;
    return text.replace(text.find("LEAST"), 5, least);
  };
  CHECK_FALSE(dropped(with("0"), "aten._assert_scalar.default"));
  CHECK(dropped(with("2"), "aten._assert_scalar.default"));
}

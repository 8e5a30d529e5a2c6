// The rule language: what it matches, what it declines and why, what it refuses to load.
#include <random>

#include "lib/edit/apply.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/rewrite/index_pattern.h"
#include "lib/rule/language/rewrite.h"
#include "lib/rule/page/markdown.h"
#include "lib/rule/page/page.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"

using namespace md;

namespace {

Model model_of(std::string_view text) {
  auto model = parse_model("m.txt", 1, text, dialect("tflite"));
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

std::vector<Rewrite::Site> sites(std::string_view rewrite, const Model& model) {
  auto tree = parse_rewrite("r.md", 1, rewrite, dialect("tflite"));
  INFO((tree ? std::string() : tree.error().message));
  REQUIRE(tree);
  const DetectContext context{model, 0, model.graphs[0]};
  return Rewrite(*std::move(tree)).run(context);
}

/// The one site must fire; the graph after its first fix, as text.
std::string after(std::string_view rewrite, std::string_view text) {
  const Model model = model_of(text);
  const auto found = sites(rewrite, model);
  REQUIRE(found.size() == 1);
  INFO(found[0].reason);
  REQUIRE(found[0].outcome == Rewrite::Site::Outcome::fires);
  const std::vector<Patch> patches = {found[0].fixes[0].patch};
  const auto changed = apply_patches(model, patches);
  INFO((changed ? std::string() : changed.error().message));
  REQUIRE(changed);
  return print(changed->graphs[0], dialect("tflite"));
}

std::string reason(std::string_view rewrite, std::string_view text) {
  const auto found = sites(rewrite, model_of(text));
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].outcome != Rewrite::Site::Outcome::fires);
  return found[0].reason;
}

std::string load_error(std::string_view rewrite) {
  const auto tree = parse_rewrite("r.md", 10, rewrite, dialect("tflite"));
  return tree ? "" : tree.error().message;
}

const std::string relu01 = R"(match { %y = RELU_0_TO_1(%x) }
replace "two" { %a = RELU(%x)
                %y = MINIMUM(%a, const(dtype(%x), [1.0])) })";

}  // namespace

TEST_CASE("a replacement keeps the root's name and type", "[rule]") {
  const std::string text =
      after(relu01, "input %x : f32[2, 4]\n%y = RELU_0_TO_1(%x) : f32[2, 4]\n%z = NEG(%y)\noutput %z\n");
  CHECK(text ==
        "input %x : f32[2, 4]\nconst %y/b : f32[1] = [1.0]\n%y/a = RELU@0(%x) : f32[2, 4]\n%y = "
        "MINIMUM@0(%y/a, %y/b) : f32[2, 4]\n%z = NEG(%y) : f32[2, 4]\noutput %z\n");
}

TEST_CASE("commutative operands match in both orders", "[rule]") {
  const std::string rewrite =
      "match { %a = RELU(%x)\n %y = ADD(%a, %b)\n where is_const(%b) }\nreplace \"sub\" { %y = SUB(%a, %b) }";
  // %a is an inner value: the replacement may read it, its node stays.
  const std::string in = "input %x : f32[4]\nconst %b : f32[4] = [1, 2, 3, 4]\n%a = RELU(%x)\n";
  CHECK(after(rewrite, in + "%y = ADD(%a, %b)\noutput %y\n").find("%y = SUB@0(%a, %b)") != std::string::npos);
  CHECK(after(rewrite, in + "%y = ADD(%b, %a)\noutput %y\n").find("%y = SUB@0(%a, %b)") != std::string::npos);
}

TEST_CASE("one name is one value", "[rule]") {
  const std::string rewrite = "match { %y = DIV(%t, %t) }\nreplace \"ones\" { %y = splat(1.0, %y) }";
  CHECK(
      after(rewrite, "input %x : f32[4]\n%a = EXP(%x)\n%d = DIV(%a, %a)\n%y = MUL(%d, %x)\noutput %y\n") ==
      "input %x : f32[4]\nconst %d : f32[4] = [1.0, 1.0, 1.0, 1.0]\n%y = MUL(%d, %x) : f32[4]\noutput %y\n");
  CHECK(sites(rewrite, model_of("input %x : f32[4]\n%a = EXP(%x)\n%d = DIV(%a, %x)\noutput %d\n")).empty());
}

TEST_CASE("the first false condition is the reason", "[rule]") {
  const std::string rewrite =
      "match { %y = SOFTMAX(%x)\n where rank(%x) == 2\n where dim(%x, -1) == 1 }\nreplace \"one\" { %y = "
      "splat(1.0, %y) }";
  CHECK(reason(rewrite, "input %x : f32[4, 8]\n%y = SOFTMAX(%x)\noutput %y\n") ==
        "the rewrite needs dim(%x, -1) == 1, but dim(%x, -1) is 8 (%x is \"x\" f32[4, 8])");
  CHECK(reason(rewrite, "input %x : f32[1]\n%y = SOFTMAX(%x)\noutput %y\n")
            .starts_with("the rewrite needs rank(%x) == 2, but rank(%x) is 1"));
  CHECK(reason(rewrite, "input %x : f32[4, ?]\n%y = SOFTMAX(%x)\noutput %y\n")
            .find("not known before run time") != std::string::npos);
  CHECK(reason(rewrite, "input %x : f32[4, 1]\n%y = SOFTMAX(%x) { beta = 2.0 }\noutput %y\n") ==
        "SOFTMAX has beta = 2.0, which this rewrite does not cover");
  CHECK(reason(rewrite, "input %x : f32[4, 1]\n%y = SOFTMAX(%x)\noutput %y\n")
            .find("an output cannot be a constant") != std::string::npos);
}

TEST_CASE("an inner value that is used elsewhere declines", "[rule]") {
  const std::string rewrite = "match { %a = RELU(%x)\n %y = NEG(%a) }\nreplace \"abs\" { %y = ABS(%x) }";
  CHECK(reason(rewrite, "input %x : f32[4]\n%a = RELU(%x)\n%y = NEG(%a)\noutput %y\noutput %a\n") ==
        "%a (\"a\") is also an output of the graph");
  CHECK(reason(rewrite,
               "input %x : f32[4]\n%a = RELU(%x)\n%y = NEG(%a)\n%z = EXP(%a)\noutput %y\noutput %z\n") ==
        "%a (\"a\") is also read by EXP elsewhere");
}

TEST_CASE("several replacements are tried in order and conditions choose", "[rule]") {
  const std::string rewrite = R"(match { %y = RELU_0_TO_1(%x) }
replace "for integers" { where dtype(%x) == "i32"
                         %y = RELU(%x) }
replace "clamp" { %y = RELU6(%x) })";
  const Model model = model_of("input %x : f32[4]\n%y = RELU_0_TO_1(%x)\noutput %y\n");
  const auto found = sites(rewrite, model);
  REQUIRE(found[0].fixes.size() == 1);
  REQUIRE(found[0].fixes[0].patch.title == "clamp");
}

TEST_CASE("attributes are matched, captured and carried over", "[rule]") {
  const std::string rewrite =
      R"(match { %y = MAX_POOL_2D(%x) { filter_height = 1, filter_width = 1, stride_h = s, stride_w = s, padding = _ } }
replace "slice" { %y = AVERAGE_POOL_2D(%x) { filter_height = 1, filter_width = 1, stride_h = s, stride_w = s, padding = VALID } })";
  const std::string in = "input %x : f32[1, 8, 8, 3]\n";
  CHECK(after(rewrite, in + "%y = MAX_POOL_2D(%x) { stride_h = 2, stride_w = 2 }\noutput %y\n")
            .find("{ padding = VALID, stride_w = 2, stride_h = 2 }") != std::string::npos);
  CHECK(sites(rewrite, model_of(in + "%y = MAX_POOL_2D(%x) { stride_h = 2, stride_w = 1 }\noutput %y\n"))
            .empty());
}

TEST_CASE("constants are seen through DEQUANTIZE, and dead producers go", "[rule]") {
  const std::string rewrite =
      "match { %y = MUL(%x, %c)\n where all_equal(%c, 1.0) }\nreplace \"nothing\" { %y = %x }";
  CHECK(after(rewrite,
              "input %x : f32[2]\nconst %h : f16[2] = [1, 1]\n%c = DEQUANTIZE(%h)\n%y = MUL(%x, %c)\n%z = "
              "NEG(%y)\noutput %z\n") == "input %x : f32[2]\n%z = NEG(%x) : f32[2]\noutput %z\n");
  CHECK(after(rewrite, "input %x : f32[2]\nconst %c : f32[] = [1]\n%y = MUL(%x, %c)\noutput %y\n")
            .find("%y = RESHAPE@0(%x, %y/shape)") != std::string::npos);
}

TEST_CASE("a number in a pattern is a constant of that number", "[rule]") {
  const std::string rewrite = "match { %y = MAXIMUM(%x, -inf) }\nreplace \"nothing\" { %y = %x }";
  CHECK(sites(rewrite, model_of("input %x : f32[2]\nconst %c : f32[] = [-inf]\n%y = MAXIMUM(%c, %x)\n%z = "
                                "NEG(%y)\noutput %z\n"))
            .size() == 1);
  CHECK(
      sites(rewrite,
            model_of(
                "input %x : f32[2]\nconst %c : f32[] = [0]\n%y = MAXIMUM(%c, %x)\n%z = NEG(%y)\noutput %z\n"))
          .empty());
}

TEST_CASE("constants in quantized graphs are requantized or declined", "[rule]") {
  const std::string good = after(
      relu01, "input %x : i8[4] q(0.01, -100)\n%y = RELU_0_TO_1(%x) : i8[4] q(0.01, -100)\noutput %y\n");
  CHECK(good.find("i8[1] q(0.01, -100) = [0]") != std::string::npos);
  CHECK(
      reason(relu01, "input %x : i8[4] q(0.001, 0)\n%y = RELU_0_TO_1(%x) : i8[4] q(0.001, 0)\noutput %y\n") ==
      "1 does not fit the quantized range of the result");
}

TEST_CASE("what is wrong with a block is said with its line", "[rule]") {
  CHECK(load_error("match { %y = RELUU(%x) }\nreplace \"r\" { %y = RELU(%x) }") ==
        "r.md:10: unknown operator or function RELUU (did you mean \"RELU\"?)");
  CHECK(load_error("match { %y = RELU(%x) }\nreplace \"r\" {\n %y = SOFTMAX(%x) { betta = 1 } }") ==
        "r.md:12: SOFTMAX has no attribute betta (did you mean \"beta\"?)");
  CHECK(load_error("match { %y = RELU(%x) }\nreplace \"r\" { %y = ABS(%q) }")
            .starts_with("r.md:11: %q is not bound"));
  CHECK(load_error("match { %y = RELU(%x)\n where dimm(%x, 0) == 1 }\nreplace \"r\" { %y = ABS(%x) }") ==
        "r.md:11: unknown function dimm (did you mean \"dim\"?)");
  CHECK(load_error("match { %y = RELU(%x) }\nreplace \"r\" { %z = ABS(%x) }") ==
        "r.md:11: the replacement \"r\" does not give %y");
  CHECK(load_error("match { %y = RELU(%x) }\nreplace \"r\" { %y = MINIMUM(%x, const(\"f31\", [1.0])) }") ==
        "r.md:11: \"f31\" is no element type");
  CHECK(load_error("match { %y = RELU(%x)\n where dim(%x) == 1 }\nreplace \"r\" { %y = ABS(%x) }") ==
        "r.md:11: dim takes a value and an axis");
  CHECK(load_error("match { %a = NEG(%z)\n %y = RELU(%x) }\nreplace \"r\" { %y = ABS(%x) }")
            .starts_with("r.md:10: %a is not an operand"));
  CHECK(load_error("match { %y = RELU(%x) }") == "");  // advice alone
  CHECK(load_error("match { %y = ADD(%x) }\nreplace \"r\" { %y = ADD(%x) }") ==
        "r.md:11: ADD takes 2 operands, not 1");
}

TEST_CASE("grids are found, and one changed index breaks them", "[rule]") {
  const std::vector<double> rows = {1, 3, 5};
  const auto grid = find_grid(rows, {3, 1}, {8, 4});
  REQUIRE(grid);
  REQUIRE(grid->begin == Shape{1, 0});
  REQUIRE(grid->end == Shape{6, 4});
  REQUIRE(grid->stride == Shape{2, 1});
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> broken = rows;
    broken[i] += 1;
    if (const auto other = find_grid(broken, {3, 1}, {8, 4})) REQUIRE(other->begin != grid->begin);
  }
  REQUIRE_FALSE(find_grid(rows, {3, 1}, {5, 4}));  // leaves the bounds
  const std::vector<double> mirror = {2, 1, 0, 1, 2, 3, 2};
  REQUIRE(find_reflection(mirror, 4)->before == 2);
  REQUIRE(find_reflection(mirror, 4)->after == 1);
  REQUIRE_FALSE(find_reflection(mirror, 5));
}

TEST_CASE("matching is linear in the graph", "[rule]") {
  std::string text = "input %x0 : f32[4]\n";
  constexpr int n = 200'000;  // squared, the test's time is up
  for (int i = 0; i < n; ++i)
    text += "%x" + std::to_string(i + 1) + " = RELU(%x" + std::to_string(i) + ") : f32[4]\n";
  const Model model = model_of(text + "output %x" + std::to_string(n) + "\n");
  REQUIRE(sites("match { %a = NEG(%x)\n %y = RELU(%a) }\nreplace \"r\" { %y = ABS(%x) }", model).empty());
}

namespace {
std::string page(const std::string& json, const std::string& rest = "") {
  return "# TST001 bad-thing\n\n```json rule\n" + json +
         "\n```\n## What it means\nIt is bad. And more.\n## Why it happens\nx\n## What the fix does\nx\n## "
         "When it is not safe\nx\n## At the source\nchange dim {dim(%x, 0)}\n" +
         rest;
}
const std::string examples =
    "```model tflite fires\ninput %x : f32[4]\n%y = RELU_0_TO_1(%x)\noutput %y\n```\n```model tflite "
    "declines\ninput %x : f32[4]\n%y = RELU(%x)\noutput %y\n```\n";
const std::string block = "```rewrite tflite\n" + relu01 + "\n```\n";
std::string page_error(const std::string& text) {
  const auto rule = parse_rule("p.md", text);
  return rule ? "" : rule.error().message;
}
}  // namespace

TEST_CASE("a page is checked while it is read", "[rule]") {
  const std::string good =
      R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"] })";
  CHECK(page_error(page(good, block + examples)) == "");
  CHECK(page_error(page(good, block)) ==
        "p.md:4: the page needs a ```model FORMAT fires and a ```model FORMAT declines block (or "
        "\"no_model_example\": \"why\")");
  CHECK(page_error(
            page(R"({ "id": "TST002", "severity": "fatal", "graph": true, "references": ["https://x"] })",
                 block + examples))
            .starts_with("p.md:1: the title says"));
  CHECK(page_error(page(R"({ "id": "TST001", "severity": "fatal",
  "graf": true, "references": ["https://x"] })",
                        block + examples)) == "p.md:5: unknown key \"graf\" (did you mean \"graph\"?)");
  CHECK(page_error(page("{ \"id\": \"TST001\",\n\"severity\" }"))
            .starts_with("p.md:5: this JSON cannot be read"));
  CHECK(
      page_error(page(R"({ "id": "TST001", "severity": "bad", "graph": true, "references": ["https://x"] })"))
          .find("must be one of note, perf, silent, fatal") != std::string::npos);
  CHECK(page_error(
            page(R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": [] })", examples))
            .find("\"references\" needs at least one") != std::string::npos);
  CHECK(page_error(
            page(R"({ "id": "TST001", "severity": "fatal", "references": ["https://x"] })", block + examples))
            .find("nothing triggers this rule") != std::string::npos);
  CHECK(page_error(
            page(R"({ "id": "TST001", "severity": "fatal", "log": ["short"], "references": ["https://x"] })",
                 block + examples))
            .find("signature \"short\"") != std::string::npos);
  CHECK(page_error(page(good, block + examples + "```log maybe\nx\n```\n")).find("expected \"log fires\"") !=
        std::string::npos);
  CHECK(page_error(page(good, "```rewrite tflite\nmatch {\n")).find("never closed") != std::string::npos);
  CHECK(page_error("# TST001 bad-thing\n```json rule\n" + good + "\n```\n") ==
        "p.md:1: the page has no section \"## What it means\"");
  CHECK(
      page_error(
          page(
              R"({ "id": "TST001", "severity": "fatal", "graph": true, "detector": true, "references": ["https://x"] })",
              examples))
          .find("no detector TST001") != std::string::npos);
}

TEST_CASE("a finding fills the page's template", "[rule]") {
  const auto rule = parse_rule(
      "p.md", page(R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"] })",
                   block + examples));
  REQUIRE(rule);
  REQUIRE(rule->summary == "It is bad.");
  const Model model = model_of("input %x : f32[7]\n%y = RELU_0_TO_1(%x)\noutput %y\n");
  const auto results = run_rule(*rule, DetectContext{model, 0, model.graphs[0]});
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].at_source == "change dim 7");
}

TEST_CASE("a page reads as text in a terminal", "[rule]") {
  const auto rule = parse_rule(
      "p.md", page(R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"] })",
                   block + examples));
  REQUIRE(rule);
  const std::string text = render_page(*rule);
  CHECK(text.starts_with(
      "TST001 bad-thing   [fatal: does not compile]\n\nWhat it means\n  It is bad. And more.\n"));
  CHECK(text.find("json") == std::string::npos);
  CHECK(text.find("RELU_0_TO_1") == std::string::npos);
  CHECK(dedented("    a\n      b\n\n    c") == "a\n  b\n\nc");
  CHECK(dedented("a\n    b") == "a\n    b");
  const auto code = parse_page("p.md", "# T x\n## S\n\n    code\n    more\n\n");
  REQUIRE(code);
  CHECK(code->sections[0].prose == "    code\n    more");
  CHECK(render_prose("one two three four\n- a `b` **c**\n  d\n\n    code  stays\n", 12, 2) ==
        "  one two\n  three four\n  - a b c d\n\n      code  stays\n");
}

TEST_CASE("no page makes the reader crash", "[rule]") {
  const std::string good = page(
      R"({ "id": "TST001", "severity": "fatal", "log": ["something {x:word} fails here"], "references": ["https://x"] })",
      block + examples + "```log fires\nsomething a fails here\n```\n");
  REQUIRE(page_error(good) == "");
  std::mt19937 random(5);
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    for (int k = 1 + static_cast<int>(random() % 3); k > 0; --k) {
      const std::size_t at = random() % text.size();
      if (random() % 4 == 0)
        text.erase(at, random() % 40);
      else
        text[at] = "%[](){}=,:\"_`#\n\\1.-a"[random() % 21];
      if (text.empty()) text = "#";
    }
    (void)parse_rule("p.md", text);
  }
  CHECK(load_error("match { %y = RELU(%x) where " + std::string(5000, '(')).find("nested too deeply") !=
        std::string::npos);
}

TEST_CASE("an operand may be absent, and further ones are taken by ...", "[rule]") {
  const std::string block =
      "match { %y = FULLY_CONNECTED(%x, %w, %b?) }\nreplace \"r\" { %y = root(%x, %w, %b) }";
  for (const char* text :
       {"input %x : f32[1, 2]\nconst %w : f32[2, 2] = random(1)\n%y = FULLY_CONNECTED(%x, %w, _)\noutput "
        "%y\n",
        "input %x : f32[1, 2]\nconst %w : f32[2, 2] = random(1)\nconst %b : f32[2] = [1.0, 2.0]\n"
        "%y = FULLY_CONNECTED(%x, %w, %b)\noutput %y\n"}) {
    const Model model = model_of(text);
    const auto found = sites(block, model);
    REQUIRE(found.size() == 1);
    CHECK(found[0].outcome == Rewrite::Site::Outcome::fires);
    CHECK((found[0].bindings.values.at("b") == none_id) ==
          (std::string_view(text).find("%b") == std::string_view::npos));
  }
  const Model joined = model_of(
      "input %x : f32[1, 2]\n%a = ABS(%x)\n%y = CONCATENATION(%x, %a, %x) { axis = 1 }\noutput %y\n");
  const std::string open =
      "match { %y = CONCATENATION(%x, ...) { ... } }\nreplace \"r\" { %y = splat(0.0, %y) }";
  CHECK(sites(open, joined).size() == 1);
  CHECK(sites("match { %y = CONCATENATION(%x) { axis = _ } }\nreplace \"r\" { %y = splat(0.0, %y) }", joined)
            .empty());
}

TEST_CASE("one pattern for several operators and for parts that may be missing", "[rule]") {
  const std::string block = R"(match {
  %n = MUL(%x, 2.0) or %x
  %y = RELU | ABS(%n)
}
replace "r" { %y = NEG(%x) })";
  const auto with = [&](const std::string& body) {
    return sites(block,
                 model_of("input %x : f32[4]\nconst %two : f32[] = [2.0]\nconst %three : f32[] = [3.0]\n" +
                          body + "output %y\n"));
  };
  const auto doubled = with("%d = MUL(%x, %two)\n%y = RELU(%d)\n");
  REQUIRE(doubled.size() == 1);
  CHECK(doubled[0].bindings.nodes.size() == 2);
  CHECK(doubled[0].bindings.values.at("x") == 0);
  const auto plain = with("%y = ABS(%x)\n");
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].bindings.nodes.size() == 1);
  CHECK(plain[0].bindings.names.at("op").text == "ABS");
  const auto tripled = with("%d = MUL(%x, %three)\n%y = RELU(%d)\n");  // another factor: the value as it is
  REQUIRE(tripled.size() == 1);
  CHECK(tripled[0].bindings.nodes.size() == 1);
  CHECK(with("%y = NEG(%x)\n").empty());
}

TEST_CASE("a page calls a rewrite of the library, speaks of what it found, or only advises", "[rule]") {
  const std::string data =
      R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"],
  "rows": { "by": "op", "table": { "ABS": { "message": "{op} of {sizes(%x)}", "reason": "{why} it", "why": "drop" },
                                   "otherwise": { "message": "{op}" } } } })";
  const auto advice = parse_rule("p.md", page(data, R"(```rewrite tflite
match { %y = ABS | NEG(%x) }
```
)" + examples));
  INFO((advice ? std::string() : advice.error().message));
  REQUIRE(advice);
  const Model model = model_of("input %x : f32[1, 7]\n%a = ABS(%x)\n%y = NEG(%a)\noutput %y\n");
  const auto results = run_rule(*advice, DetectContext{model, 0, model.graphs[0]});
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == DetectResult::State::advice);
  CHECK(results[0].message == "ABS of 1x7");
  CHECK(results[0].reason == "drop it");
  CHECK(results[1].message == "NEG");
  const auto fixes = parse_rule(
      "p.md", page(R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"] })",
                   "```rewrite tflite\nmatch { %y = NEG(%x) }\nfix \"as {rank(%x)} axes\" "
                   "reshaped_operand(0, [7, 1])\n"
                   "```\n" +
                       examples));
  INFO((fixes ? std::string() : fixes.error().message));
  REQUIRE(fixes);
  const auto fixed = run_rule(*fixes, DetectContext{model, 0, model.graphs[0]});
  REQUIRE(fixed.size() == 1);
  REQUIRE(fixed[0].fixes.size() == 1);
  CHECK(fixed[0].fixes[0].patch.title == "as 2 axes");
  CHECK(fixed[0].nodes == std::vector<NodeId>{1});
}

TEST_CASE("a match without a statement is about the graph", "[rule]") {
  const Model model = model_of("input %x : f32[4]\n%a = ABS(%x)\n%y = ABS(%a)\noutput %y\n");
  const auto found =
      sites("match { where nodes() > 1 let most = commonest() }\nfix folded_constants()", model);
  CHECK(found.empty());  // the conditions hold, and there is nothing to do
  CHECK(sites("match { where nodes() > 2 }\nfix folded_constants()", model)[0].outcome ==
        Rewrite::Site::Outcome::unmet);
}

TEST_CASE("what is wrong with a fix, a form or a sentence is said when the page loads", "[rule]") {
  const auto wrong = [](std::string_view text) {
    const auto tree = parse_rewrite("r.md", 1, text, dialect("tflite"));
    return tree ? std::string() : tree.error().message;
  };
  CHECK(wrong("match { %y = ABS(%x) }\nfix reshaped_operad(0, [1])") ==
        "r.md:2: unknown rewrite reshaped_operad (did you mean \"reshaped_operand\"?)");
  CHECK(wrong("match { }\nfix rank_4()") ==
        "r.md:2: rank_4 is for an operator: the pattern ends at another operator, or at none");
  CHECK(wrong("match { %y = ABS(%x) }\nfix gather_by_list()") ==
        "r.md:2: gather_by_list is for GATHER: the pattern ends at another operator, or at none");
  CHECK(wrong("match { %y = ABS(%x) }\nfix reshaped_operand(0)") ==
        "r.md:2: reshaped_operand takes an operand's position and a shape");
  CHECK(wrong("match { %y = ABS(%x) }\nfix reshaped_operand(0, shape(%z))")
            .starts_with("r.md:2: %z is not bound"));
  CHECK(wrong("match { %y = ABS(%x) or %x }\nreplace \"r\" { %y = NEG(%x) }") ==
        "r.md:1: the root is an operator in every form");
  CHECK(wrong("match { where nodes() > 1 }\nreplace \"r\" { %y = NEG(%x) }")
            .starts_with("r.md:2: there is nothing"));
  CHECK(wrong("match { %y = ABS | NEGG(%x) }\nreplace \"r\" { %y = NEG(%x) }")
            .starts_with("r.md:1: unknown operator or function NEGG"));
  CHECK(
      page_error(
          page(
              R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"], "message": "{siz(%x)}" })",
              block + examples))
          .find("unknown function siz") != std::string::npos);
  CHECK(page_error(
            page(R"({ "id": "TST001", "severity": "fatal", "graph": true, "references": ["https://x"] })",
                 "```rewrite tflite\nmatch { %y = RELU_0_TO_1(%x) }\n```\n" + examples))
            .find("needs a \"reason\"") != std::string::npos);
}

// Every rule that the program carries, against its own page.
#include "lib/rule/page/rule.h"

#include "lib/rule/language/builtins.h"
#include "lib/rule/language/named_rewrite.h"
#include "lib/rule/page/examples.h"
#include "lib/rule/page/index.h"
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
}  // namespace

TEST_CASE("every embedded rule page loads", "[rules]") {
  const auto loaded = RuleBook::load();
  INFO((loaded ? std::string() : loaded.error().message));
  REQUIRE(loaded);
  REQUIRE_FALSE(loaded->rules().empty());
}

TEST_CASE("every rule does what its page's examples say", "[rules]") {
  for (const Rule& rule : book().rules()) DYNAMIC_SECTION(rule.id) {
      std::vector<std::string> failures;
      for (const ExampleFailure& failure : run_rule_examples(rule)) failures.push_back(failure.text());
      CHECK(failures == std::vector<std::string>{});
    }
}

TEST_CASE("no signature takes another rule's message", "[rules]") {
  CHECK(overlapping_signatures(book().rules()) == std::vector<std::string>{});
}

TEST_CASE("a page lies where its id and name say", "[rules]") {
  for (const Rule& rule : book().rules()) {
    const std::string wanted = "/" + rule.id + "-" + rule.name + ".md";
    CHECK(rule.path.ends_with(wanted));
  }
}

TEST_CASE("rules are found by id, name and alias, and an unknown one gets a suggestion", "[rules]") {
  REQUIRE(book().find("lrt015") == book().find("relu-0-to-1"));
  REQUIRE(book().find("hardtanh01") == book().find("LRT015"));
  REQUIRE(book().find("LRT999") == nullptr);
  REQUIRE(book().unknown_rule("LRT05").message.find("did you mean \"LRT0") != std::string::npos);
}

TEST_CASE("the guide lists every function of the language", "[rules]") {
  const std::string guide = test::read_text(test::source_dir() + "/rules/README.md");
  for (const Builtin& builtin : builtins()) {
    const std::string row =
        "| `" + std::string(builtin.name) + "` | " + std::string(builtin.arguments) + " |";
    INFO(row);
    CHECK(guide.find(row) != std::string::npos);
  }
}

TEST_CASE("the guide lists every rewrite that a page may name, and pages use each of them", "[rules]") {
  const std::string guide = test::read_text(test::source_dir() + "/rules/README.md");
  for (const NamedRewrite& rewrite : named_rewrites()) {
    const std::string takes(rewrite.arguments.empty() ? "nothing" : rewrite.arguments);
    const std::string row =
        "| `" + std::string(rewrite.name) + "` | " + takes + " | " + std::string(rewrite.law) + " |";
    INFO(row);
    CHECK(guide.find(row) != std::string::npos);
    const bool used = std::any_of(book().rules().begin(), book().rules().end(), [&](const Rule& rule) {
      return rule.markdown.find(std::string(rewrite.name) + "(") != std::string::npos;
    });
    CHECK(used);
  }
}

TEST_CASE("the index lists the rules as they are (modeldoctor rules list --markdown > rules/INDEX.md)",
          "[rules]") {
  CHECK(test::differs_from_golden(test::source_dir() + "/rules/INDEX.md", rule_index(book().rules())) == "");
}

TEST_CASE("most rules that change a file need no C++ of their own", "[rules]") {
  const auto count = [](auto&& wanted) {
    return std::count_if(book().rules().begin(), book().rules().end(), wanted);
  };
  const auto fixes = count([](const Rule& rule) { return has_fix(rule); });
  const auto without = count([](const Rule& rule) { return has_fix(rule) && !rule.detector; });
  CHECK(2 * without >= fixes);
}

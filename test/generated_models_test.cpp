// Valid models that nobody wrote: a few thousand, always the same. scripts/generate.sh tries others.
#include "test/generated_models.h"
#include "test/catch.h"
#include "test/sanitizer.h"

using namespace md;
using namespace md::test;

TEST_CASE("generated valid models survive every command, and keep what fixes promise", "[generated]") {
  std::set<std::string> met;
  std::vector<std::string> faults;
  const std::uint64_t count = under_sanitizer ? 200 : 2500;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    INFO("model " << seed);  // a crash names it
    const std::string bytes = generated_model(seed);
    met.merge(operators_of(bytes));
    if (const std::string fault = model_fault(bytes, seed); !fault.empty())
      faults.push_back("model " + std::to_string(seed) + ": " + fault);
  }
  for (std::size_t i = 0; i < faults.size() && i < 20; ++i) UNSCOPED_INFO(faults[i]);
  REQUIRE(faults.empty());
  std::string missing;
  for (const MadeOperator& made : made_operators())
    if (!met.count(std::string(made.op))) missing += " " + std::string(made.op);
  REQUIRE(missing == "");
}

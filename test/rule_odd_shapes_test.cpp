// Files may leave a result without dimensions (a scalar, or a rank that nobody wrote down) and an optional
// operand out: rules look at such models too, and an index past their shapes would end the program.
#include <array>

#include "lib/graph/document.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/op/well_formed.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/paths.h"

using namespace md;
using namespace md::test;

namespace {

/// The model with one computed value without dimensions, and with one operand absent, as far as a reader
/// takes it.
std::vector<Model> odd_models(const Model& model) {
  std::vector<Model> odd;
  const auto keep = [&](Model changed) {
    changed.graphs[0].index();
    if (!malformed(changed)) odd.push_back(std::move(changed));
  };
  const Graph& graph = model.graphs[0];
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].is_constant() || graph.values[v].shape.empty()) continue;
    Model changed = model;
    changed.graphs[0].values[v].shape.clear();
    changed.graphs[0].values[v].dim_names.clear();
    keep(std::move(changed));
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (std::size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
      Model changed = model;
      changed.graphs[0].nodes[n].inputs[i] = none_id;
      keep(std::move(changed));
    }
  return odd;
}

}  // namespace

TEST_CASE("results without dimensions and absent operands are not read past", "[rules]") {
  const auto book = RuleBook::load();
  REQUIRE(book);
  constexpr std::array<std::pair<const char*, const char*>, 8> cases = {
      {{"LRT001-gather-nd-constant-indices-3", "LRT001"},
       {"LRT001-gather-nd-constant-indices-3", "LRT006"},
       {"LRT025-grouped-conv-few-channels", "LRT025"},
       {"LRT025-grouped-conv-few-channels-3", "LRT025"},
       {"LRT047-stablehlo-sort", "LRT047"},
       {"LRT047-stablehlo-sort-2", "LRT047"},
       {"F16002-layer-norm-overflow-2", "F16002"},
       {"F16004-rms-norm-overflow", "F16004"}}};
  std::size_t findings = 0;
  for (const auto& [name, id] : cases) {
    const Rule* rule = book->find(id);
    REQUIRE(rule);
    const auto document =
        open_document(MappedFile::from_bytes(name, read_text(fixture(std::string(name) + "/before.tflite"))));
    REQUIRE(document);
    for (const Model& odd : odd_models((*document)->model())) {
      INFO(name << ", " << id);
      findings +=
          run_rule(*rule, DetectContext{odd, 0, odd.graphs[0], nullptr, nullptr, nullptr, true}).size();
    }
  }
  CHECK(findings > 0);  // the values that matter for the pattern are one among many
}

TEST_CASE("an axis of a value without dimensions is none", "[rules]") {
  const auto book = RuleBook::load();
  REQUIRE(book);
  auto model = parse_model("test", 1,
                           "input %x : f32[4]\nconst %i : i32[] = [1]\n%y = GATHER(%x, %i) { axis = -1 } : "
                           "f32[]\noutput %y\n",
                           dialect("tflite"));
  REQUIRE(model);
  for (Value& value : model->graphs[0].values)
    if (value.name == "x") value.shape.clear();
  REQUIRE(!malformed(*model));
  const auto results = run_rule(*book->find("LRT036"),
                                DetectContext{*model, 0, model->graphs[0], nullptr, nullptr, nullptr, true});
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == DetectResult::State::declined);
}

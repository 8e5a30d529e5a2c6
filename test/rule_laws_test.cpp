// Laws that hold for every rule that mends something, tried on the firing examples of its page.

#include "lib/edit/apply.h"
#include "lib/eval/difference.h"
#include "lib/eval/evaluator.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/samples.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"
#include "test/patch_mutations.h"

using namespace md;
using md::test::Mutation;
using md::test::mutations;

namespace {

const RuleBook& book() {
  static const RuleBook loaded = [] {
    auto result = RuleBook::load();
    if (!result) throw std::runtime_error(result.error().message);
    return *std::move(result);
  }();
  return loaded;
}

/// The firing examples of a rule that need nothing beside the model.
std::vector<Model> firing_models(const Rule& rule) {
  std::vector<Model> models;
  for (const ModelExample& example : rule.model_examples) {
    if (!example.fires || example.options.find("target=") != std::string::npos ||
        example.options.find("log") != std::string::npos)
      continue;
    if (example.options.find("no-proof") != std::string::npos ||
        example.options.find("unproven") != std::string::npos)
      continue;
    auto model = parse_model(rule.path, example.line, example.text, *example.dialect);
    INFO(rule.path << ":" << example.line);
    REQUIRE(model);
    models.push_back(*std::move(model));
  }
  return models;
}

std::vector<DetectResult> detect(const Rule& rule, const Model& model, int graph = 0) {
  return run_rule(rule, DetectContext{model, graph, model.graphs[static_cast<std::size_t>(graph)], nullptr,
                                      nullptr, nullptr, true});
}

const ProposedFix* first_fix(const std::vector<DetectResult>& results) {
  for (const DetectResult& result : results)
    if (result.state == DetectResult::State::matched && !result.fixes.empty()) return &result.fixes.front();
  return nullptr;
}

/// Applies first fixes until nothing fires; the number of rounds, and the model after them.
std::pair<int, Model> mend(const Rule& rule, Model model) {
  for (int round = 0;; ++round) {
    const auto results = detect(rule, model);
    const ProposedFix* fix = first_fix(results);
    if (!fix || round == 20) return {round, std::move(model)};
    const Patch patches[] = {fix->patch};
    auto changed = apply_patches(model, patches);
    if (!changed) return {-1, std::move(model)};
    model = *std::move(changed);
  }
}

/// True when the proof refuses the changed model: it differs, or its new parts do not even fit each other.
bool refuted(const Model& model, const Patch& patch, Exactness exactness) {
  const Patch patches[] = {patch};
  const auto changed = apply_patches(model, patches);
  if (!changed) return true;
  ProofOptions options;
  options.exactness = exactness;
  const Proof proof = prove(model, *changed, 0, options);
  return !proof.equal;
}

/// The magnitude that a normalization (or the length of a complex number) is divided by cancels in exact
/// arithmetic, so a proof in fp32 cannot see another one; rule_norm_test.cpp sees it in fp16.
/// The sign of a real part cancels in the length of a complex number. A start along an axis of length 1 is
/// clamped to 0 whatever it is, and an end behind the axis is its end. Where a part of a spectrum alone is
/// copied into another, nobody reads the rest of the transform, nor what the copied place held before.
bool cancels(const Rule& rule, const Mutation& mutation, const Model& model) {
  const auto& nodes = model.graphs[0].nodes;
  if (mutation.what == "aten.sub.Tensor's operands" &&
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "aten.abs.default"; }))
    return true;
  if (rule.id == "LRT077" && mutation.what == "constant y/x") return true;
  if (rule.id == "LRT083" && mutation.what == "constant y/end") return true;
  if (rule.id == "ETX151" &&
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "aten.copy_.default"; }))
    return true;
  return (rule.id == "F16002" || rule.id == "F16004" || rule.id == "LRT048") &&
         (mutation.what == "operator ABS" || mutation.what == "operator MAXIMUM");
}

/// Elements of the results that differ where inputs hold NaN and infinities, over samples of seeds that
/// proofs do not use.
std::int64_t differences_past_floats(const Model& before, const Model& after) {
  std::int64_t differing = 0;
  for (std::uint64_t seed = 101; seed < 104; ++seed)
    for (const Recipe& recipe : nonfinite_recipes(seed)) {
      std::vector<Tensor> inputs;
      const Graph& graph = before.graphs[0];
      for (const ValueId id : graph.inputs) {
        const Value& value = graph.value(id);
        Shape shape = value.shape;
        for (std::int64_t& d : shape) d = d < 0 ? 1 : d;
        std::shared_ptr<const Quantization> quantization;
        if (value.quantization && !is_float(value.dtype))
          quantization = std::make_shared<const Quantization>(*value.quantization);
        SampleLimits limits;
        limits.index_limit = index_limit(graph, graph.order, id);
        inputs.push_back(
            sample(value.dtype, shape, quantization, recipe, static_cast<int>(inputs.size()), limits));
      }
      const auto a = evaluate(before, 0, inputs), b = evaluate(after, 0, inputs);
      if (!a || !b) continue;
      for (std::size_t k = 0; k < a->size() && k < b->size(); ++k)
        if ((*a)[k].size() == (*b)[k].size())
          differing += compare_tensors((*a)[k], (*b)[k].reshaped((*a)[k].shape)).differing;
    }
  return differing;
}

}  // namespace

TEST_CASE("mending ends, and ends the same way each time", "[rules][laws]") {
  int mendings = 0;
  for (const Rule& rule : book().rules()) {
    INFO(rule.id);
    for (const Model& model : firing_models(rule)) {
      const auto [rounds, mended] = mend(rule, model);
      mendings += rounds > 0;
      CHECK(rounds >= 0);
      CHECK(rounds <= 8);
      const auto again = mend(rule, model);
      CHECK(print(mended) == print(again.second));
      CHECK(print(mend(rule, mended).second) == print(mended));
    }
  }
  CHECK(mendings > 100);  // most of the examples
}

TEST_CASE("a mutated fix fails its proof", "[rules][laws]") {
  int rules_tried = 0;
  for (const Rule& rule : book().rules()) {
    int tried = 0, fixes = 0;
    for (const Model& model : firing_models(rule))
      for (const DetectResult& result : detect(rule, model))
        for (const ProposedFix& fix : result.fixes) {
          const Patch& p = fix.patch;
          const bool names_or_types =
              std::all_of(p.value_changes.begin(), p.value_changes.end(),
                          [](const ValueChange& c) { return !c.shape && !c.quantization && !c.constant; });
          const bool arguments = model.dialect->name == "pt2" &&
                                 std::any_of(p.node_changes.begin(), p.node_changes.end(),
                                             [](const NodeChange& c) { return !c.set_attrs.empty(); });
          if (p.new_nodes.empty() && names_or_types && !arguments &&
              (p.rewires.empty() || model.dialect->name == "pt2"))
            continue;  // versions, names or types alone, or casts taken away: no number to change
          ++fixes;
          for (const Mutation& mutation : mutations(*model.dialect, model.graphs[0], fix.patch)) {
            if (cancels(rule, mutation, model)) continue;
            ++tried;
            INFO(rule.id << ": \"" << fix.patch.title << "\" with another " << mutation.what << " on\n"
                         << print(model));
            CHECK(refuted(model, mutation.patch, *fix.exactness));
          }
        }
    INFO(rule.id);
    if (fixes > 0) CHECK(tried > 0);
    rules_tried += tried > 0;
  }
  CHECK(rules_tried > 40);
}

TEST_CASE("a fix that says exact is so on NaN and infinities, or its proof says where not", "[rules][laws]") {
  int compared = 0;
  for (const Rule& rule : book().rules()) {
    for (const Model& model : firing_models(rule))
      for (const DetectResult& result : detect(rule, model))
        for (const ProposedFix& fix : result.fixes) {
          if (fix.exactness != Exactness::exact || model.graphs[0].inputs.empty()) continue;
          if (!rule.assumes.empty()) continue;  // samples need not keep what it assumes
          const Patch patches[] = {fix.patch};
          const auto changed = apply_patches(model, patches);
          if (!changed) continue;
          const Proof proof = prove(model, *changed, 0, {});
          if (!proof.equal || !proof.nonfinite.empty()) continue;
          INFO(rule.id << ": \"" << fix.patch.title << "\" on\n" << print(model));
          CHECK(differences_past_floats(model, *changed) == 0);
          ++compared;
        }
  }
  CHECK(compared > 20);
}

TEST_CASE("a clamp to 0 and 1 keeps NaN as the operator does", "[rules][laws]") {
  const Rule& rule = *book().find("LRT015");
  int fixes = 0;
  for (const Model& model : firing_models(rule))
    for (const DetectResult& result : detect(rule, model))
      for (const ProposedFix& fix : result.fixes) {
        const Patch patches[] = {fix.patch};
        const auto changed = apply_patches(model, patches);
        REQUIRE(changed.has_value());
        CHECK(prove(model, *changed, 0, {}).nonfinite == "");
        CHECK(differences_past_floats(model, *changed) == 0);
        ++fixes;
      }
  CHECK(fixes > 0);
}

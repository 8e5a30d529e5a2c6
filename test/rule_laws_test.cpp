// Laws that hold for every rule that mends something, tried on the firing examples of its page.

#include "lib/edit/apply.h"
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
    auto model = parse_model(rule.path, example.line, example.text, example.format);
    if (model) models.push_back(*std::move(model));
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
/// The sign of a real part cancels in the length of a complex number.
bool cancels(const Rule& rule, const Mutation& mutation, const Model& model) {
  const auto& nodes = model.graphs[0].nodes;
  if (mutation.what == "aten.sub.Tensor's operands" &&
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "aten.abs.default"; }))
    return true;
  return (rule.id == "F16002" || rule.id == "F16004" || rule.id == "LRT048") &&
         (mutation.what == "operator ABS" || mutation.what == "operator MAXIMUM");
}

}  // namespace

TEST_CASE("mending ends, and ends the same way each time", "[rules][laws]") {
  for (const Rule& rule : book().rules()) DYNAMIC_SECTION(rule.id) {
      for (const Model& model : firing_models(rule)) {
        const auto [rounds, mended] = mend(rule, model);
        CHECK(rounds >= 0);
        CHECK(rounds <= 8);
        const auto again = mend(rule, model);
        CHECK(print(mended) == print(again.second));
        CHECK(print(mend(rule, mended).second) == print(mended));
      }
      SUCCEED();
    }
}

TEST_CASE("a mutated fix fails its proof", "[rules][laws]") {
  for (const Rule& rule : book().rules()) DYNAMIC_SECTION(rule.id) {
      int tried = 0, fixes = 0;
      for (const Model& model : firing_models(rule))
        for (const DetectResult& result : detect(rule, model))
          for (const ProposedFix& fix : result.fixes) {
            const Patch& p = fix.patch;
            const bool names_or_types =
                std::all_of(p.value_changes.begin(), p.value_changes.end(),
                            [](const ValueChange& c) { return !c.shape && !c.quantization && !c.constant; });
            const bool arguments = model.format == Format::pt2 &&
                                   std::any_of(p.node_changes.begin(), p.node_changes.end(),
                                               [](const NodeChange& c) { return !c.set_attrs.empty(); });
            if (p.new_nodes.empty() && names_or_types && !arguments &&
                (p.rewires.empty() || model.format == Format::pt2))
              continue;  // versions, names or types alone, or casts taken away: no number to change
            ++fixes;
            for (const Mutation& mutation : mutations(model.format, model.graphs[0], fix.patch)) {
              if (cancels(rule, mutation, model)) continue;
              ++tried;
              INFO(rule.id << ": \"" << fix.patch.title << "\" with another " << mutation.what << " on\n"
                           << print(model));
              CHECK(refuted(model, mutation.patch, *fix.exactness));
            }
          }
      INFO(rule.id);
      if (fixes > 0) CHECK(tried > 0);
      SUCCEED();
    }
}

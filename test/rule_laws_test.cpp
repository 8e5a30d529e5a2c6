// Laws that hold for every rule that mends something, tried on the firing examples of its page.

#include "lib/edit/apply.h"
#include "lib/eval/proof.h"
#include "lib/graph/encode.h"
#include "lib/graph/ops.h"
#include "lib/graph/text.h"
#include "lib/rule/rule.h"
#include "test/catch.h"

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

/// Changes a number so that nobody can take it for the old one.
bool flip_constant(DType dtype, const Shape& shape, const std::optional<Quantization>& quantization,
                   Constant& constant) {
  Value value;
  value.dtype = dtype, value.shape = shape, value.constant = constant;
  auto numbers = decode(value);
  if (!numbers || numbers->empty()) return false;
  double& number = (*numbers)[numbers->size() / 2];
  if (dtype == DType::boolean)
    number = number == 0;
  else if (is_float(dtype))
    number = number == 0 ? 1 : -2 * number - 1;
  else
    number += number > 0 ? -1 : 1;
  (void)quantization;  // the stored number was flipped
  constant = Constant::own(encode(dtype, shape, *numbers));
  return true;
}

struct Mutation {
  std::string what;
  Patch patch;
};

/// The patch with one constant, one operator or one operand changed, once each.
std::vector<Mutation> mutations(const Graph& graph, const Patch& patch) {
  std::vector<Mutation> out;
  for (std::size_t i = 0; i < patch.new_values.size(); ++i) {
    Mutation m{"constant " + patch.new_values[i].name, patch};
    Value& value = m.patch.new_values[i];
    if (value.constant && flip_constant(value.dtype, value.shape, value.quantization, *value.constant))
      out.push_back(std::move(m));
  }
  for (std::size_t i = 0; i < patch.value_changes.size(); ++i) {
    Mutation m{"constant bytes", patch};
    ValueChange& change = m.patch.value_changes[i];
    const Value& old = graph.value(change.value);
    if (change.constant && flip_constant(change.dtype.value_or(old.dtype), change.shape.value_or(old.shape),
                                         old.quantization, *change.constant))
      out.push_back(std::move(m));
  }
  for (std::size_t i = 0; i < patch.rewires.size(); ++i) {
    const Rewire& rewire = patch.rewires[i];
    const ValueId now = graph.node(rewire.node).inputs[static_cast<std::size_t>(rewire.operand)];
    for (const ValueId other : graph.inputs) {
      if (other == rewire.value || other == now || now < 0 ||
          graph.value(other).shape != graph.value(now).shape ||
          graph.value(other).dtype != graph.value(now).dtype)
        continue;
      Mutation m{"operand", patch};
      m.patch.rewires[i].value = other;
      out.push_back(std::move(m));
    }
  }
  // A changed operator can be as right as the old one (any scale does in a guarded hypotenuse): only where
  // nothing else can be changed.
  if (!out.empty()) return out;
  for (std::size_t i = 0; i < patch.new_nodes.size(); ++i) {
    const OpSpec* spec = find_op(Format::tflite, patch.new_nodes[i].op);
    if (!spec || !(spec->unary || spec->binary || spec->compare)) continue;
    Mutation m{"operator " + patch.new_nodes[i].op, patch};
    Node& node = m.patch.new_nodes[i];
    if (spec->compare)
      node.op = node.op == "LESS" ? "GREATER" : "LESS";
    else
      node.op = spec->unary ? (node.op == "NEG" ? "ABS" : "NEG") : (node.op == "SUB" ? "ADD" : "SUB");
    node.attrs =
        with_defaults(Format::tflite, Node{node.op, "", "", "", 1, {}, {}, {}, {}, {}, {}, {}, none_id, {}});
    out.push_back(std::move(m));
  }
  return out;
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
bool cancels(const Rule& rule, const Mutation& mutation) {
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
            if (p.new_nodes.empty() && p.value_changes.empty() && p.rewires.empty())
              continue;  // a version alone
            ++fixes;
            for (const Mutation& mutation : mutations(model.graphs[0], fix.patch)) {
              if (cancels(rule, mutation)) continue;
              ++tried;
              INFO(rule.id << ": \"" << fix.patch.title << "\" with another " << mutation.what << " on\n"
                           << print(model));
              CHECK(refuted(model, mutation.patch, fix.exactness));
            }
          }
      INFO(rule.id);
      // Fixes of exported programs change operators and arguments alone: often no number is there to change.
      const bool tflite = rule.formats.empty() || rule.formats.front() == Format::tflite;
      if (fixes > 0 && tflite) CHECK(tried > 0);
      SUCCEED();
    }
}

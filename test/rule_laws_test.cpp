// Laws that hold for every rule that mends something, tried on the firing examples of its page.
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "lib/edit/apply.h"
#include "lib/eval/evaluator.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/samples.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "lib/rule/page/examples.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"
#include "test/golden.h"
#include "test/patch_mutations.h"
#include "test/paths.h"

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

/// One model in which a rule fires: an example of its page (also in f16 where the page says so), or a
/// captured one.
struct Case {
  const Rule& rule;
  const Model& model;
  std::function<std::vector<FoundInExample>(const Model&)> find;
  bool proved = true;  ///< false: no kernel can run it, or its fix is known to differ
};

/// Rules without one example whose proof can run: ETX013 adds metadata to captured programs, and the others
/// replace what has no kernel (variables, branches, operators that only a plain form makes computable) or, as
/// ETX108's topk in any order, no fixed result; the numbers of ONX010 and ONX011 change on purpose.
bool has_kernels(const Rule& rule) {
  constexpr std::string_view without[] = {"ETX013", "ETX107", "ETX108", "ETX152", "ETX153", "ETX156",
                                          "LRT052", "LTC151", "LTC154", "ONX010", "ONX011"};
  return std::find(std::begin(without), std::end(without), rule.id) == std::end(without);
}

struct Captured {
  std::unique_ptr<Document> document;
  std::vector<std::string> log;  ///< the text of its log, when it has one
};

/// Models that text cannot express (bodies of composites, sparse constants, metadata, what a reader put in
/// order), and those whose fault the log must name: fixtures/ID-name.
const std::vector<Captured>& captured(const std::string& rule) {
  static std::map<std::string, std::vector<Captured>> kept;
  const auto [at, fresh] = kept.try_emplace(rule);
  if (!fresh) return at->second;
  for (const auto& folder : std::filesystem::directory_iterator(test::fixture(""))) {
    if (!folder.path().filename().string().starts_with(rule + "-")) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      if (file.path().stem() == "before") {
        auto document = open_document(file.path().string());
        REQUIRE(document.has_value());
        at->second.push_back({*std::move(document), {}});
        const auto log = folder.path() / "compile.log";
        if (std::filesystem::exists(log)) at->second.back().log.push_back(test::read_text(log.string()));
      }
  }
  return at->second;
}

/// Every firing example, with its target, its records and its log: none is too special for a law.
template <typename Law>
void each_case(const Rule& rule, const Law& law) {
  for (const ModelExample& example : rule.model_examples) {
    if (!example.fires) continue;
    INFO(rule.path << ":" << example.line);
    const auto opened = ExampleCase::open(rule, example);
    REQUIRE(opened.has_value());
    for (const Model& model : opened->models())
      law(Case{.rule = rule,
               .model = model,
               .find =
                   [&](const Model& one) {
                     auto found = opened->find(one);
                     REQUIRE(found.has_value());
                     return *std::move(found);
                   },
               .proved = opened->proved()});
  }
  if (rule.no_model_example.empty()) return;
  for (const Captured& capture : captured(rule.id))
    law(Case{.rule = rule,
             .model = capture.document->model(),
             .find =
                 [&](const Model& one) {
                   std::vector<FoundInExample> found;
                   const auto* log = capture.log.empty() ? nullptr : &capture.log;
                   for (int g = 0; g < static_cast<int>(one.graphs.size()); ++g)
                     for (DetectResult& result :
                          run_rule(rule, DetectContext{one, g, one.graphs[static_cast<std::size_t>(g)],
                                                       nullptr, nullptr, log, true}))
                       found.push_back({std::move(result), g});
                   return found;
                 },
             .proved = has_kernels(rule)});
}

/// Every fix of every site in every graph.
template <typename Law>
void each_fix(const Rule& rule, const Law& law) {
  each_case(rule, [&](const Case& c) {
    for (const FoundInExample& found : c.find(c.model))
      for (const ProposedFix& fix : found.result.fixes) {
        TextOptions short_text;
        short_text.largest_constant = 16;
        INFO(rule.id << ": \"" << fix.patch.title << "\" on\n" << print(c.model, short_text));
        law(c, fix);
      }
  });
}

/// What it says is right for its own site: an example may show a fix that is known to differ, or that no
/// kernel can run.
template <typename Law>
void each_proved_fix(const Rule& rule, const Law& law) {
  each_fix(rule, [&](const Case& c, const ProposedFix& fix) {
    if (c.proved) law(c, fix);
  });
}

/// Whether the rule has a way to change a file at all.
/// ONX008's files have 2 GiB: test/onnx_format_test.cpp makes one.
bool mends(const Rule& rule) {
  return rule.id != "ONX008" && rule.applicability != Applicability::manual &&
         (!rule.rewrites.empty() || rule.detector);
}

const ProposedFix* first_fix(const std::vector<FoundInExample>& found) {
  for (const FoundInExample& one : found)
    if (one.result.state == DetectResult::State::matched && !one.result.fixes.empty())
      return &one.result.fixes.front();
  return nullptr;
}

/// Applies first fixes until nothing fires; the number of rounds, and the model after them.
std::pair<int, Model> mend(const Case& c, Model model) {
  for (int round = 0;; ++round) {
    const auto found = c.find(model);
    const ProposedFix* fix = first_fix(found);
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
  const Proof proof = prove(model, *changed, patch.graph, options);
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
  // Numbers that were divided by the largest of them, and shares of a sum, are within [-1, 1] already.
  constexpr std::string_view scaled[] = {"F16002", "F16004", "LRT039", "LRT048", "LRT070"};
  if (mutation.what.ends_with("fused_activation_function") &&
      std::find(std::begin(scaled), std::end(scaled), rule.id) != std::end(scaled))
    return true;
  const bool unread = mutation.what == "constant dft_cos" || mutation.what == "constant dft_sin" ||
                      mutation.what == "aten.slice.Tensor's argument start" ||
                      mutation.what == "aten.slice.Tensor's argument end";
  if (rule.id == "ETX151" && unread &&
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "aten.copy_.default"; }))
    return true;
  // The captured scatter writes into zeros: a place that takes another zero is as right.
  if (rule.id == "LRT067" && mutation.what == "constant numbers" &&
      std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.op == "STABLEHLO_SCATTER"; }))
    return true;
  // A distance of more than one pixel weighs nothing, however long it is.
  if (rule.id == "LRT002" && mutation.what == "SUB's fused_activation_function") return true;
  return (rule.id == "F16002" || rule.id == "F16004" || rule.id == "LRT048") &&
         (mutation.what == "operator ABS" || mutation.what == "operator MAXIMUM");
}

/// Operands move in front of casts, and nowhere else.
bool past_casts_only(const Graph& graph, const Patch& patch) {
  return std::all_of(patch.rewires.begin(), patch.rewires.end(), [&](const Rewire& rewire) {
    const ValueId now = graph.node(rewire.node).inputs[static_cast<std::size_t>(rewire.operand)];
    const NodeId cast = now < 0 ? none_id : graph.producer(now);
    if (cast == none_id || graph.node(cast).inputs.empty()) return false;
    const std::string& op = graph.node(cast).op;
    return (op.starts_with("aten.to.") || op.starts_with("aten._to_copy.")) &&
           graph.node(cast).inputs[0] == rewire.value;
  });
}

/// Versions, names or types alone, or casts taken away: no number to change.
bool numbers_untouched(const Graph& graph, const Patch& p) {
  const bool names_or_types =
      std::all_of(p.value_changes.begin(), p.value_changes.end(), [&](const ValueChange& c) {
        // the shape of a value of ONNX is a declaration: nothing is computed by it
        const bool declared =
            graph.dialect && graph.dialect->name == "onnx" && !graph.value(c.value).is_constant();
        return (!c.shape || declared) && !c.quantization && !c.constant;
      });
  const bool attributes = std::any_of(p.node_changes.begin(), p.node_changes.end(),
                                      [](const NodeChange& c) { return !c.set_attrs.empty(); });
  return p.new_nodes.empty() && names_or_types && !attributes && past_casts_only(graph, p);
}

struct PastFloats {
  int samples = 0;
  std::int64_t differing = 0;    ///< elements of the results
  std::int64_t in_one_only = 0;  ///< elements that are a number in one version and none in the other
};

Tensor past_floats_input(const Graph& graph, ValueId id, const Recipe& recipe, int position) {
  const Value& value = graph.value(id);
  Shape shape = value.shape;
  for (std::int64_t& d : shape) d = d < 0 ? 1 : d;
  std::shared_ptr<const Quantization> quantization;
  if (value.quantization && !is_float(value.dtype))
    quantization = std::make_shared<const Quantization>(*value.quantization);
  SampleLimits limits;
  limits.index_limit = index_limit(graph, graph.order, id);
  return sample(value.dtype, shape, quantization, recipe, position, limits);
}

/// The results of both versions where inputs hold NaN and infinities, over samples of seeds that proofs do
/// not use.
PastFloats past_floats(const Model& before, const Model& after) {
  PastFloats past;
  for (std::uint64_t seed = 101; seed < 104; ++seed)
    for (const Recipe& recipe : nonfinite_recipes(seed)) {
      std::vector<Tensor> inputs;
      for (const ValueId id : before.graphs[0].inputs)
        inputs.push_back(past_floats_input(before.graphs[0], id, recipe, static_cast<int>(inputs.size())));
      const auto a = evaluate(before, 0, inputs), b = evaluate(after, 0, inputs);
      if (!a || !b) continue;
      ++past.samples;
      for (std::size_t k = 0; k < a->size() && k < b->size(); ++k) {
        const auto x = (*a)[k].real_values(), y = (*b)[k].real_values();
        for (std::size_t i = 0; x.size() == y.size() && i < x.size(); ++i) {
          past.differing += !(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])));
          past.in_one_only += std::isfinite(x[i]) != std::isfinite(y[i]);
        }
      }
    }
  return past;
}

}  // namespace

TEST_CASE("every rule that may change a file does so in an example of its page", "[rules][laws]") {
  std::set<std::string> may, does;
  for (const Rule& rule : book().rules()) {
    if (mends(rule)) may.insert(rule.id);
    each_fix(rule, [&](const Case&, const ProposedFix&) { does.insert(rule.id); });
  }
  CHECK(may == does);
}

TEST_CASE("mending ends, and ends the same way each time", "[rules][laws]") {
  int mendings = 0;
  for (const Rule& rule : book().rules())
    each_case(rule, [&](const Case& c) {
      const auto [rounds, mended] = mend(c, c.model);
      mendings += rounds > 0;
      INFO(rule.id << " on\n" << print(c.model));
      CHECK(rounds >= 0);
      CHECK(rounds <= 8);
      CHECK(print(mended) == print(mend(c, c.model).second));
      CHECK(print(mend(c, mended).second) == print(mended));
    });
  CHECK(mendings > 150);  // most of the examples
}

TEST_CASE("a mutated fix fails its proof", "[rules][laws]") {
  std::set<std::string> mending, tried, survivors, unchanged;
  for (const Rule& rule : book().rules()) {
    if (mends(rule) && has_kernels(rule)) mending.insert(rule.id);
    each_proved_fix(rule, [&](const Case& c, const ProposedFix& fix) {
      const Graph& graph = c.model.graphs[static_cast<std::size_t>(fix.patch.graph)];
      if (numbers_untouched(graph, fix.patch)) {
        tried.insert(rule.id);
        return;
      }
      int here = 0;
      for (const Mutation& mutation : mutations(*c.model.dialect, graph, fix.patch)) {
        if (cancels(rule, mutation, c.model)) continue;
        ++here;
        if (!refuted(c.model, mutation.patch, *fix.exactness))
          survivors.insert(rule.id + ": " + mutation.what);
      }
      if (here == 0) unchanged.insert(rule.id + ": " + fix.patch.title);
      tried.insert(rule.id);
    });
  }
  CHECK(tried == mending);
  CHECK(survivors == std::set<std::string>{});
  CHECK(unchanged == std::set<std::string>{});
}

TEST_CASE("what a fix does to NaN and infinities is the same, or its proof says so", "[rules][laws]") {
  std::set<std::string> compared, other_bits, other_kinds;
  for (const Rule& rule : book().rules())
    each_proved_fix(rule, [&](const Case& c, const ProposedFix& fix) {
      if (c.model.graphs[0].inputs.empty()) return;
      if (!rule.assumes.empty()) return;  // samples need not keep what it assumes
      const Patch patches[] = {fix.patch};
      const auto changed = apply_patches(c.model, patches);
      if (!changed) return;
      ProofOptions options;
      options.exactness = *fix.exactness;
      const Proof proof = prove(c.model, *changed, fix.patch.graph, options);
      if (!proof.equal || !proof.nonfinite.empty()) return;
      const PastFloats past = past_floats(c.model, *changed);
      if (past.samples == 0) return;
      compared.insert(rule.id);
      // Bit for bit where every bit is promised; else what is a number stays one, and the other way round.
      if (fix.exactness == Exactness::exact && past.differing > 0)
        other_bits.insert(rule.id + ": " + fix.patch.title);
      if (past.in_one_only > 0) other_kinds.insert(rule.id + ": " + fix.patch.title);
    });
  CHECK(other_bits == std::set<std::string>{});
  CHECK(other_kinds == std::set<std::string>{});
  CHECK(compared.size() > 60);
}

TEST_CASE("a clamp to 0 and 1 keeps NaN as the operator does", "[rules][laws]") {
  const Rule& rule = *book().find("LRT015");
  int fixes = 0;
  each_fix(rule, [&](const Case& c, const ProposedFix& fix) {
    const Patch patches[] = {fix.patch};
    const auto changed = apply_patches(c.model, patches);
    REQUIRE(changed.has_value());
    CHECK(prove(c.model, *changed, 0, {}).nonfinite == "");
    CHECK(past_floats(c.model, *changed).differing == 0);
    ++fixes;
  });
  CHECK(fixes > 0);
}

TEST_CASE("what a fix takes for granted, and a check that it drops, make it unsafe and are said on the page",
          "[rules][laws]") {
  int reasons = 0;
  for (const Rule& rule : book().rules())
    for (const std::string& reason : {rule.assumes, rule.drops_checks}) {
      if (reason.empty()) continue;
      INFO(rule.id << ": " << reason);
      bool unsafe = false;
      each_fix(rule, [&](const Case&, const ProposedFix& fix) {
        unsafe = unsafe || (fix.unsafe && fix.unsafe_reason.find(reason) != std::string::npos);
      });
      CHECK(unsafe);
      const auto section = rule.sections.find("When it is not safe");
      REQUIRE(section != rule.sections.end());
      CHECK(section->second.find("unsafe") != std::string::npos);
      ++reasons;
    }
  CHECK(reasons >= 9);
}

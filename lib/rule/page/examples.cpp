#include "lib/rule/page/examples.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/edit/apply.h"
#include "lib/graph/encode.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "lib/target/target.h"

namespace md {
namespace {

/// The words of a fence line behind fires/declines.
struct Options {
  bool f16 = false, advice = false, log = false, no_proof = false, unproven = false;
  std::string log_text, target, reason;
};

/// "a", "key=b" or "key=\"c d\"".
std::string next_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::string word;
  bool inside = false;
  while (!text.empty() && (inside || text.front() != ' ')) {
    if (text.front() == '"')
      inside = !inside;
    else
      word += text.front();
    text.remove_prefix(1);
  }
  return word;
}

Result<Options> parse_options(std::string_view text) {
  Options out;
  while (true) {
    const std::string word = next_word(text);
    if (word.empty()) return out;
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals),
                      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word == "f16")
      out.f16 = true;
    else if (word == "advice")
      out.advice = true;
    else if (word == "no-proof")
      out.no_proof = true;
    else if (word == "unproven")
      out.unproven = true;
    else if (key == "log")
      out.log = true, out.log_text = value;
    else if (key == "target")
      out.target = value;
    else if (key == "reason")
      out.reason = value;
    else
      return input_error(
          fmt::format("unknown word \"{}\"; known are f16, advice, log, log=\"...\", target=NAME, "
                      "reason=\"...\", no-proof, unproven",
                      word));
  }
}

/// Every f32 of a model as f16.
Model as_half(Model model) {
  for (Graph& graph : model.graphs)
    for (Value& value : graph.values) {
      if (value.dtype != DType::f32) continue;
      const auto numbers = decode(value);
      value.dtype = DType::f16;
      if (numbers) value.constant = Constant::own(encode(DType::f16, value.shape, *numbers));
    }
  return model;
}

/// The types of inputs and outputs of all graphs, and the names of the first one's: callers use those.
std::string interface_of(const Model& model) {
  std::string out;
  for (const Graph& graph : model.graphs)
    for (const auto* list : {&graph.inputs, &graph.outputs}) {
      for (const ValueId v : *list)
        out += (&graph == &model.graphs.front() ? graph.value(v).name : std::string()) + " " +
               print_type(graph.value(v)) + "; ";
      out += "| ";
    }
  return out;
}

class ExampleRun {
 public:
  explicit ExampleRun(const Rule& rule) : rule_(rule) {}

  std::vector<ExampleFailure> run() {
    for (const LogExample& example : rule_.log_examples) log(example);
    for (const ModelExample& example : rule_.model_examples) model(example);
    return std::move(failures_);
  }

 private:
  void fail(int line, std::string what) { failures_.push_back({rule_.path, line, std::move(what)}); }

  void log(const LogExample& example) {
    const bool hit = std::any_of(rule_.log.begin(), rule_.log.end(),
                                 [&](const Signature& s) { return s.match(example.text).has_value(); });
    if (hit != example.fires)
      fail(example.line,
           example.fires ? "no signature hits this log" : "a signature hits this log, but it should not");
  }

  void model(const ModelExample& example) {
    const auto options = parse_options(example.options);
    if (!options) return fail(example.line - 1, options.error().message);
    const auto opened = ExampleCase::open(rule_, example);
    if (!opened) return failures_.push_back({"", 0, opened.error().message});
    for (const Model& model : opened->models())
      check(example, *options, *opened, model, &model == &opened->models().front() ? "" : " (as f16)");
  }

  static const DetectResult* first(const std::vector<FoundInExample>& found, DetectResult::State state) {
    const auto at = std::find_if(found.begin(), found.end(),
                                 [&](const FoundInExample& f) { return f.result.state == state; });
    return at == found.end() ? nullptr : &at->result;
  }

  void check(const ModelExample& example, const Options& options, const ExampleCase& opened,
             const Model& model, const std::string& as) {
    const auto found = opened.find(model);
    if (!found) return fail(example.line - 1, found.error().message);
    const DetectResult* matched = first(*found, DetectResult::State::matched);
    const DetectResult* advice = first(*found, DetectResult::State::advice);
    const DetectResult* declined = first(*found, DetectResult::State::declined);
    if (!options.reason.empty()) {
      const bool given = std::any_of(found->begin(), found->end(), [&](const FoundInExample& f) {
        return f.result.reason.find(options.reason) != std::string::npos;
      });
      if (!given)
        fail(example.line, fmt::format("no result has a reason with \"{}\"{}{}", options.reason, as,
                                       declined ? ": it is \"" + declined->reason + "\"" : ""));
    }
    if (!example.fires) {
      if (matched) fail(example.line, "the rule fires here, but it should not" + as);
      return;
    }
    if (options.advice ? !advice : !matched && !advice)
      return fail(example.line,
                  "the rule does not fire here" + as + (declined ? ": " + declined->reason : ""));
    for (const FoundInExample& site : *found)
      for (const ProposedFix& fix : site.result.fixes)
        check_fix(example, options, opened, model, *found, site, fix, as);
  }

  void check_fix(const ModelExample& example, const Options& options, const ExampleCase& opened,
                 const Model& model, const std::vector<FoundInExample>& before, const FoundInExample& site,
                 const ProposedFix& fix, const std::string& as) {
    const std::string who = fmt::format("the fix \"{}\"{}", fix.patch.title, as);
    if (fix.patch.title.empty()) return fail(example.line, "a fix has no title" + as);
    if (fix.unsafe && fix.unsafe_reason.empty()) fail(example.line, who + " is unsafe and does not say why");
    const Patch patches[] = {fix.patch};
    const auto changed = apply_patches(model, patches);
    if (!changed)
      return fail(example.line, fmt::format("{} cannot be applied: {}", who, changed.error().message));
    for (const Graph& g : changed->graphs)
      if (const auto broken = broken_invariant(g))
        return fail(example.line, fmt::format("{} breaks the graph: {}", who, *broken));
    if (!fix.unsafe && !fix.retypes_interface && interface_of(model) != interface_of(*changed))
      fail(example.line, fmt::format("{} changes the interface from {} to {}", who, interface_of(model),
                                     interface_of(*changed)));
    if (!options.no_proof) check_proof(example, options, model, *changed, site.graph, fix, who);
    const auto again = opened.find(*changed);
    if (!again) return fail(example.line, again.error().message);
    // The other sites of the model may still be there; this one may not.
    const auto count = [](const std::vector<FoundInExample>& found) {
      return std::count_if(found.begin(), found.end(), [](const FoundInExample& f) {
        return f.result.state == DetectResult::State::matched;
      });
    };
    if (site.result.state == DetectResult::State::matched && count(*again) >= count(before))
      fail(example.line, fmt::format("after {} the rule still fires", who));
  }

  void check_proof(const ModelExample& example, const Options& options, const Model& before,
                   const Model& after, int graph, const ProposedFix& fix, const std::string& who) {
    ProofOptions wanted;
    wanted.exactness = *fix.exactness;
    const Proof proof = prove(before, after, graph, wanted);
    if (proof.method == ProofMethod::none)
      return fail(example.line, fmt::format("{} cannot be proved: {}", who, proof.note));
    if (proof.equal == options.unproven)
      fail(example.line, proof.equal
                             ? who + " is proved equal, so \"unproven\" is wrong"
                             : fmt::format("{} computes something else: {}", who, proof.counterexample));
  }

  const Rule& rule_;
  std::vector<ExampleFailure> failures_;
};

}  // namespace

Result<ExampleCase> ExampleCase::open(const Rule& rule, const ModelExample& example) {
  const auto options = parse_options(example.options);
  if (!options) return tl::make_unexpected(options.error());
  auto model = parse_model(rule.path, example.line, example.text, *example.dialect);
  if (!model) return tl::make_unexpected(model.error());
  ExampleCase opened;
  opened.rule_ = &rule;
  opened.target_ = options->target;
  opened.proved_ = !options->no_proof && !options->unproven;
  if (options->log && !options->log_text.empty())
    opened.messages_ = {options->log_text};
  else if (options->log)
    for (const LogExample& log : rule.log_examples)
      if (log.fires) opened.messages_.push_back(log.text);
  opened.models_.push_back(*std::move(model));
  if (options->f16) opened.models_.push_back(as_half(opened.models_.front()));
  return opened;
}

Result<std::vector<FoundInExample>> ExampleCase::find(const Model& model) const {
  std::unique_ptr<Target> target;
  Prediction prediction;
  if (!target_.empty()) {
    auto opened = open_target(target_);
    if (!opened) return tl::make_unexpected(opened.error());
    target = *std::move(opened);
    prediction = target->predict(model);
  }
  std::vector<FoundInExample> found;
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    const DetectContext context{model,
                                static_cast<int>(g),
                                model.graphs[g],
                                target.get(),
                                target ? &prediction.records : nullptr,
                                messages_.empty() ? nullptr : &messages_,
                                true};
    for (DetectResult& result : run_rule(*rule_, context))
      found.push_back({std::move(result), static_cast<int>(g)});
  }
  return found;
}

std::string ExampleFailure::text() const {
  return path.empty() ? what : fmt::format("{}:{}: {}", path, line, what);
}

std::vector<ExampleFailure> run_rule_examples(const Rule& rule) { return ExampleRun(rule).run(); }

}  // namespace md

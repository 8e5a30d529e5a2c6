#include "lib/eval/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/eval/counterexample.h"
#include "lib/eval/difference.h"
#include "lib/eval/kernel.h"
#include "lib/eval/movement_proof.h"
#include "lib/eval/site_runner.h"

namespace md {
namespace {

constexpr double work_budget = 3e8;       // multiply-adds of one proof: well under a second
constexpr std::size_t fill_limit = 4096;  // elements of a site that is still run once for each 8-bit value
constexpr int context_levels[] = {2, 6};  // how far up the graph a rewrite's reasons are looked for
constexpr int context_nodes = 24;

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1.0p-10;
    case DType::bf16: return 0x1.0p-7;
    case DType::f64: return 0x1.0p-52;
    default: return 0x1.0p-23;
  }
}

/// Compares two versions of a site sample by sample and collects the worst of everything.
class Comparison {
 public:
  Comparison(const SiteRunner& runner, const ProofOptions& options, Proof& proof) : runner_(runner), options_(options), proof_(proof), roundings_(runner.roundings()) {}

  enum class Verdict { equal, differs, not_evaluated };
  /// Runs one sample. `finite`: inputs are finite, a difference refutes; otherwise it is only stated.
  Verdict compare(const TensorMap& inputs, bool finite);
  const Disagreement& found() const { return found_; }
  const std::string& error() const { return error_; }
  /// The same comparison without bookkeeping, for shrinking a counterexample.
  std::optional<Disagreement> differ(const TensorMap& inputs) const;

 private:
  struct Pair {
    std::vector<Tensor> before, after, judge;
    double scale = 0;  ///< largest finite |value| among the original's inputs and results
  };
  /// How far elements may be apart under `rounding`; `own` is the original's error against exact arithmetic, in ulps.
  double rounding_allowance(const Tensor& a, double element, double scale, double own) const;
  /// The first element that may not be as it is.
  std::optional<Disagreement> disagreement(const Pair& pair, bool finite, Proof* record) const;
  Result<Pair> run(const TensorMap& inputs, std::optional<Disagreement>& broken) const;
  bool needs_judge(const Pair& pair) const;

  const SiteRunner& runner_;
  const ProofOptions& options_;
  Proof& proof_;
  double roundings_;
  Disagreement found_;
  std::string error_;
};

Result<Comparison::Pair> Comparison::run(const TensorMap& inputs, std::optional<Disagreement>& broken) const {
  Pair pair;
  const auto note = [&](const Tensor& tensor) {
    if (!tensor.is_float() || options_.exactness != Exactness::rounding) return;
    for (std::size_t i = 0; i < tensor.size() * static_cast<std::size_t>(tensor.lanes()); ++i)
      if (const double m = std::abs(tensor.number(i)); std::isfinite(m)) pair.scale = std::max(pair.scale, m);
  };
  for (const auto& [id, tensor] : inputs) note(tensor);
  EvaluateOptions plain;
  plain.observe = [&](const Graph&, NodeId, int, const Tensor& tensor, double) { note(tensor); };
  auto old_outputs = runner_.run_before(inputs, plain);
  if (!old_outputs) return tl::make_unexpected(old_outputs.error());
  pair.before = std::move(*old_outputs);
  auto new_outputs = runner_.run_after(inputs, {});
  if (!new_outputs) {
    broken = Disagreement{};
    broken->text = "the new version cannot be evaluated: " + new_outputs.error().message;
    return pair;
  }
  pair.after = std::move(*new_outputs);
  if (needs_judge(pair)) {
    EvaluateOptions judge;
    judge.mode.arithmetic = Arithmetic::f64;
    if (auto outputs = runner_.run_before(inputs, judge)) pair.judge = std::move(*outputs);
  }
  return pair;
}

bool Comparison::needs_judge(const Pair& pair) const {
  for (std::size_t k = 0; k < pair.before.size(); ++k)
    if (pair.before[k].is_float() && compare_tensors(pair.before[k], pair.after[k]).differing > 0) return true;
  return false;
}

double Comparison::rounding_allowance(const Tensor& a, double element, double scale, double own) const {
  if (!a.is_float()) return a.quantization ? static_cast<double>(a.quantization->scale[0]) * 1.0001 : 0;
  // Sums in another order are apart by the size of their terms, which cancellation may make far larger than the result.
  if (runner_.reduces()) return 4 * epsilon(a.dtype) * roundings_ * scale;
  const double tiny = a.dtype == DType::f16 ? 0x1.0p-24 : 0x1.0p-149;
  return (4 * roundings_ + 4 * own) * std::max(epsilon(a.dtype) * std::abs(element), tiny);
}

std::optional<Disagreement> Comparison::disagreement(const Pair& pair, bool finite, Proof* record) const {
  for (std::size_t k = 0; k < pair.before.size(); ++k) {
    const Tensor& a = pair.before[k];
    const Tensor& b = pair.after[k];
    Disagreement found;
    found.output = k, found.shape = a.shape;
    if (a.shape != b.shape) {
      found.text = fmt::format("shape {} before, {} after", shape_text(a.shape), shape_text(b.shape));
      return found;
    }
    const Difference d = compare_tensors(a, b);
    if (d.differing == 0) continue;
    const bool judged = k < pair.judge.size();
    const auto x = a.real_values(), y = b.real_values();
    const auto jx = judged ? pair.judge[k].real_values() : std::vector<double>{};
    const bool quantized = !a.is_float();
    double own = 0;  // the original's worst error against the judge, in ulps
    for (std::size_t i = 0; judged && !quantized && i < x.size(); ++i)
      if (std::isfinite(x[i]) && std::isfinite(jx[i])) own = std::max(own, ulp_distance(a.dtype, x[i], jx[i]));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      found.element = i, found.before = x[i], found.after = y[i];
      const bool both = std::isfinite(x[i]) && std::isfinite(y[i]);
      if (both && record && finite) {
        record->max_abs = std::max(record->max_abs, std::abs(x[i] - y[i]));
        if (d.largest > 0) record->max_rel = std::max(record->max_rel, std::abs(x[i] - y[i]) / d.largest);
        record->max_ulp = std::max(record->max_ulp, quantized ? std::abs(a.number(i) - b.number(i)) : ulp_distance(a.dtype, x[i], y[i]));
      }
      if (both && options_.exactness == Exactness::rounding && std::abs(x[i] - y[i]) <= rounding_allowance(a, x[i], pair.scale, own)) continue;
      if (both && options_.exactness == Exactness::bounded && std::abs(x[i] - y[i]) <= options_.max_error * d.largest) continue;
      // The original overflows on the way, the new version gives what exact arithmetic gives: stated, not held against it.
      if (judged && !std::isfinite(x[i]) && std::isfinite(jx[i]) && std::abs(y[i] - jx[i]) <= 1e-5 * std::max(std::abs(jx[i]), 1e-30)) {
        if (record && record->nonfinite.empty()) record->nonfinite = fmt::format("where the original overflows to {} the new version gives {}", short_number(x[i]), short_number(y[i]));
        continue;
      }
      // Both leave the range of floats on the way: only exact rewrites promise to do it alike.
      if (options_.exactness != Exactness::exact && !std::isfinite(x[i]) && judged && !std::isfinite(jx[i])) continue;
      if (options_.exactness != Exactness::exact && !std::isfinite(x[i]) && !std::isfinite(y[i])) continue;
      return found;
    }
  }
  return std::nullopt;
}

Comparison::Verdict Comparison::compare(const TensorMap& inputs, bool finite) {
  std::optional<Disagreement> broken;
  const auto pair = run(inputs, broken);
  if (!pair) {
    error_ = pair.error().message;
    return Verdict::not_evaluated;
  }
  const auto found = broken ? broken : disagreement(*pair, finite, &proof_);
  if (!found) return Verdict::equal;
  found_ = *found;
  return Verdict::differs;
}

std::optional<Disagreement> Comparison::differ(const TensorMap& inputs) const {
  std::optional<Disagreement> broken;
  const auto pair = run(inputs, broken);
  if (!pair) return std::nullopt;
  return broken ? broken : disagreement(*pair, true, nullptr);
}

std::string missing_kernel(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes)
    if (const std::string op = kernel_name(graph.node(id)); !find_kernel(op)) return op;
  return {};
}

/// True when every node treats elements one by one and every constant it reads has one element (`any_constant`: or any
/// number, when whole tensors are filled with one value).
bool elementwise(const Graph& graph, const std::vector<NodeId>& nodes, bool any_constant) {
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!is_elementwise(kernel_name(node))) return false;
    for (const ValueId v : node.inputs)
      if (v != none_id && graph.value(v).is_constant() && !any_constant && element_count(graph.value(v).shape) != 1) return false;
  }
  return true;
}

/// Every stored number of a small type, as one tensor of shape [n].
Tensor all_numbers(const Value& value) {
  Tensor all;
  if (value.dtype == DType::f16) {
    std::vector<double> numbers(65536);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(half_to_float(static_cast<std::uint16_t>(i)));
    std::erase_if(numbers, [](double v) { return !std::isfinite(v); });
    all = Tensor::of(value.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
  } else {
    const std::int64_t low = value.dtype == DType::i8 ? -128 : 0, high = value.dtype == DType::i8 ? 127 : value.dtype == DType::boolean ? 1 : 255;
    std::vector<std::int64_t> numbers;
    for (std::int64_t v = low; v <= high; ++v) numbers.push_back(v);
    all = Tensor::of_integers(value.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
  }
  if (value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype)) all.quantization = std::make_shared<const Quantization>(*value.quantization);
  return all;
}

bool small_type(DType dtype) { return dtype == DType::f16 || dtype == DType::i8 || dtype == DType::u8 || dtype == DType::boolean; }

class Prover {
 public:
  /// `entrances`: the inputs of the tight site, when `site` has been widened by context.
  Prover(const Model& before, const Model& after, const Site& site, const std::vector<ValueId>& entrances, const ProofOptions& options)
      : before_(before), after_(after), site_(site), entrances_(entrances), options_(options), runner_(before, after, site_) {}

  Proof prove() {
    Proof proof;
    if (site_.outputs.empty()) {
      proof.method = ProofMethod::exhaustive;
      proof.equal = true;
      proof.note = site_.before.empty() && site_.after.empty() ? "no computation differs" : "nothing reads what differs";
      return proof;
    }
    std::string missing = missing_kernel(runner_.old_graph(), site_.before);
    if (missing.empty()) missing = missing_kernel(runner_.new_graph(), site_.after);
    if (!missing.empty()) {
      proof.note = "no kernel for " + missing;
      return proof;
    }
    if (auto ready = runner_.prepare(); !ready) {
      proof.note = ready.error().message;
      return proof;
    }
    if (site_.inputs.empty()) return once();
    if (auto movement = prove_movement(before_, after_, runner_)) return *movement;
    if (auto all = exhaustive()) return *all;
    return sampled();
  }

 private:
  /// No run-time input: one run shows everything.
  Proof once() {
    Proof proof;
    Comparison comparison(runner_, options_, proof);
    const auto verdict = comparison.compare({}, true);
    if (verdict == Comparison::Verdict::not_evaluated) {
      proof.note = comparison.error();
      return proof;
    }
    proof.method = ProofMethod::exhaustive;
    proof.samples = 1;
    proof.dtype = runner_.old_graph().value(site_.outputs[0].first).dtype;
    proof.note = "the site has no run-time input";
    if (verdict == Comparison::Verdict::differs) refute(proof, comparison, {});
    else proof.equal = true;
    return proof;
  }

  std::optional<Proof> exhaustive() {
    if (site_.inputs.size() != 1 || runner_.index_limit(site_.inputs[0]) > 0) return std::nullopt;
    const Value& input = runner_.input_value(site_.inputs[0]);
    const bool single = elementwise(runner_.old_graph(), site_.before, false) && elementwise(runner_.new_graph(), site_.after, false) && runner_.folded().empty();
    if (single && small_type(input.dtype)) {
      TensorMap inputs;
      inputs[site_.inputs[0]] = all_numbers(input);
      return whole_type({inputs}, input.dtype);
    }
    if (single && options_.thorough && input.dtype == DType::f32) return every_float();
    // Constants of several elements (one a channel): the whole tensor holds one value at a time.
    const auto count = element_count(runner_.input_shape(site_.inputs[0], 1));
    if (small_type(input.dtype) && input.dtype != DType::f16 && count && *count <= static_cast<std::int64_t>(fill_limit) &&
        elementwise(runner_.old_graph(), site_.before, true) && elementwise(runner_.new_graph(), site_.after, true)) {
      const Tensor all = all_numbers(input);
      std::vector<TensorMap> runs;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<std::int64_t> same(static_cast<std::size_t>(*count), all.integer(i));
        Tensor filled = Tensor::of_integers(input.dtype, runner_.input_shape(site_.inputs[0], 1), same);
        filled.quantization = all.quantization;
        runs.push_back({{site_.inputs[0], filled}});
      }
      return whole_type(runs, input.dtype);
    }
    return std::nullopt;
  }

  std::optional<Proof> whole_type(const std::vector<TensorMap>& runs, DType dtype) {
    Proof proof;
    proof.method = ProofMethod::exhaustive;
    proof.dtype = dtype;
    Comparison comparison(runner_, options_, proof);
    for (const TensorMap& inputs : runs) {
      const auto verdict = comparison.compare(inputs, true);
      if (verdict == Comparison::Verdict::not_evaluated) return std::nullopt;
      proof.samples += runs.size() > 1 ? 1 : static_cast<std::int64_t>(inputs.begin()->second.size());
      if (verdict == Comparison::Verdict::differs) {
        refute(proof, comparison, inputs);
        return proof;
      }
    }
    proof.equal = true;
    if (dtype == DType::f16) state_nonfinite(proof, 1);
    return proof;
  }

  /// Each of the 2^32 floats, in blocks.
  std::optional<Proof> every_float() {
    Proof proof;
    proof.method = ProofMethod::exhaustive;
    proof.dtype = DType::f32;
    Comparison comparison(runner_, options_, proof);
    constexpr std::uint64_t block = 1u << 20;
    for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += block) {
      Tensor values = Tensor::make(DType::f32, {static_cast<std::int64_t>(block)});
      auto numbers = values.mutable_data<float>();
      for (std::uint64_t i = 0; i < block; ++i) {
        const float f = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
        numbers[i] = std::isfinite(f) ? f : 0.0f;
      }
      const TensorMap inputs = {{site_.inputs[0], values}};
      const auto verdict = comparison.compare(inputs, true);
      if (verdict == Comparison::Verdict::not_evaluated) return std::nullopt;
      proof.samples += static_cast<std::int64_t>(block);
      if (verdict == Comparison::Verdict::differs) {
        refute(proof, comparison, inputs);
        return proof;
      }
    }
    proof.equal = true;
    state_nonfinite(proof, 1);
    return proof;
  }

  Proof sampled() {
    Proof proof;
    proof.dtype = runner_.input_value(site_.inputs[0]).dtype;
    Comparison comparison(runner_, options_, proof);
    std::vector<std::int64_t> sizes = {1};
    if (runner_.has_dynamic_input()) sizes = {1, 3, 7};
    int evaluated = 0, skipped = 0;
    const double work = runner_.work(sizes.back());
    const int count = static_cast<int>(std::clamp(work_budget / std::max(work, 1.0) / static_cast<double>(sizes.size()), 3.0, static_cast<double>(std::max(options_.samples, 1))));
    for (const std::int64_t size : sizes)
      for (const Recipe& recipe : finite_recipes(count, options_.seed)) {
        const TensorMap inputs = runner_.sample_inputs(recipe, size);
        const auto verdict = comparison.compare(inputs, true);
        if (verdict == Comparison::Verdict::not_evaluated) {
          ++skipped;
          continue;
        }
        ++evaluated;
        if (verdict == Comparison::Verdict::differs) {
          proof.method = ProofMethod::sampled;
          proof.samples = evaluated;
          refute(proof, comparison, inputs);
          proof.counterexample += " (" + recipe.text + ")";
          return proof;
        }
      }
    proof.samples = evaluated;
    if (evaluated == 0) {
      proof.note = comparison.error().empty() ? "no sample could be evaluated" : comparison.error();
      return proof;
    }
    proof.method = ProofMethod::sampled;
    proof.equal = true;
    if (sizes.size() > 1) add_note(proof, "three sizes of the dynamic dimensions");
    if (count < options_.samples) add_note(proof, fmt::format("a large site: {} samples instead of {}", count, options_.samples));
    if (skipped > 0) add_note(proof, fmt::format("{} samples are outside what the original accepts", skipped));
    if (options_.exactness == Exactness::exact) half_floats(proof);
    if (proof.equal) state_nonfinite(proof, sizes.back());
    return proof;
  }

  /// An exact unary rewrite must also be one on devices that compute in fp16.
  void half_floats(Proof& proof) {
    if (site_.inputs.size() != 1 || runner_.input_value(site_.inputs[0]).dtype != DType::f32 || !runner_.folded().empty()) return;
    if (!elementwise(runner_.old_graph(), site_.before, false) || !elementwise(runner_.new_graph(), site_.after, false)) return;
    Value half;
    half.dtype = DType::f16;
    const Tensor numbers = all_numbers(half);
    TensorMap inputs;
    inputs[site_.inputs[0]] = Tensor::of(DType::f32, numbers.shape, numbers.numbers());
    EvaluateOptions options;
    options.mode.arithmetic = Arithmetic::f16_storage;
    const auto a = runner_.run_before(inputs, options), b = runner_.run_after(inputs, options);
    if (!a || !b) return;
    for (std::size_t k = 0; k < a->size(); ++k) {
      const Difference d = compare_tensors((*a)[k], (*b)[k]);
      if (d.differing == 0) continue;
      proof.equal = false;
      proof.counterexample = fmt::format("in fp16, input {} gives {} before, {} after ({} of {} values differ)", short_number(numbers.number(d.worst)), short_number((*a)[k].number(d.worst)), short_number((*b)[k].number(d.worst)), d.differing, numbers.size());
      return;
    }
    add_note(proof, fmt::format("and equal in fp16 on all {} values", numbers.size()));
  }

  /// NaN and infinities: a difference is stated, and held against the rewrite only where such a value can reach the site.
  void state_nonfinite(Proof& proof, std::int64_t size) {
    const bool floats = std::any_of(site_.inputs.begin(), site_.inputs.end(), [&](ValueId v) { return is_float(runner_.input_value(v).dtype); });
    if (!floats) return;
    Proof scratch;
    Comparison comparison(runner_, options_, scratch);
    for (const Recipe& recipe : nonfinite_recipes(options_.seed)) {
      const TensorMap inputs = runner_.sample_inputs(recipe, size);
      if (comparison.compare(inputs, false) != Comparison::Verdict::differs) continue;
      const std::string text = minimized_counterexample(runner_, inputs, comparison.found(), [&](const TensorMap& t) { return comparison.differ(t); });
      proof.nonfinite = text;
      if (nonfinite_can_reach()) {
        proof.equal = false;
        proof.counterexample = text + "; a constant above the site brings such a value";
      }
      return;
    }
  }

  /// Whether a constant among the site's ancestors is NaN, infinite, or past fp16's largest number.
  bool nonfinite_can_reach() const {
    const Graph& graph = runner_.old_graph();
    std::set<ValueId> seen;
    std::vector<ValueId> open = entrances_;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (v == none_id || static_cast<std::size_t>(v) >= graph.values.size() || !seen.insert(v).second) continue;
      const Value& value = graph.value(v);
      if (value.is_constant() && is_float(value.dtype)) {
        if (const auto tensor = Tensor::constant(value))
          for (const double n : tensor->numbers())
            if (!(std::abs(n) <= 65504.0)) return true;
        continue;
      }
      if (const NodeId producer = graph.producer(v); producer != none_id)
        for (const ValueId input : graph.node(producer).inputs) open.push_back(input);
    }
    return false;
  }

  void refute(Proof& proof, const Comparison& comparison, const TensorMap& inputs) {
    proof.equal = false;
    proof.counterexample = minimized_counterexample(runner_, inputs, comparison.found(), [&](const TensorMap& t) { return comparison.differ(t); });
  }

  static void add_note(Proof& proof, const std::string& text) { proof.note += (proof.note.empty() ? "" : "; ") + text; }

  const Model& before_;
  const Model& after_;
  Site site_;
  const std::vector<ValueId>& entrances_;
  const ProofOptions& options_;
  SiteRunner runner_;
};

}  // namespace

Proof prove(const Model& before, const Model& after, int graph_index, const ProofOptions& options) {
  const auto g = static_cast<std::size_t>(graph_index);
  if (graph_index < 0 || g >= before.graphs.size() || g >= after.graphs.size()) {
    Proof none;
    none.note = fmt::format("there is no graph {}", graph_index);
    return none;
  }
  const Site site = find_site(before, after, graph_index);
  Proof proof = Prover(before, after, site, site.inputs, options).prove();
  if (proof.equal || proof.counterexample.empty()) return proof;
  // The rewrite may rest on where its operands come from (an exponential is never negative): look at what is above.
  for (const int levels : context_levels) {
    const Site wider = with_context(before, after, site, levels, context_nodes);
    if (wider.context == 0) break;
    Proof with_producers = Prover(before, after, wider, site.inputs, options).prove();
    if (!with_producers.equal) continue;
    with_producers.note += (with_producers.note.empty() ? "" : "; ") + fmt::format("together with the {} nodes above the site", wider.context);
    return with_producers;
  }
  return proof;
}

}  // namespace md

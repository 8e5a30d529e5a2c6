#include "lib/proof/prover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/eval/budget.h"
#include "lib/eval/difference.h"
#include "lib/eval/kernel.h"
#include "lib/eval/limits.h"
#include "lib/op/ops.h"
#include "lib/proof/movement_proof.h"
#include "lib/proof/site_comparison.h"
#include "lib/proof/tolerance.h"

namespace md {
namespace {

constexpr double work_of_drawing = 8;       // multiply-adds that cost as much as to draw and read one number
constexpr double most_elements = 1 << 25;   // of a site's inputs that are compared at full size
constexpr double tried_elements = 1 << 28;  // of all inputs on the way to a smaller site
constexpr std::int64_t smallest_dimension = 5;
constexpr int shrink_tries = 16;
constexpr std::size_t fill_limit = 4096;  // elements of a site that is still run once for each 8-bit value

std::string missing_kernel(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes)
    if (const Node& node = graph.node(id); !find_kernel(graph, node)) return kernel_name(graph, node);
  return {};
}

/// True when every node treats elements one by one and every constant it reads has one element
/// (`any_constant`: or any number, when whole tensors are filled with one value).
bool elementwise(const Graph& graph, const std::vector<NodeId>& nodes, bool any_constant) {
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!is_elementwise(graph, node)) return false;
    for (const ValueId v : node.inputs)
      if (v != none_id && graph.value(v).is_constant() && !any_constant &&
          element_count(graph.value(v).shape) != 1)
        return false;
  }
  return true;
}

/// Every stored number of a small type, as one tensor of shape [n].
Tensor all_numbers(const Value& value) {
  Tensor all;
  if (value.dtype == DType::f16) {
    std::vector<double> numbers(65536);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(half_to_float(static_cast<std::uint16_t>(i)));
    std::erase_if(numbers, [](double v) { return !std::isfinite(v); });
    all = Tensor::of(value.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
  } else {
    const std::int64_t low = value.dtype == DType::i8 ? -128 : 0, high = value.dtype == DType::i8 ? 127
                                                                         : value.dtype == DType::boolean
                                                                             ? 1
                                                                             : 255;
    std::vector<std::int64_t> numbers;
    for (std::int64_t v = low; v <= high; ++v) numbers.push_back(v);
    all = Tensor::of_integers(value.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
  }
  if (value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype))
    all.quantization = std::make_shared<const Quantization>(*value.quantization);
  return all;
}

bool small_type(DType dtype) {
  return dtype == DType::f16 || dtype == DType::i8 || dtype == DType::u8 || dtype == DType::boolean;
}

class Prover {
 public:
  Prover(const Model& before, const Model& after, const Site& site, const ProofOptions& options)
      : before_(before), after_(after), site_(site), options_(options), runner_(before, after, site_) {}

  Proof prove() {
    Proof proof;
    if (const auto unfit = unfit_site(before_, after_, site_)) {
      proof.note = "the site cannot be run: " + *unfit;
      return proof;
    }
    if (site_.outputs.empty()) {
      proof.method = ProofMethod::exhaustive;
      proof.equal = true;
      proof.note = site_.before.empty() && site_.after.empty() ? "no computation differs"
                                                               : "nothing reads what differs";
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
    double numbers = 0;
    for (const auto& [id, shape] : runner_.shapes(1))
      numbers += static_cast<double>(element_count(shape).value_or(std::int64_t{1} << 62));
    if (numbers * sizeof(double) > static_cast<double>(default_limits(before_).bytes) / 2) {
      proof.note = fmt::format("its inputs hold {:.1e} numbers, more than a proof is tried on", numbers);
      return proof;
    }
    if (options_.exactness != Exactness::exact && runner_.reduces()) runner_.limit_magnitude(summable_limit);
    if (site_.inputs.empty()) return once();
    if (auto movement = prove_movement(before_, after_, runner_)) return *movement;
    if (auto all = exhaustive()) return *all;
    return sampled();
  }

 private:
  /// No run-time input: one run shows everything.
  Proof once() {
    Proof proof;
    SiteComparison comparison(runner_, options_, proof);
    const auto verdict = comparison.compare({}, true);
    if (verdict == SiteComparison::Verdict::not_evaluated) {
      proof.note = comparison.error();
      return proof;
    }
    proof.method = ProofMethod::exhaustive;
    proof.samples = 1;
    proof.dtype = runner_.old_graph().value(site_.outputs[0].first).dtype;
    proof.note = "the site has no run-time input";
    if (verdict == SiteComparison::Verdict::differs)
      refute(proof, comparison, {});
    else
      proof.equal = true;
    return proof;
  }

  std::optional<Proof> exhaustive() {
    if (site_.inputs.size() != 1 || runner_.index_limit(site_.inputs[0]) > 0) return std::nullopt;
    const Value& input = runner_.input_value(site_.inputs[0]);
    const bool single = elementwise(runner_.old_graph(), site_.before, false) &&
                        elementwise(runner_.new_graph(), site_.after, false) && runner_.folded().empty();
    if (single && small_type(input.dtype)) {
      TensorMap inputs;
      inputs[site_.inputs[0]] = all_numbers(input);
      return whole_type({inputs}, input.dtype);
    }
    if (single && options_.thorough && input.dtype == DType::f32) return every_float();
    // Constants of several elements (one a channel): the whole tensor holds one value at a time.
    const auto count = element_count(runner_.input_shape(site_.inputs[0], 1));
    if (small_type(input.dtype) && input.dtype != DType::f16 && count &&
        *count <= static_cast<std::int64_t>(fill_limit) &&
        elementwise(runner_.old_graph(), site_.before, true) &&
        elementwise(runner_.new_graph(), site_.after, true)) {
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
    SiteComparison comparison(runner_, options_, proof);
    for (const TensorMap& inputs : runs) {
      const auto verdict = comparison.compare(inputs, true);
      if (verdict == SiteComparison::Verdict::not_evaluated) return std::nullopt;
      proof.samples += runs.size() > 1 ? 1 : static_cast<std::int64_t>(inputs.begin()->second.size());
      if (verdict == SiteComparison::Verdict::differs) {
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
    SiteComparison comparison(runner_, options_, proof);
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
      if (verdict == SiteComparison::Verdict::not_evaluated) return std::nullopt;
      proof.samples += static_cast<std::int64_t>(block);
      if (verdict == SiteComparison::Verdict::differs) {
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
    SiteComparison comparison(runner_, options_, proof);
    std::vector<std::int64_t> sizes = {1};
    if (runner_.has_dynamic_input()) sizes = {1, 3, 7};
    int evaluated = 0, skipped = 0;
    const auto elements = static_cast<double>(total_elements(runner_.shapes(sizes.back())));
    const double work = std::max(runner_.work(sizes.back()), elements * work_of_drawing);
    const int wanted = std::max(options_.samples, 1);
    int count = std::max(1, budget_of_proof.runs(work * static_cast<double>(sizes.size()), wanted));
    std::optional<InputShapes> small;
    if (count < wanted && sizes.size() == 1) small = smaller_site(work);
    if (!small && elements > most_elements) {
      proof.note = fmt::format("its inputs have {:.0f} elements, too many to be compared", elements);
      return proof;
    }
    if (!small) count = std::max(count, std::min(fewest_samples, wanted));
    for (const std::int64_t size : sizes)
      for (const Recipe& recipe : finite_recipes(count, options_.seed)) {
        const TensorMap inputs = runner_.sample_inputs(recipe, size);
        const auto verdict = comparison.compare(inputs, true);
        if (verdict == SiteComparison::Verdict::not_evaluated) {
          ++skipped;
          continue;
        }
        ++evaluated;
        if (verdict == SiteComparison::Verdict::differs) {
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
    if (small) {
      prove_smaller(proof, *small, wanted - count);
    } else if (count < options_.samples) {
      add_note(proof, fmt::format("a large site: {} samples instead of {}", count, options_.samples));
    }
    if (skipped > 0)
      add_note(proof, fmt::format("{} samples are outside what the original accepts", skipped));
    if (options_.exactness == Exactness::exact) half_floats(proof);
    if (proof.equal) {
      if (small) runner_.set_shapes(*small);
      state_nonfinite(proof, sizes.back());
      runner_.set_shapes({});
    }
    return proof;
  }

  /// Shapes on which a large site costs little and both versions still run.
  std::optional<InputShapes> smaller_site(double work) {
    const InputShapes full = runner_.shapes(1);
    const auto runs = [&](const InputShapes& shapes) {
      runner_.set_shapes(shapes);
      const TensorMap inputs = runner_.sample_inputs({Recipe::Kind::normal, 1, options_.seed, ""}, 1);
      const auto before = runner_.run_before(inputs, {});
      const auto after = before ? runner_.run_after(inputs, {}) : before;
      bool same = before && after;
      for (std::size_t k = 0; same && k < before->size(); ++k) same = (*before)[k].shape == (*after)[k].shape;
      return same;
    };
    const double affordable = tried_elements / std::max(static_cast<double>(total_elements(full)), 1.0);
    const int tries = static_cast<int>(std::clamp(affordable, 2.0, static_cast<double>(shrink_tries)));
    const InputShapes small = shrink_shapes(full, smallest_dimension, runs, tries);
    runner_.set_shapes({});
    // A little smaller is not worth another shape in the proof.
    const double share =
        static_cast<double>(total_elements(small)) / static_cast<double>(total_elements(full));
    if (share > 0.5 || work * share > budget_of_proof.work) return std::nullopt;
    return small;
  }

  /// The samples that a large site has no time for, on the smaller shape. A difference there may come from a
  /// constant that belongs to the full size (1/N): it is stated, and the full size decides.
  void prove_smaller(Proof& proof, const InputShapes& small, int count) {
    runner_.set_shapes(small);
    Proof there;
    SiteComparison comparison(runner_, options_, there);
    int equal = 0;
    bool differs = false;
    for (const Recipe& recipe : finite_recipes(count, options_.seed + 1)) {
      const auto verdict = comparison.compare(runner_.sample_inputs(recipe, 1), true);
      differs = differs || verdict == SiteComparison::Verdict::differs;
      if (verdict == SiteComparison::Verdict::equal) ++equal;
    }
    runner_.set_shapes({});
    std::string shapes;
    for (const auto& [id, shape] : small) shapes += (shapes.empty() ? "" : " and ") + shape_text(shape);
    if (differs) {
      add_note(proof, fmt::format("a large site: {} samples instead of {}", proof.samples, options_.samples));
      return;
    }
    add_note(proof, fmt::format("{} samples at full size, {} on the shrunken shape {}", proof.samples, equal,
                                shapes));
    proof.samples += equal;
    proof.max_abs = std::max(proof.max_abs, there.max_abs),
    proof.max_rel = std::max(proof.max_rel, there.max_rel),
    proof.max_ulp = std::max(proof.max_ulp, there.max_ulp);
  }

  /// An exact unary rewrite must also be one on devices that compute in fp16.
  void half_floats(Proof& proof) {
    if (site_.inputs.size() != 1 || runner_.input_value(site_.inputs[0]).dtype != DType::f32 ||
        !runner_.folded().empty())
      return;
    if (!elementwise(runner_.old_graph(), site_.before, false) ||
        !elementwise(runner_.new_graph(), site_.after, false))
      return;
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
      proof.counterexample =
          fmt::format("in fp16, input {} gives {} before, {} after ({} of {} values differ)",
                      short_number(numbers.number(d.worst)), short_number((*a)[k].number(d.worst)),
                      short_number((*b)[k].number(d.worst)), d.differing, numbers.size());
      return;
    }
    add_note(proof, fmt::format("and equal in fp16 on all {} values", numbers.size()));
  }

  /// NaN and infinities: a difference is stated; whether such a value can reach the site is for the caller to
  /// find out.
  void state_nonfinite(Proof& proof, std::int64_t size) {
    const bool floats = std::any_of(site_.inputs.begin(), site_.inputs.end(),
                                    [&](ValueId v) { return is_float(runner_.input_value(v).dtype); });
    if (!floats) return;
    Proof scratch;
    SiteComparison comparison(runner_, options_, scratch);
    for (const Recipe& recipe : nonfinite_recipes(options_.seed)) {
      const TensorMap inputs = runner_.sample_inputs(recipe, size);
      if (comparison.compare(inputs, false) != SiteComparison::Verdict::differs) continue;
      const std::string text = minimized_counterexample(
          runner_, inputs, comparison.found(), [&](const TensorMap& t) { return comparison.differ(t); });
      proof.nonfinite = text;
      return;
    }
  }

  void refute(Proof& proof, const SiteComparison& comparison, const TensorMap& inputs) {
    proof.equal = false;
    proof.counterexample = minimized_counterexample(runner_, inputs, comparison.found(),
                                                    [&](const TensorMap& t) { return comparison.differ(t); });
  }

  static void add_note(Proof& proof, const std::string& text) {
    proof.note += (proof.note.empty() ? "" : "; ") + text;
  }

  const Model& before_;
  const Model& after_;
  Site site_;
  const ProofOptions& options_;
  SiteRunner runner_;
};

}  // namespace

Proof prove_site(const Model& before, const Model& after, const Site& site, const ProofOptions& options) {
  return Prover(before, after, site, options).prove();
}

}  // namespace md

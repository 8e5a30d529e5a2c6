#include "lib/proof/movement_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/eval/difference.h"
#include "lib/eval/run_node.h"

namespace md {
namespace {

constexpr int shrink_tries = 48;
constexpr std::int64_t element_limit = std::int64_t{1} << 25;  // 64-bit index values of all inputs together

/// A value on the way through the site: ordinary (it depends on constants alone) or a carrier of index
/// values.
struct Held {
  Tensor tensor;
  bool carrier = false;
};

/// The constant's numbers as codes, so that they stay apart from index values.
Tensor coded(const Tensor& constant) {
  std::vector<std::int64_t> codes(constant.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = constant.is_float() ? carrier_code(constant.dtype, constant.number(i))
                                   : carrier_code(constant.dtype, static_cast<double>(constant.integer(i)));
  return Tensor::of_integers(DType::i64, constant.shape, codes);
}

bool codes_are_exact(const Tensor& constant) {
  if (constant.lanes() != 1) return false;
  if (constant.is_float()) return constant.dtype != DType::f64;
  return bit_width(constant.dtype) <= 32;  // wider integers do not fit a double
}

bool same_scale(const Value& a, const Value& b) {
  if (is_float(a.dtype) || (!a.quantization && !b.quantization)) return true;
  if (!a.quantization || !b.quantization) return false;
  return a.quantization->scale == b.quantization->scale &&
         a.quantization->zero_point == b.quantization->zero_point;
}

class Tracer {
 public:
  Tracer(const Model& model, const Graph& graph) : model_(model), graph_(graph) {}

  std::unordered_map<ValueId, Held>& held() { return held_; }

  /// nullopt: not a movement. Otherwise success or the error of a kernel.
  std::optional<Status> run(std::span<const NodeId> nodes) {
    for (const NodeId id : nodes)
      if (auto done = step(id); !done || !*done) return done;
    return Status{};
  }

  const Held* find(ValueId v) {
    if (const auto at = held_.find(v); at != held_.end()) return &at->second;
    if (!graph_.value(v).is_constant()) return nullptr;
    auto constant = Tensor::constant(graph_.value(v));
    if (!constant) return nullptr;
    return &(held_[v] = {std::move(*constant), false});
  }

  /// The value as a carrier; nullopt when a constant cannot be coded.
  std::optional<Tensor> carrier(const Held& value) const {
    if (value.carrier) return value.tensor;
    if (!codes_are_exact(value.tensor)) return std::nullopt;
    return coded(value.tensor);
  }

 private:
  std::optional<Status> step(NodeId id) {
    const Node& node = graph_.node(id);
    const KernelEntry* entry = find_kernel(graph_, node);
    if (!entry || !node.subgraphs.empty()) return std::nullopt;
    bool carries = false;
    std::vector<const Held*> operands;
    for (const ValueId v : node.inputs) {
      const Held* held = v == none_id ? nullptr : find(v);
      if (v != none_id && !held) return std::nullopt;
      operands.push_back(held);
      carries = carries || (held && held->carrier);
    }
    std::vector<Tensor> converted(operands.size());
    std::vector<const Tensor*> tensors;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i]) {
        tensors.push_back(nullptr);
        continue;
      }
      const bool moved =
          carries && ((i < 32 ? entry->moved_operands >> i : entry->moved_operands >> 31) & 1u) != 0;
      if (operands[i]->carrier && !moved) return std::nullopt;
      if (moved) {
        // Joining tensors of different scales rescales them: not a movement.
        if (!node.outputs.empty() && !same_scale(graph_.value(node.inputs[i]), graph_.value(node.outputs[0])))
          return std::nullopt;
        auto as_carrier = carrier(*operands[i]);
        if (!as_carrier) return std::nullopt;
        converted[i] = std::move(*as_carrier);
        tensors.push_back(&converted[i]);
      } else {
        tensors.push_back(&operands[i]->tensor);
      }
    }
    if (carries && entry->moved_operands == 0) return std::nullopt;
    if (carries && node.attrs.text("fused_activation_function", "NONE") != "NONE") return std::nullopt;
    auto ran = run_node(model_, graph_, id, std::move(tensors), {}, nullptr, carries);
    if (!ran) return Status(tl::make_unexpected(ran.error()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != none_id) held_[node.outputs[i]] = {std::move(ran->outputs[i]), carries};
    return Status{};
  }

  const Model& model_;
  const Graph& graph_;
  std::unordered_map<ValueId, Held> held_;
};

std::string index_text(const Shape& shape, std::int64_t element) {
  std::string text;
  const auto strides = strides_of(shape);
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += fmt::format("{}{}", d ? "," : "", strides[d] ? element / strides[d] % shape[d] : 0);
  return "[" + text + "]";
}

/// What an index value or code stands for.
std::string source_text(const SiteRunner& runner, const std::vector<std::pair<ValueId, std::int64_t>>& starts,
                        std::int64_t dynamic_size, std::int64_t code) {
  if (code < 0) return "a constant";
  for (std::size_t i = starts.size(); i-- > 0;)
    if (code >= starts[i].second) {
      const std::string& name = runner.input_value(starts[i].first).name;
      return (name.empty() ? std::string("input") : name) +
             index_text(runner.input_shape(starts[i].first, dynamic_size), code - starts[i].second);
    }
  return "nothing";
}

/// Both versions of a site on index values, for one size of the dynamic dimensions.
class TracedPair {
 public:
  TracedPair(const Model& before, const Model& after, const SiteRunner& runner, std::int64_t size)
      : runner_(runner), size_(size), old_(before, runner.old_graph()), new_(after, runner.new_graph()) {}

  /// Gives every input element a number of its own. False: there are more than we hold.
  bool place_inputs(Proof& proof) {
    for (const auto& [v, tensor] : runner_.folded())
      old_.held()[v] = {tensor, false}, new_.held()[v] = {tensor, false};
    std::int64_t next = 0;
    for (const ValueId v : runner_.site().inputs) {
      const Value& input = runner_.input_value(v);
      if (input.dtype == DType::symint) {  // the size of a dimension: no data
        const Tensor symbol = Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{size_});
        old_.held()[v] = {symbol, false}, new_.held()[v] = {symbol, false};
        continue;
      }
      const Shape shape = runner_.input_shape(v, size_);
      const auto count = element_count(shape);
      if (!count || *count > element_limit - next) return false;
      std::vector<std::int64_t> index(static_cast<std::size_t>(*count));
      for (auto& i : index) i = next++;
      starts_.emplace_back(v, next - *count);
      const Tensor tensor = Tensor::of_integers(DType::i64, shape, index);
      old_.held()[v] = {tensor, true};
      new_.held()[v] = {under_declared_shape(tensor, input, runner_.new_graph().value(v)), true};
      proof.dtype = input.dtype;
    }
    return true;
  }

  /// nullopt: not a movement. Otherwise success or the error of a kernel.
  std::optional<Status> run_old() { return old_.run(runner_.site().before); }
  std::optional<Status> run_new() { return new_.run(runner_.site().after); }

  enum class Outcome { not_a_movement, equal, shape_differs, element_differs };
  /// Do the two versions of one output hold the same elements? What differs becomes the counterexample.
  Outcome compare(ValueId v, ValueId w, Proof& proof) {
    const Value &before = runner_.old_graph().value(v), &after = runner_.new_graph().value(w);
    const Held* a = old_.find(v);
    const Held* b = new_.find(w);
    if (!a || !b || !same_scale(before, after)) return Outcome::not_a_movement;
    const auto x = old_.carrier(*a);
    auto y = new_.carrier(*b);
    if (!x || !y) return Outcome::not_a_movement;
    *y = under_declared_shape(*y, after, before);
    if (x->shape != y->shape) {
      proof.counterexample = fmt::format("\"{}\" has shape {} before, {} after", before.name,
                                         shape_text(x->shape), shape_text(y->shape));
      return Outcome::shape_differs;
    }
    const auto p = x->data<std::int64_t>(), q = y->data<std::int64_t>();
    const auto [at, other] = std::mismatch(p.begin(), p.end(), q.begin());
    if (at != p.end()) {
      proof.counterexample = fmt::format(
          "\"{}\"{} is {} before, {} after", before.name, index_text(x->shape, at - p.begin()),
          source_text(runner_, starts_, size_, *at), source_text(runner_, starts_, size_, *other));
      return Outcome::element_differs;
    }
    proof.samples += static_cast<std::int64_t>(p.size());
    return Outcome::equal;
  }

 private:
  const SiteRunner& runner_;
  std::int64_t size_;
  Tracer old_, new_;
  std::vector<std::pair<ValueId, std::int64_t>> starts_;  ///< each input's first number
};

/// `element`: the first element that differs, as the counterexample; else it is about shapes or kernels.
std::optional<Proof> trace(const Model& before, const Model& after, const SiteRunner& runner, bool& element) {
  using Outcome = TracedPair::Outcome;
  element = false;
  Proof proof;
  proof.method = ProofMethod::movement;
  std::vector<std::int64_t> sizes = {1};
  if (runner.has_dynamic_input()) sizes = {1, 3, 7};
  int evaluated = 0;
  std::string last_error;
  for (const std::int64_t size : sizes) {
    TracedPair pair(before, after, runner, size);
    if (!pair.place_inputs(proof)) return std::nullopt;
    const auto old_done = pair.run_old(), new_done = pair.run_new();
    if (!old_done || !new_done) return std::nullopt;
    if (!*old_done) {
      last_error = old_done->error().message;
      continue;
    }
    ++evaluated;
    if (!*new_done) {
      proof.counterexample = "the new version cannot be evaluated: " + new_done->error().message;
      return proof;
    }
    for (const auto& [v, w] : runner.site().outputs) {
      const Outcome outcome = pair.compare(v, w, proof);
      if (outcome == Outcome::not_a_movement) return std::nullopt;
      element = outcome == Outcome::element_differs;
      if (outcome != Outcome::equal) return proof;
    }
  }
  if (evaluated == 0) {
    proof.method = ProofMethod::none;
    proof.note = last_error;
    return proof;
  }
  if (sizes.size() > 1) proof.note = fmt::format("shown for {} sizes of the dynamic dimensions", evaluated);
  proof.equal = true;
  return proof;
}

}  // namespace

std::optional<Proof> prove_movement(const Model& before, const Model& after, const SiteRunner& runner) {
  bool element = false;
  auto proof = trace(before, after, runner, element);
  if (!proof || !element) return proof;
  // The same difference on the smallest shapes on which both versions run.
  SiteRunner small = runner;
  const InputShapes full = runner.shapes(1);
  std::string shown;
  const auto holds = [&](const InputShapes& shapes) {
    small.set_shapes(shapes);
    bool there = false;
    const auto found = trace(before, after, small, there);
    if (!found || !there) return false;
    shown = found->counterexample;
    for (const auto& [id, shape] : shapes)
      shown += fmt::format("{}{}", id == shapes.begin()->first ? " (inputs of shape " : " and ",
                           shape_text(shape));
    shown += ")";
    return true;
  };
  shrink_shapes(full, 1, holds, shrink_tries);
  if (!shown.empty()) proof->counterexample = shown;
  return proof;
}

}  // namespace md

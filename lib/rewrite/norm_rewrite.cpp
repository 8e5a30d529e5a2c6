// The rescaled form of a normalization. Every reader of the old scale factor 1/root gets the new result where
// its own place in the normalization is recognized (x * scale, d * scale, x * scale - mean * scale), else
// 1/root computed without overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/norm_pattern.h"
#include "lib/rewrite/unused_nodes.h"

namespace md {
namespace {

constexpr double kSmallestNormal = 0x1p-14;  ///< of fp16; devices may flush what is smaller to zero

struct EndUse {
  NodeId node = none_id;
  int operand = 0;
};

bool only_changes_shape(const Node& node) {
  return node.op == "RESHAPE" || node.op == "BROADCAST_TO" || node.op == "TILE" || node.op == "SQUEEZE" ||
         node.op == "EXPAND_DIMS";
}

/// Readers of a value behind any number of reshapes.
void collect_uses(const Graph& graph, ValueId value, std::vector<EndUse>& uses, int depth = 8) {
  for (const Use& use : graph.uses(value)) {
    const Node& node = graph.node(use.node);
    if (depth > 0 && use.operand == 0 && only_changes_shape(node) && !graph.is_output(node.outputs[0]))
      collect_uses(graph, node.outputs[0], uses, depth - 1);
    else
      uses.push_back({use.node, use.operand});
  }
}

ValueId behind_reshapes(const Graph& graph, ValueId id) {
  for (const Node* node = producer_of(graph, id); node && only_changes_shape(*node);
       node = producer_of(graph, id))
    id = node->inputs[0];
  return id;
}

/// id = 0 - v, -v, or v * -1, behind reshapes: gives v.
std::optional<ValueId> negated(const Graph& graph, ValueId id) {
  const Node* node = producer_of(graph, behind_reshapes(graph, id));
  if (!node) return std::nullopt;
  if (node->op == "NEG") return node->inputs[0];
  if (node->op == "SUB" && node->inputs.size() == 2 && scalar_value(graph, node->inputs[0]) == 0.0)
    return node->inputs[1];
  if (node->op == "MUL" && node->inputs.size() == 2)
    for (std::size_t i = 0; i < 2; ++i)
      if (scalar_value(graph, node->inputs[i]) == -1.0) return node->inputs[1 - i];
  return std::nullopt;
}

class Rescaler {
 public:
  Rescaler(const Graph& graph, int graph_index, const NormSite& site)
      : graph_(graph), site_(site), patch_(graph, graph_index, title(site)), ops_(patch_) {}

  Patch run() {
    compute();
    std::vector<EndUse> uses;
    collect_uses(graph_, factor(), uses);
    // The readers of full size first: they tell which mean * scale goes away with them.
    std::stable_partition(uses.begin(), uses.end(), [&](const EndUse& use) {
      const auto& results = graph_.node(use.node).outputs;
      return !results.empty() && is_full_size(results[0]);
    });
    bool all = !graph_.is_output(factor());
    for (const EndUse& use : uses) all = replace(use) && all;
    if (!all) write_factor();
    remove_unused(patch_);
    return patch_.take();
  }

 private:
  static std::string title(const NormSite& site) {
    return fmt::format("{} divided by its largest magnitude before it is squared", site.name());
  }

  /// What the readers multiply with or divide by: the value behind the guard that follows the root.
  ValueId factor() const { return site_.scale; }

  ValueId number(double value) { return ops_.floats("norm_constant", {}, {&value, 1}, dtype_); }

  void compute() {
    dtype_ = graph_.value(site_.scale).dtype;
    if (site_.mean_over_axes)
      d_ = ops_.binary("SUB", site_.x, ops_.reduce("MEAN", site_.x, site_.axes));
    else
      d_ = site_.source != none_id ? site_.source : ops_.binary("SUB", site_.x, site_.mean);
    const ValueId largest = ops_.reduce("REDUCE_MAX", ops_.unary("ABS", d_), site_.axes);
    const double floor = floor_of_m();
    m_ = ops_.binary("MAXIMUM", largest, number(floor));
    y_ = ops_.binary("DIV", d_, m_);
    ValueId v = ops_.reduce(site_.averages ? "MEAN" : "SUM", ops_.binary("MUL", y_, y_), site_.axes);
    if (site_.factor != 1) v = ops_.binary("MUL", v, number(site_.factor));
    if (site_.guard == NormSite::Guard::inside) v = ops_.binary("ADD", v, guard(floor, 2));
    root_ = ops_.unary(site_.reciprocal ? "RSQRT" : "SQRT", v);
    if (site_.guard == NormSite::Guard::added) root_ = ops_.binary("ADD", root_, guard(floor, 1));
    if (site_.guard == NormSite::Guard::floor) root_ = ops_.binary("MAXIMUM", root_, guard(floor, 1));
  }

  /// What m is at least. A guard that fp16 holds as a normal number allows 1; a smaller one needs a smaller
  /// m, or it is lost where m is smallest, and a zero row is 0 / 0.
  double floor_of_m() const {
    if (site_.guard == NormSite::Guard::none || site_.epsilon <= 0 || site_.epsilon >= kSmallestNormal)
      return 1;
    const bool inside = site_.guard == NormSite::Guard::inside;
    const double even = inside ? std::sqrt(site_.epsilon) : site_.epsilon;  // here the guard becomes 1
    const double floor = std::clamp(std::exp2(std::ceil(std::log2(even)) + 3), kSmallestNormal, 1.0);
    const bool held = site_.epsilon / (inside ? floor * floor : floor) >= kSmallestNormal;
    return held ? floor : 1;  // a guard that fp16 never holds gains nothing
  }

  /// eps / m^power, from factors that fp16 holds: (floor / m)^power * (eps / floor^power). It underflows
  /// harmlessly where m is large: mean(y^2) is 1/N at least.
  ValueId guard(double floor, int power) {
    const double rest = site_.epsilon / std::pow(floor, power);
    if (floor == 1) {
      ValueId term = ops_.binary("DIV", number(rest), m_, ops_.value_like(m_, ops_.shape(m_)));
      return power == 2 ? ops_.binary("DIV", term, m_) : term;
    }
    ValueId term = ops_.binary("DIV", number(floor), m_, ops_.value_like(m_, ops_.shape(m_)));
    if (power == 2) term = ops_.binary("MUL", term, term);
    return ops_.binary("MUL", term, number(rest));
  }

  /// The normalized value, written into `out`.
  void write_result(ValueId out) {
    const char* op = site_.reciprocal ? "MUL" : "DIV";
    if (ops_.shape(out) == ops_.shape(y_)) {
      ops_.binary(op, y_, root_, out);
    } else {
      ops_.reshape(ops_.binary(op, y_, root_), ops_.shape(out), out);
    }
  }

  bool is_full_size(ValueId id) const {
    return element_count(graph_.value(id).shape) == element_count(ops_.shape(y_));
  }

  bool replace(const EndUse& use) {
    const Node& node = graph_.node(use.node);
    if (std::find(patch_.patch().removed.begin(), patch_.patch().removed.end(), use.node) !=
        patch_.patch().removed.end())
      return true;
    if (node.inputs.size() != 2 || fused_activation(node) != "NONE") return false;
    const bool multiplies = site_.reciprocal && node.op == "MUL";
    const bool divides = !site_.reciprocal && node.op == "DIV" && use.operand == 1;
    if (!multiplies && !divides) return false;
    const ValueId other = node.inputs[static_cast<std::size_t>(1 - use.operand)];
    if (!is_full_size(node.outputs[0])) return is_mean_product(node, other);
    if (other == site_.source) {
      write_result(node.outputs[0]);
      patch_.remove(use.node);
      return true;
    }
    return site_.kind == NormSite::Kind::centred && multiplies && replace_affine(use.node, other);
  }

  /// mean * scale: read by the affine form alone, which goes away with it.
  bool is_mean_product(const Node& node, ValueId other) {
    const bool mean = behind_reshapes(graph_, other) == behind_reshapes(graph_, site_.mean) ||
                      (negated(graph_, other) && behind_reshapes(graph_, *negated(graph_, other)) ==
                                                     behind_reshapes(graph_, site_.mean));
    return site_.kind == NormSite::Kind::centred && mean && !graph_.is_output(node.outputs[0]) &&
           affine_seen_;
  }

  /// x * scale + (-(mean * scale)): one ADD or SUB further down.
  bool replace_affine(NodeId product, ValueId other) {
    if (behind_reshapes(graph_, other) != behind_reshapes(graph_, site_.x)) return false;
    const ValueId scaled = graph_.node(product).outputs[0];
    const NodeId sum = only_reader(graph_, scaled);
    if (sum == none_id || graph_.is_output(scaled)) return false;
    const Node& add = graph_.node(sum);
    if ((add.op != "ADD" && add.op != "SUB") || add.inputs.size() != 2 || fused_activation(add) != "NONE")
      return false;
    const std::size_t at = add.inputs[0] == scaled ? 0 : 1;
    if (add.op == "SUB" && at == 1) return false;
    const ValueId shift = add.inputs[1 - at];
    if (!is_shift(add.op == "SUB" ? std::optional(shift) : negated(graph_, shift)) &&
        !(add.op == "ADD" && is_negative_shift(shift)))
      return false;
    write_result(add.outputs[0]);
    patch_.remove(sum);
    affine_seen_ = true;
    return true;
  }

  bool is_factor(ValueId id) const { return behind_reshapes(graph_, id) == factor(); }

  /// mean * scale
  bool is_shift(std::optional<ValueId> id) const {
    const Node* node = id ? producer_of(graph_, behind_reshapes(graph_, *id)) : nullptr;
    if (!node || node->op != "MUL" || node->inputs.size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i)
      if (is_factor(node->inputs[i]) &&
          behind_reshapes(graph_, node->inputs[1 - i]) == behind_reshapes(graph_, site_.mean))
        return true;
    return false;
  }

  /// (-mean) * scale
  bool is_negative_shift(ValueId id) const {
    const Node* node = producer_of(graph_, behind_reshapes(graph_, id));
    if (!node || node->op != "MUL" || node->inputs.size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto mean = negated(graph_, node->inputs[1 - i]);
      if (is_factor(node->inputs[i]) && mean &&
          behind_reshapes(graph_, *mean) == behind_reshapes(graph_, site_.mean))
        return true;
    }
    return false;
  }

  /// 1/root of the unscaled value is 1/root of the scaled one, over m.
  void write_factor() {
    const ValueId out = factor();
    const char* op = site_.reciprocal ? "DIV" : "MUL";
    if (ops_.shape(out) == ops_.shape(m_)) {
      ops_.binary(op, root_, m_, out);
    } else if (ops_.shape(out).empty()) {
      // The accelerator takes no reshape to rank 0, but a mean over everything, here of one number.
      std::vector<std::int64_t> all(ops_.shape(m_).size());
      std::iota(all.begin(), all.end(), std::int64_t{0});
      ops_.reduce("MEAN", ops_.binary(op, root_, m_), all, out);
      patch_.patch().new_nodes.back().attrs.set("keep_dims", false);
    } else {
      ops_.reshape(ops_.binary(op, root_, m_), ops_.shape(out), out);
    }
    patch_.remove(graph_.producer(out));
  }

  const Graph& graph_;
  const NormSite& site_;
  PatchBuilder patch_;
  TfliteBuilder ops_;
  DType dtype_ = DType::f32;
  ValueId d_ = none_id, m_ = none_id, y_ = none_id, root_ = none_id;
  bool affine_seen_ = false;
};

}  // namespace

Patch rescaled_norm_patch(const Graph& graph, int graph_index, const NormSite& site) {
  return Rescaler(graph, graph_index, site).run();
}

}  // namespace md

// Inference of whole graphs: node after node, bodies of nodes and local functions included.
#include <algorithm>

#include "lib/format/onnx/infer_rules.h"

namespace md {
namespace {

using onnx::Site;

constexpr int most_depth = 64;  // of graphs in graphs; deeper nesting only comes from damaged files
constexpr std::int64_t most_nodes = 1'000'000;  // inferred in all, functions counted once a call

bool typed(const Value& value) { return value.dtype != DType::unknown; }

class Completion {
 public:
  explicit Completion(Model& model) : model_(model) {
    callers_.resize(model.graphs.size(), 0);
    for (const Graph& graph : model.graphs)
      for (const NodeId id : graph.order)
        for (const std::int32_t g : graph.node(id).subgraphs)
          if (g >= 0 && static_cast<std::size_t>(g) < callers_.size())
            ++callers_[static_cast<std::size_t>(g)];
    done_.resize(model.graphs.size(), 0);
    active_.resize(model.graphs.size(), 0);
  }

  std::vector<StaleType> run() {
    if (!model_.graphs.empty()) graph(0, 0);
    // What nobody calls from the first graph, or several nodes call with types of their own.
    for (std::size_t g = 1; g < model_.graphs.size(); ++g)
      if (!done_[g]) graph(static_cast<int>(g), 0);
    return std::move(stale_);
  }

 private:
  void graph(int index, int depth) {
    Graph& g = model_.graphs[static_cast<std::size_t>(index)];
    done_[static_cast<std::size_t>(index)] = active_[static_cast<std::size_t>(index)] = 1;
    onnx::KnownNumbers known;
    for (const NodeId id : g.order) {
      if (++nodes_ > most_nodes) break;
      node(index, id, known, depth);
    }
    active_[static_cast<std::size_t>(index)] = 0;
  }

  void node(int index, NodeId id, onnx::KnownNumbers& known, int depth) {
    Graph& g = model_.graphs[static_cast<std::size_t>(index)];
    const Node& n = g.node(id);
    std::vector<const Value*> operands;
    for (const ValueId v : n.inputs) operands.push_back(v == none_id ? nullptr : &g.value(v));
    Site site{.node = n,
              .row = onnx_row(n.op, n.version > 0 ? n.version : std::numeric_limits<int>::max()),
              .operands = operands,
              .known = &known,
              .out = std::vector<onnx::Outcome>(n.outputs.size())};
    if (!n.subgraphs.empty() && depth < most_depth)
      called(site, operands, depth);
    else
      onnx::infer_site(site);
    if (!site.wrong.empty()) return;
    if (!n.outputs.empty() && n.outputs[0] != none_id)
      if (auto numbers = onnx::result_numbers(site)) known[n.outputs[0]] = std::move(*numbers);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != none_id) settle(index, n.outputs[i], site.out[i]);
  }

  /// The type that a value has from now on: what is declared, where inference does not contradict.
  void settle(int index, ValueId id, const onnx::Outcome& inferred) {
    Graph& g = model_.graphs[static_cast<std::size_t>(index)];
    Value& value = g.value(id);
    if (inferred.dtype == DType::unknown || value.is_constant()) return;
    const bool declared = typed(value);
    bool differs = declared && value.dtype != inferred.dtype;
    if (declared && !value.unranked && inferred.shape && inferred.dtype != DType::variant) {
      differs = differs || value.shape.size() != inferred.shape->size();
      for (std::size_t d = 0; !differs && d < value.shape.size(); ++d)
        differs = value.shape[d] >= 0 && (*inferred.shape)[d] >= 0 && value.shape[d] != (*inferred.shape)[d];
    }
    if (differs) stale_.push_back({index, id, value.dtype, value.shape});
    if (!declared || differs) {
      const bool keeps_shape = declared && !inferred.shape;
      value.dtype = inferred.dtype;
      if (keeps_shape) return;
      value.shape = inferred.shape.value_or(Shape());
      value.unranked = !inferred.shape;
      value.dim_names.clear();
      return;
    }
    if (!inferred.shape || inferred.dtype == DType::variant) return;
    if (value.unranked) {
      value.shape = *inferred.shape, value.unranked = false;
      return;
    }
    if (g.is_output(id)) return;  // what the interface says stays as it is
    for (std::size_t d = 0; d < value.shape.size(); ++d)
      if (value.shape[d] < 0 && (*inferred.shape)[d] >= 0) {
        value.shape[d] = (*inferred.shape)[d];
        if (d < value.dim_names.size()) value.dim_names[d].clear();
      }
  }

  /// A graph's input gets a type where none is declared.
  static void bind(Value& input, const Value* operand, bool with_shape) {
    if (!operand || !typed(*operand) || typed(input) || input.is_constant()) return;
    input.dtype = operand->dtype;
    input.unranked = !with_shape || operand->unranked;
    input.shape = input.unranked ? Shape() : operand->shape;
  }

  Graph* body_of(std::int32_t index) {
    if (index <= 0 || static_cast<std::size_t>(index) >= model_.graphs.size()) return nullptr;
    return &model_.graphs[static_cast<std::size_t>(index)];
  }

  void called(Site& site, const std::vector<const Value*>& operands, int depth) {
    const std::string& op = site.node.op;
    if (op == "If")
      branches(site, operands, depth);
    else if (op == "Loop")
      loop(site, operands, depth);
    else if (op == "Scan" && site.node.version >= 9)
      scan(site, operands, depth);
    else if (!site.row)
      function(site, operands, depth);
    else
      onnx::infer_site(site);
  }

  /// Runs a body that one node alone calls, once.
  void body(std::int32_t index, int depth) {
    if (body_of(index) && !done_[static_cast<std::size_t>(index)]) graph(index, depth + 1);
  }

  static onnx::Outcome result_of(const Graph& g, std::size_t i) {
    if (i >= g.outputs.size() || g.outputs[i] < 0) return {};
    const Value& value = g.value(g.outputs[i]);
    if (!typed(value)) return {};
    return {value.dtype, value.unranked ? std::nullopt : std::optional<Shape>(value.shape)};
  }

  static onnx::Outcome merged(const onnx::Outcome& a, const onnx::Outcome& b) {
    if (a.dtype != b.dtype) return {};
    if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return {a.dtype, std::nullopt};
    Shape shape = *a.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != (*b.shape)[d]) shape[d] = dynamic_dim;
    return {a.dtype, std::move(shape)};
  }

  void branches(Site& site, const std::vector<const Value*>& operands, int depth) {
    bool first = true;
    for (const std::int32_t index : site.node.subgraphs) {
      Graph* branch = body_of(index);
      if (!branch) return;
      for (std::size_t i = 0; i < branch->inputs.size() && i + 1 < operands.size(); ++i)
        bind(branch->value(branch->inputs[i]), operands[i + 1], true);
      body(index, depth);
      for (std::size_t i = 0; i < site.out.size(); ++i)
        site.out[i] = first ? result_of(*branch, i) : merged(site.out[i], result_of(*branch, i));
      first = false;
    }
  }

  /// Shapes of carried values may change from round to round: only what the body declares is known.
  void loop(Site& site, const std::vector<const Value*>& operands, int depth) {
    const std::int32_t index = site.node.subgraphs[0];
    Graph* g = body_of(index);
    if (!g || operands.size() < 2) return;
    const auto captured = static_cast<std::size_t>(std::clamp<std::int64_t>(
        site.attrs().integer("#captured"), 0, static_cast<std::int64_t>(operands.size()) - 2));
    const std::size_t carried = operands.size() - 2 - captured;
    for (std::size_t i = 2; i < g->inputs.size() && i < operands.size(); ++i)
      bind(g->value(g->inputs[i]), operands[i], i >= 2 + carried);
    const Value iteration = scalar(DType::i64), condition = scalar(DType::boolean);
    if (g->inputs.size() > 1) {
      bind(g->value(g->inputs[0]), &iteration, true);
      bind(g->value(g->inputs[1]), &condition, true);
    }
    body(index, depth);
    for (std::size_t i = 0; i < site.out.size(); ++i) {
      site.out[i] = result_of(*g, i + 1);
      if (i < carried) {
        // No round at all gives what went in.
        const Value* start = operands[i + 2];
        if (start && typed(*start))
          site.out[i] =
              merged(site.out[i],
                     {start->dtype, start->unranked ? std::nullopt : std::optional<Shape>(start->shape)});
      } else if (site.out[i].shape) {
        site.out[i].shape->insert(site.out[i].shape->begin(), dynamic_dim);
      }
    }
  }

  static Value scalar(DType dtype) {
    Value value;
    value.dtype = dtype;
    return value;
  }

  void scan(Site& site, const std::vector<const Value*>& operands, int depth) {
    const std::int32_t index = site.node.subgraphs[0];
    Graph* g = body_of(index);
    if (!g) return;
    const auto captured = static_cast<std::size_t>(std::clamp<std::int64_t>(
        site.attrs().integer("#captured"), 0, static_cast<std::int64_t>(operands.size())));
    const std::size_t given = operands.size() - captured;
    const auto scanned = static_cast<std::size_t>(std::clamp<std::int64_t>(
        site.attrs().integer("num_scan_inputs"), 0, static_cast<std::int64_t>(given)));
    const std::size_t states = given - scanned;
    const auto* in_axes = site.attrs().integers("scan_input_axes");
    const auto* out_axes = site.attrs().integers("scan_output_axes");
    std::int64_t length = dynamic_dim;
    for (std::size_t i = 0; i < operands.size() && i < g->inputs.size(); ++i) {
      Value& input = g->value(g->inputs[i]);
      if (i < states || i >= given || !operands[i] || operands[i]->unranked) {
        bind(input, operands[i], i >= given || i < states);
        continue;
      }
      Value slice = *operands[i];
      const std::size_t k = i - states;
      const auto axis = onnx::axis_in(in_axes && k < in_axes->size() ? (*in_axes)[k] : 0, slice.shape.size());
      if (!axis) return site.no("an axis is out of range");
      length = std::max(length, slice.shape[*axis]);
      slice.shape.erase(slice.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
      bind(input, &slice, true);
    }
    body(index, depth);
    for (std::size_t i = 0; i < site.out.size(); ++i) {
      site.out[i] = result_of(*g, i);
      if (i < states || !site.out[i].shape) continue;
      const std::size_t k = i - states;
      const auto axis =
          onnx::axis_in(out_axes && k < out_axes->size() ? (*out_axes)[k] : 0, site.out[i].shape->size() + 1);
      if (!axis) return site.no("an axis is out of range");
      site.out[i].shape->insert(site.out[i].shape->begin() + static_cast<std::ptrdiff_t>(*axis), length);
    }
  }

  /// A function that several nodes call has types of its own in each: a copy of it is inferred for each call.
  void function(Site& site, const std::vector<const Value*>& operands, int depth) {
    const std::int32_t index = site.node.subgraphs[0];
    Graph* g = body_of(index);
    if (!g || active_[static_cast<std::size_t>(index)]) return;  // a function that calls itself is no model
    const bool several = callers_[static_cast<std::size_t>(index)] > 1;
    Graph kept;
    if (several) kept = *g;
    for (std::size_t i = 0; i < operands.size() && i < g->inputs.size(); ++i)
      bind(g->value(g->inputs[i]), operands[i], true);
    const std::size_t noticed = stale_.size();
    if (several)
      graph(index, depth + 1);
    else
      body(index, depth);
    for (std::size_t i = 0; i < site.out.size(); ++i) site.out[i] = result_of(*g, i);
    if (!several) return;
    *g = std::move(kept);
    stale_.resize(noticed);
  }

  Model& model_;
  std::vector<int> callers_;
  std::vector<char> done_, active_;
  std::vector<StaleType> stale_;
  std::int64_t nodes_ = 0;
};

}  // namespace

std::vector<StaleType> complete_onnx_types(Model& model) { return Completion(model).run(); }

}  // namespace md

#include "lib/eval/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "lib/eval/alias.h"
#include "lib/eval/limits.h"
#include "lib/eval/node_place.h"
#include "lib/eval/run_node.h"
#include "lib/op/ops.h"

namespace md {
namespace {

constexpr int max_depth = 64;      // of graphs that call graphs; deeper nesting only comes from damaged files
constexpr double call_work = 500;  // of a graph that another calls, beside what its nodes take
constexpr std::int64_t max_calls = std::int64_t{1}
                                   << 22;  // of graphs in one run: loops of a million rounds, and no more

/// What a whole run took so far, called graphs included.
struct RunTotals {
  std::int64_t calls = 0;
  double work = 0;
};

/// Evaluates nodes in order and forgets each tensor after its last reader.
class Run {
 public:
  Run(const Model& model, int graph_index, const EvaluateOptions& options, VariableStore& variables,
      int depth, RunTotals& totals)
      : model_(model),
        graph_(model.graphs[static_cast<std::size_t>(graph_index)]),
        options_(options),
        variables_(variables),
        depth_(depth),
        totals_(totals) {}

  Result<TensorMap> go(std::span<const NodeId> nodes, TensorMap known, std::span<const ValueId> wanted) {
    tensors_ = std::move(known);
    for (auto& [id, tensor] : tensors_) {
      tensor = in_mode(tensor, options_.mode);
      live_ += static_cast<std::int64_t>(tensor.bytes());
    }
    for (const NodeId id : nodes)
      for (const ValueId v : graph_.node(id).inputs)
        if (v != none_id) ++readers_[v];
    for (const ValueId v : wanted) ++readers_[v];
    shares_memory_ = writes_in_place(graph_, nodes);
    for (const NodeId id : nodes)
      if (auto done = step(id); !done) return tl::make_unexpected(done.error());
    TensorMap result;
    for (const ValueId v : wanted) {
      auto tensor = find(v);
      if (!tensor) return tl::make_unexpected(tensor.error());
      result[v] = **tensor;
    }
    return result;
  }

 private:
  Result<const Tensor*> find(ValueId v) {
    if (const auto at = tensors_.find(v); at != tensors_.end()) return &at->second;
    const Value& value = graph_.value(v);
    if (value.is_variable && !value.is_constant() && element_count(value.shape)) {
      if (*element_count(value.shape) > options_.max_bytes / 16)
        return fail(Error::Kind::unsupported,
                    fmt::format("the state \"{}\" of shape {} is past the limit of {} MB", value.name,
                                shape_text(value.shape), options_.max_bytes >> 20));
      // State that the file keeps between runs starts at zero.
      const std::vector<double> zeros(static_cast<std::size_t>(*element_count(value.shape)));
      Tensor start = is_float(value.dtype) ? Tensor::of(value.dtype, value.shape, zeros)
                                           : Tensor::of_integers(value.dtype, value.shape,
                                                                 std::vector<std::int64_t>(zeros.size()));
      return &(tensors_[v] = in_mode(std::move(start), options_.mode));
    }
    if (!value.is_constant())
      return input_error(fmt::format("value \"{}\" is read before anything computes it", value.name));
    auto tensor = load_constant(value, options_.mode);
    if (!tensor) return tl::make_unexpected(tensor.error());
    return &(tensors_[v] = std::move(*tensor));
  }

  void release(ValueId v) {
    if (v == none_id || --readers_[v] > 0 || shares_memory_) return;
    const auto at = tensors_.find(v);
    if (at == tensors_.end()) return;
    if (!graph_.value(v).is_constant()) live_ -= static_cast<std::int64_t>(at->second.bytes());
    tensors_.erase(at);
  }

  Status step(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<const Tensor*> operands;
    for (const ValueId v : node.inputs)
      if (v != none_id)
        if (auto tensor = find(v); !tensor) return tl::make_unexpected(tensor.error());
    // Only now take pointers: loading a constant may have moved the table's entries.
    for (const ValueId v : node.inputs) operands.push_back(v == none_id ? nullptr : &tensors_.at(v));
    auto ran = run(id, std::move(operands));
    if (!ran) return tl::make_unexpected(ran.error());
    for (std::size_t i = 0; i < node.outputs.size() && i < ran->outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      if (v == none_id) continue;
      if (options_.observe)
        options_.observe(graph_, id, static_cast<int>(i), ran->outputs[i], ran->largest_sum);
      if (readers_.find(v) == readers_.end() && !shares_memory_) continue;
      live_ += static_cast<std::int64_t>(ran->outputs[i].bytes());
      tensors_[v] = std::move(ran->outputs[i]);
    }
    if (shares_memory_ && !node.outputs.empty() && writes_operand(graph_, node)) {
      const Tensor written = tensors_.at(node.outputs[0]);
      if (auto done = share(id, written); !done) return done;
    }
    for (const ValueId v : node.inputs) release(v);
    if (live_ > options_.max_bytes)
      return fail(Error::Kind::unsupported, fmt::format("{}: more than {} MB of tensors are live",
                                                        node_place(node, node.op), options_.max_bytes >> 20));
    return {};
  }

  Result<NodeRun> run(NodeId id, std::vector<const Tensor*> operands);

  /// An in-place write reaches every tensor that shares the memory.
  Status share(NodeId id, const Tensor& written) {
    const ViewRunner run_view = [this](NodeId view, std::size_t output,
                                       const Tensor& operand) -> Result<Tensor> {
      const Node& node = graph_.node(view);
      const KernelEntry* entry = find_kernel(graph_, node);
      if (!entry)
        return fail(Error::Kind::unsupported, "no kernel for " + node_place(node, kernel_name(graph_, node)));
      KernelCall call{.model = model_,
                      .graph = graph_,
                      .node = node,
                      .id = view,
                      .options = options_,
                      .inputs = {&operand},
                      .carriers = true,
                      .variables = &variables_,
                      .work = &totals_.work};
      call.inputs.resize(node.inputs.size());
      call.outputs.resize(node.outputs.size());
      if (auto done = guarded(*entry, call); !done) return tl::make_unexpected(done.error());
      return std::move(call.outputs[output]);
    };
    return share_write(graph_, id, written, tensors_, run_view, [this](ValueId v) -> Result<Tensor> {
      auto found = find(v);
      if (!found) return tl::make_unexpected(found.error());
      return **found;
    });
  }

  const Model& model_;
  const Graph& graph_;
  const EvaluateOptions& options_;
  VariableStore& variables_;
  int depth_;
  RunTotals& totals_;
  TensorMap tensors_;
  std::unordered_map<ValueId, int> readers_;
  std::int64_t live_ = 0;
  bool shares_memory_ = false;  ///< some node writes in place: tensors are kept, and writes shared
};

Result<std::vector<Tensor>> run_graph(const Model& model, int graph_index, std::span<const Tensor> inputs,
                                      const EvaluateOptions& options, VariableStore& variables, int depth,
                                      RunTotals& totals) {
  if (graph_index < 0 || static_cast<std::size_t>(graph_index) >= model.graphs.size())
    return input_error(fmt::format("the model has no graph {}", graph_index));
  totals.work += call_work;
  if (++totals.calls > max_calls || totals.work > options.max_work)
    return fail(Error::Kind::unsupported,
                fmt::format("graphs call each other more than {} times", totals.calls - 1));
  if (depth > max_depth) return fail(Error::Kind::unsupported, "graphs call each other more than 64 deep");
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  if (inputs.size() != graph.inputs.size())
    return input_error(fmt::format("graph \"{}\" takes {} inputs, {} were given", graph.name,
                                   graph.inputs.size(), inputs.size()));
  TensorMap known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known[graph.inputs[i]] = inputs[i];
  Run run(model, graph_index, options, variables, depth, totals);
  auto tensors = run.go(graph.order, std::move(known), graph.outputs);
  if (!tensors) return tl::make_unexpected(tensors.error());
  std::vector<Tensor> outputs;
  for (const ValueId v : graph.outputs) outputs.push_back(tensors->at(v));
  return outputs;
}

Result<NodeRun> Run::run(NodeId id, std::vector<const Tensor*> operands) {
  const Node& node = graph_.node(id);
  const KernelEntry* entry = find_kernel(graph_, node);
  if (!entry)
    return fail(Error::Kind::unsupported, "no kernel for " + node_place(node, kernel_name(graph_, node)));
  KernelCall call{.model = model_,
                  .graph = graph_,
                  .node = node,
                  .id = id,
                  .options = options_,
                  .inputs = std::move(operands),
                  .variables = &variables_,
                  .work = &totals_.work};
  call.outputs.resize(node.outputs.size());
  call.call_graph = [this](int graph_index, std::vector<Tensor> inputs) {
    return run_graph(model_, graph_index, inputs, options_, variables_, depth_ + 1, totals_);
  };
  return finish_node(*entry, call);
}

/// A run under its caller's limits or the model's own. What runs out of memory, or meets a tensor that is not
/// what the graph says, between two nodes is an error too.
template <class F>
auto limited(const Model& model, const EvaluateOptions& options, F&& run)
    -> decltype(run(options, std::declval<RunTotals&>())) {
  EvaluateOptions own = options;
  if (own.max_bytes <= 0 || own.max_work <= 0) {
    const Budget limits = default_limits(model);
    if (own.max_bytes <= 0) own.max_bytes = limits.bytes;
    if (own.max_work <= 0) own.max_work = limits.work;
  }
  RunTotals totals;
  try {
    auto result = run(own, totals);
    if (own.work) *own.work += totals.work;
    return result;
  } catch (const TensorFault& fault) {
    return input_error(fmt::format("the graph's values do not fit each other: {}", fault.what()));
  } catch (const std::bad_alloc&) {
    return fail(Error::Kind::unsupported, "there is not enough memory to evaluate it");
  } catch (const std::length_error&) {
    return fail(Error::Kind::unsupported, "its sizes are past what memory can hold");
  }
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Model& model, int graph_index, std::span<const Tensor> inputs,
                                     const EvaluateOptions& options) {
  return limited(model, options, [&](const EvaluateOptions& own, RunTotals& totals) {
    VariableStore variables;
    return run_graph(model, graph_index, inputs, own, variables, 0, totals);
  });
}

Result<TensorMap> evaluate_nodes(const Model& model, int graph_index, std::span<const NodeId> nodes,
                                 TensorMap known, std::span<const ValueId> wanted,
                                 const EvaluateOptions& options) {
  if (graph_index < 0 || static_cast<std::size_t>(graph_index) >= model.graphs.size())
    return input_error(fmt::format("the model has no graph {}", graph_index));
  return limited(model, options, [&](const EvaluateOptions& own, RunTotals& totals) {
    VariableStore variables;
    Run run(model, graph_index, own, variables, 0, totals);
    return run.go(nodes, std::move(known), wanted);
  });
}

std::vector<std::string> missing_kernels(const Model& model) {
  std::set<std::string> missing;
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order)
      if (const Node& node = graph.node(id); !find_kernel(graph, node))
        missing.insert(kernel_name(graph, node));
  return {missing.begin(), missing.end()};
}

}  // namespace md

// Kernels of nodes that call graphs: If, Loop, Scan, local functions.
#include <algorithm>

#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;

Result<std::vector<Tensor>> run(KernelCall& call, std::int64_t graph, std::vector<Tensor> inputs) {
  if (graph < 1 || !call.call_graph) return call.unsupported("with these graphs");
  return call.call_graph(static_cast<int>(graph), std::move(inputs));
}

/// The operands from `first` on; sequences and absent ones have no tensor.
Result<std::vector<Tensor>> operands(KernelCall& call, std::size_t first) {
  std::vector<Tensor> inputs;
  for (std::size_t i = first; i < call.count(); ++i) {
    if (!call.has(i)) return call.unsupported("with an absent operand");
    inputs.push_back(call.in(i));
  }
  return inputs;
}

Status give_all(KernelCall& call, std::vector<Tensor> results) {
  if (results.size() < call.outputs.size()) return call.bad("fewer results than it has");
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    if (onnx::wants(call, i)) call.outputs[i] = std::move(results[i]);
  return {};
}

Status if_(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (call.in(0).size() != 1) return call.bad("a condition of more than one mark");
  const std::int64_t graph = call.attrs().integer(call.in(0).integer(0) ? "then_branch" : "else_branch", -1);
  auto inputs = operands(call, 1);
  if (!inputs) return tl::make_unexpected(inputs.error());
  auto results = run(call, graph, std::move(*inputs));
  if (!results) return tl::make_unexpected(results.error());
  return give_all(call, std::move(*results));
}

/// Tensors of one shape, one behind the other along a new axis.
Result<Tensor> stacked(KernelCall& call, const std::vector<Tensor>& parts, std::size_t axis,
                       const Value& declared) {
  if (parts.empty()) {  // no round: the shape is what is declared behind the first dimension
    Shape shape = declared.shape;
    for (std::int64_t& d : shape) d = std::max<std::int64_t>(d, 0);
    if (shape.empty()) shape = {0};
    shape[std::min(axis, shape.size() - 1)] = 0;
    return call.make(declared.dtype, shape);
  }
  Shape shape = parts[0].shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts.size()));
  auto out = call.make(parts[0].dtype, shape);
  if (!out) return out;
  View view = whole(shape);
  const std::int64_t step = view.steps[axis];
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  view.steps.erase(view.steps.begin() + static_cast<std::ptrdiff_t>(axis));
  for (const Tensor& part : parts) {
    if (part.shape != parts[0].shape || part.element_bytes() != parts[0].element_bytes() ||
        part.element_bytes() != out->element_bytes())
      return call.bad("rounds that give results of several shapes");
    write_view(part, *out, view);
    view.base += step;
  }
  return out;
}

/// Operands: the number of rounds, a condition, what is carried from round to round, what is captured. A
/// round takes (number, condition, carried, captured) and gives (condition, carried, what is collected).
Status loop(KernelCall& call) {
  if (call.count() < 2) return call.bad("operands are missing");
  const std::int64_t graph = call.attrs().integer("body", -1);
  const std::size_t given = call.count() - 2;
  const std::size_t captured =
      at(std::clamp<std::int64_t>(call.attrs().integer("#captured"), 0, static_cast<std::int64_t>(given)));
  const std::size_t carried = given - captured;
  auto state = operands(call, 2);
  if (!state) return tl::make_unexpected(state.error());
  const std::vector<Tensor> outer(state->begin() + static_cast<std::ptrdiff_t>(carried), state->end());
  state->resize(carried);
  if (call.outputs.size() < carried) return call.bad("fewer results than carried values");
  std::vector<std::vector<Tensor>> collected(call.outputs.size() - carried);
  const std::int64_t rounds = call.has(0) && call.in(0).size() == 1
                                  ? call.in(0).integer(0)
                                  : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !call.has(1) || call.in(1).size() != 1 || call.in(1).integer(0) != 0;
  for (std::int64_t i = 0; i < rounds && goes_on; ++i) {
    std::vector<Tensor> inputs = {Tensor::of_integers(DType::i64, {}, onnx::Numbers{i}),
                                  Tensor::of_integers(DType::boolean, {}, onnx::Numbers{1})};
    inputs.insert(inputs.end(), state->begin(), state->end());
    inputs.insert(inputs.end(), outer.begin(), outer.end());
    auto results = run(call, graph, std::move(inputs));
    if (!results) return tl::make_unexpected(results.error());
    if (results->size() != 1 + call.outputs.size() || (*results)[0].size() != 1)
      return call.bad("a body that gives another number of results");
    goes_on = (*results)[0].integer(0) != 0;
    for (std::size_t k = 0; k < carried; ++k) (*state)[k] = std::move((*results)[1 + k]);
    for (std::size_t k = 0; k < collected.size(); ++k)
      collected[k].push_back(std::move((*results)[1 + carried + k]));
  }
  std::vector<Tensor> results = std::move(*state);
  for (std::size_t k = 0; k < collected.size(); ++k) {
    if (!onnx::wants(call, carried + k)) {
      results.emplace_back();
      continue;
    }
    auto made = stacked(call, collected[k], 0, call.out_value(carried + k));
    if (!made) return tl::make_unexpected(made.error());
    results.push_back(std::move(*made));
  }
  return give_all(call, std::move(results));
}

/// Row `index` of an axis.
Result<Tensor> row_of(KernelCall& call, const Tensor& x, std::size_t axis, std::int64_t index) {
  View view = whole(x.shape);
  view.base = index * view.steps[axis];
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  view.steps.erase(view.steps.begin() + static_cast<std::ptrdiff_t>(axis));
  auto out = call.make(x.dtype, view.dims);
  if (!out) return out;
  if (out->element_bytes() != x.element_bytes()) return call.unsupported("on these types");
  read_view(x, view, *out);
  return out;
}

std::int64_t item(const KernelCall& call, std::string_view attribute, std::size_t i) {
  const auto* list = call.attrs().integers(attribute);
  return list && i < list->size() ? (*list)[i] : 0;
}

/// From opset 9 on: states, then sequences that are walked row by row.
Status scan(KernelCall& call) {
  const std::int64_t graph = call.attrs().integer("body", -1),
                     scanned_ = call.attrs().integer("num_scan_inputs");
  const std::size_t captured = at(std::clamp<std::int64_t>(call.attrs().integer("#captured"), 0,
                                                           static_cast<std::int64_t>(call.count())));
  const std::size_t given = call.count() - captured;
  if (scanned_ < 1 || at(scanned_) > given) return call.bad("num_scan_inputs that does not fit");
  const std::size_t scanned = at(scanned_), states = given - scanned;
  auto all = operands(call, 0);
  if (!all) return tl::make_unexpected(all.error());
  if (call.outputs.size() < states) return call.bad("fewer results than states");
  std::vector<std::size_t> axes;
  std::int64_t length = -1;
  for (std::size_t k = 0; k < scanned; ++k) {
    const Shape& shape = (*all)[states + k].shape;
    const auto axis = normal_axis(item(call, "scan_input_axes", k), shape.size());
    if (!axis || (length >= 0 && shape[*axis] != length)) return call.bad("sequences that do not fit");
    length = shape[*axis];
    axes.push_back(*axis);
  }
  std::vector<std::vector<Tensor>> collected(call.outputs.size() - states);
  for (std::int64_t i = 0; i < length; ++i) {
    std::vector<Tensor> inputs(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t k = 0; k < scanned; ++k) {
      auto row = row_of(call, (*all)[states + k], axes[k],
                        item(call, "scan_input_directions", k) ? length - 1 - i : i);
      if (!row) return tl::make_unexpected(row.error());
      inputs.push_back(std::move(*row));
    }
    inputs.insert(inputs.end(), all->begin() + static_cast<std::ptrdiff_t>(given), all->end());
    auto results = run(call, graph, std::move(inputs));
    if (!results) return tl::make_unexpected(results.error());
    if (results->size() != call.outputs.size())
      return call.bad("a body that gives another number of results");
    for (std::size_t k = 0; k < states; ++k) (*all)[k] = std::move((*results)[k]);
    for (std::size_t k = 0; k < collected.size(); ++k)
      collected[k].push_back(std::move((*results)[states + k]));
  }
  std::vector<Tensor> results(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(states));
  for (std::size_t k = 0; k < collected.size(); ++k) {
    if (item(call, "scan_output_directions", k)) std::reverse(collected[k].begin(), collected[k].end());
    const std::size_t rank = collected[k].empty() ? 1 : collected[k][0].shape.size() + 1;
    const auto axis = normal_axis(item(call, "scan_output_axes", k), rank);
    if (!axis) return call.bad("an axis outside the result");
    auto made = stacked(call, collected[k], *axis, call.out_value(states + k));
    if (!made) return tl::make_unexpected(made.error());
    results.push_back(std::move(*made));
  }
  return give_all(call, std::move(results));
}

/// A local function: its graph, with the attributes that its nodes take from the caller.
Status function_call(KernelCall& call) {
  if (call.node.subgraphs.size() != 1) return call.unsupported("with these graphs");
  const std::int32_t index = call.node.subgraphs[0];
  if (index < 1 || static_cast<std::size_t>(index) >= call.model.graphs.size())
    return call.unsupported("with these graphs");
  const Graph& body = call.model.graphs[at(index)];
  auto inputs = operands(call, 0);
  if (!inputs) return tl::make_unexpected(inputs.error());
  const auto refers = [](const auto& attribute) { return attribute.first.starts_with('@'); };
  const bool plain = std::none_of(body.order.begin(), body.order.end(), [&](NodeId id) {
    return std::any_of(body.node(id).attrs.begin(), body.node(id).attrs.end(), refers);
  });
  if (plain) {
    auto results = run(call, index, std::move(*inputs));
    if (!results) return tl::make_unexpected(results.error());
    return give_all(call, std::move(*results));
  }
  Model filled = call.model;
  for (Node& node : filled.graphs[at(index)].nodes) {
    const Attributes written = node.attrs;
    for (const auto& [name, value] : written) {
      const auto* from = std::get_if<std::string>(&value);
      if (!name.starts_with('@') || !from) continue;
      if (const AttrValue* given = call.attrs().find(*from))
        node.attrs.set(std::string_view(name).substr(1), *given);
      node.attrs.erase(name);
    }
  }
  auto results = evaluate(filled, index, *inputs, call.options);
  if (!results) return tl::make_unexpected(results.error());
  return give_all(call, std::move(*results));
}

constexpr KernelEntry entries[] = {
    {"If", if_},
    {"Loop", loop},
    {.op = "Scan", .run = scan, .since = 9},
    {"(function)", function_call},  // a node without a kernel that calls one graph
};

}  // namespace

std::span<const KernelEntry> onnx_control_kernels() { return entries; }

}  // namespace md

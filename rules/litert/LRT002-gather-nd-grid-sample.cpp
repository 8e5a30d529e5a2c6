// grid_sample: tent weights as a matrix product for a grid that is known at run time only, constant matrices
// else.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "lib/eval/fold.h"
#include "lib/rewrite/grid_sample.h"
#include "lib/rewrite/trace_view.h"
#include "lib/rewrite/unused_nodes.h"
#include "rules/litert/linear_fixes.h"

namespace md {

namespace {

/// The coordinates of one channel, written again without the channel axis: (1, N, 1, S).
class Coordinates {
 public:
  Coordinates(TfliteBuilder& build, const Graph& graph, const Shape& whole)
      : build_(build), graph_(graph), whole_(whole) {
    samples_ = *element_count(whole) / (whole[0] * whole[1]);
  }

  /// none_id: the coordinates differ between channels, or are made by something that cannot be repeated.
  ValueId write(ValueId id) {
    const auto known = written_.find(id);
    if (known != written_.end()) return known->second;
    const ValueId made = write_new(id);
    return written_[id] = made;
  }
  std::int64_t samples() const { return samples_; }

 private:
  ValueId write_new(ValueId id) {
    const Value& v = graph_.value(id);
    if (v.is_constant() && element_count(v.shape) == 1) return id;
    if (v.shape != whole_) return none_id;
    const TracedView traced = trace_view(graph_, id);
    const auto channel = traced.view.axes[1];
    const bool same =
        std::all_of(channel.begin(), channel.end(), [](const Digit& d) { return d.stride == 0; });
    if (traced.source != id || graph_.producer(id) == none_id) return same ? moved(traced) : none_id;
    const Node& node = graph_.node(graph_.producer(id));
    static const std::set<std::string, std::less<>> repeatable = {
        "ADD", "SUB",   "MUL",   "DIV",       "MINIMUM",   "MAXIMUM", "ABS",
        "NEG", "ROUND", "FLOOR", "FLOOR_MOD", "FLOOR_DIV", "RELU",    "RELU6"};
    if (repeatable.count(node.op) == 0 || node.outputs.size() != 1)
      return whole_[1] == 1 ? moved(traced) : none_id;
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(write(in));
    if (std::find(inputs.begin(), inputs.end(), none_id) != inputs.end()) return none_id;
    const ValueId made = build_.value_like(id, {1, whole_[0], 1, samples_});
    build_.copy_node(node, std::move(inputs), {made});
    return made;
  }

  ValueId moved(const TracedView& traced) {
    const auto first = traced.view.slice(1, 0, 1);
    return first ? build_.move(traced.source, *first, {1, whole_[0], 1, samples_}) : none_id;
  }

  TfliteBuilder& build_;
  const Graph& graph_;
  Shape whole_;
  std::int64_t samples_ = 0;
  std::map<ValueId, ValueId> written_;
};

/// relu(1 - |coordinate - j|) for j = 0 ... size - 1: (1, N, size, S).
ValueId tents(TfliteBuilder& build, ValueId coordinate, std::int64_t size) {
  std::vector<double> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const double one = 1;
  const Shape shape = build.shape(coordinate);
  const ValueId places = build.floats("pixels", {1, 1, size, 1}, numbers);
  const ValueId distance = build.value_like(coordinate, {1, shape[1], size, shape[3]});
  build.binary("SUB", coordinate, places, distance);
  const ValueId away = build.unary("ABS", distance);
  const ValueId scalar = build.floats("one", {}, std::span(&one, 1));
  const ValueId slope = build.value_like(coordinate, build.shape(distance));
  build.binary("SUB", scalar, away, slope);
  return build.unary("RELU", slope);
}

std::optional<ProposedFix> tent_fix(const DetectContext& context, const GridSample& sample,
                                    std::vector<NodeId> nodes) {
  const Graph& graph = context.graph;
  const Shape image = graph.value(sample.image).shape;
  const Shape& out = graph.value(sample.result).shape;
  const Shape& grid = graph.value(sample.x).shape;
  if (out.size() < 3 || out.size() > 4 || out[0] != image[0] || out[1] != image[1]) return std::nullopt;
  if (grid.size() < 2 || element_count(grid).value_or(0) == 0 || element_count(image).value_or(0) == 0)
    return std::nullopt;  // nothing is sampled
  const std::int64_t n = image[0], c = image[1], h = image[2], w = image[3];
  PatchBuilder patch(graph, context.graph_index, "");
  TfliteBuilder build(patch);
  Coordinates coordinates(build, graph, graph.value(sample.x).shape);
  const ValueId x = coordinates.write(sample.x), y = coordinates.write(sample.y);
  const std::int64_t s = coordinates.samples();
  if (x == none_id || y == none_id || n * c * s != element_count(out).value_or(-1)) return std::nullopt;
  // Along the width by a product, along the height by a weighted sum: C*H*W*S multiply-adds, C*H*S numbers in
  // between.
  const ValueId across = tents(build, x, w);
  const ValueId down = build.reshape(tents(build, y, h), {n, 1, h, s});
  const ValueId rows = build.reshape(sample.image, {1, n, c * h, w});
  const ValueId sampled = build.reshape(build.batch_matmul(rows, across, false, false), {n, c, h, s});
  const ValueId weighted = build.binary("MUL", sampled, down);
  build.reshape(build.reduce("SUM", weighted, Shape{2}), out, sample.result);
  for (const NodeId id : nodes) patch.remove(id);
  remove_unused(patch);
  ProposedFix fix;
  fix.patch = patch.take();
  fix.patch.title = fmt::format("tent weights and a matrix product ({} multiply-adds)", n * c * h * w * s);
  return fix;
}

/// From the taps down to the result.
std::vector<NodeId> between(const Graph& graph, const GridSample& sample) {
  std::vector<NodeId> nodes = sample.gathers;
  const NodeId last = graph.producer(sample.result);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == last) continue;
    for (const Use& use : graph.uses(graph.node(nodes[i]).outputs.front()))
      if (std::find(nodes.begin(), nodes.end(), use.node) == nodes.end()) nodes.push_back(use.node);
  }
  return nodes;
}

}  // namespace

std::vector<DetectResult> LRT002(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const GridSample& sample : grid_samples(graph)) {
    if (!element_count(graph.value(sample.x).shape) || graph.value(sample.x).rank() < 3) continue;
    const std::vector<NodeId> nodes = between(graph, sample);
    DetectResult found;
    found.nodes = nodes;
    const auto chain = only_needed_by(graph, nodes);
    found.nodes.insert(found.nodes.end(), chain.begin(), chain.end());
    std::sort(found.nodes.begin(), found.nodes.end());
    found.value = sample.result;
    found.message =
        fmt::format("grid_sample ({}) of {} to {}, at places that are known at run time only",
                    sample.nearest ? "nearest" : "bilinear", shape_text(graph.value(sample.image).shape),
                    shape_text(graph.value(sample.result).shape));
    if (auto fix = tent_fix(context, sample, nodes)) {
      found.fixes.push_back(std::move(*fix));
    } else {
      found.state = DetectResult::State::declined;
      found.reason = "the coordinates cannot be followed back to one grid for all channels";
    }
    results.push_back(std::move(found));
  }
  for (const LinearSite& site : linear_sites(context.model, context.graph_index)) {
    if (!samples_points(graph, site)) continue;  // LRT003
    if (const auto maps = factor(context.model, context.graph_index, site))
      results.push_back(linear_result(context, site, *maps));
  }
  return results;
}

}  // namespace md

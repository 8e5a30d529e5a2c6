// RFFT2D of rows, read by COMPLEX_ABS, REAL or IMAG: two constant matrices.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/unused_nodes.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::int64_t longest_row = 4096;  ///< the matrices grow with the square: 4096 points are 64 MB

/// Readers of the spectrum behind reshapes; false when one is something else, or it is an output.
bool collect_readers(const Graph& graph, ValueId spectrum, std::vector<NodeId>& readers, int depth = 6) {
  if (graph.is_output(spectrum) || depth == 0) return false;
  for (const Use& use : graph.uses(spectrum)) {
    const Node& node = graph.node(use.node);
    if (node.op == "RESHAPE" && use.operand == 0) {
      if (!collect_readers(graph, node.outputs[0], readers, depth - 1)) return false;
    } else if (node.op == "COMPLEX_ABS" || node.op == "REAL" || node.op == "IMAG") {
      readers.push_back(use.node);
    } else {
      return false;
    }
  }
  return true;
}

class Spectrum {
 public:
  Spectrum(TfliteBuilder& ops, ValueId x, std::int64_t points) : ops_(ops), x_(x), points_(points) {}

  ValueId real(ValueId into = none_id) { return part("cosines", true, into); }
  ValueId imaginary(ValueId into = none_id) { return part("sines", false, into); }
  ValueId magnitude(ValueId into) {
    // Divided by the larger part first, so that the squares stay in range (in fp16 from 256 on they would
    // not).
    const ValueId re = real(), im = imaginary();
    const double one = 1;
    const ValueId larger =
        ops_.binary("MAXIMUM", ops_.binary("MAXIMUM", ops_.unary("ABS", re), ops_.unary("ABS", im)),
                    ops_.floats("one", {}, {&one, 1}));
    const ValueId a = ops_.binary("DIV", re, larger), b = ops_.binary("DIV", im, larger);
    const ValueId power = ops_.binary("ADD", ops_.binary("MUL", a, a), ops_.binary("MUL", b, b));
    return ops_.binary("MUL", ops_.unary("SQRT", power), larger, into);
  }

 private:
  ValueId part(const char* name, bool cosine, ValueId into) {
    const std::int64_t bins = points_ / 2 + 1;
    std::vector<double> matrix(static_cast<std::size_t>(bins * points_));
    for (std::int64_t k = 0; k < bins; ++k)
      for (std::int64_t n = 0; n < points_; ++n) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(k * n % points_) / static_cast<double>(points_);
        matrix[static_cast<std::size_t>(k * points_ + n)] = cosine ? std::cos(angle) : -std::sin(angle);
      }
    return ops_.fully_connected(x_, ops_.floats(name, {bins, points_}, matrix), none_id, into);
  }

  TfliteBuilder& ops_;
  ValueId x_;
  std::int64_t points_;
};

Patch matrix_patch(const DetectContext& context, NodeId id, const std::vector<NodeId>& readers) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, context.graph_index, "the transform as constant matrices");
  TfliteBuilder ops(patch);
  const Shape in = ops.shape(node.inputs[0]);
  const auto rows = element_count(in);
  if (!rows) return {};
  // As a matrix of rows: a product of rank 2 has no axes that could be taken for a batch.
  const ValueId x = ops.reshape(node.inputs[0], {1, *rows / in.back(), in.back()});
  Spectrum spectrum(ops, x, in.back());
  const Shape flat = {1, *rows / in.back(), in.back() / 2 + 1};
  for (const NodeId reader : readers) {
    const Node& read = graph.node(reader);
    const ValueId out = read.outputs[0];
    const bool same = ops.shape(out) == flat;
    const ValueId into = same ? out : none_id;
    const ValueId made = read.op == "REAL"   ? spectrum.real(into)
                         : read.op == "IMAG" ? spectrum.imaginary(into)
                                             : spectrum.magnitude(same ? out : ops.value_like(x, flat));
    if (!same) ops.reshape(made, ops.shape(out), out);
    patch.remove(reader);
  }
  remove_unused(patch);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT048(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "RFFT2D" || node.inputs.size() < 2) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = "RFFT2D: the accelerator has no complex numbers";
    const Value& x = graph.value(node.inputs[0]);
    const auto length = integer_values(graph, node.inputs[1]);
    std::vector<NodeId> readers;
    const bool closed = collect_readers(graph, node.outputs[0], readers) && !readers.empty();
    const bool rows = length && length->size() == 2 && x.rank() >= 2 && is_static(x) && (*length)[0] == 1 &&
                      x.shape[x.shape.size() - 2] == 1 && x.shape.back() > 0 &&
                      (*length)[1] == x.shape.back();
    result.nodes.insert(result.nodes.end(), readers.begin(), readers.end());
    for (const Use& use : graph.uses(node.outputs[0])) result.nodes.push_back(use.node);
    if (!closed || !rows || x.shape.back() > longest_row) {
      result.state = DetectResult::State::advice;
      result.reason =
          !closed ? "the complex spectrum itself is used or returned: cut the model in front of it and "
                    "transform on the host"
                  : fmt::format("only transforms of whole rows of up to {} points are written as matrices",
                                longest_row);
    } else if (Patch patch = matrix_patch(context, id, readers); !patch.empty()) {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md

#include "lib/eval/pin_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/base/nearest.h"
#include "lib/eval/fold.h"
#include "lib/op/dialect.h"
#include "lib/op/infer.h"

namespace md {
namespace {

constexpr std::int64_t max_size_bytes = 4096;  ///< a list of sizes is short; larger integers are data

bool is_fixed(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), dynamic_dim) == shape.end();
}

bool holds_sizes(DType type) { return type == DType::i32 || type == DType::i64; }

Status pin_input(Graph& graph, const std::string& name, const Shape& shape) {
  std::vector<std::string> known;
  for (const ValueId id : graph.inputs) {
    Value& value = graph.value(id);
    known.push_back(value.name);
    if (value.name != name) continue;
    const auto misfit = [&](const std::string& why) {
      return usage_error(fmt::format("--shape {}={}: the input is {}: {}", name, fmt::join(shape, ","),
                                     shape_text(value.shape), why));
    };
    if (shape.size() != value.shape.size()) return misfit(fmt::format("expected {} sizes", value.rank()));
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 1) return misfit("sizes are 1 or more");
      if (value.shape[i] != dynamic_dim && value.shape[i] != shape[i])
        return misfit(fmt::format("dimension {} is fixed", i));
    }
    value.shape = shape, value.default_shape.clear(), value.dim_names.clear();
    return {};
  }
  return usage_error(fmt::format("--shape {}: no input has this name{}", name, did_you_mean(name, known)));
}

/// `work` is the model as it becomes; sizes that are known are constants in it, so that what reads them can
/// be inferred. The producers of such constants stay in the result: rules fold them, with a proof.
class Pinning {
 public:
  explicit Pinning(const Model& model) : work_(model), graph_(work_.graphs.front()) {}

  Graph& graph() { return graph_; }

  Status run() {
    graph_.index();
    for (const NodeId id : graph_.order)
      if (auto status = visit(graph_.node(id), id); !status) return status;
    return {};
  }

 private:
  Status visit(const Node& node, NodeId id) {
    std::vector<const Value*> operands;
    bool moved = false;  // does the node read a value whose shape was dynamic?
    for (const ValueId v : node.inputs) {
      operands.push_back(v == none_id ? nullptr : &graph_.value(v));
      moved = moved || (v != none_id && !graph_.value(v).is_constant() && is_fixed(graph_.value(v).shape));
    }
    const bool open = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId v) { return v >= 0 && !is_fixed(graph_.value(v).shape); });
    if (open && moved) {
      if (auto status = settle(node, id, operands); !status) return status;
    }
    remember_sizes(node);
    return {};
  }

  Status settle(const Node& node, NodeId id, const std::vector<const Value*>& operands) {
    auto types = infer_types(*graph_.dialect, node, operands, node.outputs.size());
    if (!types)
      return fail(
          Error::Kind::unsupported,
          fmt::format("--shape: the result of node {} {} (\"{}\") cannot be worked out: {}", id, node.op,
                      node.outputs.empty() || node.outputs[0] < 0 ? std::string()
                                                                  : graph_.value(node.outputs[0]).name,
                      types.error()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0) continue;
      Value& value = graph_.value(node.outputs[i]);
      const Shape& shape = (*types)[i].shape;
      bool fits = shape.size() == value.shape.size();
      for (std::size_t d = 0; fits && d < shape.size(); ++d)
        fits = value.shape[d] == dynamic_dim || value.shape[d] == shape[d];
      if (!fits)
        return fail(
            Error::Kind::unsupported,
            fmt::format("--shape: node {} {} (\"{}\") gives {} for these sizes, the file says {}: it holds "
                        "a size of its own",
                        id, node.op, value.name, shape_text(shape), shape_text(value.shape)));
      value.shape = shape, value.default_shape.clear(), value.dim_names.clear();
    }
    return {};
  }

  /// Results that are lists of sizes become constants of `work`.
  void remember_sizes(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] < 0 || !node.subgraphs.empty()) return;
    Value& out = graph_.value(node.outputs[0]);
    if (!holds_sizes(out.dtype) || out.is_constant()) return;
    const auto count = element_count(out.shape);
    if (!count || *count > max_size_bytes / 8) return;
    const OpSpec* row = row_of(graph_, node);
    // A part of the list (ONNX's start and end) is shorter than the rank.
    if (row && row->gives_shape && node.inputs.size() == 1 && *count == graph_.value(node.inputs[0]).rank() &&
        is_fixed(graph_.value(node.inputs[0]).shape)) {
      out.constant = size_bytes(graph_.value(node.inputs[0]).shape, out.dtype);
      return;
    }
    const bool constants_only = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return v == none_id ||
             (graph_.value(v).is_constant() && graph_.value(v).constant->bytes.size() <= max_size_bytes);
    });
    if (!constants_only) return;
    if (auto value = fold_value(work_, 0, node.outputs[0], max_size_bytes * 16))
      out.constant = constant_value(out.name, *value).constant;
  }

  static Constant size_bytes(const Shape& shape, DType type) {
    std::vector<std::uint8_t> bytes;
    const std::size_t width = type == DType::i64 ? 8 : 4;
    for (const std::int64_t size : shape)
      for (std::size_t i = 0; i < width; ++i)
        bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(size) >> (8 * i)));
    return Constant::own(std::move(bytes));
  }

  Model work_;
  Graph& graph_;
};

}  // namespace

Result<Model> pin_shapes(const Model& model, const std::map<std::string, Shape>& shapes) {
  if (!model.dialect->infer)
    return usage_error(fmt::format("--shape: shapes of .{} files cannot be pinned; export with fixed sizes",
                                   model.dialect->name));
  if (model.graphs.empty()) return input_error("--shape: the model holds no graph");
  Pinning pinning(model);
  for (const auto& [name, shape] : shapes)
    if (auto status = pin_input(pinning.graph(), name, shape); !status)
      return tl::make_unexpected(status.error());
  if (auto status = pinning.run(); !status) return tl::make_unexpected(status.error());
  Model pinned = model;
  Graph& graph = pinned.graphs.front();
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Value& settled = pinning.graph().values[v];
    if (settled.shape == graph.values[v].shape) continue;
    graph.values[v].shape = settled.shape;
    graph.values[v].default_shape.clear(), graph.values[v].dim_names.clear();
  }
  return pinned;
}

}  // namespace md

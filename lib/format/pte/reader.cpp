// Reader of ExecuTorch programs (.pte). They are compiled and memory-planned: diagnosed here, never
// rewritten.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/format/pte/delegate.h"
#include "lib/format/pte/dialect.h"
#include "lib/format/pte/program.h"
#include "lib/graph/document.h"

namespace md {
namespace {

class PteDocument : public Document {
 public:
  explicit PteDocument(std::shared_ptr<const MappedFile> file) : Document(std::move(file)) {}
  const Model& model() const override { return model_; }
  WriteCapability capability() const override {
    return {false,
            "a .pte is compiled and memory-planned: change the .pt2 that it was lowered from, and lower it "
            "again"};
  }
  Status write(const Model& edited, ByteSink& sink) const override {
    for (std::size_t g = 0; g < edited.graphs.size() && g < model_.graphs.size(); ++g)
      if (edited.graphs[g].order != model_.graphs[g].order)
        return fail(Error::Kind::unsupported, fmt::format("{}: {}", file_->path(), capability().reason));
    return sink.append_range(*file_, 0, file_->bytes().size());
  }

  Model model_;  ///< filled by the reader below
};

class PteReader {
 public:
  PteReader(PteDocument& out, std::shared_ptr<const MappedFile> file)
      : model_(out.model_), file_(std::move(file)) {}

  Status run() {
    auto program = PteProgram::open(file_);
    if (!program) return tl::make_unexpected(program.error());
    program_ = std::move(*program);
    model_.dialect = &dialect_pte;
    model_.producer = "ExecuTorch";
    if (program_->version() > newest_schema)
      model_.metadata.emplace_back("schema", std::to_string(program_->version()));
    const FlatVector plans = program_->root().vector(1, 4);
    for (std::size_t p = 0; p < plans.size(); ++p)
      if (auto ok = read_plan(plans.table(p)); !ok) return ok;
    if (auto ok = program_->undamaged(); !ok) return ok;
    if (plans.size() == 0) return program_->damaged("the program holds no execution plan");
    return {};
  }

 private:
  static constexpr std::uint32_t newest_schema = 0;

  Status read_plan(FlatTable plan) {
    Graph graph;
    graph.dialect = model_.dialect;
    graph.name = plan.text(0);
    const FlatVector values = plan.vector(2, 4);
    if (!program_->spend(values.size())) return too_large();
    arenas_ = plan.vector(8, 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
      graph.values.emplace_back();
      if (auto ok = program_->read_value(values.table(i), i, arenas_, graph.values.back()); !ok)
        return in_plan(graph, ok.error());
    }
    orders_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (auto ok = check_list(graph, values, i); !ok) return ok;
      orders_.push_back(PteProgram::order(values.table(i)));
    }
    for (const auto& [field, ids] : {std::pair{3, &graph.inputs}, std::pair{4, &graph.outputs}}) {
      const FlatVector list = plan.vector(field, 4);
      if (!program_->spend(list.size())) return too_large();
      for (std::size_t i = 0; i < list.size(); ++i)
        if (auto ok = add_id(graph, field == 3 ? "an input of the plan" : "an output of the plan",
                             list.number<std::int32_t>(i), *ids);
            !ok)
          return ok;
    }
    if (auto ok = read_instructions(plan, graph); !ok) return ok;
    describe(graph, plan);
    ModelSignature signature{graph.name, static_cast<int>(model_.graphs.size()), {}, {}};
    for (const ValueId v : graph.inputs) signature.inputs.emplace_back(graph.value(v).name, v);
    for (const ValueId v : graph.outputs) signature.outputs.emplace_back(graph.value(v).name, v);
    model_.signatures.push_back(std::move(signature));
    graph.index();
    model_.graphs.push_back(std::move(graph));
    return {};
  }

  Status in_plan(const Graph& graph, const Error& error) const {
    if (auto ok = program_->undamaged(); !ok) return ok;  // an earlier place, and the reason for this one
    return program_->damaged(fmt::format("plan {}: {}", graph.name, error.message));
  }
  Status in_plan(const Graph& graph, const std::string& what) const {
    return in_plan(graph, Error{Error::Kind::input, what});
  }
  Status too_large() const {
    return program_->damaged("the plans describe more than a program of this size can hold");
  }

  Status add_id(const Graph& graph, std::string_view reader, std::int32_t id,
                std::vector<ValueId>& ids) const {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size())
      return in_plan(graph, fmt::format("{} is value {}, but there are {}", reader, id, graph.values.size()));
    ids.push_back(id);
    return {};
  }

  /// Lists of values: every item exists, and none is a list (the runtime would follow it for ever).
  Status check_list(const Graph& graph, const FlatVector& values, std::size_t i) {
    const PteKind kind = pte_kind(values.table(i));
    const bool tensors = kind == PteKind::tensor_list || kind == PteKind::optional_tensor_list;
    if (!tensors && kind != PteKind::int_list) return {};
    const FlatVector items = values.table(i).table(1).vector(0, tensors ? 4 : 8);
    if (!program_->spend(items.size())) return too_large();
    for (std::size_t k = 0; k < items.size(); ++k) {
      const std::int64_t id = tensors ? items.number<std::int32_t>(k) : items.number<std::int64_t>(k);
      if (id == -1 && kind == PteKind::optional_tensor_list) continue;
      if (id < 0 || static_cast<std::size_t>(id) >= values.size())
        return in_plan(graph, fmt::format("item {} of the list in value {} is value {}, but there are {}", k,
                                          i, id, values.size()));
      const PteKind item = pte_kind(values.table(static_cast<std::size_t>(id)));
      const bool fits = tensors ? item == PteKind::tensor ||
                                      (item == PteKind::none && kind == PteKind::optional_tensor_list)
                                : item == PteKind::integer;
      if (!fits)
        return in_plan(graph, fmt::format("item {} of the list in value {} is value {}, which is no {}", k, i,
                                          id, tensors ? "tensor" : "integer"));
    }
    return {};
  }

  Status read_instructions(FlatTable plan, Graph& graph) {
    const FlatVector chains = plan.vector(5, 4), operators = plan.vector(6, 4), delegates = plan.vector(7, 4);
    std::map<std::size_t, Attributes> blobs;  // one delegate may be called often
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const FlatVector instructions = chains.table(c).vector(2, 4);
      if (!program_->spend(instructions.size())) return too_large();
      for (std::size_t i = 0; i < instructions.size(); ++i) {
        Node node;
        if (auto ok = read_instruction(instructions.table(i), operators, delegates, instructions.size(),
                                       graph, blobs, node);
            !ok)
          return ok;
        node.origin = static_cast<NodeId>(graph.nodes.size());
        graph.order.push_back(node.origin);
        graph.nodes.push_back(std::move(node));
      }
    }
    return {};
  }

  /// Memory is planned and reused, and outputs are arguments like inputs: every argument is listed as read,
  /// none as written.
  Status read_instruction(FlatTable instruction, FlatVector operators, FlatVector delegates,
                          std::size_t count, const Graph& graph, std::map<std::size_t, Attributes>& blobs,
                          Node& node) {
    enum : std::uint8_t { kernel_call = 1, delegate_call, move_call, jump_call, free_call };
    const auto kind = instruction.number<std::uint8_t>(0);
    const FlatTable call = instruction.table(1);
    const auto first = call.number<std::int32_t>(0),
               second = call.number<std::int32_t>(1 * (kind == move_call || kind == jump_call));
    const auto index = static_cast<std::size_t>(first);
    const std::string what = fmt::format("instruction {}", graph.nodes.size());
    switch (kind) {
      case kernel_call: {
        if (index >= operators.size())
          return in_plan(
              graph, fmt::format("{} calls operator {}, but there are {}", what, first, operators.size()));
        const FlatTable op = operators.table(index);
        const std::string overload = op.text(1);
        node.op = op.text(0) + (overload.empty() ? "" : ".") + overload;
        break;
      }
      case delegate_call: {
        if (index >= delegates.size())
          return in_plan(
              graph, fmt::format("{} calls delegate {}, but there are {}", what, first, delegates.size()));
        node.op = "delegate", node.custom = delegates.table(index).text(0);
        const auto known = blobs.find(index);
        if (known != blobs.end()) {
          node.attrs = known->second;
          break;
        }
        node.attrs.set("delegate_index", static_cast<std::int64_t>(index));
        if (auto ok = read_blob(delegates.table(index).table(1), graph, node); !ok) return ok;
        blobs.emplace(index, node.attrs);
        break;
      }
      case move_call:
      case jump_call:
      case free_call: {
        node.op = kind == move_call ? "move" : kind == jump_call ? "jump_false" : "free";
        std::vector<ValueId> ids;
        if (auto ok = add_id(graph, what, first, ids); !ok) return ok;
        if (kind == move_call) return add_id(graph, what, second, ids);
        if (kind == jump_call && (second < 0 || static_cast<std::size_t>(second) > count))
          return in_plan(graph,
                         fmt::format("{} jumps to instruction {}, but there are {}", what, second, count));
        return {};
      }
      default:
        return in_plan(graph, fmt::format("{} is of kind {}, expected 1 to 5", what, kind));
    }
    const FlatVector args = call.vector(1, 4);
    if (!program_->spend(args.size())) return too_large();
    for (std::size_t i = 0; i < args.size(); ++i)
      if (auto ok = add_id(graph, fmt::format("an argument of {} ({})", what, node.op),
                           args.number<std::int32_t>(i), node.inputs);
          !ok)
        return ok;
    if (kind == kernel_call) note_orders(node);
    return {};
  }

  /// "memory_format" of a kernel call with a tensor that is stored channels last: "channels last", or "mixed"
  /// when not all are.
  void note_orders(Node& node) const {
    bool plain = false, other = false;
    for (const ValueId id : node.inputs) {
      const PteProgram::Order order = orders_[static_cast<std::size_t>(id)];
      plain = plain || order == PteProgram::Order::plain, other = other || order == PteProgram::Order::other;
    }
    if (other) node.attrs.set("memory_format", std::string(plain ? "mixed" : "channels last"));
  }

  Status read_blob(FlatTable where, const Graph& graph, Node& node) {
    constexpr std::int8_t in_segment = 1;
    const std::size_t index = where.number<std::uint32_t>(1);
    if (where.number<std::int8_t>(0) == in_segment) {
      if (index >= program_->segments().size())
        return in_plan(graph, fmt::format("the blob of {} is segment {}, but there are {}", node.custom,
                                          index, program_->segments().size()));
      read_delegate_blob(program_->segments()[index], node);
    } else {
      const FlatVector inline_data = program_->root().vector(3, 4);
      if (index >= inline_data.size())
        return in_plan(graph, fmt::format("the blob of {} is inline data {}, but there are {}", node.custom,
                                          index, inline_data.size()));
      read_delegate_blob(inline_data.table(index).vector(0, 1).bytes(), node);
    }
    return {};
  }

  /// What runs where, and what the caller must pass: for `inspect`, and for rules that find
  /// no value for it.
  void describe(const Graph& graph, FlatTable plan) {
    std::map<std::string, std::size_t> kernels, backends;
    std::size_t kernel_calls = 0, delegate_calls = 0, bytes = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == "delegate")
        ++backends[node.custom], ++delegate_calls,
            bytes += static_cast<std::size_t>(node.attrs.integer("blob_bytes"));
      else if (node.op.find("::") != std::string::npos)
        ++kernels[node.op], ++kernel_calls;
    }
    const auto listed = [](const std::map<std::string, std::size_t>& counts) {
      std::string text;
      for (const auto& [name, count] : counts)
        text += fmt::format("{}{} x{}", text.empty() ? "" : ", ", name, count);
      return text;
    };
    const std::string prefix = "plan " + graph.name;
    model_.metadata.emplace_back(
        prefix, fmt::format("{} delegate calls, {} calls of portable kernels ({} different)", delegate_calls,
                            kernel_calls, kernels.size()));
    if (delegate_calls)
      model_.metadata.emplace_back(prefix + " delegated",
                                   fmt::format("{}; blobs of {} bytes", listed(backends), bytes));
    if (kernel_calls) model_.metadata.emplace_back(prefix + " falls back", listed(kernels));
    std::uint64_t planned = 0;
    for (std::size_t i = 1; i < arenas_.size(); ++i)
      planned += static_cast<std::uint64_t>(std::max<std::int64_t>(arenas_.number<std::int64_t>(i), 0));
    if (planned) model_.metadata.emplace_back(prefix + " memory", fmt::format("{} bytes planned", planned));
    const FlatVector values = plan.vector(2, 4);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(graph.inputs[i]);
      if (const std::string contract = program_->contract(values.table(id), graph.values[id]);
          !contract.empty())
        model_.metadata.emplace_back(fmt::format("{} input {}", prefix, i), contract);
    }
  }

  Model& model_;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<PteProgram> program_;
  std::vector<PteProgram::Order> orders_;  ///< by value of the plan
  FlatVector arenas_;                      ///< sizes of the memory that the plan's values share
};

}  // namespace

Result<std::unique_ptr<Document>> open_pte(std::shared_ptr<const MappedFile> file) {
  auto document = std::make_unique<PteDocument>(file);
  if (auto ok = PteReader(*document, std::move(file)).run(); !ok) return tl::make_unexpected(ok.error());
  return std::unique_ptr<Document>(std::move(document));
}

}  // namespace md

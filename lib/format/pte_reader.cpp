// Reader of ExecuTorch programs (.pte). They are compiled and memory-planned: diagnosed here, never
// rewritten.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/format/document.h"
#include "lib/format/pte_delegate.h"
#include "lib/format/pte_flat.h"

namespace md {
namespace {

constexpr std::size_t header_at = 8, header_size = 24;
constexpr std::size_t most_nodes = std::size_t{1} << 22;

/// c10::ScalarType, the numbering of the runtime (not that of a .pt2).
DType runtime_type(int number) {
  constexpr std::pair<int, DType> types[] = {
      {0, DType::u8},      {1, DType::i8},        {2, DType::i16},  {3, DType::i32},      {4, DType::i64},
      {5, DType::f16},     {6, DType::f32},       {7, DType::f64},  {11, DType::boolean}, {15, DType::bf16},
      {23, DType::f8e5m2}, {24, DType::f8e4m3fn}, {27, DType::u16}, {28, DType::u32},     {29, DType::u64}};
  for (const auto& [known, type] : types)
    if (known == number) return type;
  return DType::unknown;
}

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
  explicit PteReader(PteDocument& out)
      : model_(out.model_), bytes_(out.file().bytes()), path_(out.file().path()) {}

  Status run() {
    if (auto ok = read_header(); !ok) return ok;
    const FlatTable program = FlatTable::root(program_);
    if (!program)
      return input_error(fmt::format(
          "{}: offset 0: the root of the program points outside of it: the file is damaged", path_));
    model_.format = Format::pte;
    model_.producer = "ExecuTorch";
    if (auto ok = read_segments(program.vector(4)); !ok) return ok;
    inline_data_ = program.vector(3);
    const FlatVector plans = program.vector(1);
    if (plans.size() == 0) return input_error(fmt::format("{}: the program holds no execution plan", path_));
    for (std::size_t p = 0; p < plans.size(); ++p)
      if (auto ok = read_plan(plans.table(p)); !ok) return ok;
    return {};
  }

 private:
  template <class T>
  T number(std::size_t at) const {
    T value{};
    if (at <= bytes_.size() && bytes_.size() - at >= sizeof(T))
      std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  Status read_header() {
    if (bytes_.size() < header_at)
      return input_error(
          fmt::format("{}: {} bytes are too few for an ExecuTorch program", path_, bytes_.size()));
    const std::string identifier(reinterpret_cast<const char*>(bytes_.data()) + 4, 4);
    if (identifier != "ET12")
      return input_error(
          fmt::format("{}: offset 4: program identifier '{}', expected 'ET12'", path_, identifier));
    program_ = bytes_;
    if (bytes_.size() < header_at + header_size || std::memcmp(bytes_.data() + header_at, "eh00", 4) != 0)
      return {};
    const auto length = number<std::uint32_t>(12);
    const auto size = number<std::uint64_t>(16), base = number<std::uint64_t>(24),
               data = length >= 32 ? number<std::uint64_t>(32) : 0;
    const std::uint64_t expected = base ? base + data : size;
    if (size > bytes_.size() || base > bytes_.size() || data > bytes_.size() - base)
      return input_error(fmt::format(
          "{}: offset 16: the header expects a file of {} bytes, it has {}: the file is truncated", path_,
          std::max(expected, size), bytes_.size()));
    program_ = bytes_.first(size);
    segments_at_ = base;
    return {};
  }

  Status read_segments(FlatVector segments) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const FlatTable s = segments.table(i);
      const auto offset = s.number<std::uint64_t>(0), size = s.number<std::uint64_t>(1);
      if (offset > bytes_.size() - segments_at_ || size > bytes_.size() - segments_at_ - offset)
        return input_error(fmt::format("{}: segment {} of {} bytes at {} lies outside the file", path_, i,
                                       size, segments_at_ + offset));
      segments_.push_back(bytes_.subspan(segments_at_ + offset, size));
    }
    return {};
  }

  Value read_value(FlatTable entry, std::size_t i) const {
    constexpr std::uint8_t int_type = 2, bool_type = 3, double_type = 4, tensor_type = 5, string_type = 6;
    Value value;
    value.name = fmt::format("v{}", i);
    value.origin = static_cast<std::int32_t>(i);
    const auto kind = entry.number<std::uint8_t>(0);
    if (kind == int_type) value.dtype = DType::symint;
    if (kind == bool_type) value.dtype = DType::symbool;
    if (kind == double_type) value.dtype = DType::symfloat;
    if (kind == string_type) value.dtype = DType::string;
    if (kind != tensor_type) return value;
    const FlatTable tensor = entry.table(1);
    value.dtype = runtime_type(tensor.number<std::int8_t>(0));
    const FlatVector sizes = tensor.vector(2);
    for (std::size_t d = 0; d < std::min<std::size_t>(sizes.size(), 64); ++d)
      value.shape.push_back(std::max(sizes.number<std::int32_t>(d), -1));
    if (const FlatTable extra = tensor.table(9))
      value.name = extra.text(1).empty() ? value.name : extra.text(1);
    return value;
  }

  Status read_plan(FlatTable plan) {
    Graph graph;
    graph.name = plan.text(0);
    const FlatVector values = plan.vector(2), chains = plan.vector(5), operators = plan.vector(6),
                     delegates = plan.vector(7);
    for (std::size_t i = 0; i < std::min(values.size(), most_nodes); ++i)
      graph.values.push_back(read_value(values.table(i), i));
    for (const auto& [list, ids] :
         {std::pair{plan.vector(3), &graph.inputs}, std::pair{plan.vector(4), &graph.outputs}})
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto id = list.number<std::int32_t>(i);
        if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size())
          return input_error(fmt::format("{}: plan {}: an input or output is value {}, but there are {}",
                                         path_, graph.name, id, graph.values.size()));
        ids->push_back(id);
      }
    std::set<std::string> kernels;
    std::size_t kernel_calls = 0, delegate_calls = 0;
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const FlatVector instructions = chains.table(c).vector(2);
      for (std::size_t i = 0; i < instructions.size() && graph.nodes.size() < most_nodes; ++i) {
        Node node;
        if (auto ok = read_instruction(instructions.table(i), operators, delegates, graph, node); !ok)
          return ok;
        (node.op == "delegate" ? delegate_calls : kernel_calls) +=
            node.op.find("::") != std::string::npos || node.op == "delegate";
        if (node.op.find("::") != std::string::npos) kernels.insert(node.op);
        node.origin = static_cast<NodeId>(graph.nodes.size());
        graph.order.push_back(node.origin);
        graph.nodes.push_back(std::move(node));
      }
    }
    model_.metadata.emplace_back("plan " + graph.name,
                                 fmt::format("{} delegate calls, {} calls of portable kernels ({} different)",
                                             delegate_calls, kernel_calls, kernels.size()));
    ModelSignature signature{graph.name, static_cast<int>(model_.graphs.size()), {}, {}};
    for (const ValueId v : graph.inputs) signature.inputs.emplace_back(graph.value(v).name, v);
    for (const ValueId v : graph.outputs) signature.outputs.emplace_back(graph.value(v).name, v);
    model_.signatures.push_back(std::move(signature));
    graph.index();
    model_.graphs.push_back(std::move(graph));
    return {};
  }

  /// Memory is planned and reused, and outputs are arguments like inputs: every argument is listed as read,
  /// none as written.
  Status read_instruction(FlatTable instruction, FlatVector operators, FlatVector delegates,
                          const Graph& graph, Node& node) {
    enum : std::uint8_t { kernel_call = 1, delegate_call, move_call, jump_call, free_call };
    const auto kind = instruction.number<std::uint8_t>(0);
    const FlatTable call = instruction.table(1);
    const auto index = static_cast<std::size_t>(call.number<std::int32_t>(0));
    if (kind == kernel_call) {
      if (index >= operators.size())
        return input_error(fmt::format("{}: plan {}: an instruction calls operator {}, but there are {}",
                                       path_, graph.name, index, operators.size()));
      const FlatTable op = operators.table(index);
      node.op = op.text(0) + (op.text(1).empty() ? "" : "." + op.text(1));
    } else if (kind == delegate_call) {
      if (index >= delegates.size())
        return input_error(fmt::format("{}: plan {}: an instruction calls delegate {}, but there are {}",
                                       path_, graph.name, index, delegates.size()));
      const FlatTable delegate = delegates.table(index);
      node.op = "delegate", node.custom = delegate.text(0);
      node.attrs.set("delegate_index", static_cast<std::int64_t>(index));
      if (auto ok = read_blob(delegate.table(1), node); !ok) return ok;
    } else {
      node.op = kind == move_call   ? "move"
                : kind == jump_call ? "jump_false"
                : kind == free_call ? "free"
                                    : "unknown";
      return {};
    }
    const FlatVector args = call.vector(1);
    for (std::size_t i = 0; i < args.size(); ++i) {
      const auto id = args.number<std::int32_t>(i);
      if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size())
        return input_error(fmt::format("{}: plan {}: {} reads value {}, but there are {}", path_, graph.name,
                                       node.op, id, graph.values.size()));
      node.inputs.push_back(id);
    }
    return {};
  }

  Status read_blob(FlatTable where, Node& node) {
    constexpr std::int8_t in_segment = 1;
    const std::size_t index = where.number<std::uint32_t>(1);
    if (where.number<std::int8_t>(0) == in_segment) {
      if (index >= segments_.size())
        return input_error(fmt::format("{}: the blob of {} is segment {}, but there are {}", path_,
                                       node.custom, index, segments_.size()));
      read_delegate_blob(segments_[index], node);
    } else {
      if (index >= inline_data_.size())
        return input_error(fmt::format("{}: the blob of {} is inline data {}, but there are {}", path_,
                                       node.custom, index, inline_data_.size()));
      read_delegate_blob(inline_data_.table(index).vector(0).bytes(), node);
    }
    return {};
  }

  Model& model_;
  Bytes bytes_, program_;
  const std::string& path_;
  std::uint64_t segments_at_ = 0;
  std::vector<Bytes> segments_;
  FlatVector inline_data_;
};

}  // namespace

Result<std::unique_ptr<Document>> open_pte(std::shared_ptr<const MappedFile> file) {
  auto document = std::make_unique<PteDocument>(std::move(file));
  if (auto ok = PteReader(*document).run(); !ok) return tl::make_unexpected(ok.error());
  return std::unique_ptr<Document>(std::move(document));
}

}  // namespace md

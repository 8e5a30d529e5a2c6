#include "lib/format/tflite/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/format/tflite/access.h"
#include "lib/format/tflite/dialect.h"
#include "lib/format/tflite/options.h"
#include "lib/format/tflite/sparsity.h"
#include "lib/format/tflite/verify.h"
#include "lib/op/well_formed.h"
#include "tflite_generated.h"

namespace md::tfl {
namespace {

/// Larger custom options (compiled programs, tables) are weights, not attributes: they stay in the file
/// unread.
constexpr std::size_t custom_options_limit = std::size_t{1} << 20;
/// What one table costs of the reading budget, at most what it takes in a file where nothing is shared.
constexpr std::size_t operator_cost = 64, tensor_cost = 24, map_cost = 40, metadata_text_limit = 64;
/// Far above every real model (a large language model has some 10,000 operators); a view takes about a
/// kilobyte each.
constexpr std::size_t operator_limit = std::size_t{1} << 20, tensor_limit = std::size_t{1} << 22,
                      list_limit = std::size_t{1} << 16;

class Reader {
 public:
  explicit Reader(std::shared_ptr<const MappedFile> file) { out_.file = std::move(file); }
  Result<TfliteFile> read();

 private:
  template <class... Args>
  Status bad(fmt::format_string<Args...> form, Args&&... args) const {
    return input_error(out_.file->path() + ": " + fmt::format(form, std::forward<Args>(args)...) +
                       "; the file is malformed, convert or download it again");
  }
  /// Tables and vectors may be shared, so that a small file could describe a huge model: no more than four
  /// bytes of model are read for each byte of file.
  bool spend(std::size_t bytes) {
    if (bytes > budget_) return false;
    budget_ -= bytes;
    return true;
  }
  Status too_large() const { return bad("describes a graph larger than the file itself can hold"); }

  Status check_counts();
  Status check_buffers();
  Status read_graph(std::size_t g);
  Status read_tensor(std::size_t g, std::size_t t, Value& value);
  Status read_quantization(std::size_t g, std::size_t t, const tflite::QuantizationParameters& from,
                           Value& value);
  Status read_sparsity(std::size_t g, std::size_t t, const tflite::SparsityParameters& from, Value& value);
  Status read_operator(std::size_t g, std::size_t n, const tflite::Operator& from, Node& node);
  Status read_options(const tflite::Operator& from, Node& node);
  Status read_called_graphs(std::size_t g, std::size_t n, Node& node);
  Status read_ids(std::size_t g, std::size_t n, const char* what,
                  const flatbuffers::Vector<std::int32_t>* from, std::vector<ValueId>& to);
  void mark_constants(const tflite::SubGraph& from, Graph& graph);
  Status check_calls() const;
  Status read_signatures();
  void read_metadata();

  TfliteFile out_;
  std::size_t budget_ = 0;
};

Status Reader::check_counts() {
  std::size_t tensors = 0, operators = 0;
  if (const auto* graphs = out_.root->subgraphs(); length(graphs) <= list_limit)
    for (flatbuffers::uoffset_t g = 0; g < length(graphs); ++g)
      tensors += length(graphs->Get(g)->tensors()), operators += length(graphs->Get(g)->operators());
  const auto within = [&](const char* what, std::size_t count, std::size_t limit) -> Status {
    if (count <= limit) return {};
    return fail(Error::Kind::unsupported, fmt::format("{}: has {} {}, this program takes up to {}",
                                                      out_.file->path(), count, what, limit));
  };
  if (auto done = within("subgraphs", length(out_.root->subgraphs()), list_limit); !done) return done;
  if (auto done = within("signatures", length(out_.root->signature_defs()), list_limit); !done) return done;
  if (auto done = within("metadata entries", length(out_.root->metadata()), list_limit); !done) return done;
  if (auto done = within("operator codes", length(out_.root->operator_codes()), list_limit); !done)
    return done;
  if (auto done = within("buffers", length(out_.root->buffers()), tensor_limit); !done) return done;
  if (auto done = within("tensors", tensors, tensor_limit); !done) return done;
  return within("operators", operators, operator_limit);
}

Status Reader::check_buffers() {
  const auto* buffers = out_.root->buffers();
  const std::uint64_t size = out_.file->bytes().size();
  for (std::size_t i = 0; i < length(buffers); ++i) {
    const tflite::Buffer& buffer = *buffers->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (!is_out_of_line(buffer)) continue;
    if (buffer.offset() > size || buffer.size() > size - buffer.offset())
      return bad("buffer {} is said to be {} bytes at offset {}, but the file has {} bytes", i, buffer.size(),
                 buffer.offset(), size);
  }
  return {};
}

Status Reader::read_quantization(std::size_t g, std::size_t t, const tflite::QuantizationParameters& from,
                                 Value& value) {
  if (!spend(4 * (length(from.scale()) + length(from.min()) + length(from.max())) +
             8 * length(from.zero_point())))
    return too_large();
  if (length(from.scale()) == 0)
    return {};  // calibration ranges alone, or details that need the file's own tables
  Quantization q;
  q.scale = numbers<float>(from.scale());
  q.zero_point = numbers<std::int64_t>(from.zero_point());
  q.min = numbers<float>(from.min());
  q.max = numbers<float>(from.max());
  q.axis = from.quantized_dimension();
  if (q.scale.size() > 1 && (q.axis < 0 || q.axis >= value.rank()))
    return bad("subgraph {} tensor {} is quantized along axis {}, but has rank {}", g, t, q.axis,
               value.rank());
  value.quantization = std::move(q);
  return {};
}

Status Reader::read_sparsity(std::size_t g, std::size_t t, const tflite::SparsityParameters& from,
                             Value& value) {
  if (!spend(sparsity_bytes(from))) return too_large();
  auto sparsity = tfl::read_sparsity(from, value.shape.size());
  if (!sparsity) return bad("subgraph {} tensor {}: its sparsity {}", g, t, sparsity.error());
  value.sparsity = std::move(*sparsity);
  return {};
}

Status Reader::read_tensor(std::size_t g, std::size_t t, Value& value) {
  const tflite::Tensor& from = *out_.root->subgraphs()
                                    ->Get(static_cast<flatbuffers::uoffset_t>(g))
                                    ->tensors()
                                    ->Get(static_cast<flatbuffers::uoffset_t>(t));
  if (!spend(tensor_cost + text(from.name()).size() + 4 * length(from.shape()) +
             4 * length(from.shape_signature())))
    return too_large();
  value.name = text(from.name());
  value.dtype = dtype_of(static_cast<int>(from.type()));
  value.origin = static_cast<std::int32_t>(t);
  value.is_variable = from.is_variable();
  value.shape = numbers<std::int64_t>(from.shape());
  for (const std::int64_t dim : value.shape)
    if (dim < -1) return bad("subgraph {} tensor {} has a dimension of size {}", g, t, dim);
  const auto signature = numbers<std::int64_t>(from.shape_signature());
  if (signature.size() == value.shape.size() &&
      std::count(signature.begin(), signature.end(), dynamic_dim) > 0) {
    value.default_shape = value.shape;
    for (std::size_t d = 0; d < signature.size(); ++d)
      if (signature[d] == dynamic_dim) value.shape[d] = dynamic_dim;
  }
  if (from.buffer() >= std::max<std::size_t>(1, length(out_.root->buffers())))
    return bad("subgraph {} tensor {} names buffer {}, but there are {}", g, t, from.buffer(),
               length(out_.root->buffers()));
  if (from.quantization())
    if (auto done = read_quantization(g, t, *from.quantization(), value); !done) return done;
  if (from.sparsity())
    if (auto done = read_sparsity(g, t, *from.sparsity(), value); !done) return done;
  return {};
}

/// After the operators are known: what is neither produced nor fed and has bytes, or needs none, is a
/// constant.
void Reader::mark_constants(const tflite::SubGraph& from, Graph& graph) {
  for (std::size_t t = 0; t < graph.values.size(); ++t) {
    Value& value = graph.values[t];
    const tflite::Tensor& tensor = *from.tensors()->Get(static_cast<flatbuffers::uoffset_t>(t));
    const auto id = static_cast<ValueId>(t);
    Bytes bytes;
    if (tensor.buffer() != 0) bytes = buffer_bytes(*out_.file, *out_.root->buffers()->Get(tensor.buffer()));
    const bool fed = graph.producer(id) != none_id || graph.is_input(id) || value.is_variable;
    const bool needs_none = !fed && std::count(value.shape.begin(), value.shape.end(), 0) > 0;
    // The bytes of an external buffer are in another file: a constant all the same, but one that nobody can
    // read here.
    if (!bytes.empty() || needs_none || tensor.external_buffer() != 0)
      value.constant = Constant{bytes, out_.file};
  }
}

Status Reader::read_ids(std::size_t g, std::size_t n, const char* what,
                        const flatbuffers::Vector<std::int32_t>* from, std::vector<ValueId>& to) {
  if (!spend(4 * length(from))) return too_large();
  to = numbers<ValueId>(from);
  const std::size_t limit = out_.model.graphs[g].values.size();
  for (const ValueId id : to)
    if (id < none_id || (id >= 0 && static_cast<std::size_t>(id) >= limit))
      return bad("subgraph {} operator {} names {} tensor {}, but there are {} tensors", g, n, what, id,
                 limit);
  return {};
}

Status Reader::read_options(const tflite::Operator& from, Node& node) {
  int which = 0;
  const void* options = nullptr;
  const TableInfo* table = nullptr;
  if (from.builtin_options_2_type() != tflite::BuiltinOptions2::NONE) {
    which = 2;
    options = from.builtin_options_2();
    table = options_table(2, static_cast<int>(from.builtin_options_2_type()));
  } else if (from.builtin_options_type() != tflite::BuiltinOptions::NONE) {
    which = 1;
    options = from.builtin_options();
    table = options_table(1, static_cast<int>(from.builtin_options_type()));
  }
  if (which == 0) table = options_of(node.op).table;  // the runtime takes the defaults then, and so do we
  if (table) {
    auto attrs = tfl::read_options(*table, static_cast<const flatbuffers::Table*>(options),
                                   [this](std::size_t n) { return spend(n + 4); });
    if (!attrs) return too_large();
    node.attrs = std::move(*attrs);
  }
  if (const auto* custom = from.custom_options();
      custom && custom->size() > 0 && custom->size() <= custom_options_limit) {
    if (!spend(custom->size())) return too_large();
    node.attrs.set("custom_options", Blob{std::vector<std::uint8_t>(custom->begin(), custom->end())});
  }
  return {};
}

/// Fields that name subgraphs: "then_subgraph_index", "subgraph", "branch_subgraph_indices".
Status Reader::read_called_graphs(std::size_t g, std::size_t n, Node& node) {
  const auto count = static_cast<std::int64_t>(length(out_.root->subgraphs()));
  for (const auto& [key, value] : node.attrs) {
    if (key.find("subgraph") == std::string::npos) continue;
    std::vector<std::int64_t> called;
    if (const auto* one = std::get_if<std::int64_t>(&value)) called = {*one};
    if (const auto* many = std::get_if<std::vector<std::int64_t>>(&value)) called = *many;
    for (const std::int64_t c : called) {
      if (c < 0 || c >= count)
        return bad("subgraph {} operator {} ({}) calls subgraph {}, but there are {}", g, n, node.op, c,
                   count);
      node.subgraphs.push_back(static_cast<std::int32_t>(c));
    }
  }
  return {};
}

Status Reader::read_operator(std::size_t g, std::size_t n, const tflite::Operator& from, Node& node) {
  if (!spend(operator_cost)) return too_large();
  const auto* codes = out_.root->operator_codes();
  if (from.opcode_index() >= length(codes))
    return bad("subgraph {} operator {} names operator code {}, but there are {}", g, n, from.opcode_index(),
               length(codes));
  const tflite::OperatorCode& code = *codes->Get(from.opcode_index());
  if (!spend(text(code.custom_code()).size())) return too_large();
  node.op = operator_name(builtin_code(code));
  node.custom = text(code.custom_code());
  node.version = code.version();
  node.origin = static_cast<std::int32_t>(n);
  if (node.custom == "DISPATCH_OP") out_.has_dispatch_operator = true;
  if (auto done = read_ids(g, n, "input", from.inputs(), node.inputs); !done) return done;
  if (auto done = read_ids(g, n, "output", from.outputs(), node.outputs); !done) return done;
  if (auto done = read_ids(g, n, "intermediate", from.intermediates(), node.intermediates); !done)
    return done;
  if (auto done = read_options(from, node); !done) return done;
  if (node.op == "STABLEHLO_COMPOSITE") node.custom = node.attrs.text("name");
  if (from.large_custom_options_offset() > 1) {
    const std::uint64_t size = out_.file->bytes().size(), at = from.large_custom_options_offset();
    if (at > size || from.large_custom_options_size() > size - at)
      return bad(
          "subgraph {} operator {}: its custom options are said to be {} bytes at offset {}, but the file "
          "has {} bytes",
          g, n, from.large_custom_options_size(), at, size);
  }
  return read_called_graphs(g, n, node);
}

Status Reader::read_graph(std::size_t g) {
  const tflite::SubGraph& from = *out_.root->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(g));
  Graph& graph = out_.model.graphs[g];
  if (!spend(tensor_cost + text(from.name()).size())) return too_large();
  graph.name = text(from.name());
  for (std::size_t t = 0; t < length(from.tensors()); ++t) {
    Value value;
    if (auto done = read_tensor(g, t, value); !done) return done;
    graph.values.push_back(std::move(value));
  }
  for (std::size_t n = 0; n < length(from.operators()); ++n) {
    Node node;
    if (auto done = read_operator(g, n, *from.operators()->Get(static_cast<flatbuffers::uoffset_t>(n)), node);
        !done)
      return done;
    graph.nodes.push_back(std::move(node));
    graph.order.push_back(static_cast<NodeId>(n));
  }
  const auto interface = [&](const char* what, const flatbuffers::Vector<std::int32_t>* ids,
                             std::vector<ValueId>& to) -> Status {
    if (!spend(4 * length(ids))) return too_large();
    to = numbers<ValueId>(ids);
    for (const ValueId id : to)
      if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size())
        return bad("subgraph {} has tensor {} as {}, but there are {} tensors", g, id, what,
                   graph.values.size());
    return {};
  };
  if (auto done = interface("an input", from.inputs(), graph.inputs); !done) return done;
  if (auto done = interface("an output", from.outputs(), graph.outputs); !done) return done;
  graph.index();
  mark_constants(from, graph);
  if (const auto broken = broken_invariant(graph)) return bad("subgraph {}: {}", g, *broken);
  return {};
}

/// Subgraphs that call each other in a circle never end.
Status Reader::check_calls() const {
  const auto& graphs = out_.model.graphs;
  std::vector<std::set<std::int32_t>> calls(graphs.size());
  std::vector<std::size_t> callers(graphs.size(), 0), ready;
  for (std::size_t g = 0; g < graphs.size(); ++g)
    for (const Node& node : graphs[g].nodes) calls[g].insert(node.subgraphs.begin(), node.subgraphs.end());
  for (const auto& called : calls)
    for (const std::int32_t g : called) ++callers[static_cast<std::size_t>(g)];
  for (std::size_t g = 0; g < graphs.size(); ++g)
    if (callers[g] == 0) ready.push_back(g);
  for (std::size_t next = 0; next < ready.size(); ++next)
    for (const std::int32_t g : calls[ready[next]])
      if (--callers[static_cast<std::size_t>(g)] == 0) ready.push_back(static_cast<std::size_t>(g));
  for (std::size_t g = 0; g < graphs.size(); ++g)
    if (callers[g] > 0)
      return bad("subgraphs call each other in a circle, which holds or leads to subgraph {}", g);
  return {};
}

Status Reader::read_signatures() {
  for (std::size_t s = 0; s < length(out_.root->signature_defs()); ++s) {
    const tflite::SignatureDef& from =
        *out_.root->signature_defs()->Get(static_cast<flatbuffers::uoffset_t>(s));
    if (from.subgraph_index() >= out_.model.graphs.size())
      return bad("signature {} names subgraph {}, but there are {}", s, from.subgraph_index(),
                 out_.model.graphs.size());
    if (!spend(tensor_cost + text(from.signature_key()).size())) return too_large();
    ModelSignature signature;
    signature.key = text(from.signature_key());
    signature.graph = static_cast<int>(from.subgraph_index());
    const std::size_t limit = out_.model.graphs[from.subgraph_index()].values.size();
    const auto read_map = [&](const flatbuffers::Vector<flatbuffers::Offset<tflite::TensorMap>>* maps,
                              auto& to) -> Status {
      for (std::size_t i = 0; i < length(maps); ++i) {
        const tflite::TensorMap& map = *maps->Get(static_cast<flatbuffers::uoffset_t>(i));
        if (map.tensor_index() >= limit)
          return bad("signature {} names tensor {}, but subgraph {} has {}", s, map.tensor_index(),
                     from.subgraph_index(), limit);
        if (!spend(map_cost + text(map.name()).size())) return too_large();
        to.emplace_back(text(map.name()), static_cast<ValueId>(map.tensor_index()));
      }
      return {};
    };
    if (auto done = read_map(from.inputs(), signature.inputs); !done) return done;
    if (auto done = read_map(from.outputs(), signature.outputs); !done) return done;
    out_.model.signatures.push_back(std::move(signature));
  }
  return {};
}

/// Names of the metadata entries, with the text of those that are one short printable line.
void Reader::read_metadata() {
  const auto* buffers = out_.root->buffers();
  for (std::size_t m = 0; m < length(out_.root->metadata()); ++m) {
    const tflite::Metadata& from = *out_.root->metadata()->Get(static_cast<flatbuffers::uoffset_t>(m));
    if (!spend(tensor_cost + text(from.name()).size())) return;  // only shown, never relied on
    Bytes bytes;
    if (from.buffer() < length(buffers)) bytes = buffer_bytes(*out_.file, *buffers->Get(from.buffer()));
    std::string_view line(reinterpret_cast<const char*>(bytes.data()),
                          std::min(bytes.size(), metadata_text_limit + 1));
    while (!line.empty() && line.back() == '\0') line.remove_suffix(1);
    const bool printable = line.size() <= metadata_text_limit &&
                           std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    out_.model.metadata.emplace_back(text(from.name()),
                                     printable ? std::string(line) : fmt::format("{} bytes", bytes.size()));
  }
}

Result<TfliteFile> Reader::read() {
  const auto root = verified_root(*out_.file);
  if (!root) return tl::make_unexpected(root.error());
  out_.root = *root;
  budget_ = 4 * std::min(out_.file->bytes().size(), flatbuffer_limit) + (std::size_t{1} << 16);
  out_.model.dialect = &dialect_tflite;
  out_.model.producer = text(out_.root->description());
  if (auto done = check_counts(); !done) return tl::make_unexpected(done.error());
  const std::size_t graphs = length(out_.root->subgraphs());
  if (!spend(graphs * tensor_cost)) return tl::make_unexpected(too_large().error());
  out_.model.graphs.resize(graphs);
  for (Graph& graph : out_.model.graphs) graph.dialect = &dialect_tflite;
  if (auto done = check_buffers(); !done) return tl::make_unexpected(done.error());
  for (std::size_t g = 0; g < graphs; ++g)
    if (auto done = read_graph(g); !done) return tl::make_unexpected(done.error());
  if (auto done = check_calls(); !done) return tl::make_unexpected(done.error());
  if (const auto wrong = malformed(out_.model)) return tl::make_unexpected(bad("{}", *wrong).error());
  if (auto done = read_signatures(); !done) return tl::make_unexpected(done.error());
  read_metadata();
  return std::move(out_);
}

}  // namespace

Result<TfliteFile> read_tflite(std::shared_ptr<const MappedFile> file) {
  return Reader(std::move(file)).read();
}

bool is_out_of_line(const tflite::Buffer& buffer) {
  return !buffer.data() && buffer.offset() > 1 && buffer.size() > 1;
}

Bytes buffer_bytes(const MappedFile& file, const tflite::Buffer& buffer) {
  if (buffer.data()) return {buffer.data()->data(), buffer.data()->size()};
  if (is_out_of_line(buffer)) return file.bytes().subspan(buffer.offset(), buffer.size());
  return {};
}

std::int32_t builtin_code(const tflite::OperatorCode& code) {
  return std::max(static_cast<std::int32_t>(code.deprecated_builtin_code()),
                  static_cast<std::int32_t>(code.builtin_code()));
}

}  // namespace md::tfl

// Reading and writing. What stands in front of the tables and behind them is never looked at and never moved:
// the writer puts new constants in front of new tables, and changes the two numbers of the head.
#include <fmt/format.h>

#include <cstring>

#include "lib/edit/changes.h"
#include "test/toy/toy.h"

namespace md::toy {
namespace {

constexpr std::size_t head_bytes = 12;
constexpr std::uint32_t most_items = 1000;

class Cursor {
 public:
  Cursor(Bytes bytes, std::string path, std::size_t start)
      : bytes_(bytes), path_(std::move(path)), at_(start) {}
  std::uint8_t byte() { return has(1) ? bytes_[at_++] : 0; }
  std::uint32_t number() {
    if (!has(4)) return 0;
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, 4);
    at_ += 4;
    return value;
  }
  std::string text() {
    const std::size_t length = byte();
    if (!has(length)) return "";
    std::string out(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return out;
  }
  void expect(bool holds, std::string_view what) {
    if (!holds && error_.empty()) error_ = fmt::format("{}: byte {}: expected {}", path_, at_, what);
  }
  const std::string& error() const { return error_; }
  bool failed() const { return !error_.empty(); }

 private:
  bool has(std::size_t count) {
    expect(count <= bytes_.size() - std::min(at_, bytes_.size()), "more bytes: the tables are cut off");
    return error_.empty();
  }
  Bytes bytes_;
  std::string path_, error_;
  std::size_t at_;
};

void put(std::string& out, std::uint32_t value) { out.append(reinterpret_cast<const char*>(&value), 4); }
void put(std::string& out, const std::string& text) {
  out += static_cast<char>(text.size());
  out += text;
}

/// `place` gives the offset of a constant's bytes.
template <class Place>
std::string tables_of(const Graph& graph, Place place) {
  std::string out;
  for (const std::size_t count :
       {graph.values.size(), graph.order.size(), graph.inputs.size(), graph.outputs.size()})
    put(out, static_cast<std::uint32_t>(count));
  for (const Value& value : graph.values) {
    put(out, value.name);
    out += static_cast<char>(value.dtype == DType::f32 ? 0 : value.dtype == DType::f16 ? 2 : 1);
    out += static_cast<char>(value.shape.size());
    for (const std::int64_t dim : value.shape) put(out, static_cast<std::uint32_t>(dim));
    put(out, value.constant ? place(value) : 0);
    put(out, value.constant ? static_cast<std::uint32_t>(value.constant->bytes.size()) : 0);
  }
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    put(out, node.op);
    put(out, node.custom);
    out += static_cast<char>(node.version);
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      out += static_cast<char>(ids->size());
      for (const ValueId v : *ids) put(out, static_cast<std::uint32_t>(v));
    }
  }
  for (const auto* ids : {&graph.inputs, &graph.outputs})
    for (const ValueId v : *ids) put(out, static_cast<std::uint32_t>(v));
  return out;
}

class ToyDocument : public Document {
 public:
  explicit ToyDocument(std::shared_ptr<const MappedFile> file) : Document(std::move(file)) {}
  const Model& model() const override { return model_; }
  WriteCapability capability() const override { return {true, ""}; }

  Status write(const Model& edited, ByteSink& sink) const override {
    const Bytes bytes = file_->bytes();
    if (list_changes(model_, edited).empty()) return sink.append_range(*file_, 0, bytes.size());
    std::string added;  // constants that the file does not hold
    const auto place = [&](const Value& value) {
      const std::uint8_t* begin = value.constant->bytes.data();
      if (begin >= bytes.data() && begin < bytes.data() + bytes.size())
        return static_cast<std::uint32_t>(begin - bytes.data());
      added.append(reinterpret_cast<const char*>(begin), value.constant->bytes.size());
      return static_cast<std::uint32_t>(tables_ + added.size() - value.constant->bytes.size());
    };
    const std::string tables = tables_of(edited.graphs[0], place);
    std::string head = "TOYF";
    put(head, static_cast<std::uint32_t>(tables_ + added.size()));
    put(head, static_cast<std::uint32_t>(tables.size()));
    const auto view = [](const std::string& text) {
      return Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    if (auto ok = sink.append(view(head)); !ok) return ok;
    if (auto ok = sink.append_range(*file_, head_bytes, tables_ - head_bytes); !ok) return ok;
    if (auto ok = sink.append(view(added + tables)); !ok) return ok;
    return sink.append_range(*file_, tables_ + tables_bytes_, bytes.size() - tables_ - tables_bytes_);
  }

  Status read() {
    const Bytes bytes = file_->bytes();
    Cursor head(bytes, file_->path(), 4);
    tables_ = head.number(), tables_bytes_ = head.number();
    head.expect(tables_ >= head_bytes && tables_ <= bytes.size() && tables_bytes_ <= bytes.size() - tables_,
                "tables inside the file");
    if (head.failed()) return input_error(head.error());
    Cursor in(bytes.first(tables_ + tables_bytes_), file_->path(), tables_);
    model_.dialect = &dialect_toy;
    Graph& graph = model_.graphs.emplace_back();
    graph.dialect = &dialect_toy;
    std::uint32_t counts[4];
    for (std::uint32_t& count : counts) {
      count = in.number();
      in.expect(count <= most_items, "at most 1000 of each kind");
    }
    for (std::uint32_t v = 0; v < counts[0] && !in.failed(); ++v) read_value(in, graph, v);
    for (std::uint32_t n = 0; n < counts[1] && !in.failed(); ++n) read_node(in, graph, n);
    for (std::uint32_t i = 0; i < counts[2] && !in.failed(); ++i) graph.inputs.push_back(id(in, graph));
    for (std::uint32_t i = 0; i < counts[3] && !in.failed(); ++i) graph.outputs.push_back(id(in, graph));
    if (in.failed()) return input_error(in.error());
    graph.index();
    if (const auto wrong = broken_invariant(graph))
      return input_error(fmt::format("{}: expected a graph in order: {}", file_->path(), *wrong));
    return {};
  }

 private:
  static ValueId id(Cursor& in, const Graph& graph) {
    const std::uint32_t value = in.number();
    in.expect(value < graph.values.size(), "the number of a value");
    return in.failed() ? 0 : static_cast<ValueId>(value);
  }

  void read_value(Cursor& in, Graph& graph, std::uint32_t number) {
    Value& value = graph.values.emplace_back();
    value.name = in.text();
    const std::uint8_t type = in.byte(), rank = in.byte();
    value.dtype = type == 0 ? DType::f32 : type == 2 ? DType::f16 : DType::i32;
    for (std::uint8_t d = 0; d < rank && !in.failed(); ++d) value.shape.push_back(in.number());
    const std::uint32_t offset = in.number(), length = in.number();
    value.origin = static_cast<std::int32_t>(number);
    if (length == 0) return;
    const Bytes bytes = file_->bytes();
    const auto count = element_count(value.shape);
    const std::int64_t width = type == 2 ? 2 : 4;
    in.expect(offset <= bytes.size() && length <= bytes.size() - offset && count && *count * width == length,
              "a constant of its shape's size inside the file");
    if (!in.failed()) value.constant = Constant{.bytes = bytes.subspan(offset, length), .owner = file_};
  }

  static void read_node(Cursor& in, Graph& graph, std::uint32_t number) {
    Node& node = graph.nodes.emplace_back();
    node.op = in.text();
    node.custom = in.text();
    node.version = in.byte();
    for (auto* ids : {&node.inputs, &node.outputs}) {
      const std::uint8_t count = in.byte();
      for (std::uint8_t i = 0; i < count && !in.failed(); ++i) ids->push_back(id(in, graph));
    }
    in.expect(find_op(dialect_toy, node.op) && !node.inputs.empty() && node.outputs.size() == 1,
              "a known operator with operands and one result");
    node.origin = static_cast<std::int32_t>(number);
    graph.order.push_back(static_cast<NodeId>(number));
  }

  Model model_;
  std::size_t tables_ = 0, tables_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Document>> open(std::shared_ptr<const MappedFile> file) {
  auto document = std::make_unique<ToyDocument>(std::move(file));
  if (auto ok = document->read(); !ok) return tl::make_unexpected(ok.error());
  return std::unique_ptr<Document>(std::move(document));
}

std::string file_of(const Model& model, const std::string& tail) {
  std::string data;
  const std::string tables = tables_of(model.graphs[0], [&](const Value& value) {
    data.append(reinterpret_cast<const char*>(value.constant->bytes.data()), value.constant->bytes.size());
    return static_cast<std::uint32_t>(head_bytes + data.size() - value.constant->bytes.size());
  });
  std::string file = "TOYF";
  put(file, static_cast<std::uint32_t>(head_bytes + data.size()));
  put(file, static_cast<std::uint32_t>(tables.size()));
  return file + data + tables + tail;
}

}  // namespace md::toy

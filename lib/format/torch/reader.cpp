#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "lib/format/torch/dialect.h"
#include "lib/format/torch/graph_reader.h"
#include "lib/format/torch/state.h"
#include "lib/graph/encode.h"

namespace md {
namespace {

constexpr std::uint64_t largest_json = std::uint64_t{1} << 28;
/// A program's text deflates to a twentieth or so; what claims far less is a bomb.
constexpr std::uint64_t free_unpacked_json = std::uint64_t{1} << 26, most_text_ratio = 64;
/// Members are checked against their CRC as long as that is quick; a gigabyte of weights is not read for a
/// diagnosis.
constexpr std::uint64_t crc_budget = std::uint64_t{32} << 20;
/// Weights that had to be inflated or made row-major live in memory: each, and together.
constexpr std::uint64_t largest_unpacked = std::uint64_t{1} << 28, all_unpacked = std::uint64_t{1} << 29;

const std::pair<const char*, Pt2PortKind> input_kinds[] = {{"parameter", Pt2PortKind::parameter},
                                                           {"buffer", Pt2PortKind::buffer},
                                                           {"tensor_constant", Pt2PortKind::constant},
                                                           {"user_input", Pt2PortKind::user}};
const std::pair<const char*, Pt2PortKind> output_kinds[] = {{"user_output", Pt2PortKind::user},
                                                            {"buffer_mutation", Pt2PortKind::mutation}};

Json name_in(Json argument) {
  if (const Json n = argument.at("name")) return n;
  const Json inner = argument.first();
  return inner.at("name") ? inner.at("name") : inner.at("as_name");
}

template <class Kinds>
std::vector<Pt2Spec> read_specs(Json list, const Kinds& kinds) {
  std::vector<Pt2Spec> specs;
  for (Json item = list.first(); item; item = item.next()) {
    const Json body = item.first();
    Pt2Spec spec;
    spec.whole = item.span();
    spec.name = name_in(body.at("arg")).span();
    for (const auto& [word, kind] : kinds)
      if (body.key() == word) spec.kind = kind;
    for (const char* field : {"parameter_name", "buffer_name", "tensor_constant_name"})
      if (const Json target = body.at(field)) spec.target = target.text();
    if (const Json persistent = body.at("persistent")) spec.persistent = persistent.boolean();
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

/// The bytes of a strided tensor in row-major order: the range itself when it is contiguous, else a copy.
/// Empty optional: the sizes do not fit the range.
std::optional<Constant> contiguous_constant(Bytes bytes, std::shared_ptr<const void> owner,
                                            const Pt2Strides& tensor) {
  const auto count = element_count(tensor.sizes);
  const auto width = static_cast<std::uint64_t>(bit_width(tensor.dtype)) / 8;
  if (!count || width == 0 || tensor.sizes.size() != tensor.strides.size() || tensor.offset < 0)
    return std::nullopt;
  if (*count == 0) return Constant{bytes.first(0), std::move(owner)};
  std::int64_t expected = 1, last = tensor.offset;
  bool row_major = true;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    std::int64_t reach = 0;
    if (tensor.strides[d] < 0 || __builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
    if (tensor.sizes[d] != 1 && tensor.strides[d] != expected) row_major = false;
    expected *= tensor.sizes[d];
  }
  if (static_cast<std::uint64_t>(last) >= bytes.size() / width) return std::nullopt;
  if (row_major)
    return Constant{bytes.subspan(static_cast<std::uint64_t>(tensor.offset) * width,
                                  static_cast<std::uint64_t>(*count) * width),
                    std::move(owner)};
  if (static_cast<std::uint64_t>(*count) > largest_unpacked / width) return std::nullopt;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(*count) * width);
  std::vector<std::int64_t> index(tensor.sizes.size(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
    std::int64_t at = tensor.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * tensor.strides[d];
    std::memcpy(out.data() + i * width, bytes.data() + static_cast<std::uint64_t>(at) * width, width);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.sizes[d]) break;
      index[d] = 0;
    }
  }
  return Constant::own(std::move(out));
}

class Pt2Reader {
 public:
  explicit Pt2Reader(Pt2Document& out)
      : out_(out), layout_(out.layout_), model_(out.model_), path_(out.file_->path()) {}

  Status run() {
    auto zip = ZipArchive::open(out_.file_);
    if (!zip) return tl::make_unexpected(zip.error());
    out_.zip_ = std::make_unique<ZipArchive>(std::move(*zip));
    if (auto ok = find_program(); !ok) return ok;
    if (auto ok = read_program(); !ok) return ok;
    if (layout_.older) {
      if (auto ok = read_older_state(); !ok) return ok;
    } else {
      for (const auto& [folder, config] : {std::pair<const char*, Pt2Config*>{"weights", &layout_.weights},
                                           {"constants", &layout_.constants}})
        if (auto ok = read_config(fmt::format("{}data/{}/", layout_.root, folder), folder, *config); !ok)
          return ok;
    }
    if (auto ok = check_complete(); !ok) return ok;
    if (auto ok = check_sums(); !ok) return ok;
    finish();
    for (Graph& graph : model_.graphs) {
      graph.index();
      if (auto broken = broken_invariant(graph))
        return input_error(fmt::format("{}: {}: {}", path_, graph.name, *broken));
    }
    return {};
  }

 private:
  Status find_program() {
    const auto& members = zip().members();
    if (members.empty())
      return input_error(fmt::format("{}: an empty zip archive, expected a torch.export archive", path_));
    const std::string& first = members.front().name;
    layout_.root = first.substr(0, first.find('/') == std::string::npos ? 0 : first.find('/') + 1);
    for (const ZipMember& m : members) {
      if (m.name == "serialized_exported_program.json")
        layout_.program = &m, layout_.older = true, layout_.root.clear();
      const bool program = m.name.starts_with(layout_.root + "models/") && m.name.ends_with(".json");
      if (program && (!layout_.program || m.name == layout_.root + "models/model.json")) layout_.program = &m;
    }
    if (layout_.program) return {};
    std::string hint;
    for (const ZipMember& m : members) {
      if (m.name.ends_with("constants.pkl"))
        hint = "; this is a TorchScript file: export the module with torch.export.save";
      else if (hint.empty() && m.name.ends_with("data.pkl"))
        hint = "; this is a torch.save checkpoint: export the module with torch.export.save";
      else if (hint.empty() && m.name.ends_with(".so"))
        hint = "; this is a compiled AOTInductor package without its program";
    }
    return input_error(
        fmt::format("{}: a zip archive without {}models/*.json, so not a torch.export archive{}", path_,
                    layout_.root, hint));
  }

  Result<std::unique_ptr<JsonText>> parse(const ZipMember& member, std::shared_ptr<const void>& owner) {
    const std::uint64_t plausible = std::max(free_unpacked_json, most_text_ratio * member.compressed);
    const auto content =
        zip().content(member, member.method == 0 ? largest_json : std::min(largest_json, plausible), owner);
    if (!content) return tl::make_unexpected(content.error());
    auto json = JsonText::parse({reinterpret_cast<const char*>(content->data()), content->size()},
                                path_ + ": " + member.name);
    if (!json) return tl::make_unexpected(json.error());
    return std::make_unique<JsonText>(std::move(*json));
  }

  Status read_program() {
    auto json = parse(*layout_.program, layout_.program_owner);
    if (!json) return tl::make_unexpected(json.error());
    layout_.json = std::move(*json);
    const Json top = layout_.json->root(), module = top.at("graph_module");
    const std::string where = path_ + ": " + layout_.program->name;
    if (module.kind() != Json::Kind::object)
      return input_error(
          fmt::format("{}: expected an object \"graph_module\" (a torch.export program)", where));
    model_.dialect = &dialect_torch;
    const auto graph = read_pt2_graph(module.at("graph"), "forward", where, model_, layout_);
    if (!graph) return tl::make_unexpected(graph.error());
    const Json inputs = module.at("signature").at("input_specs"),
               outputs = module.at("signature").at("output_specs");
    layout_.input_specs_at = inputs.span(), layout_.output_specs_at = outputs.span();
    layout_.input_specs = read_specs(inputs, input_kinds),
    layout_.output_specs = read_specs(outputs, output_kinds);
    for (Json call = module.at("module_call_graph").first(); call; call = call.next())
      if (call.at("fqn").text().empty()) layout_.result_tree = call.at("signature").at("out_spec");
    const Pt2GraphLayout& at = layout_.graphs.front();
    if (layout_.input_specs.size() != at.input_ports.size() ||
        layout_.output_specs.size() != at.output_ports.size())
      return input_error(fmt::format("{}: the signature has {} inputs and {} outputs, the graph {} and {}",
                                     where, layout_.input_specs.size(), layout_.output_specs.size(),
                                     at.input_ports.size(), at.output_ports.size()));
    const std::string version = top.at("torch_version").text();
    model_.producer = version.empty() ? "torch.export" : "torch " + version;
    const Json schema = top.at("schema_version");
    model_.metadata.emplace_back("schema",
                                 fmt::format("{}.{}", schema.at("major").raw(), schema.at("minor").raw()));
    for (Json range = top.at("range_constraints").first(); range; range = range.next())
      model_.metadata.emplace_back("range " + range.key(), fmt::format("{}..{}", range.at("min_val").raw(),
                                                                       range.at("max_val").raw()));
    return {};
  }

  /// The placeholders that a parameter, buffer or constant name fills (several, when modules share it).
  const std::vector<ValueId>& placeholders(const std::string& fqn) {
    if (targets_.empty())
      for (std::size_t i = 0; i < layout_.input_specs.size(); ++i) {
        const ValueId id = layout_.graphs.front().input_ports[i].value;
        if (layout_.input_specs[i].kind != Pt2PortKind::user && id != none_id)
          targets_[layout_.input_specs[i].target].push_back(id);
      }
    static const std::vector<ValueId> none;
    const auto it = targets_.find(fqn);
    return it == targets_.end() ? none : it->second;
  }
  ValueId placeholder(const std::string& fqn) {
    const auto& ids = placeholders(fqn);
    return ids.empty() ? none_id : ids.front();
  }

  Status read_config(const std::string& folder, const std::string& kind, Pt2Config& config) {
    const std::string name = fmt::format("{}model_{}_config.json", folder, kind);
    config.member = zip().find(name);
    if (!config.member) {
      const std::string pickle = folder + "model.pt";  // the first archives of torch 2.8
      if (zip().find(pickle)) return read_state(pickle);
      return input_error(
          fmt::format("{}: expected a member {}, which says where the {} are; save the program again with "
                      "torch.export.save",
                      path_, name, kind));
    }
    auto json = parse(*config.member, config.owner);
    if (!json) return tl::make_unexpected(json.error());
    config.json = std::move(*json);
    const Json entries = config.json->root().at("config");
    if (entries.kind() != Json::Kind::object)
      return input_error(fmt::format(
          "{}: {}: byte 0 of the JSON text: expected an object with a member \"config\"", path_, name));
    config.object = entries.span();
    for (Json entry = entries.first(); entry; entry = entry.next()) {
      const Json meta = entry.at("tensor_meta");
      Pt2Payload payload{entry.key(),
                         folder + entry.at("path_name").text(),
                         {entry.key_span().begin, entry.span().end},
                         meta.span(),
                         placeholder(entry.key())};
      const ZipMember* member = zip().find(payload.member);
      if (!member)
        return input_error(fmt::format("{}: {}: \"{}\" is kept in {}, which the archive does not hold", path_,
                                       name, payload.fqn, payload.member));
      if (!entry.at("use_pickle").boolean() && payload.value != none_id)
        if (auto ok = fill(payload, meta, *member); !ok) return ok;
      filled_.insert(payload.fqn);
      config.payloads.push_back(std::move(payload));
    }
    return {};
  }

  /// Every parameter, buffer and constant of the signature has bytes somewhere.
  Status check_complete() const {
    for (const Pt2Spec& spec : layout_.input_specs) {
      const bool stored = spec.kind == Pt2PortKind::parameter || spec.kind == Pt2PortKind::buffer ||
                          spec.kind == Pt2PortKind::constant;
      if (stored && !filled_.count(spec.target))
        return input_error(
            fmt::format("{}: {}: byte {} of the JSON text: \"{}\" is not among the weights or constants of "
                        "the archive; save the program again",
                        path_, layout_.program->name, spec.whole.begin, spec.target));
    }
    return {};
  }

  /// Counts bytes that live in memory instead of in the mapped file.
  Status unpack(std::uint64_t bytes) {
    unpacked_ += bytes;
    if (unpacked_ <= all_unpacked) return {};
    return fail(Error::Kind::unsupported,
                fmt::format("{}: the weights unpack to more than {} bytes (deflated, or stored in another "
                            "order than row-major); save the program again with torch.export.save",
                            path_, all_unpacked));
  }

  Status fill(const Pt2Payload& payload, Json meta, const ZipMember& member) {
    Pt2Strides tensor{
        dtype_of_pt2(meta.at("dtype").integer()), {}, {}, meta.at("storage_offset").at("as_int").integer()};
    for (Json size = meta.at("sizes").first(); size; size = size.next())
      tensor.sizes.push_back(size.at("as_int").integer(-1));
    for (Json stride = meta.at("strides").first(); stride; stride = stride.next())
      tensor.strides.push_back(stride.at("as_int").integer(-1));
    std::shared_ptr<const void> owner = out_.file_;
    Bytes bytes;
    if (member.method == 0) {
      bytes = zip().stored_bytes(member);
    } else {
      if (auto ok = unpack(member.size); !ok) return ok;
      const auto content = zip().content(member, largest_unpacked, owner);
      if (!content) return tl::make_unexpected(content.error());
      bytes = *content;
    }
    auto constant = contiguous_constant(bytes, std::move(owner), tensor);
    if (constant && !within(constant->bytes, bytes))
      if (auto ok = unpack(constant->bytes.size()); !ok) return ok;
    for (const ValueId id : placeholders(payload.fqn)) {
      Value& value = model_.graphs.front().value(id);
      if (!constant || tensor.dtype != value.dtype || tensor.sizes != value.shape)
        return input_error(
            fmt::format("{}: offset {}: member {} holds {} bytes, which are not the {} {} that the program "
                        "expects for \"{}\"",
                        path_, member.payload_offset, member.name, bytes.size(), md::name(value.dtype),
                        shape_text(value.shape), payload.fqn));
      value.constant = *constant;
    }
    return {};
  }

  static bool within(Bytes part, Bytes whole) {
    return part.data() >= whole.data() && part.data() <= whole.data() + whole.size();
  }

  Status read_older_state() {
    for (const char* name : {"serialized_state_dict.pt", "serialized_constants.pt",
                             "serialized_state_dict.json", "serialized_constants.json"})
      if (auto ok = read_state(name); !ok) return ok;
    return {};
  }

  Status read_state(const std::string& name) {
    layout_.pickled = true;
    const ZipMember* member = zip().find(name);
    if (!member || member->size == 0) return {};
    const auto state = read_torch_state(zip(), *member, largest_unpacked);
    if (!state) return tl::make_unexpected(state.error());
    for (const std::string& fqn : state->others) filled_.insert(fqn);
    for (const Pt2StateTensor& tensor : state->tensors) {
      filled_.insert(tensor.fqn);
      if (placeholders(tensor.fqn).empty()) continue;
      auto constant = contiguous_constant(tensor.storage, tensor.owner, tensor.view);
      if (constant && !within(constant->bytes, tensor.storage))
        if (auto ok = unpack(constant->bytes.size()); !ok) return ok;
      for (const ValueId id : placeholders(tensor.fqn)) {
        Value& value = model_.graphs.front().value(id);
        if (!constant || tensor.view.dtype != value.dtype || tensor.view.sizes != value.shape)
          return input_error(
              fmt::format("{}: {}: the tensor \"{}\" is not the {} {} that the program expects", path_, name,
                          tensor.fqn, md::name(value.dtype), shape_text(value.shape)));
        value.constant = *constant;
      }
    }
    return {};
  }

  Status check_sums() {
    std::uint64_t left = crc_budget;
    for (const ZipMember& m : zip().members()) {
      if (m.method != 0 || m.size > left) continue;
      left -= m.size;
      if (auto ok = zip().check_crc(m, zip().stored_bytes(m)); !ok) return ok;
    }
    return {};
  }

  /// The interface of graph 0: constants are not inputs, and a buffer_mutation output becomes a node of the
  /// view.
  void finish() {
    Graph& graph = model_.graphs.front();
    Pt2GraphLayout& at = layout_.graphs.front();
    graph.inputs.clear();
    graph.outputs.clear();
    for (std::size_t i = 0; i < layout_.input_specs.size(); ++i) {
      const Pt2PortKind kind = layout_.input_specs[i].kind;
      if (at.input_ports[i].value != none_id && (kind == Pt2PortKind::user || kind == Pt2PortKind::other))
        graph.inputs.push_back(at.input_ports[i].value);
    }
    ModelSignature signature{"forward", 0, {}, {}};
    for (const ValueId v : graph.inputs) signature.inputs.emplace_back(graph.value(v).name, v);
    for (std::size_t i = 0; i < layout_.output_specs.size(); ++i) {
      const Pt2Spec& spec = layout_.output_specs[i];
      const ValueId v = at.output_ports[i].value;
      if (v == none_id) continue;
      const ValueId buffer = spec.kind == Pt2PortKind::mutation ? placeholder(spec.target) : none_id;
      if (buffer == none_id) {
        graph.outputs.push_back(v);
        signature.outputs.emplace_back(graph.value(v).name, v);
        continue;
      }
      graph.value(buffer).is_variable = true;
      Node node;
      node.op = "buffer_mutation", node.inputs = {buffer, v}, node.input_names = {"buffer", "value"};
      node.origin = static_cast<std::int32_t>(graph.nodes.size());
      graph.order.push_back(node.origin);
      graph.nodes.push_back(std::move(node));
      at.nodes_at.emplace_back();
      at.nodes_at.back().mutation = true;
    }
    model_.signatures.push_back(std::move(signature));
  }

  const ZipArchive& zip() const { return *out_.zip_; }

  Pt2Document& out_;
  Pt2Layout& layout_;
  Model& model_;
  const std::string& path_;
  std::unordered_map<std::string, std::vector<ValueId>> targets_;
  std::unordered_set<std::string> filled_;  ///< names that the weights or constants hold
  std::uint64_t unpacked_ = 0;
};

Result<std::unique_ptr<Document>> Pt2Document::open(std::shared_ptr<const MappedFile> file) {
  std::unique_ptr<Pt2Document> document(new Pt2Document(std::move(file)));
  if (auto ok = Pt2Reader(*document).run(); !ok) return tl::make_unexpected(ok.error());
  return std::unique_ptr<Document>(std::move(document));
}

Result<std::unique_ptr<Document>> open_pt2(std::shared_ptr<const MappedFile> file) {
  return Pt2Document::open(std::move(file));
}

WriteCapability Pt2Document::capability() const { return {true, ""}; }

}  // namespace md

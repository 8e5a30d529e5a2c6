#include "lib/format/tflite/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/edit/changes.h"
#include "tflite_generated.h"

namespace md::tfl {
namespace {

const TableInfo& table(std::string_view name) { return *table_info(name); }

std::string code_key(std::int32_t code, std::string_view custom, int version) {
  return fmt::format("{}/{}/{}", code, version, custom);
}

const flatbuffers::Table* generic(const void* t) { return static_cast<const flatbuffers::Table*>(t); }

bool is_dynamic(const Shape& shape) { return std::count(shape.begin(), shape.end(), dynamic_dim) > 0; }

}  // namespace

Builder::Builder(const TfliteFile& parts, const Model& edited, const RewriteOptions& options)
    : parts_(parts), edited_(edited), options_(options), names_(edited.graphs.size()) {
  if (const auto* codes = parts.root->operator_codes())
    for (flatbuffers::uoffset_t i = 0; i < codes->size(); ++i) {
      const tflite::OperatorCode& code = *codes->Get(i);
      const std::string_view custom =
          code.custom_code() ? std::string_view(code.custom_code()->c_str(), code.custom_code()->size()) : "";
      code_by_key_.emplace(code_key(builtin_code(code), custom, code.version()), i);
    }
  if (const auto* buffers = parts.root->buffers())
    for (flatbuffers::uoffset_t i = 1; i < buffers->size(); ++i)
      if (const Bytes bytes = buffer_bytes(*parts.file, *buffers->Get(i)); !bytes.empty())
        buffer_by_bytes_.emplace(bytes.data(), std::pair{bytes.size(), i});
}

const Graph* Builder::original_graph(std::size_t g) const {
  return g < parts_.model.graphs.size() ? &parts_.model.graphs[g] : nullptr;
}

template <class T>
Target Builder::ints(const std::vector<T>& values) {
  return {front.add_numbers(std::vector<std::int32_t>(values.begin(), values.end())), 0};
}

/// Marks the old codes that operators of the file name and none of the edited model does. Runtimes look up
/// every code of the list when they load a file, so that one left over keeps an old runtime from loading the
/// mended model.
std::vector<char> Builder::abandoned_codes() const {
  const auto* old = parts_.root->operator_codes();
  std::vector<char> before(old ? old->size() : 0, 0), now(before.size(), 0);
  for (std::size_t g = 0; g < edited_.graphs.size(); ++g) {
    const Graph* original = original_graph(g);
    if (!original) continue;
    const auto* operators =
        parts_.root->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(g))->operators();
    for (const NodeId id : original->order)
      before[operators->Get(static_cast<flatbuffers::uoffset_t>(id))->opcode_index()] = 1;
    for (const NodeId id : edited_.graphs[g].order) {
      const Node& node = edited_.graphs[g].node(id);
      if (node.origin < 0) continue;
      const Node& was = original->node(node.origin);
      if (was.op == node.op && was.custom == node.custom && was.version == node.version)
        now[operators->Get(static_cast<flatbuffers::uoffset_t>(node.origin))->opcode_index()] = 1;
    }
  }
  for (const std::uint32_t code : reused_codes_) now[code] = 1;
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = before[i] && !now[i];
  return now;
}

std::optional<Target> Builder::operator_codes() {
  const auto* old = parts_.root->operator_codes();
  const std::vector<char> abandoned = abandoned_codes();
  const bool drops = std::count(abandoned.begin(), abandoned.end(), 1) > 0;
  if (new_codes_.empty() && !drops && !options_.everything) return std::nullopt;
  // Operators that stay name codes by position: an abandoned place repeats a code that is in use.
  std::optional<Target> in_use;
  for (std::size_t i = 0; i < abandoned.size() && !in_use; ++i)
    if (!abandoned[i]) in_use = Target{-1, position(old->Get(static_cast<flatbuffers::uoffset_t>(i)))};
  if (!in_use && !new_codes_.empty()) in_use = new_codes_.front();
  std::vector<Target> all;
  for (flatbuffers::uoffset_t i = 0; old && i < old->size(); ++i)
    all.push_back(abandoned[i] && in_use ? *in_use : Target{-1, position(old->Get(i))});
  all.insert(all.end(), new_codes_.begin(), new_codes_.end());
  return Target{front.add_targets(std::move(all)), 0};
}

std::optional<Target> Builder::buffers() {
  const auto* old = parts_.root->buffers();
  if (new_buffers_.empty() && !options_.everything) return std::nullopt;
  std::vector<Target> all;
  for (flatbuffers::uoffset_t i = 0; old && i < old->size(); ++i) {
    auto copy = options_.everything ? Draft::copy_of(generic(old->Get(i)), table("Buffer"), file())
                                    : fail(Error::Kind::internal, "");
    if (!copy) {
      all.push_back({-1, position(old->Get(i))});
      continue;
    }
    if (old->Get(i)->offset() > 1) copy->mark_as_position("offset");
    all.push_back({front.add_table(std::move(*copy)), 0});
  }
  all.insert(all.end(), new_buffers_.begin(), new_buffers_.end());
  return Target{front.add_targets(std::move(all)), 0};
}

Result<std::uint32_t> Builder::code_index(const Node& node) {
  const auto code = operator_code(node.op);
  if (!code) return fail(Error::Kind::unsupported, fmt::format("there is no TFLite operator {}", node.op));
  const std::string_view custom = node.op == "CUSTOM" ? std::string_view(node.custom) : "";
  const int version = std::max(1, node.version);
  const auto next = static_cast<std::uint32_t>(
      (parts_.root->operator_codes() ? parts_.root->operator_codes()->size() : 0) + new_codes_.size());
  const auto [at, added] = code_by_key_.emplace(code_key(*code, custom, version), next);
  if (!added) {
    if (at->second < (parts_.root->operator_codes() ? parts_.root->operator_codes()->size() : 0))
      reused_codes_.insert(at->second);
    return at->second;
  }
  Draft draft(table("OperatorCode"));
  // Old readers know the byte alone; for what it cannot hold it says 127, a placeholder.
  draft.set_scalar("deprecated_builtin_code", static_cast<std::uint64_t>(std::min(*code, 127)));
  draft.set_scalar("builtin_code", static_cast<std::uint64_t>(*code));
  draft.set_scalar("version", static_cast<std::uint64_t>(version));
  if (!custom.empty()) draft.set("custom_code", {front.add_string(custom), 0});
  new_codes_.push_back({front.add_table(std::move(draft)), 0});
  return next;
}

/// The buffer that holds exactly these bytes, a new one when there is none; 0, the empty one, for no bytes.
std::uint32_t Builder::buffer_index(const Constant& constant) {
  if (constant.bytes.empty()) return 0;
  if (const auto known = buffer_by_bytes_.find(constant.bytes.data());
      known != buffer_by_bytes_.end() && known->second.first == constant.bytes.size())
    return known->second.second;
  std::uint32_t next = parts_.root->buffers() ? parts_.root->buffers()->size() : 0;
  if (next == 0 && new_buffers_.empty())
    new_buffers_.push_back({front.add_table(Draft(table("Buffer"))), 0});  // buffer 0 stays empty
  next += static_cast<std::uint32_t>(new_buffers_.size());
  Draft draft(table("Buffer"));
  draft.set("data", {front.add_vector(constant.bytes, constant.bytes.size(), 16), 0});
  new_buffers_.push_back({front.add_table(std::move(draft)), 0});
  buffer_by_bytes_[constant.bytes.data()] = {constant.bytes.size(), next};
  return next;
}

std::string Builder::unique_name(std::size_t g, ValueId id) {
  auto& taken = names_[g];
  const Graph& graph = edited_.graphs[g];
  if (taken.empty())
    for (const Value& value : graph.values)
      if (value.origin != none_id) taken.insert(value.name);
  const std::string hint = graph.value(id).name.empty() ? fmt::format("value_{}", id) : graph.value(id).name;
  if (taken.insert(hint).second) return hint;
  // The id makes it unique in one step, but for a file that holds such a name already.
  std::string name = fmt::format("{}_{}", hint, id);
  while (!taken.insert(name).second) name += '_';
  return name;
}

Target Builder::dimension(const Sparsity::Dimension& from) {
  Draft draft(table("DimensionMetadata"));
  draft.set_scalar("format", static_cast<std::uint64_t>(from.sparse ? tflite::DimensionType::SPARSE_CSR
                                                                    : tflite::DimensionType::DENSE));
  draft.set_scalar("dense_size", static_cast<std::uint32_t>(from.dense_size));
  const auto index = [&](const char* field, const std::vector<std::int32_t>& values) {
    Draft list(table("Int32Vector"));
    list.set("values", ints(values));
    draft.set_scalar(std::string(field) + "_type",
                     static_cast<std::uint64_t>(tflite::SparseIndexVector::Int32Vector));
    draft.set(field, {front.add_table(std::move(list)), 0});
  };
  if (from.sparse) index("array_segments", from.segments), index("array_indices", from.indices);
  return {front.add_table(std::move(draft)), 0};
}

Target Builder::sparsity(const Sparsity& from) {
  Draft draft(table("SparsityParameters"));
  draft.set("traversal_order", ints(from.traversal_order));
  if (!from.block_map.empty()) draft.set("block_map", ints(from.block_map));
  std::vector<Target> dimensions;
  for (const Sparsity::Dimension& d : from.dimensions) dimensions.push_back(dimension(d));
  draft.set("dim_metadata", {front.add_targets(std::move(dimensions)), 0});
  return {front.add_table(std::move(draft)), 0};
}

Result<Target> Builder::quantization(const Quantization& q, const tflite::QuantizationParameters* old) {
  Draft draft(table("QuantizationParameters"));
  if (old) {
    auto copy = Draft::copy_of(generic(old), table("QuantizationParameters"), file());
    if (!copy) return tl::make_unexpected(copy.error());
    draft = std::move(*copy);
  }
  const auto list = [&](const char* field, const auto& values) {
    draft.clear(field);
    if (!values.empty()) draft.set(field, {front.add_numbers(values), 0});
  };
  list("scale", q.scale);
  list("zero_point", q.zero_point);
  list("min", q.min);
  list("max", q.max);
  draft.set_scalar("quantized_dimension", static_cast<std::uint32_t>(q.axis));
  return Target{front.add_table(std::move(draft)), 0};
}

/// dtype, shape, marks: what is stored inline or as a short list.
Status Builder::set_type(Draft& draft, const Value& value, const Value* before) {
  const bool all = !before || options_.everything;
  if (all || before->dtype != value.dtype) {
    const auto type = tensor_type_of(value.dtype);
    if (!type && !(before && before->dtype == value.dtype))
      return fail(Error::Kind::unsupported,
                  fmt::format("value \"{}\": .tflite has no type {}", value.name, name(value.dtype)));
    if (type) draft.set_scalar("type", static_cast<std::uint64_t>(*type));
  }
  if (all || before->shape != value.shape) {
    Shape sizes = value.shape;
    const bool keeps_default = before && before->shape == value.shape && !before->default_shape.empty();
    if (keeps_default) sizes = before->default_shape;
    for (std::int64_t& dim : sizes) {
      if (dim == dynamic_dim && !(before && before->shape == value.shape))
        dim = 1;  // until the caller resizes
      if (dim < -1 || dim > 0x7fffffff)
        return fail(Error::Kind::unsupported,
                    fmt::format("value \"{}\": .tflite has no dimension of size {}", value.name, dim));
    }
    draft.set("shape", ints(sizes));
    if (!(before && before->shape == value.shape)) {
      draft.clear("shape_signature");
      if (is_dynamic(value.shape)) draft.set("shape_signature", ints(value.shape));
      draft.set_scalar("has_rank", 1);
    } else if (keeps_default) {
      draft.set("shape_signature", ints(value.shape));
    }
  }
  if (all || before->is_variable != value.is_variable)
    draft.set_scalar("is_variable", value.is_variable ? 1 : 0);
  return {};
}

Result<Target> Builder::tensor(std::size_t g, ValueId id) {
  const Value& value = edited_.graphs[g].value(id);
  const Graph* graph = original_graph(g);
  const Value* before =
      graph && static_cast<std::size_t>(id) < graph->values.size() ? &graph->value(id) : nullptr;
  const tflite::Tensor* old = nullptr;
  Draft draft(table("Tensor"));
  if (before) {
    old = parts_.root->subgraphs()
              ->Get(static_cast<flatbuffers::uoffset_t>(g))
              ->tensors()
              ->Get(static_cast<flatbuffers::uoffset_t>(id));
    if (!options_.everything && same_type(*before, value) && same_constant(*before, value))
      return Target{-1, position(old)};
    auto copy = Draft::copy_of(generic(old), table("Tensor"), file());
    if (!copy) return tl::make_unexpected(copy.error());
    draft = std::move(*copy);
  }
  const bool all = !before || options_.everything;
  const bool had_name = old && old->name();
  if (!before)
    draft.set("name", {front.add_string(unique_name(g, id)), 0});
  else if (before->name != value.name || (options_.everything && had_name))
    draft.set("name", {front.add_string(value.name), 0});
  if (auto done = set_type(draft, value, before); !done) return tl::make_unexpected(done.error());
  if (!before || !same_constant(*before, value)) {
    draft.set_scalar("buffer", value.constant ? buffer_index(*value.constant) : 0);
    draft.clear("external_buffer");
  }
  if (all || before->quantization != value.quantization) {
    if (value.quantization) {
      auto q = quantization(*value.quantization, old ? old->quantization() : nullptr);
      if (!q) return tl::make_unexpected(q.error());
      draft.set("quantization", *q);
    } else if (before && before->quantization) {
      draft.clear("quantization");
    }
  }
  if (all || before->sparsity != value.sparsity) {
    if (value.sparsity && (!before || before->sparsity != value.sparsity))
      draft.set("sparsity", sparsity(*value.sparsity));
    if (!value.sparsity && before && before->sparsity) draft.clear("sparsity");
  }
  return Target{front.add_table(std::move(draft)), 0};
}

}  // namespace md::tfl

#include "lib/format/tflite/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lib/edit/changes.h"
#include "lib/format/tflite/appended_zip.h"
#include "lib/format/tflite/build.h"
#include "lib/format/tflite/verify.h"
#include "tflite_generated.h"

namespace md::tfl {
namespace {

const flatbuffers::Table* generic(const void* t) { return static_cast<const flatbuffers::Table*>(t); }

class Writer {
 public:
  Writer(const TfliteFile& parts, const Model& edited, const RewriteOptions& options)
      : builder_(parts, edited, options), parts_(parts), edited_(edited) {}
  Status write(ByteSink& sink);

 private:
  Result<Target> graph(std::size_t g);
  Result<Target> signature(std::size_t s);
  Target tensor_map(const std::string& name, ValueId id);
  Result<ObjectId> model();
  Result<std::vector<BytePatch>> corrections(std::uint64_t shift) const;
  Status append_old(const std::vector<BytePatch>& patches, ByteSink& sink) const;

  Builder builder_;
  const TfliteFile& parts_;
  const Model& edited_;
  std::set<std::int32_t> changed_graphs_;
};

Result<Target> Writer::graph(std::size_t g) {
  const Graph& graph = edited_.graphs[g];
  Draft draft(*table_info("SubGraph"));
  const bool known = g < parts_.model.graphs.size();
  if (known) {
    const tflite::SubGraph* old = parts_.root->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(g));
    if (!changed_graphs_.count(static_cast<std::int32_t>(g))) return Target{-1, builder_.position(old)};
    auto copy = Draft::copy_of(generic(old), draft.info(), builder_.file());
    if (!copy) return tl::make_unexpected(copy.error());
    draft = std::move(*copy);
  }
  std::vector<Target> tensors, operators;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    auto target = builder_.tensor(g, static_cast<ValueId>(v));
    if (!target) return target;
    tensors.push_back(*target);
  }
  for (const NodeId id : graph.order) {
    auto target = builder_.operation(g, id);
    if (!target) return target;
    operators.push_back(*target);
  }
  Front& front = builder_.front;
  draft.set("tensors", {front.add_targets(std::move(tensors)), 0});
  draft.set("operators", {front.add_targets(std::move(operators)), 0});
  draft.set("inputs", {front.add_numbers(graph.inputs), 0});
  draft.set("outputs", {front.add_numbers(graph.outputs), 0});
  if (!known && !graph.name.empty()) draft.set("name", {front.add_string(graph.name), 0});
  return Target{front.add_table(std::move(draft)), 0};
}

Target Writer::tensor_map(const std::string& name, ValueId id) {
  Draft draft(*table_info("TensorMap"));
  draft.set("name", {builder_.front.add_string(name), 0});
  draft.set_scalar("tensor_index", static_cast<std::uint32_t>(id));
  return {builder_.front.add_table(std::move(draft)), 0};
}

Result<Target> Writer::signature(std::size_t s) {
  const ModelSignature& now = edited_.signatures[s];
  Draft draft(*table_info("SignatureDef"));
  if (s < parts_.model.signatures.size()) {
    const ModelSignature& before = parts_.model.signatures[s];
    const tflite::SignatureDef* old =
        parts_.root->signature_defs()->Get(static_cast<flatbuffers::uoffset_t>(s));
    const bool same = before.key == now.key && before.graph == now.graph && before.inputs == now.inputs &&
                      before.outputs == now.outputs;
    if (same && !builder_.everything()) return Target{-1, builder_.position(old)};
    auto copy = Draft::copy_of(generic(old), draft.info(), builder_.file());
    if (!copy) return tl::make_unexpected(copy.error());
    draft = std::move(*copy);
  }
  const auto maps = [&](const std::vector<std::pair<std::string, ValueId>>& entries) {
    std::vector<Target> targets;
    for (const auto& [name, id] : entries) targets.push_back(tensor_map(name, id));
    return Target{builder_.front.add_targets(std::move(targets)), 0};
  };
  draft.set("inputs", maps(now.inputs));
  draft.set("outputs", maps(now.outputs));
  draft.set("signature_key", {builder_.front.add_string(now.key), 0});
  draft.set_scalar("subgraph_index", static_cast<std::uint32_t>(now.graph));
  return Target{builder_.front.add_table(std::move(draft)), 0};
}

Result<ObjectId> Writer::model() {
  auto draft = Draft::copy_of(generic(parts_.root), *table_info("Model"), builder_.file());
  if (!draft) return tl::make_unexpected(draft.error());
  const Changes changes = list_changes(parts_.model, edited_);
  for (const GraphChanges& g : changes.graphs) changed_graphs_.insert(g.graph);
  for (std::size_t g = 0; builder_.everything() && g < edited_.graphs.size(); ++g)
    changed_graphs_.insert(static_cast<std::int32_t>(g));
  std::vector<Target> graphs, signatures;
  for (std::size_t g = 0; g < edited_.graphs.size(); ++g) {
    auto target = graph(g);
    if (!target) return tl::make_unexpected(target.error());
    graphs.push_back(*target);
  }
  Front& front = builder_.front;
  draft->set("subgraphs", {front.add_targets(std::move(graphs)), 0});
  if (changes.signatures || (builder_.everything() && draft->has("signature_defs"))) {
    for (std::size_t s = 0; s < edited_.signatures.size(); ++s) {
      auto target = signature(s);
      if (!target) return tl::make_unexpected(target.error());
      signatures.push_back(*target);
    }
    draft->set("signature_defs", {front.add_targets(std::move(signatures)), 0});
  }
  if (const auto codes = builder_.operator_codes()) draft->set("operator_codes", *codes);
  if (const auto buffers = builder_.buffers()) draft->set("buffers", *buffers);
  return front.add_table(std::move(*draft));
}

void push_moved(std::vector<BytePatch>& patches, std::uint64_t at, std::uint64_t position) {
  BytePatch patch{at, std::vector<std::uint8_t>(sizeof position)};
  std::memcpy(patch.bytes.data(), &position, sizeof position);
  patches.push_back(std::move(patch));
}

/// Absolute positions inside the old bytes, each corrected once even where slots share a table.
Result<std::vector<BytePatch>> Writer::corrections(std::uint64_t shift) const {
  auto patches = shift_appended_zip(*parts_.file, shift);
  if (!patches) return patches;
  std::set<std::uint64_t> seen;
  const auto move = [&](const void* table, flatbuffers::voffset_t field, std::uint64_t position) {
    const std::uint64_t at = builder_.position(generic(table)->GetAddressOf(field));
    if (seen.insert(at).second) push_moved(*patches, at, position + shift);
  };
  if (const auto* buffers = parts_.root->buffers())
    for (const tflite::Buffer* buffer : *buffers)
      if (buffer->offset() > 1) move(buffer, tflite::Buffer::VT_OFFSET, buffer->offset());
  if (const auto* graphs = parts_.root->subgraphs())
    for (const tflite::SubGraph* graph : *graphs) {
      if (!graph->operators()) continue;
      for (const tflite::Operator* op : *graph->operators())
        if (op->large_custom_options_offset() > 1)
          move(op, tflite::Operator::VT_LARGE_CUSTOM_OPTIONS_OFFSET, op->large_custom_options_offset());
    }
  std::sort(patches->begin(), patches->end(),
            [](const BytePatch& a, const BytePatch& b) { return a.position < b.position; });
  for (std::size_t i = 1; i < patches->size(); ++i)
    if ((*patches)[i].position < (*patches)[i - 1].position + (*patches)[i - 1].bytes.size())
      return fail(Error::Kind::unsupported, "its tables overlap");
  return patches;
}

Status Writer::append_old(const std::vector<BytePatch>& patches, ByteSink& sink) const {
  std::uint64_t at = 0;
  for (const BytePatch& patch : patches) {
    if (auto done = sink.append_range(*parts_.file, at, patch.position - at); !done) return done;
    if (auto done = sink.append(Bytes(patch.bytes)); !done) return done;
    at = patch.position + patch.bytes.size();
  }
  return sink.append_range(*parts_.file, at, builder_.file().size() - at);
}

Status Writer::write(ByteSink& sink) {
  const auto root = model();
  if (!root) return tl::make_unexpected(root.error());
  const std::string_view identifier(reinterpret_cast<const char*>(builder_.file().data()) + 4, 4);
  const auto front = builder_.front.finish(*root, identifier);
  if (!front) return tl::make_unexpected(front.error());
  const std::uint64_t old_size = builder_.file().size();
  if (old_size <= flatbuffer_limit && old_size + front->size() > flatbuffer_limit)
    return fail(Error::Kind::unsupported,
                "with the changes it would pass the 2 GB that flatbuffer offsets reach");
  const auto patches = corrections(front->size());
  if (!patches) return tl::make_unexpected(patches.error());
  if (auto done = sink.append(Bytes(*front)); !done) return done;
  return append_old(*patches, sink);
}

}  // namespace

WriteCapability write_capability(const TfliteFile& parts) {
  if (parts.has_dispatch_operator)
    return {false,
            "it holds a program compiled for an NPU (operator DISPATCH_OP), which records positions in this "
            "very file; fix the model before it is compiled"};
  return {true, ""};
}

Status rewrite(const TfliteFile& parts, const Model& edited, const RewriteOptions& options, ByteSink& sink) {
  const auto named = [&](Error error) {
    if (error.kind == Error::Kind::unsupported)
      error.message = fmt::format("{}: cannot be rewritten: {}", parts.file->path(), error.message);
    return tl::make_unexpected(std::move(error));
  };
  if (const auto capability = write_capability(parts); !capability.can_write)
    return named({Error::Kind::unsupported, capability.reason});
  if (edited.graphs.size() < parts.model.graphs.size())
    return named({Error::Kind::unsupported, "a graph was removed, and calls between graphs go by number"});
  for (std::size_t g = 0; g < parts.model.graphs.size(); ++g)
    if (edited.graphs[g].values.size() < parts.model.graphs[g].values.size())
      return named({Error::Kind::unsupported, "values were removed, and signatures go by number"});
  if (auto done = Writer(parts, edited, options).write(sink); !done) return named(done.error());
  return {};
}

}  // namespace md::tfl

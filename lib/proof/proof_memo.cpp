#include "lib/proof/proof_memo.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

#include "lib/base/sha256.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/site.h"

namespace md {
namespace {

/// Everything that a proof of a site depends on, as text. nullopt: it also depends on what lies around
/// (indices, other graphs, constants that are computed).
class Key {
 public:
  static std::optional<std::string> of(const Model& before, const Model& after, const Site& site,
                                       const ProofOptions& options) {
    Key key;
    key.text_ = fmt::format("{} {} {} {} {} {} {}\n", before.dialect ? before.dialect->name : "",
                            static_cast<int>(options.exactness), options.max_error, options.samples,
                            options.seed, options.thorough, options.repairs_fp16);
    const auto g = static_cast<std::size_t>(site.graph);
    const Graph &a = before.graphs[g], &b = after.graphs[g];
    if (!site.folded.empty()) return std::nullopt;
    for (const ValueId v : site.inputs) {
      const Graph& owner = static_cast<std::size_t>(v) < a.values.size() ? a : b;
      if (!is_float(owner.value(v).dtype)) return std::nullopt;
      key.value(a, v), key.value(b, v);
    }
    if (!key.nodes(a, site.before)) return std::nullopt;
    key.text_ += "after\n";
    if (!key.nodes(b, site.after)) return std::nullopt;
    for (const auto& [old_value, new_value] : site.outputs) key.value(a, old_value), key.value(b, new_value);
    return sha256({reinterpret_cast<const std::uint8_t*>(key.text_.data()), key.text_.size()});
  }

 private:
  bool nodes(const Graph& graph, const std::vector<NodeId>& ids) {
    for (const NodeId id : ids) {
      const Node& node = graph.node(id);
      if (!node.subgraphs.empty()) return false;
      text_ += node.op + " " + node.custom;
      for (const auto& [name, attribute] : node.attrs)
        text_ += fmt::format(" {}={}", name, print_attribute(attribute));
      for (const ValueId v : node.inputs) value(graph, v);
      text_ += " ->";
      for (const ValueId v : node.outputs) value(graph, v);
      text_ += '\n';
    }
    return true;
  }

  void value(const Graph& graph, ValueId id) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) {
      text_ += " _";
      return;
    }
    const Value& v = graph.value(id);
    const auto number = numbers_.try_emplace(id, numbers_.size()).first->second;
    text_ += fmt::format(" {}:{}", number, static_cast<int>(v.dtype));
    for (const std::int64_t d : v.shape) text_ += fmt::format(",{}", d);
    if (v.quantization) {
      text_ += fmt::format(" q{}", v.quantization->axis);
      for (const float s : v.quantization->scale) text_ += fmt::format(",{}", s);
      for (const std::int64_t z : v.quantization->zero_point) text_ += fmt::format(",{}", z);
    }
    if (v.constant) text_ += " " + sha256(v.constant->bytes);
  }

  std::string text_;
  std::unordered_map<ValueId, std::size_t> numbers_;  ///< by the order in which values are met
};

}  // namespace

Proof ProofMemo::prove(const Model& before, const Model& after, int graph_index,
                       const ProofOptions& options) {
  const auto g = static_cast<std::size_t>(graph_index);
  const bool there = graph_index >= 0 && g < before.graphs.size() && g < after.graphs.size();
  const auto key =
      there ? Key::of(before, after, find_site(before, after, graph_index), options) : std::nullopt;
  if (key)
    if (const auto at = known_.find(*key); at != known_.end()) return at->second;
  Proof proof = md::prove(before, after, graph_index, options);
  // A name in a text, or nodes above the site in the proof, belong to one site alone.
  const auto is_about_names = [](const std::string& text) { return text.find('"') != std::string::npos; };
  if (key && proof.equal && proof.note.find("above the site") == std::string::npos &&
      !is_about_names(proof.note) && !is_about_names(proof.nonfinite))
    known_.emplace(*key, proof);
  return proof;
}

}  // namespace md

#include "lib/rewrite/aten/functionalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Walks the graph in execution order. Every tensor has a base (what it is a view of, in the end) and every
/// base a count of writes; a value whose base was written since it was made is made again from the base's
/// newest value.
class Functionalizer {
 public:
  Functionalizer(const DetectContext& context, const std::function<bool(ValueId)>& chosen)
      : graph_(context.graph), chosen_(chosen), b_(context.graph, context.graph_index, "functional writes") {}

  Functionalized run() {
    for (const NodeId id : graph_.order) {
      const Node& node = graph_.node(id);
      note_alias(node, id);
      if (aten_in_place(node.op) && !node.outputs.empty() && !only_detaches(node) && is_written(node))
        write(node, id);
      else
        read(node, id);
      if (!out_.reason.empty()) return std::move(out_);
    }
    if (out_.writes.empty()) return std::move(out_);
    finish_outputs();
    store_buffers();
    out_.patch = b_.take();
    return std::move(out_);
  }

 private:
  struct View {
    ValueId of = none_id;
    NodeId by = none_id;  ///< none_id: the same tensor under another name
  };

  void note_alias(const Node& node, NodeId id) {
    if (node.inputs.empty() || node.inputs[0] < 0) return;
    if (aten_view(node.op) && !node.outputs.empty() && returns_list(node.op)) return note_parts(node, id);
    if (node.outputs.size() != 1) return;
    if (aten_in_place(node.op))
      views_[node.outputs[0]] = {
          aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0], none_id};
    else if (aten_view(node.op))
      views_[node.outputs[0]] = {node.inputs[0], id};
  }

  /// detach_ ends in the mark of in-place operators and writes nothing: it is the same tensor.
  static bool only_detaches(const Node& node) { return aten_base(node.op) == "aten.detach"; }

  static bool returns_list(const std::string& op) {
    const std::string base = aten_base(op);
    return base == "aten.split" || base == "aten.split_with_sizes" || base == "aten.chunk" ||
           base == "aten.unbind";
  }

  /// Each result of a split is a slice of what is split, each of unbind a selection.
  void note_parts(const Node& node, NodeId id) {
    const Value& whole = graph_.value(node.inputs[0]);
    const auto dim = aten_dim(node, "dim", whole.rank(), 0);
    const bool unbind = aten_base(node.op) == "aten.unbind";
    std::int64_t start = 0;
    for (std::size_t i = 0; dim && i < node.outputs.size(); ++i) {
      const Value& part = graph_.value(node.outputs[i]);
      const std::int64_t length = unbind ? 1 : part.shape[static_cast<std::size_t>(*dim)];
      if (length < 0) break;
      Node one;
      one.op = unbind ? "aten.select.int" : "aten.slice.Tensor";
      one.inputs = {node.inputs[0]}, one.input_names = {"self"}, one.outputs = {node.outputs[i]};
      one.attrs.set("dim", std::int64_t{*dim});
      if (unbind)
        one.attrs.set("index", start);
      else
        one.attrs.set("start", start), one.attrs.set("end", start + length);
      start += length;
      views_[node.outputs[i]] = {node.inputs[0], id};
      parts_[node.outputs[i]] = std::move(one);
    }
  }

  /// The node that makes a view of what it is a view of.
  const Node& view_node(ValueId v) const {
    const auto part = parts_.find(v);
    return part != parts_.end() ? part->second : graph_.node(views_.at(v).by);
  }

  ValueId base_of(ValueId v) const {
    for (auto it = views_.find(v); it != views_.end(); it = views_.find(v)) v = it->second.of;
    return v;
  }
  /// The tensor itself, without names that in-place nodes gave it.
  ValueId same(ValueId v) const {
    for (auto it = views_.find(v); it != views_.end() && it->second.by == none_id; it = views_.find(v))
      v = it->second.of;
    return v;
  }
  bool is_written(const Node& node) const { return chosen_(base_of(node.inputs[0])); }

  /// The value to read for `v` now.
  ValueId newest(ValueId v) {
    const ValueId self = same(v);
    const ValueId base = base_of(self);
    const auto writes = writes_.find(base);
    if (writes == writes_.end()) return v;
    if (const auto made = made_at_.find(self); made != made_at_.end() && made->second == writes->second)
      return newest_.at(self);
    const auto view = views_.find(self);
    if (view == views_.end()) return newest_.count(self) ? newest_.at(self) : v;
    const ValueId source = newest(view->second.of);
    Node again = view_node(self);
    again.inputs[0] = source;
    again.origins = {view->second.by};
    const Value& value = graph_.value(self);
    const ValueId out = b_.add_value(value.name + "_again", value.dtype, value.shape);
    b_.patch().new_values.back().dim_names = value.dim_names;
    again.outputs = {out};
    b_.add_node(std::move(again));
    newest_[self] = out, made_at_[self] = writes->second;
    return out;
  }

  void read(const Node& node, NodeId id) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      const ValueId now = newest(node.inputs[i]);
      if (now != node.inputs[i]) b_.rewire(id, static_cast<int>(i), now);
    }
    // A view that is made now shows its base as it is now.
    for (const ValueId out : node.outputs)
      if (const auto view = views_.find(out); view != views_.end() && view->second.by == id)
        if (const auto writes = writes_.find(base_of(out)); writes != writes_.end())
          newest_[out] = out, made_at_[out] = writes->second;
  }

  void write(const Node& node, NodeId id) {
    const ValueId self = same(aten_operand(node, "self") >= 0 ? aten_operand(node, "self") : node.inputs[0]);
    const ValueId base = base_of(self);
    if (out_.base == none_id) out_.base = base;
    out_.writes.push_back(id);
    b_.remove(id);
    std::vector<ValueId> chain{self}, old{newest(self)};
    for (auto it = views_.find(self); it != views_.end(); it = views_.find(chain.back()))
      chain.push_back(same(it->second.of)), old.push_back(newest(chain.back()));
    ValueId value = functional(node, id, old.front());
    std::vector<ValueId> now{value};
    for (std::size_t i = 1; i < chain.size(); ++i) {
      value = put_back(old[i], value, view_node(chain[i - 1]), chain[i]);
      if (value == none_id) return;
      now.push_back(value);
    }
    const int count = ++writes_[base];
    for (std::size_t i = 0; i < chain.size(); ++i) newest_[chain[i]] = now[i], made_at_[chain[i]] = count;
  }

  /// What the in-place node computes, as a value.
  ValueId functional(const Node& node, NodeId id, ValueId self) {
    const ValueId out = node.outputs[0];
    const Value& type = graph_.value(out);
    const std::string base = aten_base(node.op);
    const bool fills =
        base == "aten.fill" && aten_operand(node, "value") >= 0;  // fill_ with a tensor of one element
    if (base == "aten.copy" || fills) {
      ValueId src = aten_operand(node, fills ? "value" : "src");
      if (src < 0) return fail("copy_ of a number");
      src = newest(src);
      if (b_.dtype(src) != type.dtype) src = b_.to(src, type.dtype);
      if (b_.shape(src) == type.shape) return src;
      Attributes attrs;
      attrs.set("size", type.shape);
      return b_.make("aten.expand.default", {{"self", src}}, std::move(attrs), type.dtype, type.shape);
    }
    if (base == "aten.zero" || base == "aten.fill") {
      if (!element_count(type.shape) || (base == "aten.fill" && !node.attrs.find("value")))
        return fail("fill_ with a tensor, or of unknown size");
      Attributes attrs;
      attrs.set("size", type.shape),
          attrs.set("fill_value",
                    base == "aten.zero" ? AttrValue(std::int64_t{0}) : *node.attrs.find("value")),
          attrs.set("dtype", aten_scalar_type(type.dtype));
      attrs.set("device", std::string("cpu")), attrs.set("pin_memory", false);
      return b_.make("aten.full.default", {}, std::move(attrs), type.dtype, type.shape);
    }
    Node copy = node;
    copy.op = aten_functional(node.op);
    copy.origins = {id};
    bool promotes = false;
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
      if (copy.inputs[i] < 0) continue;
      copy.inputs[i] = i == 0 ? self : newest(copy.inputs[i]);
      const DType other = b_.dtype(copy.inputs[i]);
      promotes = promotes ||
                 (is_float(other) && bit_width(other) > bit_width(type.dtype) && b_.rank(copy.inputs[i]) > 0);
    }
    if (promotes) return fail("an operand of a wider type than what is written");
    copy.outputs = {out};
    b_.add_node(std::move(copy));
    return out;
  }

  /// The whole tensor with the written part in its place.
  ValueId put_back(ValueId whole, ValueId part, const Node& view, ValueId of) {
    const std::string base = aten_base(view.op);
    const Value& type = graph_.value(of);
    if (base == "aten.slice" || base == "aten.select")
      return b_.make(base == "aten.slice" ? "aten.slice_scatter.default" : "aten.select_scatter.default",
                     {{"self", whole}, {"src", part}}, view.attrs, type.dtype, type.shape);
    if (base == "aten.alias" || base == "aten.detach") return part;
    if (base == "aten.t" && type.shape.size() == 2) return b_.transpose(part, 0, 1);
    if (base == "aten.t" && type.shape.size() == 2) return b_.transpose(part, 0, 1);
    if (base == "aten.transpose")
      return b_.make("aten.transpose.int", {{"self", part}}, view.attrs, type.dtype, type.shape);
    const bool reshapes = base == "aten.view" || base == "aten.reshape" || base == "aten._unsafe_view" ||
                          base == "aten.squeeze" || base == "aten.unsqueeze" || base == "aten.flatten" ||
                          base == "aten.unflatten";
    if (reshapes && element_count(type.shape)) return b_.reshape(part, type.shape);
    if (base == "aten.permute") {
      const auto* dims = view.attrs.integers("dims");
      if (!dims || dims->size() != type.shape.size()) return fail("a permutation that cannot be read");
      std::vector<std::int64_t> back(dims->size());
      for (std::size_t i = 0; i < dims->size(); ++i) {
        const std::int64_t d =
            (*dims)[i] < 0 ? (*dims)[i] + static_cast<std::int64_t>(dims->size()) : (*dims)[i];
        if (d < 0 || d >= static_cast<std::int64_t>(back.size()))
          return fail("a permutation that cannot be read");
        back[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(i);
      }
      Attributes attrs;
      attrs.set("dims", back);
      return b_.make("aten.permute.default", {{"self", part}}, std::move(attrs), type.dtype, type.shape);
    }
    return fail(fmt::format("it writes through {}", view.op));
  }

  ValueId fail(const std::string& why) {
    if (out_.reason.empty()) out_.reason = why;
    return none_id;
  }

  /// A graph output that was written: its name goes to the newest value.
  void finish_outputs() {
    const std::set<ValueId> outputs(graph_.outputs.begin(), graph_.outputs.end());
    for (const ValueId out : outputs) {
      const ValueId now = newest(out);
      if (now == out) continue;
      const NodeId maker = graph_.producer(out);
      const auto& gone = b_.patch().removed;
      if (maker == none_id) return void(fail("an output is the written buffer itself"));
      if (std::find(gone.begin(), gone.end(), maker) == gone.end())
        rename(maker, out);
      else if (writes_output(out))
        rename_new(out);
      b_.write("aten.clone.default", {{"self", now}}, {}, out);
    }
  }
  bool writes_output(ValueId out) {
    return std::any_of(b_.patch().new_nodes.begin(), b_.patch().new_nodes.end(),
                       [&](const Node& n) { return n.outputs.front() == out; });
  }
  /// The node of the file that makes `out` makes another value, which all its readers read.
  void rename(NodeId maker, ValueId out) {
    const ValueId early = early_value(out);
    const auto& outputs = graph_.node(maker).outputs;
    NodeChange change;
    change.node = maker;
    change.outputs.emplace_back(
        static_cast<int>(std::find(outputs.begin(), outputs.end(), out) - outputs.begin()), early);
    b_.change(std::move(change));
    for (const Use& use : graph_.uses(out)) {
      auto& rewires = b_.patch().rewires;
      const bool done = std::any_of(rewires.begin(), rewires.end(), [&](const Rewire& r) {
        return r.node == use.node && r.operand == use.operand;
      });
      if (!done) b_.rewire(use.node, use.operand, early);
    }
    replace_in_new(out, early);
  }
  void rename_new(ValueId out) {
    const ValueId early = early_value(out);
    for (Node& n : b_.patch().new_nodes) std::replace(n.outputs.begin(), n.outputs.end(), out, early);
    replace_in_new(out, early);
    for (Rewire& r : b_.patch().rewires)
      if (r.value == out) r.value = early;
  }
  ValueId early_value(ValueId out) {
    const Value& value = graph_.value(out);
    const ValueId early = b_.add_value(value.name + "_before", value.dtype, value.shape);
    b_.patch().new_values.back().dim_names = value.dim_names;
    return early;
  }
  void replace_in_new(ValueId out, ValueId early) {
    for (Node& n : b_.patch().new_nodes) std::replace(n.inputs.begin(), n.inputs.end(), out, early);
  }

  void store_buffers() {
    for (const auto& [base, count] : writes_) {
      const Value& value = graph_.value(base);
      if (!value.is_constant()) {
        if (graph_.is_input(base)) fail("it writes into an input of the program");
        continue;
      }
      // A constant that torch.export lifted (c_...) becomes a buffer; a parameter stays one.
      if (value.name.starts_with("p_"))
        return void(fail(fmt::format("{} is a parameter, so what was written cannot be kept", value.name)));
      const auto uses = graph_.uses(base);
      if (std::any_of(uses.begin(), uses.end(),
                      [&](const Use& u) { return graph_.node(u.node).op == "buffer_mutation"; }))
        continue;
      Node store;
      store.op = "buffer_mutation", store.inputs = {base, newest(base)},
      store.input_names = {"buffer", "value"};
      b_.add_node(std::move(store));
    }
  }

  const Graph& graph_;
  const std::function<bool(ValueId)>& chosen_;
  AtenBuilder b_;
  Functionalized out_;
  std::map<ValueId, View> views_;
  std::map<ValueId, Node>
      parts_;  ///< results of split and unbind: the slice or selection that each of them is
  std::map<ValueId, int> writes_;      ///< base -> number of writes so far
  std::map<ValueId, ValueId> newest_;  ///< tensor -> its value after the write in made_at_
  std::map<ValueId, int> made_at_;
};

}  // namespace

Functionalized functionalize(const DetectContext& context, const std::function<bool(ValueId)>& chosen) {
  return Functionalizer(context, chosen).run();
}

}  // namespace md

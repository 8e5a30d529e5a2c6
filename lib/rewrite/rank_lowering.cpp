#include "lib/rewrite/rank_lowering.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/graph/encode.h"

namespace md {

bool RankLowering::decline(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  return false;
}

RankLowering::Lazy RankLowering::lazy(ValueId id) const {
  const auto it = lazy_.find(id);
  return it != lazy_.end() ? it->second : Lazy{id, StridedView::whole(shape(id))};
}

ValueId RankLowering::written(const Lazy& value, const Shape& wanted) {
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;
  for (const Digit& d : value.view.digits()) digits.emplace_back(d.size, d.stride);
  const auto key = std::make_tuple(value.source, value.view.offset, digits, wanted);
  const auto it = written_.find(key);
  if (it != written_.end()) return it->second;
  const ValueId made = build_.move(value.source, value.view, wanted);
  if (made == none_id) decline("its elements lie too irregularly in what it is made from");
  written_[key] = made;
  return made;
}

bool RankLowering::needed_outside(ValueId id) const {
  if (graph_.is_output(id)) return true;
  const auto uses = graph_.uses(id);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return members_.count(use.node) == 0; });
}

Shape RankLowering::stored_shape(ValueId id) const {
  return narrow_.count(id) != 0 ? at_rank_4(shape(id)) : shape(id);
}

ValueId RankLowering::result(ValueId out, const Shape& wanted) {
  if (needed_outside(out) && stored_shape(out) == wanted) return out;
  const ValueId made = build_.value_like(out, wanted);
  lazy_[out] = {made, StridedView::whole(shape(out))};
  return made;
}

bool RankLowering::store(ValueId out) {
  const auto it = lazy_.find(out);
  if (it == lazy_.end() || !needed_outside(out)) return true;
  const Lazy value = it->second;
  if (build_.move(value.source, value.view, stored_shape(out), out) == none_id)
    return decline(fmt::format("\"{}\" takes its elements too irregularly", graph_.value(out).name));
  if (narrow_.count(out) == 0) lazy_.erase(it);  // read it from here on
  return true;
}

bool RankLowering::view_of(ValueId in, ValueId out, const Step& step) {
  if (graph_.value(in).quantization != graph_.value(out).quantization)
    return decline("it also changes the quantization");
  const auto possible = [&](const Lazy& from, const StridedView& view) {
    return build_.patch().value(from.source).is_constant() ||
           plan_moves(view, build_.shape(from.source), at_rank_4(view.shape())).has_value();
  };
  const Lazy from = lazy(in);
  if (const std::optional<StridedView> view = step(from.view); view && possible(from, *view)) {
    lazy_[out] = {from.source, *view};
    return true;
  }
  const ValueId base = as(in, at_rank_4(shape(in)));
  if (base == none_id) return false;
  const Lazy whole{base, StridedView::whole(shape(in))};
  const std::optional<StridedView> view = step(whole.view);
  if (!view || !possible(whole, *view)) return false;
  lazy_[out] = {base, *view};
  return true;
}

bool RankLowering::lower(NodeId id) {
  const Node& node = graph_.node(id);
  reason_.clear();
  if (!dispatch(node)) return decline(fmt::format("there is no form of {} at rank 4 here", node.op));
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) { return store(out); });
}

bool RankLowering::dispatch(const Node& node) {
  if (node.outputs.empty() || node.inputs.empty()) return false;
  const std::string& op = node.op;
  using Handler = bool (RankLowering::*)(const Node&);
  static const std::map<std::string, Handler, std::less<>> handlers = {
      {"RESHAPE", &RankLowering::move_operator},
      {"EXPAND_DIMS", &RankLowering::move_operator},
      {"SQUEEZE", &RankLowering::move_operator},
      {"BROADCAST_TO", &RankLowering::move_operator},
      {"TRANSPOSE", &RankLowering::transpose},
      {"TILE", &RankLowering::tile},
      {"SLICE", &RankLowering::slice},
      {"STRIDED_SLICE", &RankLowering::strided_slice},
      {"SPLIT", &RankLowering::split},
      {"SPLIT_V", &RankLowering::split},
      {"UNPACK", &RankLowering::split},
      {"CONCATENATION", &RankLowering::concatenate},
      {"PACK", &RankLowering::concatenate},
      {"SUM", &RankLowering::reduce},
      {"MEAN", &RankLowering::reduce},
      {"REDUCE_MAX", &RankLowering::reduce},
      {"REDUCE_MIN", &RankLowering::reduce},
      {"REDUCE_PROD", &RankLowering::reduce},
      {"REDUCE_ANY", &RankLowering::reduce},
      {"REDUCE_ALL", &RankLowering::reduce},
      {"SOFTMAX", &RankLowering::along_last_axis},
      {"LOG_SOFTMAX", &RankLowering::along_last_axis},
      {"FULLY_CONNECTED", &RankLowering::along_last_axis},
      {"L2_NORMALIZATION", &RankLowering::along_last_axis},
      {"CUMSUM", &RankLowering::along_one_axis},
      {"REVERSE_V2", &RankLowering::along_one_axis},
      {"ARG_MAX", &RankLowering::along_one_axis},
      {"ARG_MIN", &RankLowering::along_one_axis},
      {"PAD", &RankLowering::pad},
      {"PADV2", &RankLowering::pad},
      {"MIRROR_PAD", &RankLowering::pad},
      {"GATHER", &RankLowering::gather},
      {"BATCH_MATMUL", &RankLowering::batch_matmul},
  };
  const auto it = handlers.find(op);
  return it != handlers.end() ? (this->*it->second)(node) : element_wise(node);
}

bool RankLowering::move_operator(const Node& node) {
  const ValueId out = node.outputs.front();
  const bool broadcast = node.op == "BROADCAST_TO";
  return view_of(node.inputs.front(), out, [&](const StridedView& view) {
    return broadcast ? view.broadcast(shape(out)) : view.reshape(shape(out));
  });
}

bool RankLowering::transpose(const Node& node) {
  const auto permutation =
      node.inputs.size() > 1 ? decode_integers(graph_.value(node.inputs[1])) : std::nullopt;
  if (!permutation) return decline("its permutation is not constant");
  return view_of(node.inputs.front(), node.outputs.front(),
                 [&](const StridedView& view) { return view.transpose(*permutation); });
}

bool RankLowering::tile(const Node& node) {
  const auto multiples =
      node.inputs.size() > 1 ? decode_integers(graph_.value(node.inputs[1])) : std::nullopt;
  if (!multiples) return decline("its multiples are not constant");
  return view_of(node.inputs.front(), node.outputs.front(),
                 [&](const StridedView& view) { return view.tile(*multiples); });
}

bool RankLowering::slice(const Node& node) {
  if (node.inputs.size() < 3) return false;
  const auto begin = decode_integers(graph_.value(node.inputs[1]));
  if (!begin) return decline("its start is not constant");
  const ValueId out = node.outputs.front();
  const Shape& size = shape(out);
  if (begin->size() != size.size() || shape(node.inputs.front()).size() != size.size()) return false;
  return view_of(node.inputs.front(), out, [&](StridedView view) -> std::optional<StridedView> {
    for (std::size_t i = 0; i < size.size(); ++i) {
      const auto next = view.slice(i, (*begin)[i], size[i]);
      if (!next) return std::nullopt;
      view = *next;
    }
    return view;
  });
}

namespace {

/// One axis of a STRIDED_SLICE, as Python counts.
struct Range {
  std::int64_t begin = 0, size = 1, step = 1;
};

std::optional<std::vector<Range>> ranges_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 4) return std::nullopt;
  const auto begin = decode_integers(graph.value(node.inputs[1]));
  const auto end = decode_integers(graph.value(node.inputs[2]));
  const auto step = decode_integers(graph.value(node.inputs[3]));
  const Shape& shape = graph.value(node.inputs[0]).shape;
  if (!begin || !end || !step || begin->size() != shape.size() || end->size() != shape.size() ||
      step->size() != shape.size() || node.attrs.integer("ellipsis_mask") != 0 ||
      node.attrs.integer("new_axis_mask") != 0 || node.attrs.flag("offset"))
    return std::nullopt;
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto masked = [&](const char* mask) { return (node.attrs.integer(mask) >> i & 1) != 0; };
    const auto counted = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? index + shape[i] : index, 0, shape[i]);
    };
    Range r{masked("begin_mask") ? 0 : counted((*begin)[i]), 0, (*step)[i]};
    if (r.step < 1) return std::nullopt;
    const std::int64_t stop = masked("shrink_axis_mask") ? r.begin + 1
                              : masked("end_mask")       ? shape[i]
                                                         : counted((*end)[i]);
    r.size = (stop - r.begin + r.step - 1) / r.step;
    if (r.size < 1) return std::nullopt;
    ranges.push_back(r);
  }
  return ranges;
}

}  // namespace

bool RankLowering::strided_slice(const Node& node) {
  const auto ranges = ranges_of(graph_, node);
  if (!ranges) return decline("its start, end or stride is not constant, or it counts backwards");
  const ValueId in = node.inputs.front(), out = node.outputs.front();
  const auto take = [&](StridedView view) -> std::optional<StridedView> {
    for (std::size_t i = 0; i < ranges->size(); ++i) {
      const auto next = view.slice(i, (*ranges)[i].begin, (*ranges)[i].size, (*ranges)[i].step);
      if (!next) return std::nullopt;
      view = *next;
    }
    return view.reshape(shape(out));
  };
  if (view_of(in, out, take)) return true;
  // Steps that do not divide their axis: one operator an axis, the others merged before and behind it.
  reason_.clear();
  Shape now = shape(in);
  Lazy value = lazy(in);
  for (std::size_t i = 0; i < ranges->size(); ++i) {
    const Range& r = (*ranges)[i];
    if (r.size == now[i]) continue;
    std::int64_t before = 1, behind = 1;
    for (std::size_t d = 0; d < i; ++d) before *= now[d];
    for (std::size_t d = i + 1; d < now.size(); ++d) behind *= now[d];
    const ValueId base = written(value, {1, before, now[i], behind});
    if (base == none_id) return false;
    const std::int64_t end = std::min(now[i], r.begin + (r.size - 1) * r.step + 1);
    const ValueId cut = build_.strided_slice(base, Shape{0, 0, r.begin, 0}, Shape{1, before, end, behind},
                                             Shape{1, 1, r.step, 1});
    now[i] = r.size;
    value = {cut, StridedView::whole(now)};
  }
  const auto shaped = value.view.reshape(shape(out));
  if (!shaped) return false;
  lazy_[out] = {value.source, *shaped};
  return true;
}

bool RankLowering::split(const Node& node) {
  const bool split_first = node.op == "SPLIT";
  const ValueId in = node.inputs[split_first && node.inputs.size() > 1 ? 1 : 0];
  std::int64_t axis = node.attrs.integer("axis");
  if (node.op != "UNPACK") {
    const std::size_t place = split_first ? 0 : 2;
    const auto number =
        node.inputs.size() > place ? decode_integers(graph_.value(node.inputs[place])) : std::nullopt;
    if (!number || number->size() != 1) return decline("its axis is not constant");
    axis = number->front();
  }
  const Shape& whole = shape(in);
  if (axis < 0) axis += static_cast<std::int64_t>(whole.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(whole.size())) return false;
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t begin = 0;
  for (const ValueId out : node.outputs) {
    const std::int64_t size = node.op == "UNPACK" ? 1 : shape(out)[at];
    const bool done = view_of(in, out, [&](const StridedView& view) -> std::optional<StridedView> {
      const auto part = view.slice(at, begin, size);
      return part ? part->reshape(shape(out)) : std::nullopt;
    });
    if (!done) return false;
    begin += size;
  }
  return true;
}

}  // namespace md

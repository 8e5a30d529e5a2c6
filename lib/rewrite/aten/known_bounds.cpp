#include "lib/rewrite/aten/known_bounds.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "lib/format/torch/view.h"

namespace md {
namespace {

using Range = std::optional<ValueRange>;

constexpr int deepest = 24, most_visits = 400;
constexpr double largest_integer = 0x1.0p63;
constexpr double exact_double = 0x1.0p53;  // integers up to here are doubles as they are

template <std::size_t N>
bool one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view kKeeps[] = {"aten.view",         "aten.reshape",
                                       "aten._unsafe_view", "aten.permute",
                                       "aten.transpose",    "aten.t",
                                       "aten.slice",        "aten.select",
                                       "aten.expand",       "aten.unsqueeze",
                                       "aten.squeeze",      "aten.flatten",
                                       "aten.clone",        "aten.contiguous",
                                       "aten.alias",        "aten.detach",
                                       "aten.item",         "aten.repeat",
                                       "aten.index_select", "aten.gather",
                                       "aten.index",        "aten.flip",
                                       "aten.narrow",       "aten.amax",
                                       "aten.amin",         "aten._local_scalar_dense"};
constexpr std::string_view kJoins[] = {"aten.cat", "aten.stack"};

/// What an integer of this type may be; nullopt: a float, or 64 bits.
Range of_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::symbool:
      return ValueRange{0, 1};
    case DType::u8:
      return ValueRange{0, 255};
    case DType::i8:
      return ValueRange{-128, 127};
    case DType::i16:
      return ValueRange{-32768, 32767};
    case DType::i32:
      return ValueRange{-0x1.0p31, 0x1.0p31 - 1};
    default:
      return std::nullopt;
  }
}

/// A NaN among floats makes every comparison false, so their bounds prove nothing.
bool counts(DType dtype) {
  return is_integer(dtype) || dtype == DType::boolean || dtype == DType::symint || dtype == DType::symbool;
}

std::optional<double> number_of(const AttrValue* value) {
  if (!value) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(value); real && std::isfinite(*real)) return *real;
  if (const auto* truth = std::get_if<bool>(value)) return *truth ? 1 : 0;
  return std::nullopt;
}

Range join(Range a, const Range& b) {
  if (!a || !b) return std::nullopt;
  return ValueRange{std::min(a->low, b->low), std::max(a->high, b->high)};
}

/// Some results have as many elements as values say: declared sizes are not known to be the sizes.
bool sizes_depend_on_values(const Graph& graph) {
  constexpr std::string_view names[] = {"aten.sym_size", "aten.nonzero", "aten.masked_select",
                                        "aten.unique_consecutive", "aten._unique2"};
  return std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    const auto is_mask = [&](ValueId v) { return v >= 0 && graph.value(v).dtype == DType::boolean; };
    return one_of(base, names) || (base == "aten.index" && node.inputs.size() > 1 &&
                                   std::any_of(node.inputs.begin() + 1, node.inputs.end(), is_mask));
  });
}

class Bounds {
 public:
  explicit Bounds(const Graph& graph) : graph_(graph) {}

  Range of(ValueId id, int depth) {
    if (id < 0 || depth == 0 || ++visits_ > most_visits) return std::nullopt;
    const Value& value = graph_.value(id);
    if (value.is_constant()) return of_constant(id);
    const NodeId maker = graph_.producer(id);
    Range range = maker == none_id ? std::nullopt : of_node(graph_.node(maker), value, depth - 1);
    const Range type = of_type(value.dtype);
    if (range && type && (range->low < type->low || range->high > type->high)) range.reset();  // may wrap
    if (range && (std::abs(range->low) > largest_integer || std::abs(range->high) > largest_integer))
      range.reset();
    return range ? range : type;
  }

 private:
  Range of_constant(ValueId id) const {
    const auto numbers = constant_numbers(graph_, id);
    if (!numbers || numbers->empty()) return std::nullopt;
    if (std::any_of(numbers->begin(), numbers->end(), [](double v) { return !std::isfinite(v); }))
      return std::nullopt;
    const auto [low, high] = std::minmax_element(numbers->begin(), numbers->end());
    return ValueRange{*low, *high};
  }

  /// An argument that is a number or a value.
  Range argument(const Node& node, std::string_view name, int depth) {
    if (const auto number = number_of(node.attrs.find(name))) return ValueRange{*number, *number};
    const ValueId v = aten_operand(node, name);
    return v >= 0 ? of(v, depth) : std::nullopt;
  }

  Range of_node(const Node& node, const Value& result, int depth) {
    const std::string base = aten_base(node.op);
    if (node.inputs.empty()) return of_factory(node, base);
    // A declared size may itself rest on a check of this one: torch writes what it was told.
    if (base == "aten.sym_size") return ValueRange{0, largest_integer};
    if (base == "aten.argmax" || base == "aten.argmin") return of_position(node);
    if (node.op.starts_with("_operator.")) return of_scalars(node, depth);
    const Range x = of(node.inputs[0], depth);
    if (one_of(base, kKeeps)) return x;
    if (base == "aten.all" || base == "aten.any" || base.starts_with("aten._is_a"))
      return of_truths(node, base, x);
    if (one_of(base, kJoins)) {
      Range all = x;
      for (std::size_t i = 1; i < node.inputs.size(); ++i) all = join(all, of(node.inputs[i], depth));
      return all;
    }
    if (base == "aten.to" || base == "aten._to_copy") return converted(x, result.dtype);
    if (base == "aten.where" && node.inputs.size() == 3)
      return join(of(node.inputs[1], depth), of(node.inputs[2], depth));
    if (base.starts_with("aten.clamp") || base == "aten.relu") return clamped(node, base, x, depth);
    if (base == "aten.logical_not" && x) return ValueRange{x->high == 0 ? 1.0 : 0.0, x->low >= 1 ? 0.0 : 1.0};
    if (base == "aten.remainder") {
      const auto by = number_of(node.attrs.find("other"));
      if (by && *by >= 1 && std::floor(*by) == *by && counts(graph_.value(node.inputs[0]).dtype))
        return ValueRange{0, *by - 1};
      return std::nullopt;
    }
    return of_pair(node, base.substr(base.find('.') + 1), depth, "self", "other");
  }

  Range of_scalars(const Node& node, int depth) {
    return of_pair(node, std::string_view(node.op).substr(10), depth, "a", "b");
  }

  static Range converted(const Range& x, DType to) {
    if (!x || !counts(to)) return std::nullopt;
    if (to == DType::boolean) return ValueRange{x->low > 0 || x->high < 0 ? 1.0 : 0.0, 1};
    return ValueRange{std::trunc(x->low), std::trunc(x->high)};
  }

  /// Of all or any of some truth values; of none, `all` is true and `any` is not.
  Range of_truths(const Node& node, const std::string& base, const Range& x) const {
    const Value& of = graph_.value(node.inputs[0]);
    const bool all = base == "aten.all" || base == "aten._is_all_true";
    const bool some = element_count(of.shape).value_or(0) > 0;
    if (of.dtype != DType::boolean || !x) return std::nullopt;
    return ValueRange{x->low >= 1 && (all || some) ? 1.0 : 0.0, x->high == 0 && (!all || some) ? 0.0 : 1.0};
  }

  Range clamped(const Node& node, const std::string& base, Range x, int depth) {
    if (!counts(graph_.value(node.inputs[0]).dtype)) return std::nullopt;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] >= 0 && !of(node.inputs[i], depth)) return std::nullopt;  // a bound that may be any
    Range low = base == "aten.clamp_max" ? std::nullopt : argument(node, "min", depth);
    Range high = base == "aten.clamp_min" ? std::nullopt : argument(node, "max", depth);
    if (base == "aten.relu") low = ValueRange{0, 0}, high.reset();
    if (!x) {
      if (!low && !high) return std::nullopt;
      x = ValueRange{-largest_integer, largest_integer};
    }
    if (low) x = ValueRange{std::max(x->low, low->low), std::max(x->high, low->high)};
    if (high) x = ValueRange{std::min(x->low, high->low), std::min(x->high, high->high)};
    return x;
  }

  Range of_pair(const Node& node, std::string_view what, int depth, std::string_view first,
                std::string_view second) {
    constexpr std::string_view known[] = {"ge",      "gt",   "le",          "lt",          "eq",
                                          "ne",      "add",  "sub",         "mul",         "minimum",
                                          "maximum", "and_", "logical_and", "bitwise_and", "logical_or"};
    if (!one_of(what, known) || node.attrs.find("alpha")) return std::nullopt;
    for (const ValueId v : node.inputs)
      if (v < 0 || (!counts(graph_.value(v).dtype) && !graph_.value(v).is_constant())) return std::nullopt;
    const Range x = argument(node, first, depth), y = argument(node, second, depth);
    if (!x || !y) return std::nullopt;
    const auto truth = [](bool always, bool never) {
      return ValueRange{always ? 1.0 : 0.0, never ? 0.0 : 1.0};
    };
    if (what == "ge") return truth(x->low >= y->high, x->high < y->low);
    if (what == "gt") return truth(x->low > y->high, x->high <= y->low);
    if (what == "le") return truth(x->high <= y->low, x->low > y->high);
    if (what == "lt") return truth(x->high < y->low, x->low >= y->high);
    const bool apart = x->high < y->low || y->high < x->low;
    const bool same = x->low == x->high && y->low == y->high && x->low == y->low;
    if (what == "eq") return truth(same, apart);
    if (what == "ne") return truth(apart, same);
    if (what == "minimum") return ValueRange{std::min(x->low, y->low), std::min(x->high, y->high)};
    if (what == "maximum") return ValueRange{std::max(x->low, y->low), std::max(x->high, y->high)};
    if (what == "add") return whole({x->low + y->low, x->high + y->high});
    if (what == "sub") return whole({x->low - y->high, x->high - y->low});
    if (what == "mul") {
      const double c[] = {x->low * y->low, x->low * y->high, x->high * y->low, x->high * y->high};
      return whole({*std::min_element(c, c + 4), *std::max_element(c, c + 4)});
    }
    // Of truth values alone; bits of numbers are not followed.
    if (x->low < 0 || x->high > 1 || y->low < 0 || y->high > 1) return std::nullopt;
    if (what == "logical_or") return ValueRange{std::max(x->low, y->low), std::max(x->high, y->high)};
    return ValueRange{std::min(x->low, y->low), std::min(x->high, y->high)};
  }

  static Range whole(ValueRange range) {
    const bool fits = std::abs(range.low) <= exact_double && std::abs(range.high) <= exact_double;
    return fits ? Range(range) : std::nullopt;
  }

  Range of_factory(const Node& node, const std::string& base) const {
    if (base == "aten.zeros") return ValueRange{0, 0};
    if (base == "aten.ones") return ValueRange{1, 1};
    if (base == "aten.full")
      if (const auto fill = number_of(node.attrs.find("fill_value"))) return ValueRange{*fill, *fill};
    const auto end = number_of(node.attrs.find("end"));
    const double start = number_of(node.attrs.find("start")).value_or(0),
                 step = number_of(node.attrs.find("step")).value_or(1);
    if (base != "aten.arange" || !end || step < 1 || *end <= start) return std::nullopt;
    const bool whole_steps = std::floor(start) == start && std::floor(step) == step;
    return ValueRange{start, whole_steps ? std::ceil(*end) - 1 : *end};
  }

  Range of_position(const Node& node) const {
    if (sizes_depend_on_values(graph_)) return std::nullopt;
    const Value& of = graph_.value(node.inputs[0]);
    std::int64_t places = element_count(of.shape).value_or(0);
    if (node.attrs.find("dim")) {
      const auto dim = aten_dim(node, "dim", of.rank(), 0);
      places = 0;
      if (dim && of.rank() > 0) places = of.shape[static_cast<std::size_t>(*dim)];
    }
    if (places <= 0) return std::nullopt;
    return ValueRange{0, static_cast<double>(places - 1)};
  }

  const Graph& graph_;
  int visits_ = 0;
};

}  // namespace

std::optional<ValueRange> aten_range(const Graph& graph, ValueId id) { return Bounds(graph).of(id, deepest); }

bool aten_always_true(const Graph& graph, ValueId condition) {
  const auto range = aten_range(graph, condition);
  return range && range->low >= 1;
}

}  // namespace md

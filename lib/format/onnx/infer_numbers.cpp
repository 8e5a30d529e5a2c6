// What is known of small integer tensors: sizes taken from shapes, cut, joined and computed with, so that a
// Reshape by them gets its dimensions.
#include <algorithm>

#include "lib/format/onnx/infer_rules.h"
#include "lib/graph/encode.h"

namespace md::onnx {
namespace {

constexpr std::size_t most = 1024;
using Known = std::optional<Numbers>;

std::int64_t divided(std::int64_t a, std::int64_t b) {
  return b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1) ? unknown_number : a / b;
}

/// numpy's % follows the divisor's sign, C's (fmod) the dividend's.
std::int64_t remainder(std::int64_t a, std::int64_t b, bool c_like) {
  if (b == 0 || b == -1) return b == 0 ? unknown_number : 0;
  const std::int64_t r = a % b;
  return !c_like && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class F>
std::int64_t checked(F&& operation, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return operation(a, b, &out) ? unknown_number : out;
}

/// nullopt: an operator that is no arithmetic on two numbers.
std::optional<std::int64_t> combined(const Site& s, std::int64_t a, std::int64_t b) {
  const std::string_view op = s.node.op;
  const bool unknown = a == unknown_number || b == unknown_number;
  if (op == "Add")
    return unknown ? unknown_number
                   : checked([](auto x, auto y, auto* o) { return __builtin_add_overflow(x, y, o); }, a, b);
  if (op == "Sub")
    return unknown ? unknown_number
                   : checked([](auto x, auto y, auto* o) { return __builtin_sub_overflow(x, y, o); }, a, b);
  if (op == "Mul")
    return unknown ? unknown_number
                   : checked([](auto x, auto y, auto* o) { return __builtin_mul_overflow(x, y, o); }, a, b);
  if (op == "Div") return unknown ? unknown_number : divided(a, b);
  if (op == "Mod") return unknown ? unknown_number : remainder(a, b, s.attrs().flag("fmod"));
  if (op == "Max") return unknown ? unknown_number : std::max(a, b);
  if (op == "Min") return unknown ? unknown_number : std::min(a, b);
  // A dimension that is not known is 0 or more: it is no -1.
  if (op == "Equal") {
    if (unknown && (a == -1 || b == -1)) return 0;
    return unknown ? unknown_number : std::int64_t{a == b};
  }
  if (op == "Greater") return unknown ? unknown_number : std::int64_t{a > b};
  if (op == "Less") return unknown ? unknown_number : std::int64_t{a < b};
  if (op == "And") return unknown ? unknown_number : std::int64_t{a && b};
  if (op == "Or") return unknown ? unknown_number : std::int64_t{a || b};
  return std::nullopt;
}

Known arithmetic(const Site& s) {
  if (s.operands.size() != 2) return std::nullopt;
  const Known a = s.numbers(0), b = s.numbers(1);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  if (s.shape(0).size() > 1 || s.shape(1).size() > 1) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  Numbers out;
  for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const auto n = combined(s, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!n) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

Known where(const Site& s) {
  const Known c = s.numbers(0), a = s.numbers(1), b = s.numbers(2);
  if (!c || !a || !b || c->empty() || a->empty() || b->empty()) return std::nullopt;
  const std::size_t n = std::max({c->size(), a->size(), b->size()});
  for (const Known* k : {&c, &a, &b})
    if ((*k)->size() != n && (*k)->size() != 1) return std::nullopt;
  const auto pick = [](const Known& k, std::size_t i) { return (*k)[k->size() == 1 ? 0 : i]; };
  Numbers out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t which = pick(c, i), x = pick(a, i), y = pick(b, i);
    out.push_back(which == unknown_number ? (x == y ? x : unknown_number) : which ? x : y);
  }
  return out;
}

Known shape_of(const Site& s) {
  if (!s.ranked(0)) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(s.shape(0).size());
  const auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  Numbers out;
  for (std::int64_t d = bound(s.attrs().integer("start", 0)); d < bound(s.attrs().integer("end", rank));
       ++d) {
    const std::int64_t n = s.shape(0)[static_cast<std::size_t>(d)];
    out.push_back(n < 0 ? unknown_number : n);
  }
  return out;
}

Known gather(const Site& s) {
  const Known data = s.numbers(0), at = s.numbers(1);
  if (!data || !at || s.shape(0).size() != 1) return std::nullopt;
  Numbers out;
  for (std::int64_t i : *at) {
    const auto n = static_cast<std::int64_t>(data->size());
    if (i == unknown_number || i < -n || i >= n)
      out.push_back(unknown_number);
    else
      out.push_back((*data)[static_cast<std::size_t>(i < 0 ? i + n : i)]);
  }
  return out;
}

Known concat(const Site& s) {
  Numbers out;
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    if (!s.ranked(i) || s.shape(i).size() != 1) return std::nullopt;
    const Known part = s.numbers(i);
    if (part)
      out.insert(out.end(), part->begin(), part->end());
    else if (s.shape(i)[0] >= 0 && s.shape(i)[0] <= static_cast<std::int64_t>(most))
      out.insert(out.end(), static_cast<std::size_t>(s.shape(i)[0]), unknown_number);
    else
      return std::nullopt;
    if (out.size() > most) return std::nullopt;
  }
  return out;
}

Known slice(const Site& s) {
  const bool old = s.node.version < 10;
  const Known data = s.numbers(0);
  const Known starts = old ? s.list("starts", 99) : s.all_numbers(1),
              ends = old ? s.list("ends", 99) : s.all_numbers(2);
  const Known steps = !old && s.has(4) ? s.all_numbers(4) : Known(Numbers{1});
  if (!data || s.shape(0).size() != 1 || !starts || !ends || !steps || starts->size() != 1 ||
      ends->size() != 1 || steps->size() != 1)
    return std::nullopt;
  const auto n = static_cast<std::int64_t>(data->size());
  const std::int64_t step = steps->front();
  const auto from_end = [&](std::int64_t v) { return v < 0 ? v + n : v; };
  Numbers out;
  if (step > 0) {
    const std::int64_t last = std::clamp<std::int64_t>(from_end(ends->front()), 0, n);
    for (std::int64_t i = std::clamp<std::int64_t>(from_end(starts->front()), 0, n); i < last; i += step)
      out.push_back((*data)[static_cast<std::size_t>(i)]);
  } else if (step < 0 && n > 0) {
    const std::int64_t last = std::clamp<std::int64_t>(from_end(ends->front()), -1, n - 1);
    for (std::int64_t i = std::clamp<std::int64_t>(from_end(starts->front()), 0, n - 1); i > last; i += step)
      out.push_back((*data)[static_cast<std::size_t>(i)]);
  }
  return out;
}

Known filled(const Site& s) {
  const auto count = s.out[0].shape ? element_count(*s.out[0].shape) : std::nullopt;
  if (!count || *count > static_cast<std::int64_t>(most)) return std::nullopt;
  const AttrValue* value = s.attrs().find("value");
  std::int64_t n = 0;
  if (value) {
    if (const auto* i = std::get_if<std::int64_t>(value))
      n = *i;
    else if (const auto* d = std::get_if<double>(value); d && std::abs(*d) < 9e15)
      n = static_cast<std::int64_t>(*d);
    else
      return std::nullopt;
  }
  return Numbers(static_cast<std::size_t>(*count), n);
}

Known expanded(const Site& s) {
  const Known data = s.numbers(0);
  const auto count = s.out[0].shape ? element_count(*s.out[0].shape) : std::nullopt;
  if (!data || !count || *count > static_cast<std::int64_t>(most)) return std::nullopt;
  if (data->size() == static_cast<std::size_t>(*count)) return data;
  return data->size() == 1 ? Known(Numbers(static_cast<std::size_t>(*count), data->front())) : std::nullopt;
}

Known counted(const Site& s) {
  const Known first = s.all_numbers(0), step = s.all_numbers(2);
  if (!first || !step || first->size() != 1 || step->size() != 1 || !s.out[0].shape) return std::nullopt;
  const std::int64_t count = element_count(*s.out[0].shape).value_or(-1);
  if (count < 0 || count > static_cast<std::int64_t>(most)) return std::nullopt;
  Numbers out;
  for (std::int64_t i = 0, next = first->front(); i < count; ++i) {
    out.push_back(next);
    if (__builtin_add_overflow(next, step->front(), &next)) return std::nullopt;
  }
  out.resize(static_cast<std::size_t>(count));
  return out;
}

Known product(const Site& s) {
  const Known data = s.numbers(0);
  const auto count = s.out[0].shape ? element_count(*s.out[0].shape) : std::nullopt;
  if (!data || !count || *count != 1) return std::nullopt;
  std::int64_t all = s.node.op == "ReduceProd" ? 1 : 0;
  for (const std::int64_t n : *data) {
    if (n == unknown_number) return Numbers{unknown_number};
    if (s.node.op == "ReduceProd" ? __builtin_mul_overflow(all, n, &all)
                                  : __builtin_add_overflow(all, n, &all))
      return Numbers{unknown_number};
  }
  return Numbers{all};
}

Known negated(const Site& s) {
  Known data = s.numbers(0);
  if (data)
    for (std::int64_t& n : *data)
      if (n != unknown_number) n = s.node.op == "Not" ? n == 0 : s.node.op == "Abs" ? std::abs(n) : -n;
  return data;
}

Known size_of(const Site& s) {
  const auto count = s.ranked(0) ? element_count(s.shape(0)) : std::nullopt;
  return count ? Known(Numbers{*count}) : std::nullopt;
}

Known same(const Site& s) { return s.numbers(0); }

/// A cast keeps whole numbers; to bool it does not keep what they were.
Known cast(const Site& s) {
  Known data = s.numbers(0);
  if (data && s.out[0].dtype == DType::boolean)
    for (std::int64_t& n : *data)
      if (n != unknown_number) n = n != 0;
  return data;
}

constexpr std::pair<std::string_view, Known (*)(const Site&)> rules[] = {
    {"Shape", shape_of},
    {"Size", size_of},
    {"Gather", gather},
    {"Concat", concat},
    {"Slice", slice},
    {"Where", where},
    {"Cast", cast},
    {"Identity", same},
    {"Unsqueeze", same},
    {"Squeeze", same},
    {"Reshape", same},
    {"Flatten", same},
    {"ConstantOfShape", filled},
    {"Expand", expanded},
    {"Range", counted},
    {"ReduceProd", product},
    {"ReduceSum", product},
    {"Neg", negated},
    {"Not", negated},
    {"Abs", negated},
};

}  // namespace

std::optional<Numbers> result_numbers(const Site& site) {
  if (site.out.empty() || !site.out[0].shape) return std::nullopt;
  const DType dtype = site.out[0].dtype;
  if (dtype != DType::i64 && dtype != DType::i32 && dtype != DType::boolean) return std::nullopt;
  const auto count = element_count(*site.out[0].shape);
  if (!count || *count > static_cast<std::int64_t>(most)) return std::nullopt;
  Known found;
  const auto at = std::find_if(std::begin(rules), std::end(rules),
                               [&](const auto& rule) { return rule.first == site.node.op; });
  found = at != std::end(rules) ? at->second(site) : arithmetic(site);
  if (!found || found->size() != static_cast<std::size_t>(*count)) return std::nullopt;
  if (std::all_of(found->begin(), found->end(), [](std::int64_t n) { return n == unknown_number; }))
    return std::nullopt;
  return found;
}

}  // namespace md::onnx

// Functions of the rule language on numbers and lists.
#include <algorithm>

#include "lib/rule/language/builtin_parts.h"

namespace md::builtin {
namespace {

Evaluated count(const Scope&, Args args) {
  if (!is_list(args, 0)) return no("expected a list");
  return Datum::of(static_cast<double>(args[0].list.size()));
}

Evaluated item(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1)) return no(wants_numbers);
  const auto at = position(args[1].number, args[0].list.size());
  if (!at) return Datum();
  return Datum::of(args[0].list[*at]);
}

/// Elements from first up to (not with) last; negative counts from the end.
Evaluated part(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1) || (args.size() == 3 && !is_number(args, 2)))
    return no(wants_numbers);
  const auto size = static_cast<double>(args[0].list.size());
  const auto bound = [&](double v) {
    return static_cast<std::ptrdiff_t>(std::clamp(v < 0 ? v + size : v, 0.0, size));
  };
  const auto first = bound(args[1].number),
             last = args.size() == 3 ? bound(args[2].number) : static_cast<std::ptrdiff_t>(size);
  if (first >= last) return Datum::of(std::vector<double>());
  return Datum::of(std::vector<double>(args[0].list.begin() + first, args[0].list.begin() + last));
}

Evaluated join(const Scope&, Args args) {
  std::vector<double> out;
  for (const Datum& d : args) {
    if (d.kind == Datum::Kind::number)
      out.push_back(d.number);
    else if (d.kind == Datum::Kind::list)
      out.insert(out.end(), d.list.begin(), d.list.end());
    else
      return no(wants_numbers);
  }
  return Datum::of(std::move(out));
}

Evaluated product(const Scope&, Args args) {
  double out = 1;
  for (const Datum& d : args) {
    if (d.kind == Datum::Kind::number)
      out *= d.number;
    else if (d.kind == Datum::Kind::list)
      for (const double v : d.list) out *= v;
    else
      return no(wants_numbers);
  }
  return Datum::of(out);
}

/// Element by element; `f` gives nullopt where it is not defined.
template <class F>
Evaluated pairwise(Args args, F&& f) {
  const bool lists = is_list(args, 0) && is_list(args, 1);
  if (!lists && !(is_number(args, 0) && is_number(args, 1))) return no(wants_numbers);
  if (!lists) {
    const std::optional<double> v = f(args[0].number, args[1].number);
    return v ? Evaluated(Datum::of(*v)) : no("it does not divide");
  }
  if (args[0].list.size() != args[1].list.size()) return no("the lists differ in length");
  std::vector<double> out;
  for (std::size_t i = 0; i < args[0].list.size(); ++i) {
    const std::optional<double> v = f(args[0].list[i], args[1].list[i]);
    if (!v) return no("it does not divide");
    out.push_back(*v);
  }
  return Datum::of(std::move(out));
}

Evaluated quotient(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) {
    return b != 0 && std::fmod(a, b) == 0 ? std::optional(a / b) : std::nullopt;
  });
}
Evaluated sum(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) { return std::optional(a + b); });
}
Evaluated difference(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) { return std::optional(a - b); });
}

Evaluated remainder(const Scope&, Args args) {
  if (!is_number(args, 0) || !is_number(args, 1) || args[1].number == 0) return no(wants_numbers);
  return Datum::of(std::fmod(args[0].number, args[1].number));
}

/// The axis counted from the front.
Evaluated axis(const Scope&, Args args) {
  if (!is_number(args, 0) || !is_number(args, 1)) return no(wants_numbers);
  const double at = args[0].number < 0 ? args[0].number + args[1].number : args[0].number;
  return at >= 0 && at < args[1].number ? Datum::of(at) : Datum();
}

Evaluated least(const Scope&, Args args) {
  if (!is_list(args, 0) || args[0].list.empty()) return no("expected a list");
  return Datum::of(*std::min_element(args[0].list.begin(), args[0].list.end()));
}
Evaluated greatest(const Scope&, Args args) {
  if (!is_list(args, 0) || args[0].list.empty()) return no("expected a list");
  return Datum::of(*std::max_element(args[0].list.begin(), args[0].list.end()));
}

/// A shape with ones in front up to the rank.
Evaluated aligned(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1)) return no(wants_numbers);
  const auto wanted = static_cast<std::size_t>(std::max(args[1].number, 0.0));
  if (args[0].list.size() > wanted || wanted > 64) return no("its rank is higher");
  std::vector<double> out(wanted - args[0].list.size(), 1.0);
  out.insert(out.end(), args[0].list.begin(), args[0].list.end());
  return Datum::of(std::move(out));
}

constexpr Builtin table[] = {
    {"aligned", 2, 2, "a shape and a rank: ones in front", aligned},
    {"axis", 2, 2, "a number, which may count from the end, and a rank", axis},
    {"count", 1, 1, "a list", count},
    {"difference", 2, 2, "two numbers or lists", difference},
    {"greatest", 1, 1, "a list", greatest},
    {"item", 2, 2, "a list and a position", item},
    {"join", 1, 8, "numbers and lists", join},
    {"least", 1, 1, "a list", least},
    {"part", 2, 3, "a list, the first position, and optionally the one behind the last", part},
    {"product", 1, 8, "numbers and lists", product},
    {"quotient", 2, 2, "two numbers or lists that divide", quotient},
    {"remainder", 2, 2, "two numbers", remainder},
    {"sum", 2, 2, "two numbers or lists", sum},
};

}  // namespace

std::span<const Builtin> list_functions() { return table; }

}  // namespace md::builtin

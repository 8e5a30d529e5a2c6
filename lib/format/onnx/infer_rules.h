// Inside of inference: what one operator's rule sees and gives, and the tables of rules.
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/onnx/operators.h"

namespace md::onnx {

using Numbers = std::vector<std::int64_t>;

/// An element of a known integer tensor that is not known itself.
inline constexpr std::int64_t unknown_number = std::numeric_limits<std::int64_t>::min();
/// Elements of small integer tensors, row-major, by value: constants', and what follows from shapes.
using KnownNumbers = std::map<ValueId, Numbers>;

/// A result as far as it is known: the types are set before a rule runs, it adds shapes.
struct Outcome {
  DType dtype = DType::unknown;
  std::optional<Shape> shape{};
};

struct Site {
  const Node& node;
  const OpSpec* row;
  std::span<const Value* const> operands;
  const KnownNumbers* known = nullptr;
  std::vector<Outcome> out;
  std::string wrong{};  ///< why the operands do not go together

  bool has(std::size_t i) const { return i < operands.size() && operands[i]; }
  bool ranked(std::size_t i) const {
    return has(i) && !operands[i]->unranked && operands[i]->dtype != DType::unknown;
  }
  const Shape& shape(std::size_t i) const { return operands[i]->shape; }
  DType dtype(std::size_t i) const { return has(i) ? operands[i]->dtype : DType::unknown; }
  const Attributes& attrs() const { return node.attrs; }
  /// Integers of an operand, unknown ones among them; nullopt: nothing is known of it.
  std::optional<Numbers> numbers(std::size_t i) const;
  /// The same, nullopt when an element is not known.
  std::optional<Numbers> all_numbers(std::size_t i) const;
  void give(std::size_t i, Shape shape) {
    if (i < out.size()) out[i].shape = std::move(shape);
  }
  void no(std::string why) {
    if (wrong.empty()) wrong = std::move(why);
  }
  /// An attribute list or, absent, an operand's numbers. Empty and absent are the same for an attribute.
  std::optional<Numbers> list(std::string_view attribute, std::size_t operand) const;
};

struct Rule {
  std::string_view ops;  ///< names, blanks between; of com.microsoft without the domain
  void (*infer)(Site& site);
  int ranked = 1;  ///< leading operands whose rank the rule needs
};
std::span<const Rule> movement_rules();
std::span<const Rule> size_rules();
std::span<const Rule> arithmetic_rules();
std::span<const Rule> product_rules();
std::span<const Rule> window_rules();

/// Fills site.out as far as it is known, or says in site.wrong why the operands do not fit.
void infer_site(Site& site);

/// [0, rank) of an axis that may count from the end.
std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank);
/// Broadcast of the operands from `first` on; nullopt (and site.no) when they do not fit or one is unranked.
std::optional<Shape> broadcast_all(Site& site, std::size_t first, std::size_t last);
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? dynamic_dim : product;
}

/// The elements of the first result, as far as the operands' are known: arithmetic on sizes. nullopt: nothing
/// follows, or they are too many.
std::optional<Numbers> result_numbers(const Site& site);

}  // namespace md::onnx

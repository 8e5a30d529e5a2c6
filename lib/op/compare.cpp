// What differs between two graphs, walking both in order.
#include <fmt/format.h>

#include <algorithm>

#include "lib/op/ops.h"
#include "lib/op/text.h"

namespace md {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b, const Dialect& dialect)
      : a_(a), b_(b), dialect_(dialect), partner_(a.values.size(), none_id) {}

  std::optional<std::string> run() {
    pair_all(a_.inputs, b_.inputs, "the graph's inputs");
    if (a_.order.size() != b_.order.size())
      tell(fmt::format("{} nodes and {}", a_.order.size(), b_.order.size()));
    for (std::size_t i = 0; i < a_.order.size() && !difference_; ++i)
      nodes(i, a_.node(a_.order[i]), b_.node(b_.order[i]));
    pair_all(a_.outputs, b_.outputs, "the graph's outputs");
    return difference_;
  }

 private:
  void tell(std::string what) {
    if (!difference_) difference_ = std::move(what);
  }

  void nodes(std::size_t at, const Node& x, const Node& y) {
    const std::string where = fmt::format("node {} ({})", at, x.op);
    if (x.op != y.op || x.custom != y.custom)
      return tell(fmt::format("{}: the other is {} {}", where, y.op, y.custom));
    if (x.version != y.version)
      return tell(fmt::format("{}: version {} and {}", where, x.version, y.version));
    if (!same_attributes(dialect_, x, y)) return tell(where + ": the attributes differ");
    if (x.subgraphs != y.subgraphs) return tell(where + ": the subgraphs differ");
    if (x.input_names != y.input_names) return tell(where + ": the argument names differ");
    pair_all(x.inputs, y.inputs, where + ": the operands");
    pair_all(x.outputs, y.outputs, where + ": the results");
  }

  void pair_all(const std::vector<ValueId>& x, const std::vector<ValueId>& y, const std::string& where) {
    if (x.size() != y.size()) return tell(fmt::format("{} are {} and {}", where, x.size(), y.size()));
    for (std::size_t i = 0; i < x.size() && !difference_; ++i) pair(x[i], y[i], where);
  }

  void pair(ValueId x, ValueId y, const std::string& where) {
    if (x < 0 || y < 0) {
      if (x >= 0 || y >= 0) tell(where + " differ in an absent operand");
      return;
    }
    ValueId& known = partner_[static_cast<std::size_t>(x)];
    if (known == y) return;
    if (known != none_id)
      return tell(fmt::format("{} are connected differently at %{}", where, a_.value(x).name));
    known = y;
    const Value &v = a_.value(x), &w = b_.value(y);
    if (v.name != w.name) return tell(fmt::format("{}: %{} and %{}", where, v.name, w.name));
    if (v.dtype != w.dtype || v.shape != w.shape || v.dim_names != w.dim_names ||
        v.quantization != w.quantization)
      return tell(fmt::format("%{} is {} and {}", v.name, print_type(v), print_type(w)));
    if (v.is_variable != w.is_variable) return tell(fmt::format("%{} is a variable in one", v.name));
    if (v.constant.has_value() != w.constant.has_value())
      return tell(fmt::format("%{} is a constant in one", v.name));
    if (v.constant && !std::equal(v.constant->bytes.begin(), v.constant->bytes.end(),
                                  w.constant->bytes.begin(), w.constant->bytes.end()))
      tell(fmt::format("the constant %{} differs", v.name));
  }

  const Graph &a_, &b_;
  const Dialect& dialect_;
  std::vector<ValueId> partner_;
  std::optional<std::string> difference_;
};

}  // namespace

std::optional<std::string> first_difference(const Graph& a, const Graph& b, const Dialect& dialect) {
  return Comparison(a, b, dialect).run();
}

}  // namespace md

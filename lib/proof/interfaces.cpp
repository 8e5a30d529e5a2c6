#include "lib/proof/interfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace md {
namespace {

std::string type_text(const Value& value) {
  return fmt::format("{} {}", name(value.dtype), shape_text(value.shape));
}

/// `pair_text`: what one thing is in A and in B, as words.
std::vector<std::string> interface_texts(
    const Graph& a, const Graph& b, bool retyped_floats,
    const std::function<std::string(const std::string& in_a, const std::string& in_b)>& pair_text) {
  std::vector<std::string> texts;
  const auto compare = [&](const char* kind, const std::vector<ValueId>& ours,
                           const std::vector<ValueId>& theirs) {
    if (ours.size() != theirs.size())
      texts.push_back(pair_text(fmt::format("{} {}s", ours.size(), kind), std::to_string(theirs.size())));
    const auto at = matched_values(a, ours, b, theirs);
    for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
      const Value& x = a.value(ours[i]);
      const Value& y = b.value(theirs[at[i]]);
      // A value that is input and output at once, or an output twice, gets two names when a fix parts the
      // two; its place is kept.
      const bool twice = a.is_input(ours[i]) || std::count(ours.begin(), ours.end(), ours[i]) > 1;
      const bool parted = &ours == &a.outputs && twice && at[i] == i;
      if (x.name != y.name && !parted)
        texts.push_back(
            fmt::format("{} {} is named {}", kind, i, pair_text("\"" + x.name + "\"", "\"" + y.name + "\"")));
      if (x.name == y.name && at[i] != i)
        texts.push_back(fmt::format("{} \"{}\" is number {}", kind, x.name,
                                    pair_text(std::to_string(i), std::to_string(at[i]))));
      const bool retyped = retyped_floats && is_float(x.dtype) && is_float(y.dtype);
      if ((x.dtype != y.dtype && !retyped) || x.shape != y.shape)
        texts.push_back(fmt::format("{} \"{}\" is {}", kind, x.name, pair_text(type_text(x), type_text(y))));
    }
  };
  compare("input", a.inputs, b.inputs);
  compare("output", a.outputs, b.outputs);
  return texts;
}

}  // namespace

std::vector<std::size_t> matched_values(const Graph& a, const std::vector<ValueId>& ours, const Graph& b,
                                        const std::vector<ValueId>& theirs) {
  std::vector<std::size_t> by_name, by_position;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    by_position.push_back(i);
    for (std::size_t j = 0; j < theirs.size(); ++j)
      if (a.value(ours[i]).name == b.value(theirs[j]).name &&
          std::find(by_name.begin(), by_name.end(), j) == by_name.end()) {
        by_name.push_back(j);
        break;
      }
  }
  return by_name.size() == ours.size() ? by_name : by_position;
}

std::vector<std::string> compare_interfaces(const Graph& a, const Graph& b, bool retyped_floats) {
  return interface_texts(a, b, retyped_floats, [](const std::string& in_a, const std::string& in_b) {
    return fmt::format("{} in A, {} in B", in_a, in_b);
  });
}

std::vector<std::string> interface_changes(const Graph& before, const Graph& after, bool retyped_floats) {
  return interface_texts(before, after, retyped_floats, [](const std::string& was, const std::string& is) {
    return fmt::format("{}, was {}", is, was);
  });
}

}  // namespace md

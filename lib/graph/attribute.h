// Attributes of a node, by the format's own field names ("stride_w", "fused_activation_function", "dim").
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace md {

/// An enumeration value with the format's own name for it, e.g. {1, "VALID"}.
struct EnumValue {
  std::int64_t number = 0;
  std::string name;
  bool operator==(const EnumValue& other) const { return number == other.number; }
};

/// Raw bytes, e.g. the options of a custom operator.
struct Blob {
  std::vector<std::uint8_t> bytes;
  bool operator==(const Blob&) const = default;
};

using AttrValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, EnumValue,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, Blob>;

/// Ordered by insertion; few entries, so look-up is linear.
class Attributes {
 public:
  const AttrValue* find(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const Attributes&) const = default;

  /// Typed look-ups with a default; a bool or an enumeration reads as an integer too.
  std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const;
  double number(std::string_view name, double otherwise = 0) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  /// The text of a string, or the name of an enumeration value.
  std::string_view text(std::string_view name, std::string_view otherwise = "") const;
  const std::vector<std::int64_t>* integers(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

}  // namespace md

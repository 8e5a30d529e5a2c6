// Release versions ("2.1.5") and ranges of them (">=2.1.5 <2.3").
#pragma once
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace md {

struct Version {
  std::array<int, 3> part{};  ///< missing parts are 0
  auto operator<=>(const Version&) const = default;
  std::string text() const;                                    ///< "2.1.5"
  static std::optional<Version> parse(std::string_view text);  ///< 1 to 3 dotted numbers
};

/// A conjunction of comparisons, separated by blanks: ">=2.1.5 <2.3", "<=2.1.5", "==2.1.3", "*" or "" (any).
class VersionRange {
 public:
  static std::optional<VersionRange> parse(std::string_view text);
  bool contains(const Version& version) const;
  const std::string& text() const { return text_; }

 private:
  struct Bound {
    enum class Op { lt, le, eq, ge, gt } op = Op::eq;
    Version version;
  };
  std::string text_;
  std::array<std::optional<Bound>, 4> bounds_;
};

}  // namespace md

#include "lib/base/version.h"

#include <charconv>

namespace md {

std::string Version::text() const {
  return std::to_string(part[0]) + "." + std::to_string(part[1]) + "." + std::to_string(part[2]);
}

std::optional<Version> Version::parse(std::string_view text) {
  Version version;
  for (std::size_t i = 0; i < version.part.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version.part[i]);
    if (error != std::errc() || version.part[i] < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return version;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  range.text_ = std::string(text);
  if (text == "*") return range;
  std::size_t count = 0;
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t digits = word.find_first_of("0123456789");
    if (digits == std::string_view::npos || count == range.bounds_.size()) return std::nullopt;
    const std::string_view op = word.substr(0, digits);
    const auto version = Version::parse(word.substr(digits));
    if (!version) return std::nullopt;
    Bound bound;
    bound.version = *version;
    if (op == "<")
      bound.op = Bound::Op::lt;
    else if (op == "<=")
      bound.op = Bound::Op::le;
    else if (op == "==" || op.empty())
      bound.op = Bound::Op::eq;
    else if (op == ">=")
      bound.op = Bound::Op::ge;
    else if (op == ">")
      bound.op = Bound::Op::gt;
    else
      return std::nullopt;
    range.bounds_[count++] = bound;
  }
  return range;
}

bool VersionRange::contains(const Version& version) const {
  for (const auto& bound : bounds_) {
    if (!bound) break;
    const auto order = version <=> bound->version;
    switch (bound->op) {
      case Bound::Op::lt:
        if (!(order < 0)) return false;
        break;
      case Bound::Op::le:
        if (!(order <= 0)) return false;
        break;
      case Bound::Op::eq:
        if (!(order == 0)) return false;
        break;
      case Bound::Op::ge:
        if (!(order >= 0)) return false;
        break;
      case Bound::Op::gt:
        if (!(order > 0)) return false;
        break;
    }
  }
  return true;
}

}  // namespace md

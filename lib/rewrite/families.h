// The rewrites that pages call by name (lib/rule/named_rewrite.h), one table a kind; table.cpp joins them.
#pragma once
#include <span>

#include "lib/rule/language/named_rewrite.h"

namespace md::rewrites {

std::span<const NamedRewrite> operand_rewrites();   ///< another shape, type or copy of what an operator reads
std::span<const NamedRewrite> output_rewrites();    ///< what the graph returns
std::span<const NamedRewrite> operator_rewrites();  ///< one operator written with others
std::span<const NamedRewrite> padding_rewrites();   ///< padding written with other operators
std::span<const NamedRewrite> graph_rewrites();     ///< bodies of control flow, constants, versions
std::span<const NamedRewrite> program_rewrites();   ///< exported programs (.pt2)
std::span<const NamedRewrite> onnx_rewrites();      ///< .onnx files

/// A site that cannot be rewritten, and why.
inline std::vector<DetectResult> declined(std::string reason) {
  DetectResult result;
  result.state = DetectResult::State::declined;
  result.reason = std::move(reason);
  return {std::move(result)};
}
/// A site with one fix.
inline std::vector<DetectResult> fixed_by(Patch patch) {
  DetectResult result;
  result.fixes.emplace_back(std::move(patch));
  return {std::move(result)};
}
/// The page's title, else the rewrite's own.
inline std::string title_of(const RewriteSite& site, std::string own) {
  return site.title.empty() ? std::move(own) : site.title;
}

}  // namespace md::rewrites

// Rewrites that a page calls by name: `fix NAME(arguments)`. They live in lib/rewrite (table.cpp lists them);
// each computes the same by a law of its own, whatever rule asks for it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rule/language/datum.h"
#include "lib/rule/page/detector.h"

namespace md {

/// What a page's pattern found, and what the page says behind the name.
struct RewriteSite {
  const DetectContext& context;
  NodeId root = none_id;          ///< none_id: the graph as a whole
  std::span<const NodeId> nodes;  ///< all matched nodes, the root first
  std::span<const Datum> arguments;
  std::string title;  ///< the page's, filled in; empty: the rewrite has its own
};

struct NamedRewrite {
  std::string_view name;
  int least = 0, most = 0;     ///< number of arguments
  std::string_view arguments;  ///< "a value and a rank", for errors and the language's page
  std::string_view law;        ///< what it makes of what, and why the two are equal; for the language's page
  /// Sites with their fixes, or declined with a reason; none: there is nothing to rewrite here. What a result
  /// leaves open (nodes, value, message, advice) comes from the pattern and the page.
  std::vector<DetectResult> (*apply)(const RewriteSite&);
  std::string_view root = "*";  ///< the operator that it is for; "*": any; "": the graph as a whole
};

std::span<const NamedRewrite> named_rewrites();  ///< ordered by name; defined in lib/rewrite/table.cpp
const NamedRewrite* find_named_rewrite(std::string_view name);

}  // namespace md

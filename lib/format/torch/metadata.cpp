#include "lib/format/torch/metadata.h"

#include <algorithm>
#include <charconv>

namespace md {
namespace {

constexpr std::size_t longest_trace = std::size_t{1} << 16;

bool is_library(std::string_view file) {
  return file.find("site-packages/") != std::string_view::npos ||
         file.find("dist-packages/") != std::string_view::npos || file.starts_with("torch/") ||
         file.starts_with("<eval_with_key>");
}

}  // namespace

void read_pt2_metadata(Json metadata, Node& node) {
  const std::string trace = metadata.at("stack_trace").text().substr(0, longest_trace);
  for (std::size_t at = trace.find("File \""); at != std::string::npos; at = trace.find("File \"", at + 6)) {
    const std::size_t quote = trace.find('"', at + 6), line = trace.find(", line ", at),
                      in = trace.find(", in ", at);
    if (quote == std::string::npos || line != quote + 1 || in == std::string::npos) continue;
    SourceLocation where;
    where.file = trace.substr(at + 6, quote - at - 6);
    std::from_chars(trace.data() + line + 7, trace.data() + trace.size(), where.line);
    where.function = trace.substr(in + 5, trace.find('\n', in) - in - 5);
    if (!is_library(where.file)) node.source.push_back(std::move(where));
  }
  std::reverse(node.source.begin(), node.source.end());
  const std::string stack = metadata.at("nn_module_stack").text();
  const std::size_t last = stack.rfind(';');
  const std::string entry = stack.substr(last == std::string::npos ? 0 : last + 1);
  const std::size_t comma = entry.find(',');
  if (comma != std::string::npos) {
    const std::string path = entry.substr(comma + 1, entry.find(',', comma + 1) - comma - 1);
    const bool made_by_torch = path.starts_with("_empty_nn_module_stack");
    node.layer = made_by_torch ? "" : path.empty() ? "self" : "self." + path;
    const std::size_t type = entry.rfind(',');
    if (type != comma) node.attrs.set("#module", entry.substr(type + 1));
  }
  if (const Json source_fn = metadata.at("source_fn_stack"))
    node.attrs.set("#source_fn_stack", source_fn.text());
  if (const Json torch_fn = metadata.at("torch_fn")) node.attrs.set("#torch_fn", torch_fn.text());
}

}  // namespace md

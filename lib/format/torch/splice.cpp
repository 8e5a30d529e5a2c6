#include "lib/format/torch/splice.h"

namespace md {

void Splices::replace(JsonSpan span, std::string with) {
  edits_.erase(edits_.lower_bound(span.begin), edits_.lower_bound(span.end));
  edits_[span.begin] = {span.end, std::move(with)};
}

std::string Splices::text_of(JsonSpan span) const {
  std::string out;
  std::uint32_t at = span.begin;
  for (auto it = edits_.lower_bound(span.begin); it != edits_.end() && it->first < span.end; ++it) {
    out.append(text_.substr(at, it->first - at));
    out += it->second.text;
    at = it->second.end;
  }
  out.append(text_.substr(at, span.end - at));
  return out;
}

void Splices::replace_elements(JsonSpan list, const std::vector<std::string>& parts) {
  std::string out(1, text_[list.begin]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += ", ";
    out += parts[i];
  }
  out += text_[list.end - 1];
  replace(list, std::move(out));
}

}  // namespace md

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "lib/rewrite/onnx/forms.h"

namespace md {
namespace {

/// The opset that the failing call asked for: the last number of `convert_version(model, 13)`.
int wanted_set(const DetectContext& context) {
  for (const std::string& text : onnx::texts_with(context, "convert_version(")) {
    for (std::size_t at = text.find("convert_version("); at != std::string::npos;
         at = text.find("convert_version(", at + 1)) {
      const std::size_t comma = text.find(',', at), close = text.find(')', at);
      if (comma == std::string::npos || close == std::string::npos || comma > close) continue;
      std::size_t digit = comma + 1;
      while (digit < close && !std::isdigit(static_cast<unsigned char>(text[digit]))) ++digit;
      int set = 0;
      if (std::from_chars(text.data() + digit, text.data() + close, set).ec == std::errc() && set > 0 &&
          set < 100)
        return set;
    }
  }
  return 0;
}

}  // namespace

std::vector<DetectResult> ORT121(const DetectContext& context) {
  const int own = onnx_set_version(context.model);
  if (context.graph_index != 0 || own == 0) return {};
  const int set = wanted_set(context);
  DetectResult result;
  if (set == own) return {};
  if (set == 0) {
    result.state = DetectResult::State::advice;
    result.reason = "the log does not say which opset was asked for; export at that opset";
    return {std::move(result)};
  }
  result.message = fmt::format("onnx.version_converter cannot bring this file from opset {} to {}", own, set);
  auto patch = onnx::restamped(context.model, set, result.reason);
  if (patch)
    result.fixes.push_back(onnx::graded(std::move(*patch)));
  else
    result.state = DetectResult::State::declined;
  return {std::move(result)};
}

}  // namespace md

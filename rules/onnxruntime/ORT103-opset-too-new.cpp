#include <fmt/format.h>

#include "lib/rewrite/onnx/forms.h"

namespace md {

std::vector<DetectResult> ORT103(const DetectContext& context) {
  const auto most = onnx::number_after(context, "is till opset ");
  const int have = onnx_set_version(context.model);
  if (context.graph_index != 0 || !most || *most >= have || *most < 7) return {};
  DetectResult result;
  result.message =
      fmt::format("the file has opset {}, and this ONNX Runtime supports it up to {}", have, *most);
  result.words = {{"opset", std::to_string(have)}, {"max", std::to_string(*most)}, {"domain", "ai.onnx"}};
  auto patch = onnx::restamped(context.model, static_cast<int>(*most), result.reason);
  if (patch)
    result.fixes.push_back(onnx::graded(std::move(*patch)));
  else
    result.state = DetectResult::State::declined;
  return {std::move(result)};
}

}  // namespace md

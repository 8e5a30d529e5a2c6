// Findings of several kinds on one page.
#pragma once
#include <iterator>
#include <utility>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md::onnx {

template <class... More>
std::vector<DetectResult> joined(std::vector<DetectResult> first, More... more) {
  (first.insert(first.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())),
   ...);
  return first;
}

}  // namespace md::onnx

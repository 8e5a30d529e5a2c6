#include "lib/eval/primitives/broadcast.h"

namespace md {

BroadcastPlan::BroadcastPlan(const Shape& output, std::span<const Shape* const> operands)
    : operands_(operands.size()) {
  std::array<std::vector<std::size_t>, max_operands> step;
  std::vector<std::size_t> dims;
  for (const std::int64_t d : output) {
    dims.push_back(static_cast<std::size_t>(d));
    if (d == 0) empty_ = true;
  }
  for (std::size_t k = 0; k < operands_; ++k) {
    const Shape& shape = *operands[k];
    step[k].assign(dims.size(), 0);
    std::size_t stride = 1;
    for (std::size_t i = 0; i < shape.size() && i < dims.size(); ++i) {
      const auto d = static_cast<std::size_t>(shape[shape.size() - 1 - i]);
      if (d != 1) step[k][dims.size() - 1 - i] = stride;
      stride *= d;
    }
  }
  // Dimension d and d + 1 are one when every operand's step fits, and length-1 dimensions vanish.
  std::vector<std::size_t> merged;
  std::array<std::vector<std::size_t>, max_operands> merged_step;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool fits = !merged.empty();
    for (std::size_t k = 0; k < operands_ && fits; ++k) fits = merged_step[k].back() == step[k][d] * dims[d];
    if (fits) {
      merged.back() *= dims[d];
      for (std::size_t k = 0; k < operands_; ++k) merged_step[k].back() = step[k][d];
    } else {
      merged.push_back(dims[d]);
      for (std::size_t k = 0; k < operands_; ++k) merged_step[k].push_back(step[k][d]);
    }
  }
  if (!merged.empty()) {
    inner_ = merged.back();
    merged.pop_back();
    for (std::size_t k = 0; k < operands_; ++k) {
      inner_step_[k] = merged_step[k].back();
      merged_step[k].pop_back();
    }
  }
  dims_ = std::move(merged);
  steps_ = std::move(merged_step);
}

}  // namespace md

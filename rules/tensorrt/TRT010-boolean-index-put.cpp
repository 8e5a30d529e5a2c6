#include "rules/aten/boolean_rows.h"

namespace md {

std::vector<DetectResult> TRT010(const DetectContext& context) {
  return boolean_rows(context, "rows are written through a boolean mask");
}

}  // namespace md

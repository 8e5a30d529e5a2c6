#include "rules/aten/boolean_rows.h"

namespace md {

std::vector<DetectResult> TRT011(const DetectContext& context) {
  return boolean_rows(context, "a boolean mask makes a data-dependent number of rows");
}

}  // namespace md

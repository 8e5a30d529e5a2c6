// Options that the next command has to repeat to find and mend the same.
#pragma once
#include <string>
#include <vector>

#include "app/options.h"

namespace md::app {

/// What decides about findings and fixes (symptoms, inputs, shapes, rules ...), each word for itself. Not the
/// target and the logs, which the diagnosis holds, nor how and where is reported.
std::vector<std::string> repeated_options(const Options& options);

}  // namespace md::app

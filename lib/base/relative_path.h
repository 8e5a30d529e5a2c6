// One file, one spelling: what fingerprints and baselines call a model.
#pragma once
#include <string>

namespace md {

/// `path` (as typed: relative to the working folder, or absolute) seen from `folder`, with "/" between the
/// parts: "a.tflite", "../models/a.tflite". Links in the folders are followed, the file itself may be one
/// (caches of build systems name files by their content). "-" stays "-". The file need not exist.
std::string relative_path(const std::string& path, const std::string& folder);

}  // namespace md

// One file, one spelling: what fingerprints and baselines call a model; and the folder that a file lies in.
#pragma once
#include <string>

namespace md {

/// `path` (as typed: relative to the working folder, or absolute) seen from `folder`, with "/" between the
/// parts: "a.tflite", "../models/a.tflite". Links in the folders are followed, the file itself may be one
/// (caches of build systems name files by their content). "-" stays "-". The file need not exist.
std::string relative_path(const std::string& path, const std::string& folder);

/// The folder part of a path, "." for a bare name.
std::string folder_of(const std::string& path);

}  // namespace md

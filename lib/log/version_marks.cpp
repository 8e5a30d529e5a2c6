#include "lib/log/version_marks.h"

#include <algorithm>

#include "lib/base/version.h"

namespace md {
namespace {

struct Mark {
  std::string_view position, version;
};

// Lines of the files that print, by release: 2.1.3, 2.1.5, 2.2.0 and 2.3.0 read off their logs, 2.1.4
// and 2.1.6 off their sources. Positions that two releases share with different texts (environment.cc:532)
// are left out.
constexpr Mark marks[] = {
    {"litert_compiled_model.h:834", "2.1.3"},
    {"litert_compiled_model.h:1486", "2.1.5"},
    {"litert_compiled_model.h:1895", "2.2.0"},
    {"litert_compiled_model.h:1961", "2.3.0"},
    {"compiled_model.cc:657", "2.1.3"},
    {"compiled_model.cc:719", "2.1.4"},
    {"compiled_model.cc:733", "2.1.5"},
    {"compiled_model.cc:805", "2.1.6"},
    {"compiled_model.cc:833", "2.2.0"},
    {"compiled_model.cc:829", "2.3.0"},
    {"delegate_kernel.cc:696", "2.1.3"},
    {"delegate_kernel.cc:790", "2.1.5"},
    {"delegate_kernel.cc:911", "2.2.0"},
    {"delegate_kernel.cc:984", "2.3.0"},
    {"delegate_kernel_litert.cc:150", "2.1.3"},
    {"delegate_kernel_litert.cc:167", "2.1.5"},
    {"delegate_kernel_litert.cc:144", "2.2.0"},
    {"delegate_kernel_litert.cc:143", "2.3.0"},
    {"delegate_webgpu.cc:210", "2.1.3"},
    {"delegate_webgpu.cc:237", "2.1.3"},
    {"delegate_webgpu.cc:366", "2.1.3"},
    {"delegate_webgpu.cc:618", "2.1.3"},
    {"delegate_webgpu.cc:626", "2.1.3"},
    {"delegate_webgpu.cc:218", "2.1.5"},
    {"delegate_webgpu.cc:245", "2.1.5"},
    {"delegate_webgpu.cc:380", "2.1.5"},
    {"delegate_webgpu.cc:672", "2.1.5"},
    {"delegate_webgpu.cc:680", "2.1.5"},
    {"delegate_webgpu.cc:317", "2.2.0"},
    {"delegate_webgpu.cc:338", "2.2.0"},
    {"delegate_webgpu.cc:453", "2.2.0"},
    {"delegate_webgpu.cc:726", "2.2.0"},
    {"delegate_webgpu.cc:734", "2.2.0"},
    {"delegate_webgpu.cc:342", "2.3.0"},
    {"delegate_webgpu.cc:363", "2.3.0"},
    {"delegate_webgpu.cc:478", "2.3.0"},
    {"delegate_webgpu.cc:751", "2.3.0"},
    {"delegate_webgpu.cc:759", "2.3.0"},
    {"environment.cc:519", "2.1.3"},
    {"environment.cc:554", "2.1.3"},
    {"environment.cc:523", "2.1.5"},
    {"environment.cc:558", "2.1.5"},
    {"environment.cc:525", "2.2.0"},
    {"auto_registration.cc:164", "2.1.3"},
    {"auto_registration.cc:243", "2.1.3"},
    {"auto_registration.cc:251", "2.1.3"},
    {"auto_registration.cc:283", "2.1.3"},
    {"gpu_registry.cc:130", "2.3.0"},
    {"gpu_registry.cc:138", "2.3.0"},
    {"model_builder.cc:2410", "2.1.3"},
    {"model_builder.cc:2407", "2.1.5"},
    {"model_builder.cc:2666", "2.3.0"},
    {"model_builder.cc:2678", "2.3.0"},
};

struct Package {
  std::string_view name, tool;
};
// Longer names first: "torch-tensorrt" is no "torch".
constexpr Package packages[] = {
    {"ai-edge-litert", "litert-gpu"},
    {"ai_edge_litert", "litert-gpu"},
    {"litert-torch", "litert-torch"},
    {"litert_torch", "litert-torch"},
    {"ai-edge-torch", "litert-torch"},
    {"ai_edge_torch", "litert-torch"},
    {"litert-converter", "litert-converter"},
    {"litert_converter", "litert-converter"},
    {"torch-tensorrt", "torch-tensorrt"},
    {"torch_tensorrt", "torch-tensorrt"},
    {"onnxruntime", "onnxruntime"},
    {"executorch", "executorch"},
    {"ExecuTorch", "executorch"},
    {"coremltools", "coremltools"},
    {"openvino", "openvino"},
    {"tensorflow", "tensorflow"},
    {"tensorrt", "tensorrt"},
    {"TensorRT", "tensorrt"},
    {"opencv", "opencv"},
    {"OpenCV", "opencv"},
    {"torch", "torch"},
    {"Torch", "torch"},
    {"ncnn", "ncnn"},
    {"onnx", "onnx"},
    {"LiteRT", "litert-gpu"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '/' || c == '.';
}

/// The text from "1.2.3" on when one of the usual separators and a dotted number follow at `at`.
std::string_view version_behind(std::string_view text, std::size_t at) {
  const std::size_t name_end = at;
  for (const std::string_view separator : {"==", " version ", "-", "@", "(", "=", ": ", " v", " "}) {
    if (text.substr(at, separator.size()) == separator) {
      at += separator.size();
      break;
    }
  }
  if (at == name_end) return {};
  while (at < text.size() && text[at] == ' ' && at < name_end + 40) ++at;  // columns of "pip list"
  std::size_t end = at, dots = 0;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() &&
                                                       is_digit(text[end + 1]) && dots < 2))) {
    if (text[end] == '.') ++dots;
    ++end;
  }
  return dots >= 1 ? text.substr(at, end - at) : std::string_view();
}

}  // namespace

std::string_view litert_version_of(std::string_view source_position) {
  const std::size_t slash = source_position.rfind('/');
  if (slash != std::string_view::npos) source_position.remove_prefix(slash + 1);
  for (const Mark& mark : marks)
    if (mark.position == source_position) return mark.version;
  return {};
}

void find_stated_versions(std::string_view text, std::map<std::string, std::string>& versions) {
  text = text.substr(0, 4096);
  for (const Package& package : packages) {
    for (std::size_t at = text.find(package.name); at != std::string_view::npos;
         at = text.find(package.name, at + 1)) {
      if (at > 0 && in_word(text[at - 1]) && text[at - 1] != '/') continue;
      const std::string_view version = version_behind(text, at + package.name.size());
      if (!version.empty()) versions.emplace(package.tool, version);
    }
  }
}

}  // namespace md

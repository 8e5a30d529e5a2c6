// What an ExecuTorch runtime can run without a backend, as measured on release 1.5.1: the kernels that its
// runtime registers by itself, those of libraries that must be linked, and which operators belong to Core
// ATen.
#pragma once
#include <optional>
#include <string_view>

namespace md {

/// "aten::add.out", "executorch_prim::et_view.default": registered by the runtime as it ships.
bool executorch_has_kernel(std::string_view op);
/// The library whose kernels take this operator ("quantized_ops_lib"), "" when none is known.
std::string_view executorch_kernel_library(std::string_view op);
/// For "aten::histc.out" and "aten.histc.default": is the operator part of Core ATen? Other namespaces never
/// are.
bool is_core_aten(std::string_view op);
/// True for backends that the runtime of the Python package registers by itself.
bool executorch_has_backend(std::string_view backend);
/// The build target that registers a backend of the release ("vulkan_backend"), "" when its name is not
/// known; nullopt when the release has no such backend.
std::optional<std::string_view> executorch_backend_library(std::string_view backend);

}  // namespace md

// Which kernels ONNX Runtime's CPU provider has: kernels.json beside this file, read at its first use.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/version.h"

namespace md {

struct CpuKernel {
  unsigned releases = 0;    ///< a bit for each measured release
  int first = 1, last = 1;  ///< versions of the operator
  /// Type variables, or operands, and the letters of the element types that the kernel takes.
  std::vector<std::pair<std::string, std::string>> types;
};

/// An operator without a kernel that the runtime computes by its definition as a function; measured.
struct CpuFunction {
  unsigned releases = 0;
  int version = 1;
  /// Letters of the first operand's type that end in an operator without a kernel, and that operator with its
  /// version ("Where(16)").
  std::vector<std::pair<char, std::string>> refused;
};

struct KernelRegistry {
  std::vector<Version> releases;  ///< ascending
  std::map<std::string, std::vector<CpuKernel>, std::less<>> kernels;
  std::map<std::string, std::vector<CpuFunction>, std::less<>> functions;
  /// The bit of the newest release that is not above `version`, else of the oldest.
  unsigned bit(const Version& version) const;
};

const KernelRegistry& cpu_kernels();

}  // namespace md

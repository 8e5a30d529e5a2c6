// kernels.json: under "kernels" the operator's name, then a text a kernel: RELEASES:FIRST-LAST
// VARIABLE=LETTERS ... RELEASES are digits, places in "versions" (absent: all); without "-LAST" the kernel is
// for version FIRST alone, as the runtime takes a kernel that is registered without an end. Under
// "functions": RELEASES:VERSION LETTER>OP(N) ...
#include "lib/runtime/onnxruntime/kernel_registry.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include <nlohmann/json.hpp>

#include "lib/base/embedded.h"

namespace md {
namespace {

using Json = nlohmann::json;

std::string_view cut(std::string_view& text, char stop) {
  const std::size_t at = text.find(stop);
  const std::string_view piece = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return piece;
}

int integer_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Takes "01:" off the text; all releases where there is none.
unsigned releases_of(std::string_view& text, std::size_t count) {
  if (text.find(':') == std::string_view::npos) return (1U << count) - 1;
  unsigned releases = 0;
  for (const char digit : cut(text, ':')) releases |= 1U << static_cast<unsigned>(digit - '0');
  return releases;
}

CpuKernel kernel_of(std::string_view text, std::size_t count) {
  CpuKernel kernel;
  kernel.releases = releases_of(text, count);
  std::string_view span = cut(text, ' ');
  kernel.first = integer_of(cut(span, '-'));
  kernel.last = span.empty() ? kernel.first : integer_of(span);
  while (!text.empty()) {
    std::string_view one = cut(text, ' ');
    const std::string_view variable = cut(one, '=');
    kernel.types.emplace_back(variable, one);
  }
  return kernel;
}

CpuFunction function_of(std::string_view text, std::size_t count) {
  CpuFunction function;
  function.releases = releases_of(text, count);
  function.version = integer_of(cut(text, ' '));
  while (!text.empty()) {
    const std::string_view one = cut(text, ' ');
    if (one.size() > 2) function.refused.emplace_back(one.front(), one.substr(2));
  }
  return function;
}

KernelRegistry read_registry() {
  KernelRegistry registry;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != "lib/runtime/onnxruntime/kernels.json") continue;
    const Json json = Json::parse(file.text, nullptr, false);
    assert(json.is_object());
    for (const Json& version : json.at("versions"))
      registry.releases.push_back(*Version::parse(version.get<std::string>()));
    const std::size_t count = registry.releases.size();
    for (const auto& [name, lines] : json.at("kernels").items())
      for (const Json& line : lines)
        registry.kernels[name].push_back(kernel_of(line.get_ref<const std::string&>(), count));
    for (const auto& [name, lines] : json.at("functions").items())
      for (const Json& line : lines)
        registry.functions[name].push_back(function_of(line.get_ref<const std::string&>(), count));
  }
  assert(!registry.releases.empty());
  return registry;
}

}  // namespace

unsigned KernelRegistry::bit(const Version& version) const {
  const auto above = std::upper_bound(releases.begin(), releases.end(), version);
  return 1U << static_cast<unsigned>(above == releases.begin() ? 0 : above - releases.begin() - 1);
}

const KernelRegistry& cpu_kernels() {
  static const KernelRegistry registry = read_registry();
  return registry;
}

}  // namespace md

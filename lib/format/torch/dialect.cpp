#include "lib/format/torch/dialect.h"

#include <cstring>

#include "lib/format/torch/call.h"
#include "lib/format/torch/operators.h"
#include "lib/format/torch/schema.h"
#include "lib/format/torch/types.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

constexpr KernelGroup kernel_groups[] = {
    aten_movement_kernels,  aten_parts_kernels,       aten_arithmetic_kernels, aten_unary_kernels,
    aten_logic_kernels,     aten_choice_kernels,      aten_reduction_kernels,  aten_ordering_kernels,
    aten_product_kernels,   aten_convolution_kernels, aten_pooling_kernels,    aten_resample_kernels,
    aten_attention_kernels, aten_norm_kernels,        aten_complex_kernels,    aten_fourier_kernels,
    aten_index_kernels,     aten_scatter_kernels,     aten_factory_kernels,    aten_scalar_kernels,
    aten_quantized_kernels, aten_control_kernels,
};

/// Any zip archive: the opener tells what it is when it is no exported program.
bool recognizes(Bytes file) {
  return file.size() >= 4 &&
         (std::memcmp(file.data(), "PK\x03\x04", 4) == 0 || std::memcmp(file.data(), "PK\x05\x06", 4) == 0);
}

/// "aten::add.Tensor": an operator in the tools' own texts.
std::string tool_name(std::string_view op) {
  constexpr std::string_view library = "aten.";
  return op.starts_with(library) ? "aten::" + std::string(op.substr(library.size())) : std::string();
}

std::optional<std::string> misfit(const Graph& graph, const Node& node) {
  if (auto wanted = schema_misfit(graph, node)) return "expected " + *wanted;
  if (auto wanted = aten_type_misfit(graph, node)) return "expected " + *wanted;
  return std::nullopt;
}

}  // namespace

// The kernels are written for small sites: about forty times slower than compiled ones. The graph of a region
// goes with the node that calls it, once a fix has inlined it.
constinit const Dialect dialect_torch = {
    .name = "pt2",
    .extension = ".pt2",
    .recognizes = recognizes,
    .open = open_pt2,
    .operators = torch_ops,
    .misfit = misfit,
    .functional_form = aten_functional,
    .tool_name = tool_name,
    .kernels = kernel_groups,
    .complex_kernels = true,
    .kernel_slowness = 2,  // scripts/bench.sh: 1.9 times torch for a convolution network, 1.0 for an encoder
    .executed_graphs = called_graphs,
    .graphs_inside_nodes = true,
    .numbered_names = true,
    .obtaining = "what torch.export.save(ep, \"model.pt2\") writes before the failing step",
    .reopening = "ep = torch.export.load(\"model.fixed.pt2\")",
};

}  // namespace md

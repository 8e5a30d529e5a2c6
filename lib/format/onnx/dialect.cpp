#include "lib/format/onnx/dialect.h"

#include "lib/edit/builder.h"
#include "lib/format/onnx/kernels.h"
#include "lib/format/onnx/operators.h"
#include "lib/format/onnx/reader.h"

namespace md {
namespace {

void copy(PatchBuilder& patch, ValueId from, ValueId to, const Shape&, const std::string&) {
  patch.add_node("Identity", {from}, {to});
}

}  // namespace

constinit const Dialect dialect_onnx = {
    .name = "onnx",
    .extension = ".onnx",
    .recognizes = onnx::looks_like_model,
    .open = open_onnx,
    .operators = onnx_ops,
    .domains_in_names = true,
    .infer = infer_onnx_types,
    .kernels = onnx_kernel_groups,
    .executed_graphs = called_graphs,
    .graphs_inside_nodes = true,
    .copy = copy,
    .obtaining =
        "what the exporter writes (torch.onnx.export, tf2onnx), or the file that the failing session opens",
    .default_target = "onnxruntime",
};

}  // namespace md

// Reads an .onnx file into the model that everybody sees, and keeps where each part lies, so that the writer
// copies what nobody changed. Weights are ranges of the mapped file, or of the files beside it.
//
// The view is in order where the file may not be: nodes sorted, names unique, types as the operators give
// them; what the file says otherwise stands in Model::repairs (the kinds are below).
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/format/onnx/wire.h"
#include "lib/graph/graph.h"

namespace md::onnx {

// Words of Repair::kind.
inline constexpr std::string_view repair_node_order = "node-order",
                                  repair_duplicate_value = "duplicate-value-name",
                                  repair_duplicate_node = "duplicate-node-name",
                                  repair_duplicate_initializer = "duplicate-initializer",
                                  repair_graph_name = "graph-without-name",
                                  repair_initializer_is_input = "initializer-is-input",
                                  repair_initializer_not_input = "initializer-not-input",
                                  repair_stale_shape = "stale-shape", repair_stale_type = "stale-type",
                                  repair_missing_opset = "missing-opset",
                                  repair_missing_domain = "missing-domain",
                                  repair_dangling_output = "dangling-output", repair_too_large = "over-2-gib";

/// A node in the file.
struct NodePlace {
  Bytes whole, content;
  bool constant = false;  ///< a Constant node: its result is a constant of the view, it is not in the order
};

/// A value of the view in the file; empty: it has no such part.
struct ValuePlace {
  Bytes initializer, info, input, output;  ///< whole fields
  NodeId constant_node = none_id;          ///< the Constant node that makes it
  bool captured = false;                   ///< of a graph around this one
  std::string name;                        ///< in the file, where the view has another
};

/// A GraphProto, or a FunctionProto.
struct GraphPlace {
  Bytes message;
  bool function = false;
  std::vector<NodePlace> nodes;    ///< by NodeId
  std::vector<ValuePlace> values;  ///< by ValueId
};

struct OnnxFile {
  std::shared_ptr<const MappedFile> file;
  Bytes message;  ///< of the ModelProto: the whole file
  Model model;
  std::vector<GraphPlace> graphs;           ///< parallel to Model::graphs
  std::vector<std::string> external_files;  ///< names, relative to the model's folder
};

/// True for bytes that begin like a ModelProto: fields that it has, with their kinds of content.
bool looks_like_model(Bytes bytes);

/// Errors name the file, the offset, and what was expected.
Result<OnnxFile> read_onnx(std::shared_ptr<const MappedFile> file);

}  // namespace md::onnx

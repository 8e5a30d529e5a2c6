// Where each part of the graph view lies in the JSON text of a torch.export archive. The reader fills it, the
// writer splices with it. All spans are byte ranges of models/model.json.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/format/torch/json.h"
#include "lib/format/torch/render.h"
#include "lib/format/torch/zip.h"
#include "lib/graph/document.h"

namespace md {

struct Pt2NodeLayout {
  JsonSpan whole, metadata;
  Json inputs;  ///< the array of named arguments
  std::vector<JsonSpan>
      input_names;  ///< parallel to Node::inputs: the quoted name, or {"as_none":..} for an absent one
  std::vector<JsonSpan> output_names;                   ///< parallel to Node::outputs
  std::vector<std::pair<std::string, JsonSpan>> attrs;  ///< attribute -> the value object, {"as_int": 0}
  bool mutation = false;  ///< a node of the view only: stands for a buffer_mutation output
};

/// One argument of graph.inputs or graph.outputs, in file order.
struct Pt2Port {
  JsonSpan whole, name;
  ValueId value = none_id;
};

struct Pt2GraphLayout {
  JsonSpan inputs, outputs, nodes, tensor_values;
  Json tensor_meta;  ///< the object of all tensors
  std::vector<Pt2Port> input_ports, output_ports;
  std::vector<JsonSpan>
      value_entries;             ///< by ValueId: the entry of tensor_values with its key; empty for symbols
  std::vector<Json> value_meta;  ///< by ValueId; absent for symbols
  std::vector<Pt2NodeLayout> nodes_at;  ///< by NodeId
};

enum class Pt2PortKind { user, parameter, buffer, constant, mutation, other };

/// One entry of signature.input_specs or output_specs.
struct Pt2Spec {
  Pt2PortKind kind = Pt2PortKind::other;
  JsonSpan whole, name;  ///< `name`: the argument's quoted name
  std::string target;    ///< parameter, buffer or constant name
  bool persistent = true;
};

/// One entry of a weights or constants config, with the member that holds its bytes.
struct Pt2Payload {
  std::string fqn, member;  ///< `member`: full zip name
  JsonSpan whole, meta;     ///< in the config's text: the entry with its key, and tensor_meta
  ValueId value = none_id;  ///< the placeholder of graph 0 that it fills
};

struct Pt2Config {
  const ZipMember* member = nullptr;
  std::shared_ptr<const void> owner;
  std::unique_ptr<JsonText> json;
  JsonSpan object;  ///< the object behind "config"
  std::vector<Pt2Payload> payloads;
};

struct Pt2Layout {
  std::string root;      ///< "model/" or "" in the older format
  bool older = false;    ///< serialized_exported_program.json
  bool pickled = false;  ///< weights or constants are kept in torch.save files
  Pt2Dialect dialect;    ///< as the first node with arguments has it
  bool dialect_seen = false;
  const ZipMember* program = nullptr;
  std::shared_ptr<const void> program_owner;
  std::unique_ptr<JsonText> json;
  std::vector<Pt2GraphLayout> graphs;
  JsonSpan input_specs_at, output_specs_at;
  Json result_tree;  ///< out_spec of the whole program: a text with JSON in it; absent when nothing says it
  std::vector<Pt2Spec> input_specs, output_specs;
  Pt2Config weights, constants;
};

/// torch's number of an element type in the archive (serde.ScalarType), and back; 0 and unknown when there is
/// none.
int pt2_scalar_type(DType type);
DType dtype_of_pt2(std::int64_t scalar_type);

class Pt2Document : public Document {
 public:
  static Result<std::unique_ptr<Document>> open(std::shared_ptr<const MappedFile> file);
  const Model& model() const override { return model_; }
  WriteCapability capability() const override;
  Status write(const Model& edited, ByteSink& sink) const override;

 private:
  explicit Pt2Document(std::shared_ptr<const MappedFile> file) : Document(std::move(file)) {}
  friend class Pt2Reader;
  Model model_;
  std::unique_ptr<ZipArchive> zip_;
  Pt2Layout layout_;
};

}  // namespace md

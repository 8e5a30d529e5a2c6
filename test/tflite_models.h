// Hand-made .tflite files for what real files rarely hold. All share one graph:
//   x: f32[1,4] input;  y = ADD(x, c);  z = RELU(y) output;  c: f32[4] constant
#pragma once
#include <memory>
#include <string>

#include "lib/base/mapped_file.h"
#include "lib/format/tflite/reader.h"
#include "lib/graph/document.h"

namespace md::test {

struct Recipe {
  bool shared_empty_buffer = false;   ///< slots 2..9 are one empty Buffer table
  bool full_buffer_zero = false;      ///< buffer 0 holds bytes, which mean nothing
  bool variable = false;              ///< one more tensor, a state
  bool newer_tensor_field = false;    ///< tensor z has a field behind the schema's last
  bool newer_model_field = false;     ///< so has the model
  bool newer_options_field = false;   ///< and the options of ADD
  bool out_of_line = false;           ///< c lies behind the flatbuffer
  bool large_custom_options = false;  ///< RELU is a custom operator whose options lie behind the flatbuffer
  bool composite = false;  ///< RELU is a STABLEHLO_COMPOSITE (builtin_options_2) with a second subgraph
  bool odd_names = false;  ///< x without a name, y and z with the same, c with one that is not ASCII
  bool two_signatures = false;
  bool zip = false;  ///< an archive with one file and positions from the start of the whole file
  bool empty_zip = false;
  bool sparse = false;               ///< c is sparse: f32[4] with one stored element
  bool zero_elements = false;        ///< one more tensor, f32[0] on a buffer of its own without bytes
  bool legacy_codes = false;         ///< only the byte of the operator code is set
  bool metadata = false;             ///< Metadata and the legacy metadata_buffer list
  bool dynamic_batch = false;        ///< shape_signature [-1, 4] on x, y and z
  bool quantized_details = false;    ///< c has blockwise quantization
  bool unit_relu = false;            ///< RELU_0_TO_1 instead of RELU: an operator that the GPU does not take
  std::string prefix;                ///< in front of every name of a tensor, signature, operator, graph
  bool four_byte_alignment = false;  ///< the bytes of c lie at 4 modulo 16
};

std::string make_tflite(const Recipe& recipe);
/// Every recipe with one oddity, with a name for messages.
std::vector<std::pair<std::string, Recipe>> all_recipes();

std::unique_ptr<Document> open_bytes(const std::string& bytes);  ///< must succeed
/// All graph tables built anew; must succeed.
std::string build_anew(const std::string& bytes);
/// Document::write of an edited model; must succeed, and the result must open with the structure that was
/// meant.
std::string write_edited(const Document& document, const Model& edited);

}  // namespace md::test

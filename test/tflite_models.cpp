#include "test/tflite_models.h"

#include <cstring>

#include "lib/edit/changes.h"
#include "lib/format/tflite/writer.h"
#include "test/catch.h"
#include "tflite_generated.h"

namespace md::test {
namespace {

using flatbuffers::Offset;

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A stored zip archive as metadata tools append it; `files` is 0 or 1.
void append_zip(std::string& file, int files) {
  const std::string name = "labels.txt", body = "cat\ndog\n";
  const auto local = static_cast<std::uint32_t>(file.size());
  const std::uint32_t crc = 0x5f1c3c2f;  // nobody checks it here
  const auto sizes = [&] {
    put<std::uint32_t>(file, crc), put(file, static_cast<std::uint32_t>(body.size())),
        put(file, static_cast<std::uint32_t>(body.size()));
    put(file, static_cast<std::uint16_t>(name.size())), put<std::uint16_t>(file, 0);
  };
  if (files) {
    file += std::string("PK\x03\x04", 4), put<std::uint16_t>(file, 20), put<std::uint16_t>(file, 0),
        put<std::uint16_t>(file, 0), put<std::uint32_t>(file, 0);
    sizes(), file += name + body;
  }
  const auto directory = static_cast<std::uint32_t>(file.size());
  if (files) {
    file += std::string("PK\x01\x02", 4), put<std::uint16_t>(file, 20), put<std::uint16_t>(file, 20),
        put<std::uint16_t>(file, 0), put<std::uint16_t>(file, 0), put<std::uint32_t>(file, 0);
    sizes(), put<std::uint16_t>(file, 0), put<std::uint16_t>(file, 0), put<std::uint16_t>(file, 0),
        put<std::uint32_t>(file, 0), put(file, local), file += name;
  }
  const auto size = static_cast<std::uint32_t>(file.size()) - directory;
  file += std::string("PK\x05\x06", 4), put<std::uint32_t>(file, 0);
  put(file, static_cast<std::uint16_t>(files)), put(file, static_cast<std::uint16_t>(files)), put(file, size),
      put(file, directory), put<std::uint16_t>(file, 0);
}

class Maker {
 public:
  explicit Maker(const Recipe& recipe) : r_(recipe) {}
  std::string make();

 private:
  Offset<flatbuffers::Vector<std::int32_t>> ints(const std::vector<std::int32_t>& v) {
    return b_.CreateVector(v);
  }
  Offset<tflite::Tensor> tensor(const char* name, const std::vector<std::int32_t>& shape,
                                std::uint32_t buffer, char mark);
  Offset<tflite::QuantizationParameters> blockwise();
  Offset<tflite::SparsityParameters> sparsity();
  Offset<tflite::Operator> add();
  Offset<tflite::Operator> relu();
  Offset<tflite::OperatorCode> code(tflite::BuiltinOperator op, const char* custom = nullptr);
  Offset<tflite::SubGraph> main_graph();
  Offset<tflite::SubGraph> body();
  Offset<flatbuffers::Vector<Offset<tflite::Buffer>>> buffers();
  Offset<tflite::SignatureDef> signature(const char* key, const char* input, const char* output);
  void append_behind(std::string& file);

  Recipe r_;
  flatbuffers::FlatBufferBuilder b_;
};

constexpr float constant[] = {1, -2, 3, -4};
constexpr std::uint64_t placeholder = 0x1122334455;

Offset<tflite::QuantizationParameters> Maker::blockwise() {
  const auto details = tflite::CreateBlockwiseQuantization(b_, 0, 0, 32, ints({1}));
  tflite::QuantizationParametersBuilder q(b_);
  q.add_details_type(tflite::QuantizationDetails::BlockwiseQuantization);
  q.add_details(details.Union());
  return q.Finish();
}

Offset<tflite::SparsityParameters> Maker::sparsity() {
  const auto segments = tflite::CreateInt32Vector(b_, ints({0, 1}));
  const std::vector<std::uint8_t> where = {2};
  const auto indices = tflite::CreateUint8Vector(b_, b_.CreateVector(where));
  const auto dimension = tflite::CreateDimensionMetadata(
      b_, tflite::DimensionType::SPARSE_CSR, 4, tflite::SparseIndexVector::Int32Vector, segments.Union(),
      tflite::SparseIndexVector::Uint8Vector, indices.Union());
  return tflite::CreateSparsityParameters(b_, ints({0}), 0, b_.CreateVector(std::vector{dimension}));
}

/// mark: 'z' may get a newer field, 'c' sparsity and details, 's' is a state.
Offset<tflite::Tensor> Maker::tensor(const char* name, const std::vector<std::int32_t>& shape,
                                     std::uint32_t buffer, char mark) {
  Offset<flatbuffers::String> text;
  if (name) text = b_.CreateString(r_.prefix + name);
  const auto sizes = ints(shape);
  Offset<flatbuffers::Vector<std::int32_t>> signature;
  if (r_.dynamic_batch && shape.size() == 2) signature = ints({-1, shape[1]});
  Offset<tflite::SparsityParameters> sparse;
  if (mark == 'c' && r_.sparse) sparse = sparsity();
  Offset<tflite::QuantizationParameters> quantization;
  if (mark == 'c' && r_.quantized_details) quantization = blockwise();
  tflite::TensorBuilder t(b_);
  t.add_shape(sizes);
  t.add_buffer(buffer);
  if (name) t.add_name(text);
  if (!signature.IsNull()) t.add_shape_signature(signature);
  if (!sparse.IsNull()) t.add_sparsity(sparse);
  if (!quantization.IsNull()) t.add_quantization(quantization);
  t.add_is_variable(mark == 's');
  t.add_has_rank(true);
  if (mark == 'z' && r_.newer_tensor_field)
    b_.AddElement<std::int32_t>(static_cast<flatbuffers::voffset_t>(tflite::Tensor::VT_EXTERNAL_BUFFER + 2),
                                77, 0);
  return t.Finish();
}

Offset<tflite::Operator> Maker::add() {
  Offset<tflite::AddOptions> options;
  {
    tflite::AddOptionsBuilder o(b_);
    o.add_pot_scale_int16(false);
    if (r_.newer_options_field)
      b_.AddElement<std::int32_t>(
          static_cast<flatbuffers::voffset_t>(tflite::AddOptions::VT_POT_SCALE_INT16 + 2), 5, 0);
    options = o.Finish();
  }
  return tflite::CreateOperator(b_, 0, ints({0, 1}), ints({2}), tflite::BuiltinOptions::AddOptions,
                                options.Union());
}

Offset<tflite::Operator> Maker::relu() {
  const auto inputs = ints({2}), outputs = ints({3});
  if (r_.large_custom_options) {
    tflite::OperatorBuilder o(b_);
    o.add_opcode_index(1), o.add_inputs(inputs), o.add_outputs(outputs);
    o.add_large_custom_options_offset(placeholder), o.add_large_custom_options_size(16);
    return o.Finish();
  }
  if (r_.composite) {
    const auto options =
        tflite::CreateStableHLOCompositeOptions(b_, b_.CreateString(r_.prefix + "test.relu"), 1);
    tflite::OperatorBuilder o(b_);
    o.add_opcode_index(1), o.add_inputs(inputs), o.add_outputs(outputs);
    o.add_builtin_options_2_type(tflite::BuiltinOptions2::StableHLOCompositeOptions),
        o.add_builtin_options_2(options.Union());
    return o.Finish();
  }
  return tflite::CreateOperator(b_, 1, inputs, outputs);
}

Offset<tflite::OperatorCode> Maker::code(tflite::BuiltinOperator op, const char* custom) {
  const auto number = static_cast<std::int32_t>(op);
  const auto byte = static_cast<std::int8_t>(std::min(number, 127));
  Offset<flatbuffers::String> text;
  if (custom) text = b_.CreateString(r_.prefix + custom);
  return tflite::CreateOperatorCode(b_, byte, text, 1, r_.legacy_codes ? tflite::BuiltinOperator::ADD : op);
}

Offset<tflite::SubGraph> Maker::main_graph() {
  const bool odd = r_.odd_names;
  std::vector<Offset<tflite::Tensor>> tensors = {tensor(odd ? nullptr : "x", {1, 4}, 0, 'x'),
                                                 tensor(odd ? "gr\xc3\xb6\xc3\x9f"
                                                              "e"
                                                            : "c",
                                                        {4}, 1, 'c'),
                                                 tensor("y", {1, 4}, 0, 'y'),
                                                 tensor(odd ? "y" : "z", {1, 4}, 0, 'z')};
  if (r_.variable) tensors.push_back(tensor("state", {1, 4}, 0, 's'));
  if (r_.zero_elements) tensors.push_back(tensor("none", {0}, 2, 'n'));
  const std::vector<Offset<tflite::Operator>> operators = {add(), relu()};
  return tflite::CreateSubGraph(b_, b_.CreateVector(tensors), ints({0}), ints({3}),
                                b_.CreateVector(operators), b_.CreateString(r_.prefix + "main"));
}

Offset<tflite::SubGraph> Maker::body() {
  const std::vector<Offset<tflite::Tensor>> tensors = {tensor("body_in", {1, 4}, 0, 'x'),
                                                       tensor("body_out", {1, 4}, 0, 'y')};
  const std::vector<Offset<tflite::Operator>> operators = {
      tflite::CreateOperator(b_, 2, ints({0}), ints({1}))};
  return tflite::CreateSubGraph(b_, b_.CreateVector(tensors), ints({0}), ints({1}),
                                b_.CreateVector(operators), b_.CreateString(r_.prefix + "body"));
}

Offset<flatbuffers::Vector<Offset<tflite::Buffer>>> Maker::buffers() {
  std::vector<Offset<tflite::Buffer>> list;
  const std::vector<std::uint8_t> junk = {1, 2, 3, 4};
  list.push_back(tflite::CreateBuffer(b_, r_.full_buffer_zero ? b_.CreateVector(junk) : 0));
  const std::size_t stored = r_.sparse ? 4 : sizeof constant;
  if (r_.out_of_line) {
    list.push_back(tflite::CreateBuffer(b_, 0, placeholder, stored));
  } else {
    if (!r_.four_byte_alignment) b_.ForceVectorAlignment(stored, 1, 16);
    list.push_back(
        tflite::CreateBuffer(b_, b_.CreateVector(reinterpret_cast<const std::uint8_t*>(constant), stored)));
  }
  const auto empty = tflite::CreateBuffer(b_);
  for (int i = 0; i < (r_.shared_empty_buffer ? 8 : 1); ++i) list.push_back(empty);
  const std::string version = "1.14.0";
  list.push_back(tflite::CreateBuffer(
      b_, b_.CreateVector(reinterpret_cast<const std::uint8_t*>(version.data()), version.size())));
  return b_.CreateVector(list);
}

Offset<tflite::SignatureDef> Maker::signature(const char* key, const char* input, const char* output) {
  const std::vector in = {tflite::CreateTensorMap(b_, b_.CreateString(r_.prefix + input), 0)},
                    out = {tflite::CreateTensorMap(b_, b_.CreateString(r_.prefix + output), 3)};
  return tflite::CreateSignatureDef(b_, b_.CreateVector(in), b_.CreateVector(out),
                                    b_.CreateString(r_.prefix + key), 0);
}

void Maker::append_behind(std::string& file) {
  while (file.size() % 16) file += '\0';
  auto* model = flatbuffers::GetMutableRoot<tflite::Model>(file.data());
  const auto position = file.size();
  if (r_.out_of_line) model->mutable_buffers()->GetMutableObject(1)->mutate_offset(position);
  if (r_.large_custom_options)
    model->mutable_subgraphs()
        ->GetMutableObject(0)
        ->mutable_operators()
        ->GetMutableObject(1)
        ->mutate_large_custom_options_offset(position);
  file.append(reinterpret_cast<const char*>(constant), sizeof constant);
}

std::string Maker::make() {
  std::vector<Offset<tflite::OperatorCode>> codes = {code(tflite::BuiltinOperator::ADD)};
  if (r_.large_custom_options)
    codes.push_back(code(tflite::BuiltinOperator::CUSTOM, "Big"));
  else
    codes.push_back(code(r_.composite   ? tflite::BuiltinOperator::STABLEHLO_COMPOSITE
                         : r_.unit_relu ? tflite::BuiltinOperator::RELU_0_TO_1
                                        : tflite::BuiltinOperator::RELU));
  codes.push_back(code(tflite::BuiltinOperator::RELU));
  std::vector<Offset<tflite::SubGraph>> graphs = {main_graph()};
  if (r_.composite) graphs.push_back(body());
  std::vector<Offset<tflite::SignatureDef>> signatures;
  if (r_.two_signatures)
    signatures = {signature("serving", "input", "output"), signature("other", "in", "{\"json\": [1]}")};
  const auto all_buffers = buffers();
  const auto last_buffer = static_cast<std::uint32_t>(r_.shared_empty_buffer ? 10 : 3);
  const auto description = b_.CreateString(r_.prefix + "made by hand");
  Offset<flatbuffers::Vector<std::int32_t>> metadata_buffer;
  Offset<flatbuffers::Vector<Offset<tflite::Metadata>>> metadata;
  if (r_.metadata) {
    metadata_buffer = ints({static_cast<std::int32_t>(last_buffer)});
    metadata = b_.CreateVector(std::vector{
        tflite::CreateMetadata(b_, b_.CreateString(r_.prefix + "min_runtime_version"), last_buffer)});
  }
  const auto all_codes = b_.CreateVector(codes);
  const auto all_graphs = b_.CreateVector(graphs);
  const auto all_signatures = b_.CreateVector(signatures);
  tflite::ModelBuilder m(b_);
  m.add_version(3), m.add_operator_codes(all_codes), m.add_subgraphs(all_graphs),
      m.add_description(description), m.add_buffers(all_buffers);
  if (r_.two_signatures) m.add_signature_defs(all_signatures);
  if (r_.metadata) m.add_metadata(metadata), m.add_metadata_buffer(metadata_buffer);
  if (r_.newer_model_field)
    b_.AddElement<std::int32_t>(static_cast<flatbuffers::voffset_t>(tflite::Model::VT_EXTERNAL_BUFFERS + 2),
                                9, 0);
  b_.Finish(m.Finish(), "TFL3");
  std::string file(reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize());
  if (r_.out_of_line || r_.large_custom_options) append_behind(file);
  if (r_.zip || r_.empty_zip) append_zip(file, r_.zip ? 1 : 0);
  return file;
}

}  // namespace

std::string make_tflite(const Recipe& recipe) { return Maker(recipe).make(); }

std::vector<std::pair<std::string, Recipe>> all_recipes() {
  std::vector<std::pair<std::string, Recipe>> list = {{"plain", {}}};
  const auto add = [&](const char* name, bool Recipe::*flag) {
    Recipe recipe;
    recipe.*flag = true;
    list.emplace_back(name, recipe);
  };
  add("shared empty buffer", &Recipe::shared_empty_buffer), add("full buffer 0", &Recipe::full_buffer_zero),
      add("variable", &Recipe::variable);
  add("newer tensor field", &Recipe::newer_tensor_field),
      add("newer model field", &Recipe::newer_model_field),
      add("newer options field", &Recipe::newer_options_field);
  add("out of line", &Recipe::out_of_line), add("large custom options", &Recipe::large_custom_options),
      add("composite", &Recipe::composite);
  add("odd names", &Recipe::odd_names), add("two signatures", &Recipe::two_signatures),
      add("zip", &Recipe::zip), add("empty zip", &Recipe::empty_zip);
  add("sparse", &Recipe::sparse), add("zero elements", &Recipe::zero_elements),
      add("legacy codes", &Recipe::legacy_codes), add("metadata", &Recipe::metadata);
  add("dynamic batch", &Recipe::dynamic_batch), add("blockwise", &Recipe::quantized_details),
      add("4-byte alignment", &Recipe::four_byte_alignment);
  return list;
}

std::unique_ptr<Document> open_bytes(const std::string& bytes) {
  auto document = open_document(MappedFile::from_bytes("made.tflite", bytes));
  INFO((document ? std::string() : document.error().message));
  REQUIRE(document);
  return std::move(*document);
}

std::string build_anew(const std::string& bytes) {
  const auto parts = tfl::read_tflite(MappedFile::from_bytes("made.tflite", bytes));
  REQUIRE(parts);
  MemorySink sink;
  const auto done = tfl::rewrite(*parts, parts->model, {.everything = true}, sink);
  INFO((done ? std::string() : done.error().message));
  REQUIRE(done);
  return sink.bytes;
}

std::string write_edited(const Document& document, const Model& edited) {
  MemorySink sink;
  const auto done = document.write(edited, sink);
  INFO((done ? std::string() : done.error().message));
  REQUIRE(done);
  const auto again = open_bytes(sink.bytes);
  const auto difference = same_structure(edited, again->model(), true);
  INFO(difference.value_or(""));
  REQUIRE_FALSE(difference);
  return sink.bytes;
}

}  // namespace md::test

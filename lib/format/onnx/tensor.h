// Tensors and types as an .onnx file spells them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/format/onnx/wire.h"
#include "lib/graph/graph.h"

namespace md::onnx {

/// A TensorProto taken apart; numbers are not looked at.
struct TensorParts {
  std::string name;
  Shape shape;
  std::int64_t data_type = 0;
  Bytes message;             ///< all of it
  std::optional<Bytes> raw;  ///< raw_data
  std::vector<Field>
      numbers;            ///< float_data, int32_data, int64_data, double_data, uint64_data, in their order
  bool texts = false;     ///< string_data
  bool external = false;  ///< data_location says so
  std::map<std::string, std::string> where;  ///< external_data: location, offset, length
};
/// nullopt: the bytes are no message.
std::optional<TensorParts> read_tensor(Bytes message);

/// Files that hold tensors outside the model, each mapped once.
class ExternalFiles {
 public:
  /// `model`: the path of the model; locations are relative to its folder.
  explicit ExternalFiles(std::string model) : model_(std::move(model)) {}
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);
  /// Names of the files that were opened, relative to the model's folder.
  std::vector<std::string> names() const;

 private:
  std::string model_;
  std::map<std::string, std::shared_ptr<const MappedFile>> open_;
};

/// The tensor's elements: a range of the file where the spelling allows that, else bytes of their own. Errors
/// say what was expected, without the file's name.
Result<Constant> constant_of(const TensorParts& tensor, const std::shared_ptr<const MappedFile>& file,
                             ExternalFiles& external);

/// A TypeProto's element type, shape and names of dimensions; sequences, maps and optionals are
/// DType::variant. False: the bytes are no message.
bool read_type(Bytes message, Value& value);

}  // namespace md::onnx

// Parts of the writer: tensors and operators of an edited graph as tables of the front.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/format/tflite/front.h"
#include "lib/format/tflite/reader.h"
#include "lib/format/tflite/writer.h"

namespace tflite {
struct Tensor;
struct Operator;
struct QuantizationParameters;
}  // namespace tflite

namespace md::tfl {

/// The tables that a rewrite shares: operator codes and buffers are numbered for the whole file.
class Builder {
 public:
  Builder(const TfliteFile& parts, const Model& edited, const RewriteOptions& options);

  /// The tensor table of value `id` of edited graph `g`: the old one when nothing about it changed.
  Result<Target> tensor(std::size_t g, ValueId id);
  /// The operator table of node `id` of edited graph `g`.
  Result<Target> operation(std::size_t g, NodeId id);

  /// After all tensors and operators: the lists that grew, or nullopt when the old ones hold.
  std::optional<Target> operator_codes();
  std::optional<Target> buffers();

  Front front;

  Bytes file() const { return parts_.file->bytes(); }
  std::uint64_t position(const void* table) const {
    return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(table) - file().data());
  }
  const TfliteFile& parts() const { return parts_; }
  bool everything() const { return options_.everything; }

 private:
  const Graph* original_graph(std::size_t g) const;
  Result<std::uint32_t> code_index(const Node& node);
  std::vector<char> abandoned_codes() const;
  std::uint32_t buffer_index(const Constant& constant);
  std::string unique_name(std::size_t g, ValueId id);
  Status set_type(Draft& draft, const Value& value, const Value* before);
  Result<Target> quantization(const Quantization& q, const tflite::QuantizationParameters* old);
  Target sparsity(const Sparsity& from);
  Target dimension(const Sparsity::Dimension& from);
  Status set_operands(Draft& draft, const Node& node, const Node* before);
  Status set_options(Draft& draft, const Node& node, const Node* before, const tflite::Operator* old);
  Status set_option(Draft& options, const FieldInfo& field, const AttrValue& value, const Node& node);
  template <class T>
  Target ints(const std::vector<T>& values);

  const TfliteFile& parts_;
  const Model& edited_;
  RewriteOptions options_;
  std::vector<Target> new_codes_, new_buffers_;
  std::unordered_map<std::string, std::uint32_t> code_by_key_;
  std::unordered_set<std::uint32_t> reused_codes_;  ///< old codes that new or changed operators name
  std::unordered_map<const std::uint8_t*, std::pair<std::size_t, std::uint32_t>> buffer_by_bytes_;
  std::vector<std::unordered_set<std::string>> names_;
};

}  // namespace md::tfl

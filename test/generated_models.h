// Random valid .tflite models: what real converters never write together, and no example of a rule holds.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/eval/samples.h"
#include "lib/graph/graph.h"
#include "lib/op/infer.h"

namespace md::test {

/// Puts a graph together operator by operator; types of results come from the library's own inference.
class ModelMaker {
 public:
  explicit ModelMaker(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t limit) { return random_.below(limit); }
  bool chance(int percent) { return random_.below(100) < percent; }
  /// 1 and odd sizes among them; at most `largest`.
  std::int64_t size(std::int64_t largest = 16);
  Shape shape(int lowest_rank, int highest_rank);
  DType type();  ///< mostly f32

  const Graph& graph() const { return graph_; }
  /// Gone with the next value that is added.
  const Value& value(ValueId id) const { return graph_.value(id); }
  Shape shape_of(ValueId id) const { return graph_.value(id).shape; }

  /// A run-time value of this type and rank: one that is there, or a new input of the graph.
  ValueId operand(DType dtype, int lowest_rank, int highest_rank);
  /// The same of exactly this shape.
  ValueId operand(DType dtype, const Shape& shape);
  ValueId input(DType dtype, Shape shape);
  ValueId constant(DType dtype, const Shape& shape, const std::vector<double>& numbers);
  ValueId integers(const std::vector<std::int64_t>& numbers, DType dtype = DType::i32);
  ValueId number(DType dtype, double number);
  /// Random numbers: f32, f16 or int8 behind a DEQUANTIZE for f32, else the type itself.
  ValueId weights(DType dtype, const Shape& shape);
  ValueId random_constant(DType dtype, const Shape& shape);
  /// A value, or a constant at times, that broadcasts against `shape`.
  ValueId partner(DType dtype, const Shape& shape);

  /// The attribute as the operator's enumeration has it.
  void set_enum(Attributes& attrs, std::string_view op, std::string_view attribute,
                std::int64_t number) const;
  /// A node whose results are what inference says; empty when it says no.
  std::vector<ValueId> emit(const std::string& op, std::vector<ValueId> inputs, Attributes attrs = {},
                            std::size_t outputs = 1);
  /// A node whose results are as given.
  std::vector<ValueId> emit_as(const std::string& op, std::vector<ValueId> inputs, Attributes attrs,
                               const std::vector<ValueType>& types);

  /// Marks outputs (what nobody reads, and some in the middle); the finished graph.
  Graph finish();

 private:
  ValueId add(Value value);
  std::optional<Quantization> scales(DType dtype);

  Random random_;
  Graph graph_;
  std::vector<ValueId> live_;  ///< run-time values
};

/// Adds one operator of that name, false when the random operands did not suit it.
using OperatorMaker = bool (*)(ModelMaker& m, const std::string& op);
struct MadeOperator {
  std::string_view op;
  OperatorMaker make = nullptr;
};
/// Those that move elements.
std::span<const MadeOperator> moving_operators();
/// Every operator of TFLite's table that has a kernel and that the generator knows.
const std::vector<MadeOperator>& made_operators();

/// The bytes of the model of this number: one to eight operators, always the same ones.
std::string generated_model(std::uint64_t seed);
/// The operators in it.
std::set<std::string> operators_of(const std::string& bytes);

/// What reading, checking, mending, writing, mending again, fp16 and inspecting break on this model: "" when
/// nothing does. A damaged promise counts (another interface from safe fixes, a second fix that finds more to
/// do, a rewritten model that computes something else), a crash ends the program.
std::string model_fault(const std::string& bytes, std::uint64_t seed);
/// Loads the rules, so that processes that are forked for one model each share them.
void prepare_trials();

}  // namespace md::test

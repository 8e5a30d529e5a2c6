// What an expression of the rule language gives.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// A constant that a replacement makes.
struct NewConstant {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> numbers;  ///< real values, row-major
  std::optional<Quantization> quantization;
};

struct Datum {
  enum class Kind { none, flag, number, text, list, value, record, constant } kind = Kind::none;
  bool flag = false;
  double number = 0;
  bool real = false;  ///< a number or list that was written or computed as floating point
  std::string text;
  std::vector<double> list;
  std::vector<std::string> texts;  ///< a list of texts instead of numbers
  Shape list_shape;                ///< of a nested list; one dimension otherwise
  ValueId value = none_id;
  std::shared_ptr<const std::map<std::string, Datum, std::less<>>> record;
  std::shared_ptr<const NewConstant> constant;

  static Datum of(bool flag);
  static Datum of(double number);
  static Datum of(std::string text);
  static Datum of(std::vector<double> list);
  static Datum of(const Shape& shape);
  static Datum of_value(ValueId id);
  static Datum of(NewConstant constant);
};

/// For reasons: "8", "[1, 2]", "\"i32\"", "none".
std::string text_of(const Datum& datum);
/// Equal in kind and content; a value equals only itself.
bool same_datum(const Datum& a, const Datum& b);

}  // namespace md

// Types, constants and attribute values as the text form of graphs writes them.
#pragma once
#include <string>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/op/lexer.h"
#include "lib/op/ops.h"

namespace md {

/// Reads from the lexer's current token on; errors stay in the lexer.
class LiteralReader {
 public:
  explicit LiteralReader(Lexer& lexer) : lexer_(lexer) {}
  /// "f32[1, ?batch] q(0.5, -3)": element type, shape, dimension names, quantization.
  void type(Value& value);
  /// What stands behind "=" of a constant of the value's type; `line` is where its declaration began.
  void constant(Value& value, int line);
  /// An attribute's value; `known` (or null) settles what a bare number or name means.
  AttrValue attribute(const AttributeSpec* known);

 private:
  void quantization(Value& value);
  bool number(double& value);
  std::vector<double> numbers();
  std::vector<float> floats();
  std::vector<double> generate(std::size_t count);
  void wide_integers(Value& value, std::int64_t count, int line);
  std::vector<std::uint8_t> hex_digits();
  AttrValue enumeration();
  AttrValue attribute_list(bool real);

  Lexer& lexer_;
};

}  // namespace md

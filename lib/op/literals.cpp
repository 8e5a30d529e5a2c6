#include "lib/op/literals.h"

#include <fmt/format.h>

#include <cmath>

#include "lib/base/nearest.h"
#include "lib/graph/encode.h"
#include "lib/op/text.h"

namespace md {
namespace {

using Kind = Token::Kind;

/// Elements that a text may ask for with splat, iota or random.
constexpr std::int64_t largest_generated = 1 << 24;

}  // namespace

void LiteralReader::type(Value& value) {
  const Token token = lexer_.peek();
  const auto dtype = token.kind == Kind::name && token.text == "unknown" ? std::optional(DType::unknown)
                                                                         : dtype_from_name(token.text);
  if (token.kind != Kind::name || !dtype)
    return void(lexer_.fail(fmt::format("expected a type such as f32[1, 4], not {}", lexer_.seen())));
  lexer_.take();
  value.dtype = *dtype;
  if (!lexer_.expect("[")) return;
  bool named = false;
  while (!lexer_.failed() && !lexer_.accept("]")) {
    std::string dim_name;
    if (lexer_.accept("?")) {
      value.shape.push_back(dynamic_dim);
      if (lexer_.peek().kind == Kind::name && lexer_.peek().glued)
        dim_name = lexer_.take().text, named = true;
    } else if (lexer_.peek().kind == Kind::integer && lexer_.peek().number >= 0) {
      value.shape.push_back(lexer_.take().number);
    } else {
      return void(lexer_.fail(fmt::format("expected a dimension, not {}", lexer_.seen())));
    }
    value.dim_names.push_back(dim_name);
    if (!lexer_.peek().is("]")) lexer_.expect(",");
  }
  if (!named) value.dim_names.clear();
  if (lexer_.peek().is_name("q")) quantization(value);
}

void LiteralReader::quantization(Value& value) {
  lexer_.take();
  if (!lexer_.expect("(")) return;
  Quantization q;
  q.scale = floats();
  lexer_.expect(",");
  for (const double zero : numbers()) q.zero_point.push_back(static_cast<std::int64_t>(zero));
  while (lexer_.accept(",")) {
    const std::string key = lexer_.peek().kind == Kind::name ? lexer_.take().text : "";
    if (!lexer_.expect("=")) return;
    if (key == "axis" && lexer_.peek().kind == Kind::integer)
      q.axis = static_cast<int>(lexer_.take().number);
    else if (key == "min")
      q.min = floats();
    else if (key == "max")
      q.max = floats();
    else
      return void(lexer_.fail("expected axis, min or max in q(...)"));
  }
  lexer_.expect(")");
  value.quantization = std::move(q);
}

std::vector<float> LiteralReader::floats() {
  std::vector<float> out;
  for (const double v : numbers()) out.push_back(static_cast<float>(v));
  return out;
}

bool LiteralReader::number(double& value) {
  const Token& token = lexer_.peek();
  if (token.kind == Kind::integer || token.kind == Kind::real)
    value = token.value;
  else if (token.is_name("inf"))
    value = HUGE_VAL;
  else if (token.is_name("nan"))
    value = std::nan("");
  else if (token.is_name("true"))
    value = 1;
  else if (token.is_name("false"))
    value = 0;
  else
    return lexer_.fail(fmt::format("expected a number, not {}", lexer_.seen()));
  lexer_.take();
  return true;
}

/// One number, or a list; lists may be nested and are read row by row.
std::vector<double> LiteralReader::numbers() {
  std::vector<double> out;
  int depth = 0;
  do {
    double value = 0;
    if (lexer_.accept("["))
      ++depth;
    else if (depth && lexer_.accept("]"))
      --depth;
    else if (depth && lexer_.accept(","))
      continue;
    else if (number(value))
      out.push_back(value);
  } while (depth && !lexer_.failed());
  return out;
}

void LiteralReader::constant(Value& value, int line) {
  const auto count = element_count(value.shape);
  if (!count) return void(lexer_.fail("a constant needs fixed dimensions", line));
  if (lexer_.peek().is("..."))
    return void(lexer_.fail("this constant was printed shortened; it cannot be read back"));
  if (lexer_.accept_name("hex")) {
    value.constant = Constant::own(hex_digits());
    return;
  }
  if (value.dtype == DType::i64 && lexer_.peek().is("[")) return wide_integers(value, *count, line);
  std::vector<double> values;
  const bool generated =
      lexer_.peek().is_name("splat") || lexer_.peek().is_name("iota") || lexer_.peek().is_name("random");
  if (generated && *count > largest_generated)
    return void(lexer_.fail(fmt::format("{} elements are too many for a text", *count), line));
  if (generated)
    values = generate(static_cast<std::size_t>(*count));
  else
    values = numbers();
  if (lexer_.failed()) return;
  if (bit_width(value.dtype) == 0)
    return void(
        lexer_.fail(fmt::format("constants of type {} are written hex \"...\"", name(value.dtype)), line));
  if (values.size() != static_cast<std::size_t>(*count))
    return void(lexer_.fail(
        fmt::format("{} has {} elements, but {} are given", print_type(value), *count, values.size()), line));
  value.constant = Constant::own(encode(value.dtype, value.shape, values));
}

std::vector<double> LiteralReader::generate(std::size_t count) {
  std::vector<double> values(count);
  if (lexer_.accept_name("iota")) {
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
    return values;
  }
  const bool random = lexer_.take().text == "random";
  double argument = 0;
  if (!lexer_.expect("(") || !number(argument) || !lexer_.expect(")")) return {};
  auto state = static_cast<std::uint64_t>(argument) * 2654435769u + 12345u;
  for (double& v : values) {
    // Knuth's MMIX generator: the same numbers on every machine.
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = random ? static_cast<double>(static_cast<float>(static_cast<std::int32_t>(state >> 40)) / 8388608.0f -
                                     1.0f)
               : argument;
  }
  return values;
}

/// i64 exactly, which doubles cannot hold.
void LiteralReader::wide_integers(Value& value, std::int64_t count, int line) {
  std::vector<std::uint8_t> bytes;
  int depth = 0;
  do {
    if (lexer_.accept("[")) {
      ++depth;
    } else if (lexer_.accept("]")) {
      --depth;
    } else if (!lexer_.accept(",")) {
      if (lexer_.peek().kind != Kind::integer)
        return void(lexer_.fail(fmt::format("expected an integer, not {}", lexer_.seen())));
      const auto bits = static_cast<std::uint64_t>(lexer_.take().number);
      for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
  } while (depth > 0 && !lexer_.failed());
  if (lexer_.failed()) return;
  if (bytes.size() / 8 != static_cast<std::size_t>(count))
    return void(lexer_.fail(
        fmt::format("{} has {} elements, but {} are given", print_type(value), count, bytes.size() / 8),
        line));
  value.constant = Constant::own(std::move(bytes));
}

std::vector<std::uint8_t> LiteralReader::hex_digits() {
  std::vector<std::uint8_t> bytes;
  const Token token = lexer_.peek();
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (token.kind != Kind::string || token.text.size() % 2)
    return lexer_.fail("expected hex \"00ff...\""), bytes;
  for (std::size_t i = 0; i < token.text.size(); i += 2) {
    const int high = digit(token.text[i]), low = digit(token.text[i + 1]);
    if (high < 0 || low < 0) return lexer_.fail("expected pairs of the digits 0-9 and a-f"), bytes;
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  lexer_.take();
  return bytes;
}

AttrValue LiteralReader::attribute(const AttributeSpec* known) {
  const Token token = lexer_.peek();
  if (token.kind == Kind::name && known && known->enumeration) {
    if (const auto e = known->enumeration->find(token.text)) return lexer_.take(), *e;
    if (token.text != "enum")
      return lexer_.fail(fmt::format("{} is no value of {}{}", token.text, known->name,
                                     did_you_mean(token.text, known->enumeration->values))),
             AttrValue();
  }
  if (token.kind == Kind::string) return lexer_.take().text;
  if (token.kind == Kind::real || token.is_name("inf") || token.is_name("nan")) {
    double value = 0;
    number(value);
    return value;
  }
  if (token.kind == Kind::integer) {
    lexer_.take();
    if (known && std::holds_alternative<double>(known->schema_default)) return token.value;
    if (known && std::holds_alternative<bool>(known->schema_default)) return token.number != 0;
    return token.number;
  }
  if (token.is("["))
    return attribute_list(known && std::holds_alternative<std::vector<double>>(known->schema_default));
  if (token.kind != Kind::name)
    return lexer_.fail(fmt::format("expected an attribute's value, not {}", lexer_.seen())), AttrValue();
  lexer_.take();
  if (token.text == "true" || token.text == "false") return token.text == "true";
  if (token.text == "none") return std::monostate();
  if (token.text == "hex") return Blob{hex_digits()};
  if (token.text == "floats" && lexer_.expect("[") && lexer_.expect("]")) return std::vector<double>();
  if (token.text == "texts" && lexer_.expect("[") && lexer_.expect("]")) return std::vector<std::string>();
  if (token.text == "enum") return enumeration();
  return lexer_.fail(fmt::format("\"{}\" is no attribute value", token.text), token.line), AttrValue();
}

AttrValue LiteralReader::enumeration() {
  EnumValue value;
  lexer_.expect("(");
  value.number = lexer_.take().number;
  lexer_.expect(",");
  value.name = lexer_.take().text;
  lexer_.expect(")");
  return value;
}

AttrValue LiteralReader::attribute_list(bool real) {
  lexer_.take();
  std::vector<std::int64_t> whole;
  std::vector<double> reals;
  std::vector<std::string> texts;
  while (!lexer_.failed() && !lexer_.accept("]")) {
    const Token token = lexer_.peek();
    if (token.kind == Kind::string) {
      texts.push_back(lexer_.take().text);
    } else {
      double value = 0;
      if (!number(value)) break;
      real = real || token.kind != Kind::integer;
      whole.push_back(token.number);
      reals.push_back(value);
    }
    if (!lexer_.peek().is("]")) lexer_.expect(",");
  }
  if (!texts.empty()) return texts;
  if (real) return reals;
  return whole;
}

}  // namespace md

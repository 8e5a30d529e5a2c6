// Text to graphs.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "lib/base/nearest.h"
#include "lib/graph/encode.h"
#include "lib/graph/infer.h"
#include "lib/graph/lexer.h"
#include "lib/graph/ops.h"
#include "lib/graph/text.h"

namespace md {
namespace {

using Kind = Token::Kind;

/// Elements that a text may ask for with splat, iota or random.
constexpr std::int64_t largest_generated = 1 << 24;

class Parser {
 public:
  Parser(const std::string& path, int first_line, std::string_view text, Format format) : lexer_(path, first_line, text) { model_.format = format; }

  Result<Model> parse() {
    begin_graph("");
    while (!lexer_.failed() && lexer_.peek().kind != Kind::end) line();
    if (!lexer_.failed()) end_graph();
    if (lexer_.failed()) return lexer_.error();
    return std::move(model_);
  }

 private:
  Graph& graph() { return model_.graphs.back(); }

  void begin_graph(std::string name) {
    model_.graphs.emplace_back();
    graph().name = std::move(name);
    names_.clear();
  }

  void end_graph() {
    graph().index();
    if (const auto broken = broken_invariant(graph())) lexer_.fail(*broken);
  }

  void line() {
    const Token first = lexer_.peek();
    if (first.kind == Kind::value || first.is("=")) return node();
    if (lexer_.accept_name("input")) {
      graph().inputs.push_back(declaration());
    } else if (lexer_.accept_name("output")) {
      const ValueId id = known_value();
      if (id >= 0) graph().outputs.push_back(id);
    } else if (lexer_.accept_name("const")) {
      constant();
    } else if (lexer_.accept_name("variable")) {
      const ValueId id = declaration();
      if (id >= 0) graph().value(id).is_variable = true;
    } else if (lexer_.accept_name("value")) {
      declaration();
    } else if (lexer_.accept_name("graph")) {
      end_graph();
      if (lexer_.peek().kind != Kind::string) lexer_.fail("expected the graph's name in quotes");
      else begin_graph(lexer_.take().text);
    } else {
      lexer_.fail(fmt::format("expected input, const, variable, value, output, graph or a statement, not {}", lexer_.seen()));
    }
  }

  /// A value that is named for the first time.
  ValueId new_value() {
    const Token token = lexer_.peek();
    if (token.kind != Kind::value) return lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())), none_id;
    const auto id = static_cast<ValueId>(graph().values.size());
    if (!names_.emplace(std::make_pair(token.text, token.id), id).second)
      return lexer_.fail(fmt::format("%{} is defined twice", token.text)), none_id;
    Value value;
    value.name = token.text;
    value.origin = id;
    graph().values.push_back(std::move(value));
    lexer_.take();
    return id;
  }

  ValueId known_value() {
    const Token token = lexer_.peek();
    if (token.kind != Kind::value) return lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())), none_id;
    const auto found = names_.find({token.text, token.id});
    if (found == names_.end()) return lexer_.fail(fmt::format("%{} is not defined above", token.text)), none_id;
    lexer_.take();
    return found->second;
  }

  ValueId declaration() {
    const ValueId id = new_value();
    if (id >= 0 && lexer_.expect(":")) type(graph().value(id));
    return lexer_.failed() ? none_id : id;
  }

  void type(Value& value) {
    const Token token = lexer_.peek();
    const auto dtype = token.kind == Kind::name && token.text == "unknown" ? std::optional(DType::unknown) : dtype_from_name(token.text);
    if (token.kind != Kind::name || !dtype) return void(lexer_.fail(fmt::format("expected a type such as f32[1, 4], not {}", lexer_.seen())));
    lexer_.take();
    value.dtype = *dtype;
    if (!lexer_.expect("[")) return;
    bool named = false;
    while (!lexer_.failed() && !lexer_.accept("]")) {
      std::string dim_name;
      if (lexer_.accept("?")) {
        value.shape.push_back(dynamic_dim);
        if (lexer_.peek().kind == Kind::name && lexer_.peek().glued) dim_name = lexer_.take().text, named = true;
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

  void quantization(Value& value) {
    lexer_.take();
    if (!lexer_.expect("(")) return;
    Quantization q;
    q.scale = floats();
    lexer_.expect(",");
    for (const double zero : numbers()) q.zero_point.push_back(static_cast<std::int64_t>(zero));
    while (lexer_.accept(",")) {
      const std::string key = lexer_.peek().kind == Kind::name ? lexer_.take().text : "";
      if (!lexer_.expect("=")) return;
      if (key == "axis" && lexer_.peek().kind == Kind::integer) q.axis = static_cast<int>(lexer_.take().number);
      else if (key == "min") q.min = floats();
      else if (key == "max") q.max = floats();
      else return void(lexer_.fail("expected axis, min or max in q(...)"));
    }
    lexer_.expect(")");
    value.quantization = std::move(q);
  }

  std::vector<float> floats() {
    std::vector<float> out;
    for (const double v : numbers()) out.push_back(static_cast<float>(v));
    return out;
  }

  bool number(double& value) {
    const Token& token = lexer_.peek();
    if (token.kind == Kind::integer || token.kind == Kind::real) value = token.value;
    else if (token.is_name("inf")) value = HUGE_VAL;
    else if (token.is_name("nan")) value = std::nan("");
    else if (token.is_name("true")) value = 1;
    else if (token.is_name("false")) value = 0;
    else return lexer_.fail(fmt::format("expected a number, not {}", lexer_.seen()));
    lexer_.take();
    return true;
  }

  /// One number, or a list; lists may be nested and are read row by row.
  std::vector<double> numbers() {
    std::vector<double> out;
    int depth = 0;
    do {
      double value = 0;
      if (lexer_.accept("[")) ++depth;
      else if (depth && lexer_.accept("]")) --depth;
      else if (depth && lexer_.accept(",")) continue;
      else if (number(value)) out.push_back(value);
    } while (depth && !lexer_.failed());
    return out;
  }

  void constant() {
    const int line = lexer_.peek().line;
    const ValueId id = declaration();
    if (id < 0 || !lexer_.expect("=")) return;
    Value& value = graph().value(id);
    const auto count = element_count(value.shape);
    if (!count) return void(lexer_.fail("a constant needs fixed dimensions", line));
    if (lexer_.peek().is("...")) return void(lexer_.fail("this constant was printed shortened; it cannot be read back"));
    if (lexer_.accept_name("hex")) return hex_bytes(value);
    if (value.dtype == DType::i64 && lexer_.peek().is("[")) return wide_integers(value, *count, line);
    std::vector<double> values;
    const bool generated = lexer_.peek().is_name("splat") || lexer_.peek().is_name("iota") || lexer_.peek().is_name("random");
    if (generated && *count > largest_generated) return void(lexer_.fail(fmt::format("{} elements are too many for a text", *count), line));
    if (generated) values = generate(static_cast<std::size_t>(*count));
    else values = numbers();
    if (lexer_.failed()) return;
    if (bit_width(value.dtype) == 0) return void(lexer_.fail(fmt::format("constants of type {} are written hex \"...\"", name(value.dtype)), line));
    if (values.size() != static_cast<std::size_t>(*count))
      return void(lexer_.fail(fmt::format("{} has {} elements, but {} are given", print_type(value), *count, values.size()), line));
    value.constant = Constant::own(encode(value.dtype, value.shape, values));
  }

  std::vector<double> generate(std::size_t count) {
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
      v = random ? static_cast<double>(static_cast<float>(static_cast<std::int32_t>(state >> 40)) / 8388608.0f - 1.0f) : argument;
    }
    return values;
  }

  /// i64 exactly, which doubles cannot hold.
  void wide_integers(Value& value, std::int64_t count, int line) {
    std::vector<std::uint8_t> bytes;
    lexer_.take();
    while (!lexer_.failed() && !lexer_.accept("]")) {
      if (lexer_.peek().kind != Kind::integer) return void(lexer_.fail(fmt::format("expected an integer, not {}", lexer_.seen())));
      const auto bits = static_cast<std::uint64_t>(lexer_.take().number);
      for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
      if (!lexer_.peek().is("]")) lexer_.expect(",");
    }
    if (lexer_.failed()) return;
    if (bytes.size() / 8 != static_cast<std::size_t>(count))
      return void(lexer_.fail(fmt::format("{} has {} elements, but {} are given", print_type(value), count, bytes.size() / 8), line));
    value.constant = Constant::own(std::move(bytes));
  }

  std::vector<std::uint8_t> hex_digits() {
    std::vector<std::uint8_t> bytes;
    const Token token = lexer_.peek();
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    if (token.kind != Kind::string || token.text.size() % 2) return lexer_.fail("expected hex \"00ff...\""), bytes;
    for (std::size_t i = 0; i < token.text.size(); i += 2) {
      const int high = digit(token.text[i]), low = digit(token.text[i + 1]);
      if (high < 0 || low < 0) return lexer_.fail("expected pairs of the digits 0-9 and a-f"), bytes;
      bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
    }
    lexer_.take();
    return bytes;
  }

  void hex_bytes(Value& value) { value.constant = Constant::own(hex_digits()); }

  void node() {
    const int line = lexer_.peek().line;
    std::vector<std::pair<std::string, int>> outputs;  // defined after the operands are read
    Node node;
    while (!lexer_.failed() && !lexer_.accept("=")) {
      if (!outputs.empty() && !lexer_.expect(",")) return;
      const Token& token = lexer_.peek();
      if (token.is("_")) outputs.emplace_back("", -1);
      else if (token.kind == Kind::value) outputs.emplace_back(token.text, token.id);
      else return void(lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())));
      lexer_.take();
    }
    if (!op(node) || !lexer_.expect("(")) return;
    while (!lexer_.failed() && !lexer_.accept(")")) operand(node);
    if (lexer_.accept("{")) attributes(node);
    if (lexer_.failed()) return;
    for (const auto& [name, id] : outputs) node.outputs.push_back(name.empty() && id < 0 ? none_id : define(name, id, line));
    types(node, line);
    if (lexer_.failed()) return;
    complete(node);
    node.origin = static_cast<NodeId>(graph().nodes.size());
    graph().order.push_back(node.origin);
    graph().nodes.push_back(std::move(node));
  }

  ValueId define(const std::string& name, int id, int line) {
    const auto [known, is_new] = names_.emplace(std::make_pair(name, id), static_cast<ValueId>(graph().values.size()));
    if (is_new) {
      Value value;
      value.name = name;
      value.origin = known->second;
      graph().values.push_back(std::move(value));
    } else if (graph().value(known->second).constant) {
      lexer_.fail(fmt::format("%{} is defined twice", name), line);
    }
    return known->second;
  }

  bool op(Node& node) {
    const int line = lexer_.peek().line;
    if (lexer_.peek().kind == Kind::string) {
      node.op = lexer_.take().text;
    } else {
      if (lexer_.peek().kind != Kind::name) return lexer_.fail(fmt::format("expected an operator, not {}", lexer_.seen()));
      node.op = lexer_.take().text;
      while (lexer_.peek().is(".") || lexer_.peek().is("::")) {
        node.op += lexer_.take().text;
        if (lexer_.peek().kind != Kind::name && lexer_.peek().kind != Kind::integer) return lexer_.fail(fmt::format("expected the rest of the operator's name, not {}", lexer_.seen()));
        node.op += lexer_.take().text;
      }
    }
    if (has_op_table(model_.format) && !find_op(model_.format, node.op))
      return lexer_.fail(fmt::format("unknown operator {}{}", node.op, did_you_mean(node.op, op_names(model_.format))), line);
    if (lexer_.accept("@")) {
      if (lexer_.peek().kind != Kind::integer) return lexer_.fail("expected the operator's version behind \"@\"");
      node.version = static_cast<int>(lexer_.take().number);
    }
    if (lexer_.peek().kind == Kind::string) node.custom = lexer_.take().text;
    return true;
  }

  void operand(Node& node) {
    if (!node.inputs.empty() && !lexer_.expect(",")) return;
    if (lexer_.peek().kind == Kind::name) {
      node.input_names.resize(node.inputs.size());
      node.input_names.push_back(lexer_.take().text);
      if (!lexer_.expect("=")) return;
    } else if (!node.input_names.empty()) {
      node.input_names.emplace_back();
    }
    node.inputs.push_back(lexer_.accept("_") ? none_id : known_value());
  }

  void attributes(Node& node) {
    const OpSpec* spec = find_op(model_.format, node.op);
    while (!lexer_.failed() && !lexer_.accept("}")) {
      if (lexer_.peek().kind != Kind::name && lexer_.peek().kind != Kind::string)
        return void(lexer_.fail(fmt::format("expected an attribute's name, not {}", lexer_.seen())));
      const int line = lexer_.peek().line;
      const std::string key = lexer_.take().text;
      const AttributeSpec* known = spec ? spec->find(key) : nullptr;
      if (spec && !known && key != "subgraphs" && node.op != "CUSTOM") {
        std::vector<std::string> names;
        for (const AttributeSpec& attribute : spec->attributes) names.push_back(attribute.name);
        return void(lexer_.fail(fmt::format("{} has no attribute {}{}", node.op, key, did_you_mean(key, names)), line));
      }
      if (!lexer_.expect("=")) return;
      AttrValue value = attribute(known);
      if (key != "subgraphs") node.attrs.set(key, std::move(value));
      else if (const auto* ids = std::get_if<std::vector<std::int64_t>>(&value)) node.subgraphs.assign(ids->begin(), ids->end());
      if (!lexer_.peek().is("}")) lexer_.expect(",");
    }
  }

  AttrValue attribute(const AttributeSpec* known) {
    const Token token = lexer_.peek();
    if (token.kind == Kind::name && known && known->enumeration) {
      if (const auto e = known->enumeration->find(token.text)) return lexer_.take(), *e;
      if (token.text != "enum")
        return lexer_.fail(fmt::format("{} is no value of {}{}", token.text, known->name, did_you_mean(token.text, known->enumeration->values))), AttrValue();
    }
    if (token.kind == Kind::string) return lexer_.take().text;
    if (token.kind == Kind::real || token.is_name("inf") || token.is_name("nan")) {
      double value = 0;
      number(value);
      return value;
    }
    if (token.kind == Kind::integer) {
      lexer_.take();
      if (known && std::holds_alternative<double>(known->usual)) return token.value;
      if (known && std::holds_alternative<bool>(known->usual)) return token.number != 0;
      return token.number;
    }
    if (token.is("[")) return attribute_list(known && std::holds_alternative<std::vector<double>>(known->usual));
    if (token.kind != Kind::name) return lexer_.fail(fmt::format("expected an attribute's value, not {}", lexer_.seen())), AttrValue();
    lexer_.take();
    if (token.text == "true" || token.text == "false") return token.text == "true";
    if (token.text == "none") return std::monostate();
    if (token.text == "hex") return Blob{hex_digits()};
    if (token.text == "floats" && lexer_.expect("[") && lexer_.expect("]")) return std::vector<double>();
    if (token.text == "texts" && lexer_.expect("[") && lexer_.expect("]")) return std::vector<std::string>();
    if (token.text == "enum") return enumeration();
    return lexer_.fail(fmt::format("\"{}\" is no attribute value", token.text), token.line), AttrValue();
  }

  AttrValue enumeration() {
    EnumValue value;
    lexer_.expect("(");
    value.number = lexer_.take().number;
    lexer_.expect(",");
    value.name = lexer_.take().text;
    lexer_.expect(")");
    return value;
  }

  AttrValue attribute_list(bool real) {
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

  /// The types behind ':', or those that follow from the operands.
  void types(const Node& node, int line) {
    if (lexer_.accept(":")) {
      for (std::size_t i = 0; i < node.outputs.size() && !lexer_.failed(); ++i) {
        if (i) lexer_.expect(",");
        if (node.outputs[i] < 0) lexer_.expect("_");
        else type(graph().value(node.outputs[i]));
      }
      return;
    }
    if (node.outputs.empty()) return;
    std::vector<const Value*> operands;
    for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &graph().value(v));
    const auto inferred = infer_types(model_.format, node, operands, node.outputs.size());
    if (!inferred) return void(lexer_.fail(fmt::format("{}: {}; write the result's type behind \" : \"", node.op, inferred.error()), line));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0) continue;
      Value& value = graph().value(node.outputs[i]);
      value.dtype = (*inferred)[i].dtype;
      value.shape = (*inferred)[i].shape;
      value.quantization = (*inferred)[i].quantization;
    }
  }

  /// Attributes that the text leaves out: what the types say, else the usual value.
  void complete(Node& node) {
    std::vector<const Value*> operands;
    std::vector<ValueType> results;
    for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &graph().value(v));
    for (const ValueId v : node.outputs) results.push_back(v < 0 ? ValueType() : type_of(graph().value(v)));
    if (model_.format == Format::tflite) set_derived_attributes(node, operands, results);
    node.attrs = with_defaults(model_.format, node);
  }

  Lexer lexer_;
  Model model_;
  std::map<std::pair<std::string, int>, ValueId> names_;
};

}  // namespace

Result<Model> parse_model(const std::string& path, int first_line, std::string_view text, Format format) {
  return Parser(path, first_line, text, format).parse();
}

}  // namespace md

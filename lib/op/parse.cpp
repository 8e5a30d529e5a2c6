// Text to graphs.
#include <fmt/format.h>

#include <map>

#include "lib/base/nearest.h"
#include "lib/op/dialect.h"
#include "lib/op/infer.h"
#include "lib/op/lexer.h"
#include "lib/op/literals.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"

namespace md {
namespace {

using Kind = Token::Kind;

class Parser {
 public:
  Parser(const std::string& path, int first_line, std::string_view text, const Dialect& dialect)
      : lexer_(path, first_line, text) {
    model_.dialect = &dialect;
  }

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
    graph().dialect = model_.dialect;
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
      if (lexer_.peek().kind != Kind::string)
        lexer_.fail("expected the graph's name in quotes");
      else
        begin_graph(lexer_.take().text);
    } else {
      lexer_.fail(fmt::format("expected input, const, variable, value, output, graph or a statement, not {}",
                              lexer_.seen()));
    }
  }

  /// A value that is named for the first time.
  ValueId new_value() {
    const Token token = lexer_.peek();
    if (token.kind != Kind::value)
      return lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())), none_id;
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
    if (token.kind != Kind::value)
      return lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())), none_id;
    const auto found = names_.find({token.text, token.id});
    if (found == names_.end())
      return lexer_.fail(fmt::format("%{} is not defined above", token.text)), none_id;
    lexer_.take();
    return found->second;
  }

  ValueId declaration() {
    const ValueId id = new_value();
    if (id >= 0 && lexer_.expect(":")) literals_.type(graph().value(id));
    return lexer_.failed() ? none_id : id;
  }

  void constant() {
    const int line = lexer_.peek().line;
    const ValueId id = declaration();
    if (id >= 0 && lexer_.expect("=")) literals_.constant(graph().value(id), line);
  }

  void node() {
    const int line = lexer_.peek().line;
    std::vector<std::pair<std::string, int>> outputs;  // defined after the operands are read
    Node node;
    while (!lexer_.failed() && !lexer_.accept("=")) {
      if (!outputs.empty() && !lexer_.expect(",")) return;
      const Token& token = lexer_.peek();
      if (token.is("_"))
        outputs.emplace_back("", -1);
      else if (token.kind == Kind::value)
        outputs.emplace_back(token.text, token.id);
      else
        return void(lexer_.fail(fmt::format("expected a value %name, not {}", lexer_.seen())));
      lexer_.take();
    }
    if (!op(node) || !lexer_.expect("(")) return;
    while (!lexer_.failed() && !lexer_.accept(")")) operand(node);
    if (lexer_.accept("{")) attributes(node);
    if (lexer_.failed()) return;
    for (const auto& [name, id] : outputs)
      node.outputs.push_back(name.empty() && id < 0 ? none_id : define(name, id, line));
    types(node, line);
    if (lexer_.failed()) return;
    complete(node);
    node.origin = static_cast<NodeId>(graph().nodes.size());
    graph().order.push_back(node.origin);
    graph().nodes.push_back(std::move(node));
  }

  ValueId define(const std::string& name, int id, int line) {
    const auto [known, is_new] =
        names_.emplace(std::make_pair(name, id), static_cast<ValueId>(graph().values.size()));
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
      if (lexer_.peek().kind != Kind::name)
        return lexer_.fail(fmt::format("expected an operator, not {}", lexer_.seen()));
      node.op = lexer_.take().text;
      while (lexer_.peek().is(".") || lexer_.peek().is("::")) {
        node.op += lexer_.take().text;
        if (lexer_.peek().kind != Kind::name && lexer_.peek().kind != Kind::integer)
          return lexer_.fail(fmt::format("expected the rest of the operator's name, not {}", lexer_.seen()));
        node.op += lexer_.take().text;
      }
    }
    if (has_op_table(*model_.dialect) && !find_op(*model_.dialect, node.op))
      return lexer_.fail(
          fmt::format("unknown operator {}{}", node.op, did_you_mean(node.op, op_names(*model_.dialect))),
          line);
    if (lexer_.accept("@")) {
      if (lexer_.peek().kind != Kind::integer)
        return lexer_.fail("expected the operator's version behind \"@\"");
      node.version = static_cast<int>(lexer_.take().number);
    } else {
      node.version = usual_version(*model_.dialect, node.op);
    }
    if (const auto dot = node.op.rfind('.'); model_.dialect->domains_in_names && dot != std::string::npos)
      node.custom = node.op.substr(0, dot);
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
    const OpSpec* spec = find_op(*model_.dialect, node);
    while (!lexer_.failed() && !lexer_.accept("}")) {
      if (lexer_.peek().kind != Kind::name && lexer_.peek().kind != Kind::string)
        return void(lexer_.fail(fmt::format("expected an attribute's name, not {}", lexer_.seen())));
      const int line = lexer_.peek().line;
      const std::string key = lexer_.take().text;
      const AttributeSpec* known = spec ? spec->find(key) : nullptr;
      if (spec && !known && key != "subgraphs" && node.op != model_.dialect->custom_operator) {
        std::vector<std::string> names;
        for (const AttributeSpec& attribute : spec->attributes) names.push_back(attribute.name);
        return void(lexer_.fail(
            fmt::format("{} has no attribute {}{}", node.op, key, did_you_mean(key, names)), line));
      }
      if (!lexer_.expect("=")) return;
      AttrValue value = literals_.attribute(known);
      if (key != "subgraphs")
        node.attrs.set(key, std::move(value));
      else if (const auto* ids = std::get_if<std::vector<std::int64_t>>(&value))
        node.subgraphs.assign(ids->begin(), ids->end());
      if (!lexer_.peek().is("}")) lexer_.expect(",");
    }
  }

  /// The types behind ':', or those that follow from the operands.
  void types(const Node& node, int line) {
    if (lexer_.accept(":")) {
      for (std::size_t i = 0; i < node.outputs.size() && !lexer_.failed(); ++i) {
        if (i) lexer_.expect(",");
        if (node.outputs[i] < 0)
          lexer_.expect("_");
        else
          literals_.type(graph().value(node.outputs[i]));
      }
      return;
    }
    if (node.outputs.empty()) return;
    std::vector<const Value*> operands;
    for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &graph().value(v));
    const auto inferred = infer_types(*model_.dialect, node, operands, node.outputs.size());
    if (!inferred)
      return void(lexer_.fail(
          fmt::format("{}: {}; write the result's type behind \" : \"", node.op, inferred.error()), line));
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
    if (model_.dialect->complete_attributes) model_.dialect->complete_attributes(node, operands, results);
    node.attrs = with_defaults(*model_.dialect, node);
  }

  Lexer lexer_;
  LiteralReader literals_{lexer_};
  Model model_;
  std::map<std::pair<std::string, int>, ValueId> names_;
};

}  // namespace

Result<Model> parse_model(const std::string& path, int first_line, std::string_view text,
                          const Dialect& dialect) {
  return Parser(path, first_line, text, dialect).parse();
}

}  // namespace md

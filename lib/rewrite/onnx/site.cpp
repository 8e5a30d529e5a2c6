#include "lib/rewrite/onnx/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/graph/encode.h"
#include "lib/op/constants.h"
#include "lib/op/ops.h"

namespace md::onnx {

std::string_view base_name(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  return dot == std::string_view::npos ? op : op.substr(dot + 1);
}

bool default_domain(const Node& node) { return node.custom.empty() || node.custom == "ai.onnx"; }

int working_set(const Model& model) {
  if (const int set = onnx_set_version(model)) return set;
  int newest = 13;
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order)
      if (default_domain(graph.node(id))) newest = std::max(newest, graph.node(id).version);
  return newest;
}

std::vector<std::string> texts_with(const DetectContext& context, std::string_view part) {
  std::vector<std::string> texts;
  if (context.log_messages)
    for (const std::string& message : *context.log_messages)
      if (message.find(part) != std::string::npos) texts.push_back(message);
  if (context.predicted)
    for (const PredictedRecord& record : *context.predicted)
      if (record.text.find(part) != std::string::npos) texts.push_back(record.text);
  return texts;
}

std::optional<std::int64_t> number_after(const DetectContext& context, std::string_view phrase) {
  for (const std::string& text : texts_with(context, phrase)) {
    std::size_t at = text.find(phrase) + phrase.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '(')) ++at;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error == std::errc()) return number;
  }
  return std::nullopt;
}

namespace {

/// `word` stands in the text and is not a part of a longer one.
bool says_word(std::string_view text, std::string_view word, bool behind_dot = false) {
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '.';
  };
  if (word.empty()) return false;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(text[at - 1]) || (behind_dot && text[at - 1] == '.')) &&
        (end == text.size() || !letter(text[end]) || (text[end] == '.' && end + 1 == text.size())))
      return true;
  }
  return false;
}

}  // namespace

std::vector<NodeId> blamed(const DetectContext& context, std::initializer_list<std::string_view> parts) {
  const Graph& graph = context.graph;
  std::vector<char> marked(graph.nodes.size(), 0);
  bool predicted = false;
  if (context.predicted)
    for (const PredictedRecord& record : *context.predicted) {
      if (record.node < 0) continue;
      for (const std::string_view part : parts) {
        if (record.text.find(part) == std::string::npos) continue;
        predicted = true;
        if (record.graph == context.graph_index) marked[static_cast<std::size_t>(record.node)] = 1;
      }
    }
  std::vector<NodeId> nodes;
  const auto collect = [&] {
    for (const NodeId id : graph.order)
      if (marked[static_cast<std::size_t>(id)]) nodes.push_back(id);
  };
  collect();
  if (predicted || !context.log_messages) return nodes;
  bool named = false;
  for (const std::string& message : *context.log_messages)
    for (const std::string_view part : parts) {
      if (message.find(part) == std::string::npos) continue;
      for (const NodeId id : graph.order)
        if (says_word(message, graph.node(id).name)) marked[static_cast<std::size_t>(id)] = 1, named = true;
      for (const NodeId id : graph.order)
        if (!named && says_word(message, base_name(graph.node(id).op), true))
          marked[static_cast<std::size_t>(id)] = 1;
    }
  collect();
  return nodes;
}

ValueId operand(const Node& node, std::size_t position) {
  return position < node.inputs.size() ? node.inputs[position] : none_id;
}

std::optional<std::vector<std::int64_t>> integers_of(const Graph& graph, const Node& node,
                                                     std::string_view attribute, std::size_t position) {
  if (const auto* list = node.attrs.integers(attribute)) return *list;
  const ValueId value = operand(node, position);
  return value < 0 ? std::nullopt : constant_integers(graph, value);
}

std::optional<double> number_of(const Graph& graph, const Node& node, std::string_view attribute,
                                std::size_t position) {
  if (node.attrs.find(attribute)) return node.attrs.number(attribute);
  const ValueId value = operand(node, position);
  const auto numbers = value < 0 ? std::nullopt : constant_numbers(graph, value);
  return numbers && numbers->size() == 1 ? std::optional((*numbers)[0]) : std::nullopt;
}

bool fits(const Value& constant, DType dtype) {
  const auto numbers = decode(constant);
  if (!numbers) return false;
  if (dtype == DType::f64 && constant.dtype != DType::i64 && constant.dtype != DType::u64) return true;
  Value stored = constant;
  stored.dtype = dtype;
  stored.constant = Constant::own(encode(dtype, constant.shape, *numbers));
  const auto back = decode(stored);
  if (!back || back->size() != numbers->size()) return false;
  if (is_float(dtype) && is_float(constant.dtype)) return true;  // rounded: the caller says how exact that is
  return std::equal(back->begin(), back->end(), numbers->begin());
}

ValueId as_type(OnnxBuilder& b, ValueId id, DType dtype) {
  const Value& value = b.patch().value(id);
  if (value.dtype == dtype) return id;
  if (value.is_constant() && fits(value, dtype)) {
    const auto numbers = *decode(value);
    return b.constant(value.name, dtype, value.shape, numbers);
  }
  return b.cast(id, dtype);
}

ProposedFix graded(Patch patch) {
  const Exactness exactness = patch.new_nodes.empty() ? Exactness::exact : Exactness::rounding;
  return {std::move(patch), exactness};
}

DetectResult site_of(NodeId node, ValueId value, std::string message) {
  DetectResult result;
  if (node != none_id) result.nodes = {node};
  result.value = value;
  result.message = std::move(message);
  return result;
}

DetectResult declined(NodeId node, std::string message, std::string reason) {
  DetectResult result = site_of(node, none_id, std::move(message));
  result.state = DetectResult::State::declined;
  result.reason = std::move(reason);
  return result;
}

std::vector<DetectResult> repairs_of(const DetectContext& context, std::span<const std::string_view> kinds,
                                     std::string_view title) {
  if (context.graph_index != 0) return {};
  DetectResult result;
  Patch patch;
  patch.title = std::string(title);
  for (const Repair& repair : context.model.repairs) {
    if (std::find(kinds.begin(), kinds.end(), repair.kind) == kinds.end()) continue;
    patch.repairs.push_back(repair);
    if (repair.graph == 0 && repair.node != none_id) result.nodes.push_back(repair.node);
    if (repair.graph == 0 && result.value == none_id) result.value = repair.value;
    if (result.message.empty()) result.message = repair.text;
  }
  if (patch.repairs.empty()) return {};
  if (patch.repairs.size() > 1) result.message += fmt::format(" ({} such places)", patch.repairs.size());
  result.fixes.emplace_back(std::move(patch));
  return {std::move(result)};
}

}  // namespace md::onnx

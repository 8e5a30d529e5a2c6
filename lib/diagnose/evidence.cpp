#include "lib/diagnose/evidence.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>

#include "lib/op/dialect.h"

namespace md {
namespace {

bool is_operator_letter(char c) {
  return std::isupper(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
         c == '_';
}

/// Characters of names that formats give to nodes, operators and values ("aten.slice.Tensor", "add_5",
/// "a/b;c").
bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':' || c == '/' ||
         c == ';';
}

/// A word of prose ("try adding it to ..."): it names a node only where it is marked as a name ("%to").
bool is_plain_word(std::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
}
bool marks_a_name(char before) { return before == '%' || before == '"' || before == '\'' || before == '`'; }

/// Names in the message, as long as possible; trailing punctuation of prose is dropped.
std::vector<std::string_view> names_in(std::string_view message) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < message.size();) {
    if (!is_name_letter(message[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < message.size() && is_name_letter(message[end])) ++end;
    std::string_view word = message.substr(i, end - i);
    while (!word.empty() && (word.back() == '.' || word.back() == ':' || word.back() == ';'))
      word.remove_suffix(1);
    for (const std::string_view prefix : {"torch._ops.", "torch.ops."})
      if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
    const bool marked = i > 0 && marks_a_name(message[i - 1]);
    if (word.size() > 1 && (marked || !is_plain_word(word))) names.push_back(word);
    i = end;
  }
  return names;
}

/// The nodes of a model by what logs call them.
class NameIndex {
 public:
  explicit NameIndex(const Model& model) {
    for (std::size_t g = 0; g < model.graphs.size(); ++g) {
      const Graph& graph = model.graphs[g];
      for (const NodeId id : graph.order) {
        const NodePlace place{static_cast<int>(g), id};
        const Node& node = graph.node(id);
        operators_[node.op].push_back(place);
        if (!node.name.empty()) nodes_[node.name].push_back(place);
        const auto tool_name = graph.dialect ? graph.dialect->tool_name : nullptr;
        if (std::string other = tool_name ? tool_name(node.op) : std::string(); !other.empty())
          operators_[std::move(other)].push_back(place);
      }
    }
  }
  const std::vector<NodePlace>* operators(const std::string& op) const { return find(operators_, op); }
  const std::vector<NodePlace>* nodes(const std::string& node) const { return find(nodes_, node); }

 private:
  using Map = std::unordered_map<std::string, std::vector<NodePlace>>;
  static const std::vector<NodePlace>* find(const Map& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  Map operators_, nodes_;
};

/// True when the message ends with the tensor's name or holds it in quotes: the two ways in which runtimes
/// print it.
bool names_tensor(std::string_view message, const std::string& tensor) {
  if (tensor.empty()) return false;
  return message.ends_with(" " + tensor) || message.find("\"" + tensor + "\"") != std::string_view::npos;
}

bool touches_named_tensor(const Graph& graph, const Node& node, std::string_view message) {
  const auto named = [&](ValueId id) { return id >= 0 && names_tensor(message, graph.value(id).name); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), named) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), named);
}

std::vector<const Signature*> all_signatures(const RuleBook& rules) {
  std::vector<const Signature*> signatures;
  for (const Rule& rule : rules.rules())
    for (const Signature& signature : rule.log) signatures.push_back(&signature);
  return signatures;
}

void attribute_by_operator(LogEvidence& item, std::string_view op, const Model& model,
                           const NameIndex& names) {
  const std::vector<NodePlace>* places = names.operators(std::string(op));
  if (!places) {
    item.of_other_model = true;
    return;
  }
  for (const NodePlace& place : *places) {
    const Graph& graph = model.graphs[static_cast<std::size_t>(place.graph)];
    if (touches_named_tensor(graph, graph.node(place.node), item.record->headline()))
      item.nodes.insert(place);
  }
  item.attribution = Attribution::tensor;
  if (!item.nodes.empty()) return;
  item.nodes.insert(places->begin(), places->end());
  item.attribution = Attribution::op;
}

void attribute_by_name(LogEvidence& item, const NameIndex& names) {
  for (const std::string_view word : names_in(item.record->message)) {
    if (const auto* places = names.nodes(std::string(word))) {
      item.nodes.insert(places->begin(), places->end());
      item.attribution = std::max(item.attribution, Attribution::tensor);
    } else if (const auto* same_op = names.operators(std::string(word)); same_op && item.nodes.empty()) {
      item.nodes.insert(same_op->begin(), same_op->end());
      item.attribution = std::max(item.attribution, Attribution::op);
    }
  }
}

/// A kernel that could not be built is logged behind the place in the source and before its details: the
/// prediction holds the part that stays the same.
const std::vector<NodePlace>* find_predicted(
    const std::map<std::string, std::vector<NodePlace>, std::less<>>& predicted, std::string_view headline) {
  if (const auto same = predicted.find(headline); same != predicted.end()) return &same->second;
  const std::string_view failure = kernel_failure_in(headline);
  if (failure.empty()) return nullptr;
  // A text that the failure begins with sorts at or before it.
  auto at = predicted.upper_bound(failure);
  if (at == predicted.begin() || !failure.starts_with((--at)->first)) return nullptr;
  return &at->second;
}

}  // namespace

std::string_view kernel_failure_in(std::string_view headline) {
  const std::size_t at = headline.find("INVALID_ARGUMENT");
  return at == std::string_view::npos ? std::string_view() : headline.substr(at);
}

std::string_view operator_in(std::string_view message) {
  std::size_t end = 0;
  while (end < message.size() && is_operator_letter(message[end])) ++end;
  if (end < 2) return "";
  const std::string_view op = message.substr(0, end);
  if (message.substr(end).starts_with(": ")) return op;
  if ((op == "CUSTOM" || op == "DELEGATE") && message.substr(end).starts_with(" ")) return op;
  return "";
}

RuleIndex::RuleIndex(const RuleBook& rules) : signatures_(all_signatures(rules)) {
  for (const Rule& rule : rules.rules())
    for (const Signature& signature : rule.log) owners_.push_back({&rule, &signature});
}

std::vector<RuleHit> RuleIndex::hits_with_words(std::string_view text) const {
  std::vector<SignatureSet::Hit> matches = signatures_.match(text);
  std::stable_sort(
      matches.begin(), matches.end(), [&](const SignatureSet::Hit& a, const SignatureSet::Hit& b) {
        return owners_[a.signature].signature->text().size() > owners_[b.signature].signature->text().size();
      });
  std::vector<SignatureOwner> all;
  for (const SignatureSet::Hit& match : matches) all.push_back(owners_[match.signature]);
  const std::vector<const Rule*> speakers = most_specific(all);
  std::vector<RuleHit> found;
  for (SignatureSet::Hit& match : matches) {
    const Rule* rule = owners_[match.signature].rule;
    if (std::any_of(found.begin(), found.end(), [&](const RuleHit& hit) { return hit.rule == rule; }))
      continue;
    const bool speaks = std::find(speakers.begin(), speakers.end(), rule) != speakers.end();
    // A rule that mends is kept: its pattern may be in the model whoever speaks of the line.
    if (speaks || rule->detector || !rule->rewrites.empty())
      found.push_back({rule, std::move(match.hit.captures), speaks});
  }
  return found;
}

std::vector<const Rule*> RuleIndex::hits(std::string_view text) const {
  std::vector<const Rule*> rules;
  for (const RuleHit& hit : hits_with_words(text)) rules.push_back(hit.rule);
  return rules;
}

namespace {

/// A sentence that a tool writes over several records of one failure is known by them together. The record
/// that leads gets the rules.
void match_whole_failures(std::vector<LogEvidence>& evidence, std::size_t from, const RuleIndex& index) {
  struct Whole {
    std::string text;
    std::size_t lead = 0, records = 0;
    bool known = false;
  };
  std::map<int, Whole> failures;
  for (std::size_t i = from; i < evidence.size(); ++i) {
    const Record& record = *evidence[i].record;
    if (!record.failure) continue;
    Whole& whole = failures[record.failure_number];
    if (record.leads) whole.lead = i;
    whole.known = whole.known || !evidence[i].rules.empty();
    whole.text += (whole.text.empty() ? "" : "\n") + record.message;
    ++whole.records;
  }
  for (const auto& [number, whole] : failures) {
    if (whole.known || whole.records < 2) continue;
    for (RuleHit& hit : index.hits_with_words(whole.text)) {
      evidence[whole.lead].rules.push_back(hit.rule);
      evidence[whole.lead].captures.push_back(std::move(hit.captures));
      evidence[whole.lead].speaks.push_back(hit.speaks);
    }
  }
}

}  // namespace

std::vector<const Rule*> rules_of_text(std::string_view text, const RuleIndex& index) {
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  const auto log = parse_log("text", bytes);
  if (!log) return {};
  const std::vector<Log> logs = {*log};
  std::vector<const Rule*> rules;
  for (const LogEvidence& item : gather_evidence(logs, index))
    for (std::size_t r = 0; r < item.rules.size(); ++r)
      if (item.speaks[r] && std::find(rules.begin(), rules.end(), item.rules[r]) == rules.end())
        rules.push_back(item.rules[r]);
  return rules;
}

std::vector<LogEvidence> gather_evidence(const std::vector<Log>& logs, const RuleIndex& index) {
  std::vector<LogEvidence> evidence;
  for (const Log& log : logs) {
    const std::size_t from = evidence.size();
    for (const Record& record : log.records) {
      LogEvidence item;
      item.path = log.path;
      item.record = &record;
      if (!record.benign)
        for (RuleHit& hit : index.hits_with_words(record.message)) {
          item.rules.push_back(hit.rule);
          item.captures.push_back(std::move(hit.captures));
          item.speaks.push_back(hit.speaks);
        }
      if (record.failure || record.benign || !item.rules.empty()) evidence.push_back(std::move(item));
    }
    match_whole_failures(evidence, from, index);
  }
  return evidence;
}

void attribute(std::vector<LogEvidence>& evidence, const Model& model,
               const std::vector<Prediction>& predictions) {
  std::map<std::string, std::vector<NodePlace>, std::less<>> predicted;
  for (const Prediction& prediction : predictions)
    for (const PredictedRecord& record : prediction.records)
      if (record.node != none_id) predicted[record.text].push_back({record.graph, record.node});
  const NameIndex names(model);
  for (LogEvidence& item : evidence) {
    if (item.record->benign) continue;
    if (const auto* places = find_predicted(predicted, item.record->headline())) {
      item.nodes.insert(places->begin(), places->end());
      item.attribution = Attribution::exact;
      continue;
    }
    const std::string_view op =
        model.dialect->lines_name_nodes ? operator_in(item.record->headline()) : std::string_view();
    // Level words look like operators ("ERROR: ..."); they are none.
    if (!op.empty() && op != "ERROR" && op != "WARNING" && op != "INFO" && op != "INVALID_ARGUMENT" &&
        op != "INTERNAL")
      attribute_by_operator(item, op, model, names);
    else
      attribute_by_name(item, names);
  }
}

bool is_of_other_model(const std::vector<LogEvidence>& evidence) {
  bool other = false;
  for (const LogEvidence& item : evidence) {
    if (!item.record->failure || item.record->benign) continue;
    if (item.attribution != Attribution::none) return false;
    other = other || item.of_other_model;
  }
  return other;
}

}  // namespace md

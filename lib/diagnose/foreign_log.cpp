#include "lib/diagnose/foreign_log.h"
#include "lib/op/dialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace md {
namespace {

constexpr std::size_t kNamesShown = 3;

/// What a model calls its tensors, nodes and layers. Runtimes print the names of a signature for its ends.
std::unordered_set<std::string> names_of(const Model& model) {
  std::unordered_set<std::string> names;
  for (const Graph& graph : model.graphs) {
    for (const Value& value : graph.values) names.insert(value.name);
    for (const Node& node : graph.nodes) names.insert(node.name), names.insert(node.layer);
  }
  for (const ModelSignature& signature : model.signatures)
    for (const auto* ends : {&signature.inputs, &signature.outputs})
      for (const auto& [name, value] : *ends) names.insert(name);
  return names;
}

/// The line without the tensor's name: the same in two exports of one model.
std::string without_tensor(std::string_view line) {
  const std::string_view tensor = tensor_named_in(line);
  if (tensor.empty()) return std::string(line);
  const auto at = static_cast<std::size_t>(tensor.data() - line.data());
  return std::string(line.substr(0, at)) + '\0' + std::string(line.substr(at + tensor.size()));
}

/// What a log says of places in a model.
struct Claims {
  std::vector<std::string> names;  ///< tensors and nodes, as often as they are named
  std::vector<std::string> files;  ///< of the user's source that the failing node came from
  std::set<std::string> lines;     ///< of the delegate
};

/// "While executing %conv2d : ..." and below it the user's frames, which the exported nodes carry too.
void read_exported_node(std::string_view message, Claims& claims) {
  constexpr std::string_view head = "While executing %", frames = "Original traceback:", file = "File \"";
  const std::size_t at = message.find(head);
  if (at == std::string_view::npos) return;
  const std::string_view name = message.substr(at + head.size());
  std::size_t end = 0;
  while (end < name.size() && name[end] != ' ' && name[end] != '\n') ++end;
  const std::size_t begin = message.find(frames, at);
  if (begin == std::string_view::npos || end == 0) return;
  const std::string_view body = message.substr(begin, message.find("Traceback (", begin) - begin);
  std::vector<std::string> files;
  for (std::size_t i = body.find(file); i != std::string_view::npos; i = body.find(file, i + 1)) {
    const std::string_view path = body.substr(i + file.size());
    const std::string_view whole = path.substr(0, path.find('"'));
    if (whole.find("site-packages") == std::string_view::npos)
      files.emplace_back(whole.substr(whole.find_last_of('/') + 1));
  }
  if (files.empty()) return;
  claims.names.emplace_back(name.substr(0, end));
  claims.files.insert(claims.files.end(), files.begin(), files.end());
}

std::map<std::string, Claims> claims_by_log(const std::vector<LogEvidence>& evidence,
                                            const Dialect& dialect) {
  std::map<std::string, Claims> logs;
  for (const LogEvidence& item : evidence) {
    if (item.record->benign) continue;
    Claims& claims = logs[item.path];
    const std::string_view line = item.record->headline();
    if (!dialect.lines_name_nodes) {
      read_exported_node(item.record->message, claims);
      continue;
    }
    if (const std::string_view op = operator_in(line); op.empty() || line.size() <= op.size() + 2) continue;
    if (const std::string_view tensor = tensor_named_in(line); !tensor.empty())
      claims.names.emplace_back(tensor);
    claims.lines.emplace(line);
  }
  return logs;
}

std::multiset<std::string> without_tensors(const std::set<std::string>& lines) {
  std::multiset<std::string> bare;
  for (const std::string& line : lines) bare.insert(without_tensor(line));
  return bare;
}

bool is_predicted_but_for_names(const std::set<std::string>& lines,
                                const std::vector<Prediction>& predictions) {
  return std::any_of(predictions.begin(), predictions.end(), [&](const Prediction& prediction) {
    std::set<std::string> predicted;
    for (const PredictedRecord& record : prediction.records)
      if (!record.hidden && !record.benign && !record.text.ends_with(": ")) predicted.insert(record.text);
    return without_tensors(predicted) == without_tensors(lines);
  });
}

/// True when the exported nodes carry their source, and none is of a file that the log names.
bool is_of_other_sources(const std::vector<std::string>& files, const Model& model) {
  bool known = false;
  for (const Graph& graph : model.graphs)
    for (const Node& node : graph.nodes)
      for (const SourceLocation& source : node.source) {
        known = true;
        const std::string file = source.file.substr(source.file.find_last_of('/') + 1);
        if (std::find(files.begin(), files.end(), file) != files.end()) return false;
      }
  return known;
}

std::string note_for(const std::string& log, std::vector<std::string> names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    const std::string quoted = fmt::format("\"{}\"", name);
    if (std::find(shown.begin(), shown.end(), quoted) == shown.end()) shown.push_back(quoted);
  }
  const std::size_t count = shown.size();
  if (count > kNamesShown) shown.resize(kNamesShown);
  return fmt::format(
      "{} is the log of another model, or of another export of it: it names {}{}, and this model has "
      "nothing of that name. Nothing was concluded from it: give the log of this very file, or none",
      log, fmt::join(shown, ", "),
      count > shown.size() ? fmt::format(" and {} more", count - shown.size()) : "");
}

}  // namespace

std::string_view tensor_named_in(std::string_view headline) {
  constexpr std::string_view quoted = ": Tensor \"", rank = ": Tensor dimensions must be less than ",
                             type = ": Tensor type(", unsupported = ") is not supported. ";
  if (const std::size_t at = headline.find(quoted); at != std::string_view::npos) {
    const std::string_view name = headline.substr(at + quoted.size());
    const std::size_t end = name.find("\" ");
    if (end == std::string_view::npos || name.substr(0, end) == "nullptr") return "";
    return name.substr(0, end);
  }
  if (const std::size_t at = headline.find(rank); at != std::string_view::npos) {
    const std::size_t stop = headline.find(". ", at + rank.size());
    return stop == std::string_view::npos ? "" : headline.substr(stop + 2);
  }
  if (headline.find(type) != std::string_view::npos) {
    const std::size_t stop = headline.find(unsupported);
    return stop == std::string_view::npos ? "" : headline.substr(stop + unsupported.size());
  }
  return "";
}

std::vector<std::string> disown_foreign_logs(std::vector<LogEvidence>& evidence, const Model& model,
                                             const std::vector<Prediction>& predictions) {
  std::vector<std::string> notes;
  const std::unordered_set<std::string> known = names_of(model);
  for (const auto& [log, claims] : claims_by_log(evidence, *model.dialect)) {
    const bool one_is_here = std::any_of(claims.names.begin(), claims.names.end(),
                                         [&](const std::string& name) { return known.contains(name); });
    if (claims.names.empty() || one_is_here) continue;
    if (!claims.files.empty() && !is_of_other_sources(claims.files, model)) continue;
    if (claims.files.empty() && is_predicted_but_for_names(claims.lines, predictions)) continue;
    for (LogEvidence& item : evidence) {
      if (item.path != log || item.record->benign) continue;
      item.of_other_model = true;
      item.nodes.clear();
      item.attribution = Attribution::none;
    }
    notes.push_back(note_for(log, claims.names));
  }
  return notes;
}

PlacedEvidence place_evidence(std::vector<LogEvidence> evidence, const Model& model,
                              const std::vector<Prediction>& predictions) {
  attribute(evidence, model, predictions);
  std::vector<std::string> notes = disown_foreign_logs(evidence, model, predictions);
  if (notes.empty() && is_of_other_model(evidence))
    notes.emplace_back("this log is of another model: it names operators that this model does not have");
  return {.evidence = std::move(evidence), .notes = std::move(notes)};
}

}  // namespace md

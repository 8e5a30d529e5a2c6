// What the logs say, tied to rules and to places in the model.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/diagnose/finding.h"
#include "lib/log/log.h"
#include "lib/log/signature_set.h"
#include "lib/rule/page/rule.h"
#include "lib/rule/page/specificity.h"
#include "lib/target/target.h"

namespace md {

struct NodePlace {
  int graph = 0;
  NodeId node = none_id;
  auto operator<=>(const NodePlace&) const = default;
};

/// What a signature captured from a text: word -> text.
using Captures = std::map<std::string, std::string, std::less<>>;

/// A rule whose signature hits a text.
struct RuleHit {
  const Rule* rule = nullptr;
  Captures captures;
  bool speaks = true;  ///< false: where no model is at hand another page speaks, see most_specific()
};

struct LogEvidence {
  std::string path;
  const Record* record = nullptr;  ///< lives in the request's logs
  std::vector<const Rule*> rules;  ///< rules whose signature hits, the most specific signature first
  std::vector<Captures> captures;  ///< of those rules, in the same order
  std::vector<bool> speaks;        ///< of those rules: see RuleHit
  std::set<NodePlace> nodes;       ///< of the input model
  Attribution attribution = Attribution::none;
  bool of_other_model =
      false;  ///< names an operator that the model does not have, or all its log is another's
};

/// The rules by the texts that they know.
class RuleIndex {
 public:
  /// Keeps pointers: the book must outlive the index.
  explicit RuleIndex(const RuleBook& rules);
  /// Rules whose signatures hit a text, the most specific signature first. A page that only advises is left
  /// out where another page narrows its signature.
  std::vector<const Rule*> hits(std::string_view text) const;
  /// The same with what the signatures captured.
  std::vector<RuleHit> hits_with_words(std::string_view text) const;

 private:
  std::vector<SignatureOwner> owners_;
  SignatureSet signatures_;
};

/// Every record that is a failure, benign trouble, or hit by a rule, in the order of the logs.
std::vector<LogEvidence> gather_evidence(const std::vector<Log>& logs, const RuleIndex& index);

/// The rules that know a text, the most specific first: exactly those that a log of this text hits.
std::vector<const Rule*> rules_of_text(std::string_view text, const RuleIndex& index);

/// Ties each record to nodes: those whose predicted record has the same text, else nodes of that operator
/// that touch the tensor it names, else all nodes of that operator.
void attribute(std::vector<LogEvidence>& evidence, const Model& model,
               const std::vector<Prediction>& predictions);

/// True when every failing record that names an operator names one that the model lacks.
bool is_of_other_model(const std::vector<LogEvidence>& evidence);

/// "INVALID_ARGUMENT: ..." where a kernel could not be built; "" in other messages.
std::string_view kernel_failure_in(std::string_view headline);

/// The operator that a record is about: "RESHAPE: ..." -> "RESHAPE", "CUSTOM Foo: ..." -> "CUSTOM"; "" when
/// it names none.
std::string_view operator_in(std::string_view message);

}  // namespace md

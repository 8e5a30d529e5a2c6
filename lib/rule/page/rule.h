// A rule: one Markdown file under rules/. Prose is its documentation, a JSON block its data, rewrite blocks
// its patterns and replacements, model and log blocks its own tests.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/version.h"
#include "lib/log/signature.h"
#include "lib/rule/language/rows.h"
#include "lib/rule/page/detector.h"
#include "lib/rule/page/severity.h"

namespace md {

struct RuntimeRange {
  std::string target;  ///< "litert-gpu", "executorch-xnnpack", ...
  VersionRange fails;
  std::string part;  ///< "case": the part of the fault that has a range of its own; empty: all of it
};

/// How a fix of the rule is judged.
enum class Judge {
  equality,  ///< it computes the same
  fp16       ///< its fp16 form is nearer to the fp32 results than that of the original
};

struct LogExample {
  bool fires = true;
  std::string text;
  int line = 0;  ///< in the rule file
};

/// A model block: text of a graph and what the rule is expected to do with it.
struct ModelExample {
  const Dialect* dialect = nullptr;
  bool fires = true;    ///< a site is found (matched or advice); else nothing may match
  std::string options;  ///< the words after fires/declines in the fence line, see examples.h
  std::string text;
  int line = 0;
};

class Rewrite;  ///< a compiled rewrite block; see rewrite.h

struct Rule {
  std::string id, name, path;
  Severity severity = Severity::fatal;
  Blame fault = Blame::model;
  std::vector<Signature> log;          ///< signatures of log records that this rule explains
  bool graph = false;                  ///< fires on its pattern alone, without a record
  std::string symptom;                 ///< "zeros", "wrong", ...: lifted when the user states it
  std::vector<RuntimeRange> runtimes;  ///< empty: every target
  Applicability applicability = Applicability::safe;  ///< what the author claims
  /// What its fixes may be. With one entry all are that; with several a detector says which for each.
  std::vector<Exactness> exactness = {Exactness::exact};
  Judge judge = Judge::equality;
  /// The runtime fails inside its kernels: a target that may fall back to the CPU fails as well.
  bool stops_fallback = false;
  /// What a fix takes for granted about values ("every index is in range"), and what the checks that a fix
  /// removes would have stopped. Such a fix is unsafe, for this reason.
  std::string assumes, drops_checks;
  /// Operators at which its detector's sites begin, see OperatorIndex; or it looks at the whole graph itself.
  std::vector<std::string> roots;
  bool scans = false;
  std::vector<std::string> references, aliases, docs;
  std::string fixed_by, setting;
  std::vector<const Dialect*> formats;  ///< formats it looks at; empty: from its rewrite blocks, else all
  std::string summary;                  ///< one sentence for findings
  /// Sentences for findings with {words} in them; empty: the summary, nothing, the section "At the source".
  /// A row's own ones go first.
  std::string message, reason, at_source;
  Rows rows;
  std::map<std::string, std::string, std::less<>>
      sections;          ///< heading -> prose ("What it means", "At the source", ...)
  std::string markdown;  ///< the whole page
  std::vector<std::shared_ptr<const Rewrite>> rewrites;
  bool needs_detector = false;  ///< the page says "detector": true
  Detector detector = nullptr;
  std::string no_model_example;  ///< why the page has no model blocks (faults of whole files); empty: it has
  std::vector<LogExample> log_examples;
  std::vector<ModelExample> model_examples;

  bool looks_at(
      const Dialect& dialect) const;  ///< `formats`, else those of its rewrite blocks, else every format
  /// True when the rule's fault exists on this target (name matches, version in range; no runtimes: always).
  /// A target with a fallback counts as the one without: "litert-gpu+cpu" is "litert-gpu".
  bool applies_to(std::string_view target, const Version& version) const;
  /// The same for one "case" of the fault.
  bool fails_on(std::string_view target, const Version& version, std::string_view part) const;
};

/// Parses one rule page. Errors carry file:line and say what was expected.
Result<Rule> parse_rule(const std::string& path, std::string_view markdown);

/// All rules: the embedded ones and those of --rules directories. Errors also when ids clash.
class RuleBook {
 public:
  static Result<RuleBook> load(const std::vector<std::string>& user_directories = {});
  const std::vector<Rule>& rules() const { return rules_; }  ///< ordered by id
  /// By id or alias, without regard to case; null when unknown.
  const Rule* find(std::string_view id_or_alias) const;
  /// The error for an unknown rule, with the nearest id, name or alias.
  Error unknown_rule(std::string_view text) const;
  /// The rules whose signatures hit this message.
  std::vector<const Rule*> explain(std::string_view message) const;
  std::string version() const;  ///< changes when any rule page changes

 private:
  std::vector<Rule> rules_;
};

/// Signatures that hit a log example of another rule that the other rule claims as its own; each text is
/// file:line and what to do. Quadratic in the number of rules: for `rules test` and the tests, not for each
/// start.
std::vector<std::string> overlapping_signatures(const std::vector<Rule>& rules);

/// Runs the rule's detector and its rewrite blocks over one graph. A rule with log signatures also returns
/// the sites that it declines (the caller shows those that the log or the target complains about); a rule
/// without (a silent fault) returns a declined site only when its pattern and all conditions of `match` hold,
/// since nothing else says that the fault is there.
std::vector<DetectResult> run_rule(const Rule& rule, const DetectContext& context);

}  // namespace md

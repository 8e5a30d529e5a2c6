// A compiled ```rewrite block, run over a graph.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/rule/language/builtins.h"
#include "lib/rule/language/language.h"
#include "lib/rule/page/detector.h"

namespace md {

/// What a match has bound so far.
struct Bindings {
  std::map<std::string, ValueId, std::less<>> values;  ///< by name without '%'; none_id: an absent operand
  std::map<std::string, Datum, std::less<>> names;     ///< lets and captured attributes
  std::vector<NodeId> nodes;                           ///< matched nodes, the root first
  std::string
      unusual;  ///< first attribute that the pattern does not mention and that is not as usual; empty: none
};

Evaluated evaluate(const Expression& expression, const Scope& scope, const Bindings& bindings);
/// nullopt when the condition holds; else why not, for people.
std::optional<std::string> unmet(const Expression& condition, const Scope& scope, const Bindings& bindings);

class Rewrite {
 public:
  explicit Rewrite(RewriteTree tree, Rows rows = {});
  const RewriteTree& tree() const { return tree_; }
  const Dialect& dialect() const { return *tree_.dialect; }

  struct Site {
    NodeId root = none_id;
    enum class Outcome {
      fires,     ///< `fixes` or `found` has at least one
      advises,   ///< the pattern and its conditions hold, and the page has no replacement
      declines,  ///< the pattern and its conditions hold, but no replacement applies
      unmet,     ///< the pattern is here, but a condition of `match` is false, or an inner value is used
                 ///< elsewhere
      nothing    ///< a named rewrite found nothing to do here: no site
    } outcome = Outcome::fires;
    std::string reason;  ///< when it declines or is unmet
    Bindings bindings;
    std::vector<ProposedFix> fixes;   ///< in the order of the replacements
    std::vector<DetectResult> found;  ///< what named rewrites say; behind `fixes`
  };
  /// Every place where the pattern is, in execution order. Linear in the graph: one attempt a node with the
  /// root's operator.
  std::vector<Site> run(const DetectContext& context) const;

 private:
  Site examine(const DetectContext& context, NodeId root, Bindings bindings) const;
  /// Adds what the replacement's named rewrite says to the site; false: nothing.
  bool apply_named(const DetectContext& context, const Replacement& replacement, Site& site) const;

  RewriteTree tree_;
  Rows rows_;
  std::optional<std::size_t> root_;  ///< index into tree_.match; nullopt: about the graph as a whole
  std::vector<std::string> roots_;   ///< operators of the root, as OperatorIndex takes them
};

/// Does the structure of the pattern fit at `node`, operators, operands and attributes? The first way that
/// fits.
std::optional<Bindings> match_structure(const RewriteTree& tree, std::size_t root, const Graph& graph,
                                        NodeId node);

/// Builds one replacement; the error is the reason why it does not apply.
tl::expected<Patch, std::string> build_replacement(const RewriteTree& tree, const Replacement& replacement,
                                                   const DetectContext& context, const Bindings& bindings);

/// Fills {expressions} in a template ("At the source") with what a match bound; what does not evaluate stays
/// as it is.
std::string fill_template(std::string_view text, const Scope& scope, const Bindings& bindings);

/// What is wrong with the first {expression} that can never be filled; nullopt: nothing.
std::optional<std::string> broken_expression(std::string_view text);

/// The same for sentences of findings: nullopt where an expression does not evaluate.
std::optional<std::string> fill_sentence(std::string_view text, const Scope& scope, const Bindings& bindings);

}  // namespace md

// Files, folders, rules and values as the command line names them.
#pragma once
#include <string>
#include <vector>

#include "app/options.h"
#include "lib/fix/fix.h"
#include "lib/rule/page/rule.h"
#include "lib/verify/verify.h"

namespace md::app {

/// Folders become the model files below them, sorted. Errors: a folder without any.
Result<std::vector<std::string>> expand_models(const std::vector<std::string>& paths);

bool is_folder(const std::string& path);

/// The rule book with the user's folders. Errors also for --select and --ignore names that no rule has ("did
/// you mean").
Result<RuleBook> load_rules(const Options& options);

/// The options with what [[per-model]] says for this model; the command line goes before it, but for ignored
/// rules, which add up.
Options options_for(Options options, const std::string& model);

/// The rule by id, name or alias; else an error with the nearest.
Result<const Rule*> find_rule(const RuleBook& rules, const std::string& name);

/// "image=0:255" for each. Errors: not of that form.
Result<std::vector<NamedRange>> parse_ranges(const std::vector<std::string>& wishes);
/// NAME=1,1280 or NAME=1x1280 for each. Errors: not of that form.
Result<std::vector<PinnedShape>> parse_shapes(const std::vector<std::string>& wishes);

}  // namespace md::app

// One function a command: options in, exit code out.
#pragma once
#include <string>
#include <vector>

#include "app/options.h"

namespace md::app {

int run_check(const Options& options);
int run_fix(const Options& options);
int run_log(const Options& options);
/// The logs of folders as a table: what is known, by tool.
int run_log_survey(const Options& options);
int run_explain(const Options& options, const std::string& subject);
/// `markdown`: as rules/INDEX.md.
int run_rules_list(const Options& options, bool markdown);
int run_rules_test(const Options& options, const std::vector<std::string>& files);
int run_inspect(const Options& options, const std::string& model, const std::string& format);
int run_diff(const std::string& before, const std::string& after, const std::string& format);
int run_report(const Options& options, const std::vector<std::string>& files, const std::string& html);
int run_verify(const Options& options, const NumericOptions& numeric);
int run_fp16(const Options& options, const NumericOptions& numeric);
int run_runners();
int run_tap(const Options& options, const NumericOptions& numeric);
int run_schema(const std::string& what);

}  // namespace md::app

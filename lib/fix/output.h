// Writing what `fix` made: never the input file, never over somebody else's, checked before it gets its name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/graph/document.h"

namespace md {

struct OutputPlan {
  std::string model_path;      ///< MODEL.fixed.EXT, or what -o says, or the input itself
  std::string diagnosis_path;  ///< MODEL.diagnosis.json, or the output's stem + .diagnosis.json
  bool named = false;          ///< -o was given: a file is written also when nothing had to be fixed
  bool in_place = false;
};

/// Names the outputs. Errors (usage): an output that is the input, by name, link or hard link, without
/// `in_place`.
Result<OutputPlan> plan_output(const std::string& input, const std::string& output, bool in_place);

/// True when the paths are one file on disk (also through links).
bool same_file(const std::string& a, const std::string& b);

/// Before any work: the folder is there and writable, and what the outputs would replace is ours (the
/// diagnosis beside it records the model as our output) unless `force`. Removes what a killed run left there.
Status check_output(const OutputPlan& plan, bool force);

/// The same for one file; `is_ours` judges the bytes of one that is there.
Status check_replaceable(const std::string& path, bool force,
                         const std::function<bool(std::string_view bytes)>& is_ours);

/// The files of one run of `fix`: each is complete and flushed beside its name before any of them gets it.
class StagedFiles {
 public:
  /// Writes `edited`, opens it again, compares it with what was meant (kind check when it differs or when
  /// `accept` refuses it; nothing is left then).
  Result<ReportedOutput> add_model(const Document& document, const Model& edited, const std::string& path,
                                   const std::function<Status(const Document& written)>& accept);
  Status add_text(const std::string& path, std::string_view text);
  /// Gives all of them their names, in the order in which they were added. The error says which were
  /// replaced.
  Status commit();
  bool committed_any() const { return committed_ > 0; }

 private:
  struct Staged {
    std::string path;
    std::unique_ptr<AtomicFileSink> sink;
  };
  std::vector<Staged> files_;
  std::size_t committed_ = 0;
};

/// One model alone, checked, under its name.
Result<ReportedOutput> write_model(const Document& document, const Model& edited, const std::string& path);

/// Writes a report file atomically.
Status write_text(const std::string& path, std::string_view text);

}  // namespace md

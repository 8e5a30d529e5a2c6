// Findings that are known and accepted, from an earlier JSON diagnosis: --baseline FILE reports only what is
// new.
#pragma once
#include <map>
#include <string>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"

namespace md::app {

class Baseline {
 public:
  static Result<Baseline> load(const std::string& path);
  /// Removes what the baseline holds (as often as it holds it) and notes how much that was.
  void remove_known(Diagnosis& diagnosis) const;

 private:
  std::map<std::string, int> known_;  ///< fingerprint or unexplained text -> how often
};

}  // namespace md::app

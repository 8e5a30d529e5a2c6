#include "app/baseline.h"

#include <fmt/format.h>

#include "app/inputs.h"
#include "lib/report/report.h"

namespace md::app {

Result<Baseline> Baseline::load(const std::string& path) {
  auto file = open_input(path);
  if (!file) return tl::make_unexpected(file.error());
  const Bytes bytes = (*file)->bytes();
  auto runs = read_diagnoses(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!runs) return tl::make_unexpected(runs.error());
  Baseline baseline;
  for (const Diagnosis& run : *runs) {
    for (const Finding& finding : run.findings)
      if (finding.open()) ++baseline.known_[finding.fingerprint];
    for (const int index : run.unexplained) ++baseline.known_[run.log[static_cast<std::size_t>(index)].text];
    for (const std::string& text : run.unexplained_predictions) ++baseline.known_[text];
  }
  return baseline;
}

void Baseline::remove_known(Diagnosis& diagnosis) const {
  std::map<std::string, int> left = known_;
  int removed = 0;
  const auto known = [&](const std::string& key) {
    const auto found = left.find(key);
    if (found == left.end() || found->second == 0) return false;
    --found->second, ++removed;
    return true;
  };
  std::erase_if(diagnosis.findings,
                [&](const Finding& finding) { return finding.open() && known(finding.fingerprint); });
  std::erase_if(diagnosis.unexplained,
                [&](int index) { return known(diagnosis.log[static_cast<std::size_t>(index)].text); });
  std::erase_if(diagnosis.unexplained_predictions, known);
  if (removed > 0)
    diagnosis.notes.push_back(fmt::format("{} known from the baseline: not shown and not counted", removed));
}

}  // namespace md::app

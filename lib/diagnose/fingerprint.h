// What identifies a finding: the model, the rule, the layer, the operator, and which of several alike it is.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/diagnosis.h"

namespace md {

/// Names, never positions: nodes that are added elsewhere change nothing.
struct FindingKey {
  std::string model;  ///< stated, or relative to a folder; of a log alone: the log's path
  std::string rule, layer, op;
  int occurrence = 1;  ///< from 1, in the order of the graph, among those that agree in all the rest
  auto operator<=>(const FindingKey&) const = default;
};

struct KeyedFinding {
  const Finding* finding = nullptr;
  FindingKey key;
};

/// The key of every finding, the accepted ones included; all differ. `folder`: what models' paths are
/// relative to. The pointers live as long as the diagnosis is not changed.
std::vector<KeyedFinding> finding_keys(const Diagnosis& diagnosis, const std::string& folder);

/// What the key calls the model of a run: the name that was stated, else its path as seen from `folder`. For
/// a log alone: the path of `log` (of the record at that index; -1: the first).
std::string key_model(const Diagnosis& diagnosis, int log, const std::string& folder);

/// 16 hexadecimal digits of a key.
std::string fingerprint(const FindingKey& key);

/// Fills Finding::fingerprint of every finding, as seen from the working folder.
void set_fingerprints(Diagnosis& diagnosis);

}  // namespace md

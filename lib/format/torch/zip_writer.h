// Writes a changed copy of a zip archive: what does not change is copied raw, and every payload stays on a
// multiple of 64 bytes, as torch writes it for readers that map the file.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/format/torch/zip.h"
#include "lib/graph/document.h"

namespace md {

/// What is to be different from the input archive.
class ZipPlan {
 public:
  void replace(const std::string& member, Constant content) { replaced_[member] = std::move(content); }
  void remove(const std::string& member) { removed_.insert(member); }
  void add(const std::string& member, Constant content) { added_.emplace_back(member, std::move(content)); }
  bool empty() const { return replaced_.empty() && removed_.empty() && added_.empty(); }

  const std::map<std::string, Constant>& replaced() const { return replaced_; }
  const std::set<std::string>& removed() const { return removed_; }
  const std::vector<std::pair<std::string, Constant>>& added() const { return added_; }

 private:
  std::map<std::string, Constant> replaced_;
  std::set<std::string> removed_;
  std::vector<std::pair<std::string, Constant>> added_;
};

/// With an empty plan the output is the input, byte for byte.
Status write_zip(const ZipArchive& zip, const ZipPlan& plan, ByteSink& sink);

}  // namespace md

// The files of one run, held against each other before any of them is read: nothing is written over what the
// run reads, and no two results under one name.
#pragma once
#include <map>
#include <string>

#include "lib/base/result.h"

namespace md {

class RunFiles {
 public:
  /// `what` is for messages: "the log err.txt". "-" (a standard stream) and "" are no files.
  void reads(const std::string& path, std::string what);
  void writes(const std::string& path, std::string what);
  /// Error (usage): an output that is an input, or two outputs that are one file: by name, through links, or
  /// as hard links.
  Status check() const { return status_; }

 private:
  struct Use {
    std::string what;
    bool written = false;
  };
  void use(const std::string& path, Use how);
  std::map<std::string, Use> uses_;  ///< by the file's identity
  Status status_;
};

}  // namespace md

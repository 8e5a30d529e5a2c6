// Many signatures at once: one pass finds the candidates by windows of their longest literals, then only
// those are matched.
#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/log/signature.h"
#include "lib/log/window_set.h"

namespace md {

class SignatureSet {
 public:
  /// Keeps pointers: the signatures must outlive the set.
  explicit SignatureSet(std::vector<const Signature*> signatures);
  struct Hit {
    std::size_t signature = 0;  ///< position in the list given to the constructor
    Signature::Hit hit;
  };
  /// All signatures that match the message, by position.
  std::vector<Hit> match(std::string_view message) const;

 private:
  std::vector<const Signature*> signatures_;
  WindowSet literals_;
};

}  // namespace md

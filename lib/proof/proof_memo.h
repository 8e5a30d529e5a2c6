// A network repeats its layers, and a rewrite its sites: what was proved once is not proved again.
#pragma once
#include <map>
#include <string>

#include "lib/proof/proof.h"

namespace md {

class ProofMemo {
 public:
  /// md::prove, or its result for a site that is the same but for names: operators, attributes, types, shapes
  /// and every constant. Only equal results of the site alone are kept.
  Proof prove(const Model& before, const Model& after, int graph_index, const ProofOptions& options);

 private:
  std::map<std::string, Proof> known_;
};

}  // namespace md

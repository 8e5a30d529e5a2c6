// Which of several pages speaks of a message that more than one signature hits.
#pragma once
#include <vector>

#include "lib/rule/page/rule.h"

namespace md {

/// True when `signature` is `wider` with some of its captures written out: "Lowering not found: aten.polar"
/// narrows "Lowering not found: {op:word}".
bool narrows(const Signature& signature, const Signature& wider);

/// A signature that hits a text, and whose it is.
struct SignatureOwner {
  const Rule* rule = nullptr;
  const Signature* signature = nullptr;
};

/// The rules behind the signatures that hit one text, each once, that of the longest signature (what is
/// longer says more) first. A page that knows a message in general is silent where a signature of another
/// page narrows its own.
std::vector<const Rule*> most_specific(std::vector<SignatureOwner> hits);

}  // namespace md

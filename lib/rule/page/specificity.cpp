#include "lib/rule/page/specificity.h"

#include <algorithm>

namespace md {

bool narrows(const Signature& signature, const Signature& wider) {
  return wider.match(signature.text()).has_value() && !signature.match(wider.text()).has_value();
}

std::vector<const Rule*> most_specific(std::vector<SignatureOwner> hits) {
  std::stable_sort(hits.begin(), hits.end(), [](const SignatureOwner& a, const SignatureOwner& b) {
    return a.signature->text().size() > b.signature->text().size();
  });
  std::vector<const Rule*> found;
  for (const SignatureOwner& hit : hits) {
    const bool narrowed = std::any_of(hits.begin(), hits.end(), [&](const SignatureOwner& other) {
      return other.rule != hit.rule && narrows(*other.signature, *hit.signature);
    });
    if (!narrowed && std::find(found.begin(), found.end(), hit.rule) == found.end())
      found.push_back(hit.rule);
  }
  return found;
}

}  // namespace md

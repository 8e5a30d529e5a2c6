#include "lib/log/signature_set.h"

#include <algorithm>

namespace md {
namespace {

std::vector<std::string_view> longest_literals(const std::vector<const Signature*>& signatures) {
  std::vector<std::string_view> literals;
  literals.reserve(signatures.size());
  for (const Signature* signature : signatures) literals.push_back(signature->longest_literal());
  return literals;
}

}  // namespace

SignatureSet::SignatureSet(std::vector<const Signature*> signatures)
    : signatures_(std::move(signatures)), literals_(longest_literals(signatures_)) {}

std::vector<SignatureSet::Hit> SignatureSet::match(std::string_view message) const {
  std::vector<std::uint32_t> candidates;
  std::vector<bool> seen;
  literals_.scan(message, [&](std::uint32_t id) {
    if (seen.empty()) seen.resize(signatures_.size());
    if (!seen[id]) seen[id] = true, candidates.push_back(id);
  });
  std::sort(candidates.begin(), candidates.end());
  std::vector<Hit> hits;
  for (const std::uint32_t id : candidates)
    if (auto hit = signatures_[id]->match(message)) hits.push_back({id, std::move(*hit)});
  return hits;
}

}  // namespace md

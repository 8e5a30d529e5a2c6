#include "lib/log/signature_set.h"

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
  std::vector<Hit> hits;
  for (const std::uint32_t id : literals_.candidates(message))
    if (auto hit = signatures_[id]->match(message)) hits.push_back({id, std::move(*hit)});
  return hits;
}

}  // namespace md

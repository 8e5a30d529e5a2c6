#include "lib/format/tflite/sparsity.h"

#include <algorithm>

#include "lib/format/tflite/access.h"
#include "tflite_generated.h"

namespace md::tfl {
namespace {

/// The type may be set while the table is missing.
std::vector<std::int32_t> sparse_index(tflite::SparseIndexVector kind, const void* table) {
  if (!table) return {};
  switch (kind) {
    case tflite::SparseIndexVector::Int32Vector:
      return numbers<std::int32_t>(static_cast<const tflite::Int32Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint16Vector:
      return numbers<std::int32_t>(static_cast<const tflite::Uint16Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint8Vector:
      return numbers<std::int32_t>(static_cast<const tflite::Uint8Vector*>(table)->values());
    default:
      return {};
  }
}

std::size_t sparse_index_length(tflite::SparseIndexVector kind, const void* table) {
  if (!table) return 0;
  switch (kind) {
    case tflite::SparseIndexVector::Int32Vector:
      return length(static_cast<const tflite::Int32Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint16Vector:
      return length(static_cast<const tflite::Uint16Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint8Vector:
      return length(static_cast<const tflite::Uint8Vector*>(table)->values());
    default:
      return 0;
  }
}

bool outside(const std::vector<std::int32_t>& ids, std::size_t limit) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](std::int32_t i) { return i < 0 || static_cast<std::size_t>(i) >= limit; });
}

}  // namespace

std::size_t sparsity_bytes(const tflite::SparsityParameters& from) {
  std::size_t bytes = 4 * (length(from.traversal_order()) + length(from.block_map()));
  for (flatbuffers::uoffset_t d = 0; d < length(from.dim_metadata()); ++d) {
    const tflite::DimensionMetadata& dim = *from.dim_metadata()->Get(d);
    bytes += 16 + 4 * (sparse_index_length(dim.array_segments_type(), dim.array_segments()) +
                       sparse_index_length(dim.array_indices_type(), dim.array_indices()));
  }
  return bytes;
}

tl::expected<std::shared_ptr<const Sparsity>, std::string> read_sparsity(
    const tflite::SparsityParameters& from, std::size_t rank) {
  auto sparsity = std::make_shared<Sparsity>();
  sparsity->traversal_order = numbers<std::int32_t>(from.traversal_order());
  sparsity->block_map = numbers<std::int32_t>(from.block_map());
  if (outside(sparsity->traversal_order, rank + sparsity->block_map.size()) ||
      outside(sparsity->block_map, rank))
    return tl::make_unexpected("names a dimension that does not exist");
  for (flatbuffers::uoffset_t d = 0; d < length(from.dim_metadata()); ++d) {
    const tflite::DimensionMetadata& dim = *from.dim_metadata()->Get(d);
    if (dim.dense_size() < 0) return tl::make_unexpected("has a negative size");
    sparsity->dimensions.push_back({dim.format() == tflite::DimensionType::SPARSE_CSR, dim.dense_size(),
                                    sparse_index(dim.array_segments_type(), dim.array_segments()),
                                    sparse_index(dim.array_indices_type(), dim.array_indices())});
  }
  return sparsity;
}

}  // namespace md::tfl

#include "lib/graph/densify.h"

#include <algorithm>

#include "lib/graph/encode.h"

namespace md {
namespace {

/// Walks the levels of the storage (the dimensions in traversal order, blocks behind them) down to each
/// stored element.
class Walker {
 public:
  Walker(const Value& value, std::size_t width)
      : value_(value), sparsity_(*value.sparsity), width_(width), rank_(value.shape.size()) {}

  bool prepare(std::size_t elements) {
    const std::size_t levels = sparsity_.dimensions.size();
    if (sparsity_.traversal_order.size() != levels || levels != rank_ + sparsity_.block_map.size())
      return false;
    block_size_.assign(rank_, 1);
    for (std::size_t level = 0; level < levels; ++level) {
      const std::int32_t axis = sparsity_.traversal_order[level];
      if (axis < 0 || static_cast<std::size_t>(axis) >= levels) return false;
      const auto& dimension = sparsity_.dimensions[level];
      if (!dimension.sparse && dimension.dense_size < 0) return false;
      if (static_cast<std::size_t>(axis) < rank_) continue;
      const std::int32_t blocked = sparsity_.block_map[static_cast<std::size_t>(axis) - rank_];
      if (blocked < 0 || static_cast<std::size_t>(blocked) >= rank_ || dimension.sparse) return false;
      block_size_[static_cast<std::size_t>(blocked)] = dimension.dense_size;
    }
    index_.assign(levels, 0);
    dense_.assign(elements * width_, 0);
    return true;
  }

  bool walk(std::size_t level, std::size_t position) {
    if (level == sparsity_.dimensions.size()) return store(position);
    const auto& dimension = sparsity_.dimensions[level];
    if (!dimension.sparse) {
      const auto size = static_cast<std::size_t>(dimension.dense_size);
      for (std::size_t i = 0; i < size; ++i) {
        index_[level] = static_cast<std::int64_t>(i);
        if (!walk(level + 1, position * size + i)) return false;
      }
      return true;
    }
    if (position + 1 >= dimension.segments.size()) return false;
    const std::int32_t first = dimension.segments[position], last = dimension.segments[position + 1];
    if (first < 0 || last < first || static_cast<std::size_t>(last) > dimension.indices.size()) return false;
    for (std::int32_t i = first; i < last; ++i) {
      index_[level] = dimension.indices[static_cast<std::size_t>(i)];
      if (!walk(level + 1, static_cast<std::size_t>(i))) return false;
    }
    return true;
  }

  std::vector<std::uint8_t> take() { return std::move(dense_); }

 private:
  bool store(std::size_t position) {
    std::vector<std::int64_t> at(rank_, 0);
    for (std::size_t level = 0; level < index_.size(); ++level) {
      const auto axis = static_cast<std::size_t>(sparsity_.traversal_order[level]);
      if (axis < rank_)
        at[axis] += index_[level] * block_size_[axis];
      else
        at[static_cast<std::size_t>(sparsity_.block_map[axis - rank_])] += index_[level];
    }
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < rank_; ++d) {
      if (at[d] < 0 || at[d] >= value_.shape[d]) return false;
      flat = flat * value_.shape[d] + at[d];
    }
    const Bytes from = value_.constant->bytes;
    if (position >= from.size() / width_) return false;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(position * width_), width_,
                dense_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(flat) * width_));
    return true;
  }

  const Value& value_;
  const Sparsity& sparsity_;
  std::size_t width_, rank_;
  std::vector<std::int64_t> block_size_, index_;
  std::vector<std::uint8_t> dense_;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> dense_bytes(const Value& value) {
  if (!value.constant) return std::nullopt;
  // A few bytes must not ask for a gigabyte: no real constant is a thousand times sparser than dense.
  const auto stored = static_cast<std::int64_t>(value.constant->bytes.size());
  const std::int64_t most_bytes = std::min(std::int64_t{1} << 30, (std::int64_t{16} << 20) + 1000 * stored);
  const auto elements = element_count(value.shape);
  const int bits = bit_width(value.dtype);
  if (!value.sparsity || !elements || bits < 8 || *elements > most_bytes / (bits / 8)) return std::nullopt;
  Walker walker(value, static_cast<std::size_t>(bits) / 8);
  if (!walker.prepare(static_cast<std::size_t>(*elements)) || !walker.walk(0, 0)) return std::nullopt;
  return walker.take();
}

}  // namespace md

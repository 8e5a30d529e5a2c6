// The frame of an ExecuTorch program: header, segments, constants, and single values. Everything that a file
// says about itself is checked here before anybody follows it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/format/pte/flat.h"
#include "lib/graph/graph.h"

namespace md {

/// The union KernelTypes: what an EValue holds.
enum class PteKind : std::uint8_t {
  absent,
  none,
  integer,
  boolean,
  number,
  tensor,
  text,
  int_list,
  double_list,
  bool_list,
  tensor_list,
  optional_tensor_list
};
PteKind pte_kind(FlatTable value);

class PteProgram {
 public:
  /// Errors name the file, the offset, what was expected, and what to do.
  static Result<std::unique_ptr<PteProgram>> open(std::shared_ptr<const MappedFile> file);

  FlatTable root() const { return root_; }
  std::uint32_t version() const { return root_.number<std::uint32_t>(0); }
  const std::vector<Bytes>& segments() const { return segments_; }

  /// Fills the value from its entry; a constant gets its bytes. `arenas`: the plan's list of planned memory
  /// sizes.
  Status read_value(FlatTable entry, std::size_t index, const FlatVector& arenas, Value& value) const;
  /// How the dimensions of a tensor lie in memory; `other` when not from the first to the last.
  enum class Order : std::uint8_t { none, plain, other };
  static Order order(FlatTable entry);
  /// "f32[1, 3, 8, 8], dimensions stored in the order 0 2 3 1": what a caller must pass; "" for what is no
  /// tensor.
  std::string contract(FlatTable entry, const Value& value) const;

  /// Counts what was read against what a file of this size can hold: each item takes four bytes at least, but
  /// a damaged file may name the same bytes many times.
  bool spend(std::size_t items);
  Status undamaged() const;  ///< the first broken offset, as an error
  tl::unexpected<Error> damaged(const std::string& what) const;

 private:
  explicit PteProgram(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  Status read_header();
  Status read_segments();
  Status read_constants();
  Status read_constant(std::size_t index, Value& value) const;

  std::shared_ptr<const MappedFile> file_;
  Bytes bytes_, program_;
  std::uint64_t segments_at_ = 0, spent_ = 0;
  FlatTable root_;
  std::vector<Bytes> segments_;
  Bytes constants_;         ///< the segment of constants
  FlatVector constant_at_;  ///< where each begins in it
  mutable FlatDamage damage_;
};

}  // namespace md

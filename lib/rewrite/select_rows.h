// Picking rows of one axis by a list that is known when the model is read: which operators do it without a
// gather.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/format/tflite/builder.h"

namespace md {

/// The list as nested counting: list[i] = offset + sum(digit * stride), outermost digit first. nullopt: it is
/// not.
struct CountedList {
  std::int64_t offset = 0;
  std::vector<Digit> digits;
  bool operator==(const CountedList&) const = default;
};
std::optional<CountedList> counted(const std::vector<std::int64_t>& list);

/// (before, after) when the list is 0 ... size - 1 with both ends mirrored, the border not repeated.
std::optional<std::pair<std::int64_t, std::int64_t>> mirrored(const std::vector<std::int64_t>& list,
                                                              std::int64_t size);

/// What may pick rows when slices, repeats and mirrors do not.
enum class RowPicker {
  moves,   ///< nothing else
  gather,  ///< one GATHER with 1-D int32 indices
  pieces   ///< slices that are joined again; runtimes before 2.3.0 fail on a GATHER with constant indices
};

/// Rows `list` of `axis` of x (rank 3 or 4), as a value of the same rank, or written to `into`. none_id: not
/// with this picker (also when `pieces` would take more than 64 slices).
ValueId select_rows(TfliteBuilder& build, ValueId x, int axis, const std::vector<std::int64_t>& list,
                    RowPicker picker, ValueId into = none_id);

}  // namespace md

// The work behind lower_region (rank_region.h): one operator after the other is written again at rank 4.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/format/tflite/builder.h"

namespace md {

class RankLowering {
 public:
  /// `members`: the nodes of the region; `narrow`: wide graph inputs and outputs, which get a shape of
  /// rank 4.
  RankLowering(const Graph& graph, PatchBuilder& patch, std::set<NodeId> members, std::set<ValueId> narrow)
      : graph_(graph), build_(patch), members_(std::move(members)), narrow_(std::move(narrow)) {}

  /// Nodes must come in execution order. False: reason() says why not.
  bool lower(NodeId id);
  const std::string& reason() const { return reason_; }
  bool reorders_sums() const { return reorders_sums_; }

 private:
  /// A value that is not written yet: a view of one that is, with the value's own shape.
  struct Lazy {
    ValueId source = none_id;
    StridedView view;
  };

  bool dispatch(const Node& node);
  // Moves.
  bool move_operator(const Node& node);
  bool slice(const Node& node);
  bool strided_slice(const Node& node);
  bool split(const Node& node);
  bool transpose(const Node& node);
  bool tile(const Node& node);
  // Everything else.
  bool element_wise(const Node& node);
  bool on_the_source(const Node& node);
  bool is_plain_scalar(ValueId id) const;
  bool reduce(const Node& node);
  bool along_last_axis(const Node& node);
  bool concatenate(const Node& node);
  bool along_one_axis(const Node& node);
  bool pad(const Node& node);
  bool gather(const Node& node);
  bool batch_matmul(const Node& node);

  Lazy lazy(ValueId id) const;
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  /// The value written with this shape, made now unless it exists; none_id with a reason when that is not
  /// possible.
  ValueId as(ValueId id, const Shape& wanted) { return written(lazy(id), wanted); }
  ValueId written(const Lazy& value, const Shape& wanted);
  /// Makes `out` a view of `in`; when the view of a view cannot be rebuilt, `in` is written first.
  using Step = std::function<std::optional<StridedView>(const StridedView&)>;
  bool view_of(ValueId in, ValueId out, const Step& step);
  /// The value to write for `out` when the operator gives `shape`: `out` itself, or a new one that `out` is a
  /// view of.
  ValueId result(ValueId out, const Shape& shape);
  bool store(ValueId out);
  bool needed_outside(ValueId id) const;
  Shape stored_shape(ValueId id) const;
  bool decline(std::string reason);

  const Graph& graph_;
  TfliteBuilder build_;
  std::set<NodeId> members_;
  std::set<ValueId> narrow_;
  std::map<ValueId, Lazy> lazy_;
  std::map<std::tuple<ValueId, std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>, Shape>,
           ValueId>
      written_;
  std::string reason_;
  bool reorders_sums_ = false;
};

/// Axes of `out` merged into at most four groups such that every operand has all of a group's axes or none of
/// them.
struct MergedAxes {
  Shape out;                    ///< rank 4
  std::vector<Shape> operands;  ///< rank 4
  int groups = 0;               ///< before filling up; more than 4: `out` and `operands` are empty
};
MergedAxes merge_axes(const Shape& out, const std::vector<Shape>& operands);

}  // namespace md

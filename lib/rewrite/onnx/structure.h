// Parts of a graph that runtimes with static sizes do not take: sizes computed at run time, scatters of
// slices and masks, control flow that constants decide, what only training needs.
#pragma once
#include <vector>

#include "lib/rewrite/onnx/site.h"

namespace md::onnx {

/// Shape and Size of values whose sizes are known become constants, and what depends on constants alone is
/// computed: one finding, none where there is nothing of the kind.
std::vector<DetectResult> static_sizes(const DetectContext& context);

/// ScatterND that writes whole rows at constant places: those rows and the others, joined.
std::vector<DetectResult> scattered_rows(const DetectContext& context);
/// ScatterND of one number at the places that NonZero finds in a mask: Where.
std::vector<DetectResult> scattered_mask(const DetectContext& context);

/// If whose condition is constant: the branch that is taken. Loop whose trip count is constant: its body that
/// often.
std::vector<DetectResult> decided_control(const DetectContext& context);

/// Dropout and BatchNormalization that are in training mode: their inference form. The numbers change, to the
/// ones that were meant.
std::vector<DetectResult> training_nodes(const DetectContext& context);

/// Conv without kernel_shape: the weight's.
std::vector<DetectResult> unsaid_kernel_shapes(const DetectContext& context);

/// Resize in a form that importers refuse: sizes beside scales, the crop of everything.
std::vector<DetectResult> odd_resizes(const DetectContext& context);

/// Where with a constant mask over numbers: products with 0 and 1.
std::vector<DetectResult> constant_masks(const DetectContext& context);

/// A leading dimension of 1 that an example's batch left: in targets of Reshape (0 copies it) and, with
/// `inputs`, in the inputs and everything that follows from them.
std::vector<DetectResult> baked_batch(const DetectContext& context, bool inputs);

}  // namespace md::onnx

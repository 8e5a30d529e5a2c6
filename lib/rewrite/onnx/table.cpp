// The rewrites of .onnx files that pages call by name.
#include <algorithm>

#include "lib/rewrite/families.h"
#include "lib/rewrite/onnx/halves.h"
#include "lib/rewrite/onnx/structure.h"
#include "lib/rewrite/onnx/types.h"

namespace md::rewrites {
namespace {

std::vector<DetectResult> written_as_read(const RewriteSite& site) {
  std::vector<std::string_view> kinds;
  for (const Datum& kind : site.arguments) kinds.push_back(kind.text);
  return onnx::repairs_of(site.context, kinds,
                          site.title.empty() ? "as the reader put it in order" : site.title);
}
std::vector<DetectResult> known_sizes(const RewriteSite& site) { return onnx::static_sizes(site.context); }
std::vector<DetectResult> joined_rows(const RewriteSite& site) { return onnx::scattered_rows(site.context); }
std::vector<DetectResult> chosen_by_mask(const RewriteSite& site) {
  return onnx::scattered_mask(site.context);
}
std::vector<DetectResult> decided_control(const RewriteSite& site) {
  return onnx::decided_control(site.context);
}
std::vector<DetectResult> allowed_types(const RewriteSite& site) {
  return onnx::forbidden_types(site.context);
}
std::vector<DetectResult> copied_batch(const RewriteSite& site) {
  return onnx::baked_batch(site.context, false);
}
std::vector<DetectResult> open_batch(const RewriteSite& site) {
  return onnx::baked_batch(site.context, true);
}
std::vector<DetectResult> without_training(const RewriteSite& site) {
  return onnx::training_nodes(site.context);
}
std::vector<DetectResult> plain_resize(const RewriteSite& site) { return onnx::odd_resizes(site.context); }
std::vector<DetectResult> said_kernels(const RewriteSite& site) {
  return onnx::unsaid_kernel_shapes(site.context);
}
std::vector<DetectResult> float32_island(const RewriteSite& site) { return onnx::wide_islands(site.context); }
std::vector<DetectResult> finite_masks(const RewriteSite& site) { return onnx::finite_masks(site.context); }
std::vector<DetectResult> mask_factors(const RewriteSite& site) { return onnx::constant_masks(site.context); }

constexpr NamedRewrite table[] = {
    {"allowed_types", 0, 0, "",
     "ONNX operators on types that their schema forbids: indices as int64, conditions as bool, logic of "
     "booleans, Cast around the others",
     allowed_types, ""},
    {"chosen_by_mask", 0, 0, "", "ScatterND of one number at the places that NonZero finds: Where",
     chosen_by_mask, ""},
    {"copied_batch", 0, 0, "",
     "a Reshape whose target begins with an example's batch of 1: 0, which copies the dimension",
     copied_batch, ""},
    {"decided_control", 0, 0, "",
     "If with a constant condition: its branch; Loop with a constant trip count: its body that often",
     decided_control, ""},
    {"finite_masks", 0, 0, "", "fp16 masks of -inf, or of the lowest number of fp16: -1e4", finite_masks, ""},
    {"float32_island", 0, 0, "",
     "fp16 chains whose inner values pass 65504 (squares, sums, exponentials, products in front of a "
     "softmax): in float32, Cast around them",
     float32_island, ""},
    {"joined_rows", 0, 0, "", "ScatterND of rows at constant places: Concat of those rows and the others",
     joined_rows, ""},
    {"known_sizes", 0, 0, "",
     "Shape and Size of values whose sizes are known, and what depends on constants alone: constants",
     known_sizes, ""},
    {"mask_factors", 0, 0, "", "Where with a constant mask over numbers: products with 0 and 1", mask_factors,
     ""},
    {"open_batch", 0, 0, "",
     "inputs with an example's batch of 1: an open first dimension, and what follows from it", open_batch,
     ""},
    {"plain_resize", 0, 0, "",
     "Resize that crops everything: align_corners; one with sizes and scales: sizes", plain_resize, ""},
    {"said_kernels", 0, 0, "", "Conv without kernel_shape: that of its weights", said_kernels, ""},
    {"without_training", 0, 0, "",
     "BatchNormalization and Dropout in training mode: their inference form, which gives other numbers",
     without_training, ""},
    {"written_as_read", 1, 4, "kinds of what the reader put right",
     "what the reader put right (names, order, imports, declared types): written so", written_as_read, ""},
};

}  // namespace

std::span<const NamedRewrite> onnx_rewrites() { return table; }

}  // namespace md::rewrites

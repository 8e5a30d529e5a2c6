// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, with the runtime's two ways of placing pixels.
#include <array>
#include <cstring>

#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Placement {
  bool align_corners = false, half_pixel = false;
};

float scale(std::int64_t in, std::int64_t out, bool align_corners) {
  return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

/// The two source pixels of an output pixel and the weight of the second.
struct Tap {
  std::int64_t low = 0, high = 0;
  float weight = 0;
};
std::vector<Tap> taps(std::int64_t in, std::int64_t out, const Placement& p) {
  const float s = scale(in, out, p.align_corners);
  std::vector<Tap> all;
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = p.half_pixel ? (static_cast<float>(i) + 0.5f) * s - 0.5f : static_cast<float>(i) * s;
    const float floor = std::floor(at);
    Tap t;
    t.low = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::max(floor, 0.0f)), 0, in - 1);
    t.high = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(std::max(at, 0.0f))), 0, in - 1);
    t.weight = at - static_cast<float>(t.low);
    if (t.weight < 0) t.weight = 0;
    all.push_back(t);
  }
  return all;
}

template <class T>
void bilinear(const Tensor& x, Tensor& out, const std::vector<Tap>& rows, const std::vector<Tap>& columns) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::int64_t w = x.shape[2], c = x.shape[3];
  const T* from = x.data<T>().data();
  T* to = out.mutable_data<T>().data();
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (const Tap& y : rows)
      for (const Tap& u : columns)
        for (std::int64_t k = 0; k < c; ++k) {
          const auto at = [&](std::int64_t row, std::int64_t column) {
            return static_cast<Real>(from[((n * x.shape[1] + row) * w + column) * c + k]);
          };
          const Real wy = static_cast<Real>(y.weight), wx = static_cast<Real>(u.weight);
          const Real v = at(y.low, u.low) * (1 - wy) * (1 - wx) + at(y.high, u.low) * wy * (1 - wx) +
                         at(y.low, u.high) * (1 - wy) * wx + at(y.high, u.high) * wy * wx;
          if constexpr (std::is_floating_point_v<T>)
            *to++ = v;
          else
            *to++ = static_cast<T>(std::round(v));
        }
}

Result<Tensor> resized(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return tl::make_unexpected(ok.error());
  const Tensor& x = call.in(0);
  const auto size = index_operand(call, 1);
  if (x.rank() != 4 || !size || size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1 || x.shape[1] < 1 ||
      x.shape[2] < 1)
    return call.bad("needs an image of rank 4 and a size of two numbers");
  auto out = call.make_output(0, {x.shape[0], (*size)[0], (*size)[1], x.shape[3]});
  if (out && (out->element_bytes() != x.element_bytes()))
    return call.bad("the result's type is not the operand's");
  return out;
}

Status resize_bilinear(KernelCall& call) {
  auto out = resized(call);
  if (!out) return tl::make_unexpected(out.error());
  const Tensor& x = call.in(0);
  const Placement p{call.attrs().flag("align_corners"), call.attrs().flag("half_pixel_centers")};
  const auto rows = taps(x.shape[1], out->shape[1], p), columns = taps(x.shape[2], out->shape[2], p);
  if (x.lanes() != 1 || x.store() != out->store())
    return call.unsupported(fmt::format("on {}", name(x.dtype)));
  with_store(x.store(), [&](auto zero) { bilinear<decltype(zero)>(x, *out, rows, columns); });
  call.outputs[0] = std::move(*out);
  return {};
}

Status resize_nearest(KernelCall& call) {
  auto out = resized(call);
  if (!out) return tl::make_unexpected(out.error());
  const Tensor& x = call.in(0);
  const Placement p{call.attrs().flag("align_corners"), call.attrs().flag("half_pixel_centers")};
  const auto nearest = [&](std::int64_t i, std::int64_t in, std::int64_t n) {
    const float s = scale(in, n, p.align_corners), offset = p.half_pixel ? 0.5f : 0.0f;
    const float at = (static_cast<float>(i) + offset) * s;
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(p.align_corners ? std::round(at) : std::floor(at)), 0, in - 1);
  };
  const std::size_t pixel = static_cast<std::size_t>(x.shape[3]) * x.element_bytes();
  std::byte* to = out->mutable_raw();
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t y = 0; y < out->shape[1]; ++y)
      for (std::int64_t u = 0; u < out->shape[2]; ++u, to += pixel)
        std::memcpy(to,
                    x.raw() + static_cast<std::size_t>(
                                  (n * x.shape[1] + nearest(y, x.shape[1], out->shape[1])) * x.shape[2] +
                                  nearest(u, x.shape[2], out->shape[2])) *
                                  pixel,
                    pixel);
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> resize_kernels() {
  static const std::array rows = {
      KernelEntry{"RESIZE_BILINEAR", resize_bilinear},
      KernelEntry{"RESIZE_NEAREST_NEIGHBOR", resize_nearest, 1},
  };
  return rows;
}

}  // namespace md

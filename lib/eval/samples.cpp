#include "lib/eval/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace md {

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
double Random::normal() {
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}
std::int64_t Random::below(std::int64_t limit) {
  return limit <= 1 ? 0 : static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
}

const std::vector<double>& extreme_numbers() {
  constexpr double f32_max = static_cast<double>(std::numeric_limits<float>::max());
  // Largest exact integers (2^11 in fp16, 2^24 in fp32) with their neighbours, fp16's largest number, ties,
  // denormals.
  static const std::vector<double> numbers = {0.0,           -0.0,
                                              1.0,           -1.0,
                                              65504.0,       -65504.0,
                                              2048.0,        2049.0,
                                              2050.0,        -2049.0,
                                              16777215.0,    16777216.0,
                                              16777218.0,    -16777218.0,
                                              33554432.0,    0.5,
                                              -0.5,          1.5,
                                              2.5,           -2.5,
                                              3.0,           -3.0,
                                              6.0,           6.5,
                                              256.0,         300.0,
                                              65536.0,       1e9,
                                              -1e9,          f32_max,
                                              -f32_max,      1e-3,
                                              -1e-3,         6.1035156e-05,
                                              5.9604645e-08, 1.1754944e-38,
                                              1.4012985e-45, -1.4012985e-45,
                                              0.99999994,    1.0000001,
                                              2147483648.0,  -2147483648.0,
                                              0.1,           7.0,
                                              -0.7};
  return numbers;
}

std::vector<Recipe> finite_recipes(int count, std::uint64_t seed) {
  using Kind = Recipe::Kind;
  static const std::pair<Kind, double> cycle[] = {
      {Kind::extremes, 1},      {Kind::normal, 1},    {Kind::normal, 1000},    {Kind::outlier, 1},
      {Kind::large_mean, 1000}, {Kind::zero_rows, 1}, {Kind::mask, 1},         {Kind::normal, 1e-3},
      {Kind::one_hot, 1000},    {Kind::extremes, 2},  {Kind::uniform, 1},      {Kind::normal, 30000},
      {Kind::integers, 1},      {Kind::outlier, 100}, {Kind::normal, 100},     {Kind::large_mean, 10},
      {Kind::mask, 100},        {Kind::normal, 1e-6}, {Kind::extremes, 3},     {Kind::uniform, 10},
      {Kind::one_hot, 1},       {Kind::normal, 1e7},  {Kind::zero_rows, 1000}, {Kind::normal, 10},
  };
  std::vector<Recipe> recipes;
  for (int i = 0; i < count; ++i) {
    const auto& [kind, scale] = cycle[static_cast<std::size_t>(i) % std::size(cycle)];
    static const char* const names[] = {"extremes",
                                        "infinities and NaN",
                                        "normal",
                                        "uniform",
                                        "rows with one outlier",
                                        "rows with a large mean",
                                        "zero rows",
                                        "mask",
                                        "integers",
                                        "one-hot rows"};
    recipes.push_back({kind, scale, seed * 1000003u + static_cast<std::uint64_t>(i),
                       fmt::format("{}, scale {:g}", names[static_cast<std::size_t>(kind)], scale)});
  }
  return recipes;
}

std::vector<Recipe> nonfinite_recipes(std::uint64_t seed) {
  std::vector<Recipe> recipes;
  for (std::uint64_t i = 0; i < 3; ++i)
    recipes.push_back({Recipe::Kind::nonfinite, 1, seed * 7919u + i, "infinities and NaN"});
  return recipes;
}

namespace {

double bounded(double v, const SampleLimits& limits) {
  if (!(limits.low < limits.high)) return v;
  // Folds any number into the range, ordinary ones near where they were.
  const double width = limits.high - limits.low, t = std::fmod(v - limits.low, width);
  return std::isfinite(t) ? limits.low + (t < 0 ? t + width : t) : limits.low;
}

/// Very large tensors repeat a block of numbers: to draw each would take longer than what is computed with
/// them. A prime, so that no axis has its period.
constexpr std::size_t block = 1048573;

/// Numbers of one sample, row by row along the last axis.
std::vector<double> float_numbers(const Shape& shape, std::size_t count, const Recipe& recipe, int position) {
  std::vector<double> numbers(count);
  Random random(recipe.seed * 31u + static_cast<std::uint64_t>(position));
  const std::size_t row = shape.empty() || shape.back() < 1 ? 1 : static_cast<std::size_t>(shape.back());
  const auto& extremes = extreme_numbers();
  const std::size_t n = extremes.size();
  constexpr double inf = std::numeric_limits<double>::infinity();
  // Operands step through the extremes at different paces, so that pairs differ from element to element.
  static constexpr std::size_t paces[] = {1, 7, 11, 13};
  const std::size_t pace = paces[static_cast<std::size_t>(position) % std::size(paces)],
                    start = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
  const auto outlier_at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(row)));
  const std::size_t drawn = count > 4 * block ? block : count;
  for (std::size_t i = 0; i < drawn; ++i) {
    double& v = numbers[i];
    switch (recipe.kind) {
      case Recipe::Kind::extremes:
        // Small tensors meet all extremes over several samples; the first sample starts at the front.
        v = extremes[(i * pace + i / n * 5 +
                      (recipe.scale > 1 ? start : static_cast<std::size_t>(position))) %
                     n];
        break;
      case Recipe::Kind::nonfinite: {
        const std::int64_t pick = random.below(8);
        v = pick == 0 ? inf : pick == 1 ? -inf : pick == 2 ? std::nan("") : random.normal();
        break;
      }
      case Recipe::Kind::normal:
        v = recipe.scale * random.normal();
        break;
      case Recipe::Kind::uniform:
        v = recipe.scale * (2 * random.uniform() - 1);
        break;
      case Recipe::Kind::outlier:
        v = random.normal() * (i % row == outlier_at ? 2000 * recipe.scale : recipe.scale);
        break;
      case Recipe::Kind::large_mean:
        v = recipe.scale + random.normal();
        break;
      case Recipe::Kind::zero_rows:
        v = i / row % 2 == 0 ? 0.0 : recipe.scale * random.normal();
        break;
      case Recipe::Kind::mask:
        v = random.below(2) ? 0.0 : recipe.scale > 1 ? -1e9 : 1.0;
        break;
      case Recipe::Kind::integers:
        v = static_cast<double>(random.below(33) - 16);
        break;
      case Recipe::Kind::one_hot:
        v = i % row == (outlier_at + i / row) % row ? recipe.scale : 0.0;
        break;
    }
  }
  for (std::size_t i = drawn; i < count; ++i) numbers[i] = numbers[i - drawn];
  return numbers;
}

std::vector<std::int64_t> integer_numbers(DType dtype, std::size_t count, const Recipe& recipe, int position,
                                          const SampleLimits& limits, bool quantized) {
  Random random(recipe.seed * 37u + static_cast<std::uint64_t>(position));
  std::vector<std::int64_t> numbers(count);
  if (dtype == DType::boolean) {
    const bool constant = recipe.kind == Recipe::Kind::zero_rows || recipe.kind == Recipe::Kind::one_hot;
    const std::int64_t all = recipe.kind == Recipe::Kind::one_hot ? 1 : 0;
    for (auto& v : numbers) v = constant ? all : random.below(2);
    return numbers;
  }
  const int bits = bit_width(dtype);
  const bool is_small = bits > 0 && bits <= 16;
  std::int64_t low = is_signed(dtype) ? -(std::int64_t{1} << (std::min(bits, 62) - 1)) : 0;
  std::int64_t high = is_signed(dtype) ? -(low + 1) : (std::int64_t{1} << std::min(bits, 62)) - 1;
  const bool edges = recipe.kind == Recipe::Kind::extremes;
  if (limits.index_limit > 0) {
    high = limits.index_limit - 1;
    low = recipe.kind == Recipe::Kind::integers || recipe.kind == Recipe::Kind::uniform ? -limits.index_limit
                                                                                        : 0;
  } else if (!is_small && !edges) {
    low = -1000, high = 1000;  // sums and products of wide integers stay exact
  } else if (quantized && recipe.kind == Recipe::Kind::zero_rows) {
    high = low;
  } else if (quantized && recipe.kind == Recipe::Kind::one_hot) {
    low = high;
  }
  for (auto& v : numbers) {
    const std::int64_t pick = edges ? random.below(6) : 5;
    v = pick == 0                            ? low
        : pick == 1                          ? high
        : pick == 2 && low <= 0 && high >= 0 ? 0
                                             : low + random.below(high - low + 1);
  }
  return numbers;
}

}  // namespace

Tensor sample(DType dtype, const Shape& shape, std::shared_ptr<const Quantization> quantization,
              const Recipe& recipe, int position, const SampleLimits& limits) {
  const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
  Tensor tensor;
  if (is_float(dtype) || dtype == DType::c64 || dtype == DType::c128 || dtype == DType::c32) {
    const std::size_t lanes = is_float(dtype) ? 1 : 2;
    auto numbers = float_numbers(shape, count * lanes, recipe, position);
    for (double& v : numbers) {
      v = bounded(v, limits);
      if (limits.largest > 0 && std::isfinite(v)) v = std::clamp(v, -limits.largest, limits.largest);
      // What fp16 cannot hold becomes its largest number: an infinite input is another recipe.
      if (dtype == DType::f16 && std::isfinite(v)) v = std::clamp(v, -65504.0, 65504.0);
    }
    tensor = Tensor::of(dtype, shape, numbers);
  } else {
    tensor = Tensor::of_integers(
        dtype, shape, integer_numbers(dtype, count, recipe, position, limits, quantization != nullptr));
  }
  tensor.quantization = std::move(quantization);
  return tensor;
}

}  // namespace md

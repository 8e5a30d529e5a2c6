// Strided views and the operators that rebuild them, against index arithmetic.
#include <numeric>
#include <random>

#include "lib/graph/strided_view.h"
#include "test/catch.h"

using namespace md;

namespace {

std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// out[i] = data at the index that `map` gives for the multi-index i of `shape`.
template <class Map>
std::vector<std::int64_t> gathered(const std::vector<std::int64_t>& data, const Shape& from,
                                   const Shape& shape, Map map) {
  std::vector<std::int64_t> result;
  for (std::int64_t flat = 0; flat < elements(shape); ++flat) {
    Shape index(shape.size());
    for (std::size_t d = shape.size(), rest = static_cast<std::size_t>(flat); d-- > 0;) {
      index[d] = static_cast<std::int64_t>(rest) % shape[d];
      rest /= static_cast<std::size_t>(shape[d]);
    }
    const Shape in = map(index);
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (in[d] >= from[d]) FAIL("index out of range");
      at = at * from[d] + in[d];
    }
    result.push_back(data[static_cast<std::size_t>(at)]);
  }
  return result;
}

/// What the steps do to a tensor that holds its own element numbers.
std::vector<std::int64_t> run(const std::vector<MoveStep>& steps, Shape shape) {
  std::vector<std::int64_t> data(static_cast<std::size_t>(elements(shape)));
  std::iota(data.begin(), data.end(), std::int64_t{0});
  for (const MoveStep& s : steps) {
    const auto n = s.numbers;
    switch (s.kind) {
      case MoveStep::Kind::reshape:
        REQUIRE(elements(s.shape) == elements(shape));
        break;
      case MoveStep::Kind::transpose:
        data = gathered(data, shape, s.shape, [&](const Shape& i) {
          Shape in(i.size());
          for (std::size_t d = 0; d < i.size(); ++d) in[static_cast<std::size_t>(n[d])] = i[d];
          return in;
        });
        break;
      case MoveStep::Kind::slice:
        data = gathered(data, shape, s.shape, [&](Shape i) {
          for (std::size_t d = 0; d < i.size(); ++d) i[d] += n[d];
          return i;
        });
        break;
      case MoveStep::Kind::tile:
        data = gathered(data, shape, s.shape, [&](Shape i) {
          for (std::size_t d = 0; d < i.size(); ++d) i[d] %= shape[d];
          return i;
        });
        break;
    }
    shape = s.shape;
  }
  return data;
}

int rank_of(const std::vector<MoveStep>& steps) {
  std::size_t rank = 0;
  for (const MoveStep& s : steps) rank = std::max(rank, s.shape.size());
  return static_cast<int>(rank);
}

int transposes(const std::vector<MoveStep>& steps) {
  return static_cast<int>(std::count_if(
      steps.begin(), steps.end(), [](const MoveStep& s) { return s.kind == MoveStep::Kind::transpose; }));
}

}  // namespace

TEST_CASE("known chains become the operators that people write by hand", "[rank]") {
  SECTION("window partition") {
    const auto view =
        StridedView::whole({1, 8, 8, 4}).reshape({1, 2, 4, 2, 4, 4})->transpose(Shape{0, 1, 3, 2, 4, 5});
    const auto steps = plan_moves(*view, {1, 8, 8, 4}, {4, 16, 4});
    REQUIRE(steps);
    CHECK(steps->size() == 3);
    CHECK((*steps)[0].shape == Shape{2, 4, 2, 16});
    CHECK((*steps)[1].numbers == std::vector<std::int64_t>{0, 2, 1, 3});
    CHECK(run(*steps, {1, 8, 8, 4}) == view->indices());
  }
  SECTION("packed query, key and value: the slice comes first, in the matmul's own shape") {
    const auto view = StridedView::whole({1, 9, 48})
                          .reshape({1, 9, 3, 4, 4})
                          ->transpose(Shape{2, 0, 3, 1, 4})
                          ->slice(0, 1, 1);
    const auto steps = plan_moves(*view, {1, 9, 48}, {1, 4, 9, 4});
    REQUIRE(steps);
    CHECK((*steps)[0] == MoveStep{MoveStep::Kind::slice, {1, 9, 16}, {0, 0, 16}});
    CHECK(transposes(*steps) == 1);
    CHECK(run(*steps, {1, 9, 48}) == view->indices());
  }
  SECTION("repeat of key and value heads") {
    const auto view = StridedView::whole({1, 2, 5, 8}).reshape({1, 2, 1, 5, 8})->broadcast({1, 2, 3, 5, 8});
    const auto steps = plan_moves(*view, {1, 2, 5, 8}, {1, 6, 5, 8});
    REQUIRE(steps);
    CHECK(steps->size() == 2);
    CHECK((*steps)[0] == MoveStep{MoveStep::Kind::tile, {1, 2, 15, 8}, {1, 1, 3, 1}});
    CHECK(run(*steps, {1, 2, 5, 8}) == view->indices());
  }
  SECTION("pixel shuffle of old converters takes two transposes") {
    const auto view =
        StridedView::whole({1, 12, 8, 8}).reshape({1, 3, 2, 2, 8, 8})->transpose(Shape{0, 1, 4, 2, 5, 3});
    const auto steps = plan_moves(*view, {1, 12, 8, 8}, {1, 3, 16, 16});
    REQUIRE(steps);
    CHECK(transposes(*steps) == 2);
    CHECK(run(*steps, {1, 12, 8, 8}) == view->indices());
  }
}

TEST_CASE("random chains of moves are rebuilt exactly, at rank 4", "[rank]") {
  std::mt19937 random(7);
  const auto pick = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int planned = 0;
  for (int round = 0; round < 3000; ++round) {
    Shape source;
    for (std::int64_t rank = 1 + pick(4); rank > 0; --rank)
      source.push_back(std::vector<std::int64_t>{1, 2, 3, 4, 6}[static_cast<std::size_t>(pick(5))]);
    StridedView view = StridedView::whole(source);
    for (std::int64_t moves = 1 + pick(5); moves > 0; --moves) {
      std::optional<StridedView> next;
      const Shape shape = view.shape();
      const auto axis = static_cast<std::size_t>(pick(static_cast<std::int64_t>(shape.size())));
      switch (pick(5)) {
        case 0: {  // split an axis, or merge two
          Shape to = shape;
          if (shape[axis] % 2 == 0 && shape.size() < 7) {
            to[axis] /= 2;
            to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), 2);
          } else if (shape.size() > 1) {
            const std::size_t first = axis == 0 ? 0 : axis - 1;
            to[first] *= to[first + 1];
            to.erase(to.begin() + static_cast<std::ptrdiff_t>(first) + 1);
          }
          next = view.reshape(to);
          break;
        }
        case 1:
        case 2: {
          Shape permutation(shape.size());
          std::iota(permutation.begin(), permutation.end(), std::int64_t{0});
          std::shuffle(permutation.begin(), permutation.end(), random);
          next = view.transpose(permutation);
          break;
        }
        case 3: {
          const std::int64_t begin = pick(shape[axis]);
          next = view.slice(axis, begin, 1 + pick(shape[axis] - begin));
          break;
        }
        default: {
          Shape multiples(shape.size(), 1);
          multiples[axis] = 1 + pick(3);
          next = view.tile(multiples);
        }
      }
      if (next && elements(next->shape()) < 4000) view = *next;
    }
    const auto steps = plan_moves(view, source, {elements(view.shape())});
    if (!steps) continue;
    ++planned;
    CHECK(rank_of(*steps) <= 4);
    if (run(*steps, source) != view.indices()) FAIL("round " << round);
  }
  CHECK(planned > 2500);
}

TEST_CASE("views that no slice can make are refused, not guessed", "[rank]") {
  // every second of five: 5 is no multiple of 2
  const auto stepped = StridedView::whole({5}).slice(0, 0, 3, 2);
  REQUIRE(stepped);
  CHECK_FALSE(plan_moves(*stepped, {5}, {3}));
  // a transposed tensor read in rows of another length
  CHECK_FALSE(StridedView::whole({6, 4}).transpose(Shape{1, 0})->reshape({3, 8}));
  CHECK_FALSE(StridedView::whole({4}).slice(0, 3, 2));
}

TEST_CASE("a view without elements is seen in no other shape", "[view]") {
  CHECK_FALSE(StridedView::whole({5, 0, 9}).reshape({5, 3, 9}));
}

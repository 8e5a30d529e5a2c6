// LRT001 on lists that converters write, for runtimes with and without GATHER.
#include "lib/rewrite/select_rows.h"
#include "test/detector_check.h"

namespace md {
const auto LRT001 = [](const DetectContext& context) { return detector_check::by_rule("LRT001", context); };
}  // namespace md

using namespace detector_check;

namespace {

/// Every proposal computes the same, and no GATHER_ND and nothing of the index chain is left.
std::vector<std::string> check_all(std::string_view text, std::size_t proposals) {
  const Model before = parse(text);
  const auto found = LRT001({before, 0, before.graphs[0]});
  REQUIRE(found.size() == 1);
  INFO(found[0].reason);
  CHECK(found[0].fixes.size() == proposals);
  std::vector<std::string> titles;
  const auto inputs = inputs_of(before.graphs[0]);
  for (const ProposedFix& fix : found[0].fixes) {
    titles.push_back(fix.patch.title);
    auto after = apply_patches(before, std::span(&fix.patch, 1));
    INFO((after ? "" : after.error().message));
    REQUIRE(after);
    for (const NodeId id : after->graphs[0].order) {
      CHECK(after->graphs[0].node(id).op != "GATHER_ND");
      CHECK(after->graphs[0].node(id).op != "ABS");
    }
    CHECK(outputs_of(before, inputs) == outputs_of(*after, inputs));
  }
  return titles;
}

}  // namespace

TEST_CASE("constant lists become what fits them", "[gather]") {
  CHECK(check_all(R"(input %x : f32[6, 2, 4, 3]
const %i : i32[3, 1] = [5, 0, 3]
%y = GATHER_ND(%x, %i) : f32[3, 2, 4, 3]
output %y)",
                  2) == std::vector<std::string>{"GATHER instead of GATHER_ND",
                                                 "SLICE and CONCATENATION instead of GATHER_ND"});
  CHECK(check_all(R"(input %x : f32[11, 2, 4]
const %i : i64[4, 1] = [1, 4, 7, 10]
%y = GATHER_ND(%x, %i) : f32[4, 2, 4]
output %y)",
                  1) == std::vector<std::string>{"STRIDED_SLICE instead of GATHER_ND"});
  CHECK(check_all(R"(input %x : i8[5, 2, 4] q(0.5, 3)
const %i : i32[10, 1] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
%y = GATHER_ND(%x, %i) : i8[10, 2, 4] q(0.5, 3)
output %y)",
                  1) == std::vector<std::string>{"TILE instead of GATHER_ND"});
  CHECK(check_all(R"(input %x : f32[5, 2, 4]
const %i : i32[3, 1] = [4, 3, 2]
%y = GATHER_ND(%x, %i) : f32[3, 2, 4]
output %y)",
                  1) == std::vector<std::string>{"SLICE and REVERSE_V2 instead of GATHER_ND"});
  CHECK(check_all(R"(input %x : f32[4, 2, 3]
const %i : i32[7, 1] = [0, 0, 0, 1, 2, 3, 3]
%y = GATHER_ND(%x, %i) : f32[7, 2, 3]
output %y)",
                  2)
            .size() == 2);
}

TEST_CASE("the chain that wraps indices around goes with the gather", "[gather]") {
  check_all(R"(input %x : f32[10, 1, 3]
const %p : i32[15] = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
const %last : i32[] = [9]
%a = ABS(%p) : i32[15]
%b = SUB(%last, %a) : i32[15]
%c = ABS(%b) : i32[15]
%d = SUB(%last, %c) : i32[15]
const %s : i32[2] = [15, 1]
%i = RESHAPE(%d, %s) : i32[15, 1]
%y = GATHER_ND(%x, %i) : f32[15, 1, 3]
output %y)",
            1);
}

TEST_CASE("several indexed axes", "[gather]") {
  SECTION("a list of points") {
    check_all(R"(input %x : f32[6, 5, 1, 4]
const %i : i32[3, 2] = [0, 2, 1, 3, 5, 0]
%y = GATHER_ND(%x, %i) : f32[3, 1, 4]
output %y)",
              2);
  }
  SECTION("all combinations of rows and columns, scalars picked") {
    check_all(R"(input %x : f32[1, 2, 4, 5]
const %i : i32[2, 3, 4] = [0, 1, 0, 0,  0, 1, 0, 2,  0, 1, 0, 3,  0, 1, 3, 0,  0, 1, 3, 2,  0, 1, 3, 3]
%y = GATHER_ND(%x, %i) : f32[2, 3]
output %y)",
              2);
  }
  SECTION("overlapping windows of both axes into rank 6") {
    std::string list;
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 3; ++b)
        for (int c = 0; c < 2; ++c)
          for (int d = 0; d < 3; ++d)
            list += (list.empty() ? "" : ", ") + std::to_string(a + b) + ", " + std::to_string(c + d);
    check_all("input %x : f32[4, 4, 1, 3]\nconst %i : i32[2, 3, 2, 3, 2] = [" + list +
                  "]\n%y = GATHER_ND(%x, %i) : f32[2, 3, 2, 3, 1, 3]\noutput %y",
              2);
  }
}

TEST_CASE("lists are read as counting or mirrors only when they are", "[gather]") {
  CHECK(counted({0, 1, 2, 3})->digits == std::vector<Digit>{{4, 1}});
  CHECK(counted({3, 3, 5, 5, 7, 7})->digits == std::vector<Digit>{{3, 2}, {2, 0}});
  CHECK(counted({0, 2, 1}) == std::nullopt);
  CHECK(mirrored({2, 1, 0, 1, 2, 3, 2}, 4) == std::pair<std::int64_t, std::int64_t>(2, 1));
  CHECK_FALSE(mirrored({1, 0, 0, 1, 2, 3}, 4));
  CHECK_FALSE(mirrored({0, 1, 2, 3}, 4));
  CHECK_FALSE(mirrored({2, 1, 0, 1}, 4));
}

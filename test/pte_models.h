// Small ExecuTorch programs (.pte) for tests, built from a recipe: the good one adds two tensors.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace md::test {

/// An EValue: kind as in the union KernelTypes (2 integer, 5 tensor, 7 list of integers, 10 and 11 lists of
/// tensors).
struct PteValue {
  int kind = 5;
  std::vector<std::int32_t> sizes = {};
  std::vector<std::uint8_t> order = {};
  int scalar_type = 6;              ///< c10: 6 is float
  std::uint32_t arena = 0, at = 0;  ///< arena 0: no planned memory
  std::uint32_t buffer = 0;         ///< index of constant data
  std::vector<std::int64_t> items = {};
};

/// kind: 1 kernel call, 2 delegate call, 3 move, 4 jump when false, 5 free.
struct PteInstruction {
  int kind = 1;
  std::int32_t first = 0, second = 0;
  std::vector<std::int32_t> args = {};
};

struct PteDelegate {
  std::string id;
  int location = 0;  ///< 0 inline, 1 segment
  std::uint32_t index = 0;
};

struct PteRecipe {
  std::uint32_t version = 0;
  std::vector<PteValue> values = {{.sizes = {2, 3}, .order = {0, 1}, .arena = 1},
                                  {.sizes = {2, 3}, .order = {0, 1}, .arena = 1, .at = 64},
                                  {.sizes = {2, 3}, .order = {0, 1}, .arena = 1, .at = 128}};
  std::vector<std::int32_t> inputs = {0, 1}, outputs = {2};
  std::string op = "aten::add", overload = "out";
  std::vector<PteInstruction> instructions = {{.kind = 1, .first = 0, .args = {0, 1, 2}}};
  bool share_instructions = false;  ///< all are the first one's table
  std::size_t chains = 1;           ///< all are the same table
  std::vector<PteDelegate> delegates;
  std::vector<std::string> inline_blobs;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> segments;  ///< offset and size behind the program
  std::string tail;                                               ///< what the segments hold
  std::int64_t arena_bytes = 4096;
};

std::string make_pte(const PteRecipe& recipe);

}  // namespace md::test
